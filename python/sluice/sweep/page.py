"""The page of a sweep: a picture of each measure, and the numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure as Canvas

from sluice.paths import shown
from sluice.report import svg
from sluice.report.template import environment
from sluice.reproduce import draw
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.figures import Figure, Part
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import numbers_of
from sluice.reproduce.page import style
from sluice.reproduce.spec import Axis
from sluice.sweep import labels, results
from sluice.sweep.means import Means
from sluice.sweep.pareto import Frontier

_DRAWN = 3
"""Axes of a picture: along it, by colour, and a panel each."""
_SERIES, _PANELS = 40, 24
"""Labels that are told apart by colour and hatch, and that have a panel each, at most."""
_NAMED = 8
"""Points of a frontier that have their settings beside them, at most."""
_LETTERS = 40
"""Characters of these settings, at most: half of the picture has room for them."""
_COST = "cost, in what prices are in (US dollars by default)"
_SHOWN = 20
"""Values of an axis, and failures, that are named, at most."""
_LOG = 8
"""From this ratio of its largest to its least number on, an axis is logarithmic."""


def render(one: Evaluated, means: Means | None, best: Frontier | None,
           document: Mapping[str, Any], version: str) -> str:
    """The same runs give the same bytes."""
    axes = [axis for axis in one.experiment.axes if not means or axis.name != means.axis]
    pictures = {}
    lists = [axis.name for axis in axes if axis.keys]
    crowded = _crowded(axes) if 0 < len(axes) <= _DRAWN and not lists else ""
    if 0 < len(axes) <= _DRAWN and not lists and not crowded:
        pictures = {name: Markup(draw.draw(one, _figure(one, means, axes, name), f"sweep-{index}"))
                    for index, name in enumerate(one.experiment.derived, start=1)
                    if _is_drawn(one, name)}
    frontier: dict[str, Any] = {}
    if best:
        rows = results.frontier(one, means, best)
        frontier = {"rows": rows, "note": results.frontier_note(best),
                    "pictures": _frontier(best, [shown(" ".join(row[:-2])) for row in rows[1:]])}
    template = environment().get_template("sweep/page.html")
    return template.render(style=style(), version=version, document=document,
                           frontier=frontier, pictures=pictures, shown=_SHOWN,
                           command=" ".join(one.experiment.command), spans=_spans(one, means),
                           crowded=crowded,
                           too_many=len(axes) if len(axes) > _DRAWN else 0, lists=lists,
                           labels=len(results.heads(one, means)), rows=results.table(one, means),
                           note=results.note(one, means) if means else "")


def _frontier(best: Frontier, names: list[str]) -> list[Markup]:
    """All points, and a step for each better one that costs more; for a wide and a narrow page."""
    asked = best.asked

    def paint(canvas: Canvas, named: bool) -> None:
        axes = canvas.subplots()
        axes.grid(visible=True)
        axes.set_axisbelow(True)
        axes.scatter([point.x for point in best.points], [point.y for point in best.points],
                     s=30, alpha=0.7, color=svg.colour(0), linewidths=0, label="other points")
        xs, ys = [point.x for point in best.best], [point.y for point in best.best]
        axes.step(xs, ys, where="post", color=svg.colour(1), linewidth=svg.LINE_WIDTH, marker="o",
                  markersize=5.5, label="the frontier")
        for label, x, y in zip(names, xs, ys, strict=True) if named else ():
            on_right = x > (min(xs) + max(xs)) / 2
            away = -6 if on_right else 6
            axes.annotate(svg.brief(label, _LETTERS), (x, y), xytext=(away, away),
                          textcoords="offset points", ha="right" if on_right else "left",
                          va="top" if on_right else "bottom", fontsize=11, color=svg.INK)
        for name, measure, values in (("x", asked.x, [point.x for point in best.points]),
                                      ("y", asked.y, [point.y for point in best.points])):
            getattr(axes, f"set_{name}label")(_COST if measure == "cost" else labels.of_measure(
                measure, measure, values))
            if values and min(values) > 0 and max(values) / min(values) >= _LOG:
                draw.log_scale(axes, name)
        axes.margins(x=0.08, y=0.12)
        axes.legend(frameon=False)

    wide = svg.SHAPES[0].name
    return [Markup(svg.element(
        f"sweep-pareto-{shape.name}", f"frontier of {asked.x} and {asked.y}",
        (shape.width, shape.height),
        partial(paint, named=shape.name == wide and len(names) <= _NAMED)))
        for shape in svg.SHAPES]


def _is_drawn(one: Evaluated, measure: str) -> bool:
    """Whether it has a value for each run, and one at least is a number."""
    grid = one.known[measure]
    return set(grid.axes) == {axis.name for axis in one.experiment.axes} and any(
        isinstance(value, int | float) and math.isfinite(value) for value in grid.cells.values())


def _along(axes: Sequence[Axis]) -> Axis:
    """Lines go along the last axis of numbers, bars along the first of all."""
    lines = [axis for axis in axes if _numbers(axis)]
    return lines[-1] if lines else axes[0]


def _crowded(axes: Sequence[Axis]) -> str:
    """The axis of which a picture has more labels than it can show; empty if there is none."""
    others = [axis for axis in axes if axis is not _along(axes)]
    return next((axis.title for axis, most in zip(others, (_SERIES, _PANELS), strict=False)
                 if len(axis.labels) > most), "")


def _figure(one: Evaluated, means: Means | None, axes: Sequence[Axis], measure: str) -> Figure:
    """Lines along an axis of numbers, or bars."""
    lines = [axis for axis in axes if _numbers(axis)]
    along = _along(axes)
    others = [axis.name for axis in axes if axis is not along] + ["", ""]
    values = _numbers(along)
    part = Part("", Formula(one.experiment.derived[measure].text), None)
    if means:
        part = Part("", means.formula(measure, "mean"), None, means.formula(measure, "interval"))
    return Figure(
        section="", kind="lines" if lines else "bars", title=_label(one, measure),
        caption="", x=along.name, series=others[0], panel=others[1],
        x_label=labels.of_axis(along.title), y_label=_label(one, measure),
        log_x=bool(values) and min(values) > 0 and max(values) / min(values) >= _LOG,
        log_y=False, parts=(part,),
        mean="", swap=False, form=".4g")


def _label(one: Evaluated, measure: str) -> str:
    text = one.experiment.derived[measure].text
    return labels.of_measure(measure, text, list(one.known[measure].cells.values()))


def _spans(one: Evaluated, means: Means | None) -> list[tuple[str, str, str]]:
    """What the sweep found: of each measure its least and its greatest value, and where."""
    found = ((name, results.ends(one, means, name)) for name in one.experiment.derived)
    return [(_label(one, name), *ends) for name, ends in found if ends]


def _numbers(axis: Axis) -> list[float]:
    """The axis' labels as numbers, if all of several are."""
    values = numbers_of([label.name for label in axis.labels])
    known = len(values) > 1 and all(map(math.isfinite, values))
    return values if known else []
