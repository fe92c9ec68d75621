"""Measures of a sweep over its repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Cell
from sluice.sweep import cells


@dataclass(frozen=True)
class Means:
    """Measures over repeats: the formulas of their means, and the values at the axes left."""

    axis: str
    formulas: Mapping[str, Mapping[str, Formula]]
    rows: tuple[tuple[Cell, Mapping[str, Mapping[str, float | None]]], ...]

    def formula(self, measure: str, what: str) -> Formula:
        """Of a measure, its ``mean``, ``stddev``, ``n`` or ``interval``."""
        return self.formulas[measure][what]


def over_repeats(one: Evaluated, axis: str) -> Means | None:
    """None without repeats. Raises ``ExperimentError`` for a measure that has them no more."""
    if not axis:
        return None
    formulas = {name: _over(formula.text, axis) for name, formula in one.experiment.derived.items()}
    grids = {name: {what: formula(one.known) for what, formula in by.items()}
             for name, by in formulas.items()}
    index = [known.name for known in one.experiment.axes].index(axis)
    left = dict.fromkeys(run.cell[:index] + run.cell[index + 1:] for run in one.runs)
    names = [known.name for known in one.experiment.axes if known.name != axis]
    rows = []
    for cell in left:
        place = dict(zip(names, cell, strict=True))
        found = {name: {what: cells.at(grid, place) for what, grid in by.items()}
                 for name, by in grids.items()}
        # Nothing is counted where every repeat failed.
        rows.append((cell, {name: by | {"n": by["n"] or 0} for name, by in found.items()}))
    return Means(axis, formulas, tuple(rows))


def _over(text: str, axis: str) -> dict[str, Formula]:
    # Of a number that does not exist it is unknown whether it equals itself.
    there = f"({text}) == ({text})"
    # The mean is of as many as are counted.
    made = {what: Formula(f"{what}(where({text}, {there}), '{axis}')")
            for what in ("mean", "stddev", "interval")}
    return made | {"n": Formula(f"count(where({there}, {there}), '{axis}')")}
