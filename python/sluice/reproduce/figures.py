"""What an experiment draws: which quantities, along which axes, in which form."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.errors import ExperimentError
from sluice.reproduce.formula import Formula
from sluice.reproduce.section import Section

KINDS = ("bars", "stacked", "lines", "cdf", "scatter", "table")
_NUMBERS_ALONG = ("lines", "cdf", "scatter")
"""Along the others are labels, which have no logarithm."""


@dataclass(frozen=True)
class Part:
    """One quantity: a part of a stack, or the only one."""

    title: str
    ours: Formula
    published: Formula | None
    error: Formula | None = None
    """How far ours may be off, each way."""


@dataclass(frozen=True)
class Figure:
    """A picture or a table of numbers.

    ``x`` is the axis along the figure, ``series`` the one told apart by colour (or, in stacks, by
    place within a group), ``panel`` the one with a picture for each label.
    """

    section: str
    kind: str
    title: str
    caption: str
    x: str
    series: str
    panel: str
    x_label: str
    y_label: str
    log_x: bool
    log_y: bool
    parts: tuple[Part, ...]
    mean: str
    swap: bool
    form: str
    """How a table shows its numbers: a format such as ``.1%`` or ``.3g``."""

    def formulas(self) -> dict[str, Formula]:
        """Its formulas, by key."""
        found = {}
        for index, part in enumerate(self.parts, start=1):
            found[f"parts[{index}].ours"] = part.ours
            if part.published:
                found[f"parts[{index}].published"] = part.published
        return found


def read_figure(one: Section) -> Figure:
    """Reads one figure. A single quantity stands in the table itself, several in ``parts``."""
    kind = one.choice("kind", KINDS)
    parts = [_part(below) for below in one.tables("parts")]
    if not parts:
        parts = [Part("", _formula(one, "ours"),
                      _formula(one, "published") if one.has("published") else None)]
    figure = Figure(
        section=one.name, kind=kind, title=one.text("title"), caption=one.text("caption", ""),
        x="" if kind in ("cdf", "scatter") else one.text("x"), series=one.text("series", ""),
        panel="" if kind == "table" else one.text("panel", ""), x_label=one.text("x_label", ""),
        y_label=one.text("y_label", "" if kind == "table" else None),
        log_x=kind in _NUMBERS_ALONG and one.flag("log_x"), log_y=one.flag("log_y"),
        parts=tuple(parts), swap=one.flag("swap"),
        mean=one.choice("mean", ("", "geomean", "mean"), ""),
        form=one.text("form", ".3g"))
    one.done()
    return figure


def _part(one: Section) -> Part:
    part = Part(one.text("title"), _formula(one, "ours"),
                _formula(one, "published") if one.has("published") else None)
    one.done()
    return part


def _formula(one: Section, key: str) -> Formula:
    try:
        return Formula(one.text(key))
    except ExperimentError as error:
        if error.key:
            raise
        raise one.error(key, str(error)) from None
