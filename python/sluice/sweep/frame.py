"""The rows of a sweep: one for each run, those that failed too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sluice import parquet
from sluice.parquet import Column
from sluice.reproduce.engines import Arguments
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.formula import Formula
from sluice.sweep import cells


def as_parquet(one: Evaluated, done: Mapping[Arguments, Any], failures: Mapping[Arguments, str],
               made: Mapping[str, Any]) -> bytes:
    """Every run with its labels, measures, error and resolved configuration."""
    return parquet.encode(_columns(one, done, failures), made)


def _columns(one: Evaluated, done: Mapping[Arguments, Any], failures: Mapping[Arguments, str]
             ) -> Iterator[Column]:
    axes = list(one.experiment.axes)
    rows = [cells.labels(axes, run.cell) for run in one.runs]
    for index, head in enumerate(cells.heads(axes)):
        yield parquet.axis(head, [row[index] for row in rows])
    names = [axis.name for axis in axes]
    for name, formula in one.experiment.derived.items():
        values = [cells.at(one.known[name], dict(zip(names, run.cell, strict=True)))
                  for run in one.runs]
        yield Column(name, "measure", values, _unit(formula), formula.text)
    yield Column(parquet.ERROR, "error", [failures.get(run.arguments) for run in one.runs])
    yield from parquet.configs([done.get(run.arguments) for run in one.runs])


def _unit(formula: Formula) -> str:
    """The unit of a number of the output. That of a computed one is not known."""
    return parquet.unit(formula.text) if formula.names == {formula.text} else ""
