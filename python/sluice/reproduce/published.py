"""Published numbers, as the files beside an experiment have them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.grid import Grid


def read_csv(path: Path, axes: list[str]) -> dict[str, Grid]:
    """Grids from a file with a column for each axis and for each quantity; ``#`` starts a
    comment, an empty cell is a number that was not published."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ExperimentError(f"{path}: {error.strerror}") from None
    rows = list(csv.DictReader(line for line in lines if line and not line.startswith("#")))
    columns = [name for name in rows[0] if name is not None] if rows else []
    for axis in axes:
        if axis not in columns:
            raise ExperimentError(f"{path}: {axis}: no such column; there are {columns}", key=axis)
    _check_rows(path, rows, axes)
    labels = {axis: tuple(dict.fromkeys(row[axis] for row in rows)) for axis in axes}
    grids = {}
    for column in columns:
        if column in axes:
            continue
        cells: dict[tuple[str, ...], Any] = {}
        for number, row in enumerate(rows, start=1):
            try:
                if row[column]:
                    cells[tuple(row[axis] for axis in axes)] = float(row[column])
            except ValueError:
                raise ExperimentError(f"{path}: {column}: row {number}: no number:"
                                      f" {row[column]!r}", key=column) from None
        grids[column] = Grid(labels, cells)
    return grids


def _check_rows(path: Path, rows: list[dict[str, str]], axes: list[str]) -> None:
    """Raises ``ExperimentError`` for a row whose cells stand under other heads than they are of,
    and for a second row of the same labels, which would take the place of the first."""
    seen: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ExperimentError(f"{path}: row {number}: not as many cells as there are columns"
                                  f" ({', '.join(filter(None, row))})")
        cell = tuple(row[axis] for axis in axes)
        if seen.setdefault(cell, number) != number:
            raise ExperimentError(f"{path}: row {number}: {' '.join(cell)} is in row"
                                  f" {seen[cell]}, too; each has one row")
