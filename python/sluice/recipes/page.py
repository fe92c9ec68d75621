"""The page of a recipe: its question, pictures that answer it, and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sluice.quantity import short
from sluice.report import svg
from sluice.report.template import environment
from sluice.reproduce.page import style

_SLOWDOWN = "times as long as without a device"


def render(document: dict[str, Any]) -> str:
    """The page as HTML."""
    drawn = [_picture(document, f"told-{index}", name, _told(document, name))
             for index, name in enumerate(document["draw"])]
    slowdown = _picture(document, "slowdown", _SLOWDOWN, _slowdown(document))
    told = list(dict.fromkeys(name for row in document["rows"] for name in row["told"]))
    template = environment().get_template("recipes/page.html")
    return template.render(style=style(), document=document, pictures=[*drawn, slowdown], told=told,
                           short=short)


def _picture(document: dict[str, Any], name: str, label: str,
             paint: Callable[[Axes], None]) -> list[Markup]:
    def on(canvas: Figure) -> None:
        axes = canvas.subplots()
        axes.grid(visible=True, axis="y")
        axes.set_axisbelow(True)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        svg.numbers(axes.yaxis)
        paint(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"cache, MiB, of a footprint of {document['footprint_mib']} MiB")
        axes.set_ylabel(label)
        axes.legend(frameon=False)

    slug = f"recipe-{document['recipe']}-{name}"
    return [Markup(svg.element(f"{slug}-{shape.name}", label, (shape.width, shape.height), on))
            for shape in svg.SHAPES]


def _slowdown(document: dict[str, Any]) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        _lines(axes, document, lambda row: row["slowdown"])
        axes.axhline(1, color=svg.INK, linewidth=0.8, linestyle="--", label="without a device")
        axes.axhline(document["near"], color=svg.INK, linewidth=0.8, linestyle=":",
                     label=f"{document['near']:g} times as long")

    return paint


def _told(document: dict[str, Any], name: str) -> Callable[[Axes], None]:
    def paint(axes: Axes) -> None:
        _lines(axes, document, lambda row: row["told"].get(name))
        if plain := document["plain_told"].get(name):
            axes.axhline(plain, color=svg.INK, linewidth=0.8, linestyle="--",
                         label="without a device")

    return paint


def _lines(axes: Axes, document: dict[str, Any],
           of: Callable[[dict[str, Any]], float | None]) -> None:
    """A line for each policy."""
    policies = dict.fromkeys(row["policy"] for row in document["rows"])
    for index, policy in enumerate(policies):
        points = [(row["cache_mib"], of(row)) for row in document["rows"]
                  if row["policy"] == policy]
        known = [(size, value) for size, value in points if value]
        axes.plot([size for size, _ in known], [value for _, value in known], marker="o",
                  color=svg.colour(index), linewidth=svg.LINE_WIDTH, label=policy)
