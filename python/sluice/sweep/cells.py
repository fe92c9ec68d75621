"""Where a value of a sweep stands: the labels of its run, and what they set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sluice.reproduce.grid import Grid
from sluice.reproduce.spec import Axis


def parameters(axis: Axis, label: str) -> list[str]:
    """The values that a label gives to the keys of its axis, where that has any."""
    if not axis.keys:
        return []
    values = next(one.values for one in axis.labels if one.name == label)
    return [values[key] for key in axis.keys]


def heads(axes: Sequence[Axis]) -> list[str]:
    """Each axis by its key, and behind it what it gives values to."""
    return [head for axis in axes for head in (axis.title, *axis.keys)]


def labels(axes: Sequence[Axis], cell: tuple[str, ...]) -> list[str]:
    """What stands under the heads."""
    return [value for axis, label in zip(axes, cell, strict=True)
            for value in (label, *parameters(axis, label))]


def at(grid: Grid, place: Mapping[str, str]) -> float | None:
    """The value of a run, or of all those that a formula has made one of."""
    value = grid.cells.get(tuple(place[axis] for axis in grid.axes))
    if isinstance(value, bool):
        return float(value)
    return value if isinstance(value, int | float) and math.isfinite(value) else None
