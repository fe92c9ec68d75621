"""The page of a recipe: its question, a picture that answers it, and the numbers."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from sluice.report import svg
from sluice.report.template import environment
from sluice.reproduce.page import style

_COLOURS = ("#fd0000", "#fd0001", "#fd0002")


def render(document: dict[str, Any]) -> str:
    """The page as HTML."""
    template = environment().get_template("recipes/page.html")
    return template.render(style=style(), document=document, picture=Markup(_picture(document)))


def _picture(document: dict[str, Any]) -> str:
    def paint(canvas: Figure) -> None:
        axes = canvas.subplots()
        axes.grid(visible=True, axis="y")
        for policy, colour in zip(_policies(document), _COLOURS, strict=False):
            rows = [row for row in document["rows"]
                    if row["policy"] == policy and row["slowdown"] is not None]
            axes.plot([row["cache_mib"] for row in rows], [row["slowdown"] for row in rows],
                      marker="o", color=colour, label=policy)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.axhline(1, color=svg.INK, linewidth=0.8, linestyle="--")
        axes.set_xlabel(f"cache, MiB, of a footprint of {document['footprint_mib']} MiB")
        axes.set_ylabel("times as long as without a device")
        axes.legend(frameon=False)

    return svg.element(f"recipe-{document['recipe']}", document["question"], (760, 380), paint)


def _policies(document: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["policy"] for row in document["rows"]))
