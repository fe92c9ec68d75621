"""Numbers with named axes: what runs measured, and what papers printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sluice.errors import ExperimentError

Cell = tuple[str, ...]
Axes = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Grid:
    """A value for each combination of the labels of its axes; combinations may be absent.

    A grid without axes is one value. A value is a number, a truth, or a list of numbers (a
    distribution).
    """

    axes: Axes
    cells: dict[Cell, Any]
    thinned: bool = False
    """Whether places were left out on purpose. Where they were not, no line may have gaps: a mean
    of some values would pass as that of all."""

    @classmethod
    def one(cls, value: Any) -> Grid:
        """A single value."""
        return cls({}, {(): value})

    @property
    def only(self) -> Any:
        """The value of a grid without axes. Raises ``ExperimentError`` for any other."""
        if self.axes:
            raise ExperimentError(f"one value was needed, but it depends on {_list(self.axes)}")
        if not self.cells:
            raise ExperimentError("no value is there")
        return self.cells[()]

    @property
    def truth(self) -> bool:
        """The truth that a grid without axes is. Raises ``ExperimentError`` for what is none."""
        if not isinstance(self.only, bool):
            raise ExperimentError(f"true or false was needed, not {self.only!r}")
        return self.only

    def thin(self) -> Grid:
        """This grid, with gaps that are on purpose."""
        return replace(self, thinned=True)

    def label(self, cell: Cell) -> str:
        """The cell's place in words: its labels."""
        return " ".join(cell)

    def rows(self) -> Iterator[tuple[Cell, Any]]:
        """Cells and values, in the order of the axes' labels."""
        for cell in product(*self.axes.values()):
            if cell in self.cells:
                yield cell, self.cells[cell]

    def at(self, where: Mapping[str, str]) -> Grid:
        """The part with these labels; the named axes are gone."""
        for axis, label in where.items():
            if label not in self._labels(axis):
                raise ExperimentError(
                    f"{axis} has no {label!r}; it has {_list(self.axes[axis])}")
        kept = [index for index, axis in enumerate(self.axes) if axis not in where]
        wanted = [(index, where[axis]) for index, axis in enumerate(self.axes) if axis in where]
        cells = {tuple(cell[index] for index in kept): value for cell, value in self.cells.items()
                 if all(cell[index] == label for index, label in wanted)}
        axes = {name: labels for name, labels in self.axes.items() if name not in where}
        return Grid(axes, cells, self.thinned)

    def pick(self, axis: str, labels: Sequence[str]) -> Grid:
        """This grid with only these labels of one axis, in this order."""
        known = self._labels(axis)
        for label in labels:
            if label not in known:
                raise ExperimentError(f"{axis} has no {label!r}; it has {_list(known)}")
        index = list(self.axes).index(axis)
        cells = {cell: value for cell, value in self.cells.items() if cell[index] in labels}
        return Grid({**self.axes, axis: tuple(labels)}, cells, self.thinned)

    def reduce(self, axis: str, by: Callable[[dict[str, Any]], Any]) -> Grid:
        """Each line along ``axis`` becomes one value, from its values by label. Raises
        ``ExperimentError`` for a line with a gap that nobody made on purpose."""
        labels = self._labels(axis)
        index = list(self.axes).index(axis)
        lines: dict[Cell, dict[str, Any]] = {}
        for label in labels:
            for cell, value in self.cells.items():
                if cell[index] == label:
                    lines.setdefault(cell[:index] + cell[index + 1:], {})[label] = value
        axes = {name: values for name, values in self.axes.items() if name != axis}
        for cell, line in lines.items():
            gaps = [label for label in labels if label not in line]
            if gaps and not self.thinned:
                raise ExperimentError(f"along {axis} there is no {_list(gaps)}"
                                      f"{' at ' if cell else ''}{self.label(cell)}")
        return Grid(axes, {cell: by(line) for cell, line in lines.items()}, self.thinned)

    def map(self, change: Callable[[Any], Any]) -> Grid:
        """Each value changed."""
        return Grid(self.axes, {cell: change(value) for cell, value in self.cells.items()},
                    self.thinned)

    def with_(self, other: Grid, join: Callable[[Any, Any], Any]) -> Grid:
        """Values of both, joined where both have one; an axis that one lacks is repeated. Raises
        ``ExperimentError`` where one has a label of which the other knows nothing."""
        axes: Axes = {**self.axes, **{a: v for a, v in other.axes.items() if a not in self.axes}}
        for axis in self.axes.keys() & other.axes.keys():
            alone = set(self.axes[axis]) ^ set(other.axes[axis])
            if alone:
                raise ExperimentError(f"{axis} has {_list(sorted(alone))} on one side only; pick"
                                      " takes the labels that both have")
        cells = {}
        for cell in product(*axes.values()):
            at = dict(zip(axes, cell, strict=True))
            mine = tuple(at[axis] for axis in self.axes)
            theirs = tuple(at[axis] for axis in other.axes)
            if mine in self.cells and theirs in other.cells:
                cells[cell] = join(self.cells[mine], other.cells[theirs])
        return Grid(axes, cells, self.thinned or other.thinned)

    def _labels(self, axis: str) -> tuple[str, ...]:
        if axis not in self.axes:
            raise ExperimentError(f"no axis {axis!r} here; there is {_list(self.axes) or 'none'}")
        return self.axes[axis]


def number_of(label: str) -> float:
    """The number that a label starts with, its unit applied: ``2us`` is 2e-6, ``64MiB`` 2**26."""
    return numbers_of([label])[0]


def numbers_of(labels: Sequence[str]) -> list[float]:
    """The numbers of the labels along an axis. ``16M`` is a count; where another label is a size it
    is one as well, of 16 MiB."""
    parts = [_parted(label) for label in labels]
    sizes = any(unit in _SIZES for _, unit in parts)
    units = _UNITS | (_SHORT if sizes else {})
    return [value * units.get(unit, math.nan) for value, unit in parts]


def _parted(label: str) -> tuple[float, str]:
    """The number that a label starts with, and what follows it."""
    for end in range(len(label), 0, -1):
        try:
            return float(label[:end]), label[end:].strip()
        except ValueError:
            continue
    return math.nan, ""


_SIZES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "K": 2.0**10, "T": 2.0**40, "KiB": 2.0**10,
          "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "B": 1.0}
_SHORT = {"M": 2.0**20, "G": 2.0**30}
_UNITS = _SIZES | {f"{size}/s": value for size, value in _SIZES.items()} | {
    "": 1.0, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "\N{MICRO SIGN}s": 1e-6,
    "\N{GREEK SMALL LETTER MU}s": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "k": 1e3, "M": 1e6,
    "G": 1e9}


def _list(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(names)
