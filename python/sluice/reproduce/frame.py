"""The runs of an experiment as Parquet and CSV: what was measured, before anything is derived."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from sluice import parquet
from sluice.parquet import Column
from sluice.reproduce.engines import Arguments
from sluice.reproduce.evaluate import Evaluated


def as_parquet(one: Evaluated, done: Mapping[Arguments, Any], version: str) -> bytes:
    """A row for each run, with its metrics and its resolved configuration."""
    made = {"experiment": one.experiment.name, "quick": one.experiment.quick, "version": version}
    return parquet.encode(_columns(one, done), made)


def as_csv(one: Evaluated) -> str:
    """A line for each run, with its metrics."""
    text = io.StringIO()
    columns = list(_columns(one, {}))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows(zip(*(column.values for column in columns), strict=True))
    return text.getvalue()


def _columns(one: Evaluated, done: Mapping[Arguments, Any]) -> Iterator[Column]:
    names = [axis.name for axis in one.experiment.axes]
    for index, axis in enumerate(one.experiment.axes):
        yield parquet.axis(axis.name, [run.cell[index] for run in one.runs])
    for name, metric in one.experiment.metrics.items():
        grid = one.known[name]
        cells = [dict(zip(names, run.cell, strict=True)) for run in one.runs]
        values = [grid.cells.get(tuple(cell[axis] for axis in grid.axes)) for cell in cells]
        if all(value is None or isinstance(value, int | float) for value in values):
            # A factor makes another unit of it.
            pointer = metric.pointers[0].strip("/").replace("/", ".")
            yield Column(name, "measure", values,
                         parquet.unit(pointer) if metric.factor == 1 else "")
    yield from parquet.configs([done.get(run.arguments) for run in one.runs])
