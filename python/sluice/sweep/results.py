"""What a sweep found: as one object, as lines for a program, and as a table for a person."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sluice.quantity import number, spread
from sluice.reproduce import words
from sluice.reproduce.engines import Arguments
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.grid import Cell
from sluice.reproduce.spec import Axis
from sluice.sweep import cells
from sluice.sweep.means import Means
from sluice.sweep.pareto import COST, Frontier

SCHEMA = "sluice.sweep/1"


def document(one: Evaluated, found: Means | None, results: Mapping[Arguments, Any],
             failures: Mapping[Arguments, str], version: str) -> dict[str, Any]:
    """Everything, each run's values too. The same runs give the same bytes."""
    names = [axis.name for axis in one.experiment.axes]
    told, failed = [], []
    for run in one.runs:
        place = dict(zip(names, run.cell, strict=True))
        if run.arguments in results:
            told.append({"at": place, "arguments": ["sluice", *run.arguments],
                         "values": {measure: cells.at(one.known[measure], place)
                                    for measure in one.experiment.derived}})
        elif run.arguments in failures:
            failed.append({"at": place, "arguments": ["sluice", *run.arguments],
                           "problem": failures[run.arguments]})
    return {
        "schema": SCHEMA, "version": version,
        "axes": [_axis(axis) for axis in one.experiment.axes],
        "measures": {name: formula.text for name, formula in one.experiment.derived.items()},
        "means": _means(one, found) if found else None,
        "runs": told,
        "failures": failed,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    told: dict[str, Any] = {"name": axis.name, "key": axis.title,
                            "values": [label.name for label in axis.labels]}
    if axis.keys:
        told["parameters"] = {key: [label.values[key] for label in axis.labels]
                              for key in axis.keys}
    return told


def _means(one: Evaluated, found: Means) -> dict[str, Any]:
    names = [axis.name for axis in one.experiment.axes if axis.name != found.axis]
    return {"over": found.axis,
            "rows": [{"at": dict(zip(names, cell, strict=True)),
                      "values": {measure: _ends(value) for measure, value in values.items()}}
                     for cell, values in found.rows]}


def _ends(value: Mapping[str, float | None]) -> dict[str, float | None]:
    """The interval by its ends."""
    mean, half = value["mean"], value["interval"]
    low, high = (None, None) if mean is None or half is None else (mean - half, mean + half)
    return {"mean": mean, "stddev": value["stddev"], "n": value["n"], "low": low, "high": high}


def as_csv(one: Evaluated, found: Means | None, failures: Mapping[Arguments, str]) -> str:
    """A line for each run, with what was wrong if it failed, or for the repeats of each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if found:
        whats = ("mean", "stddev", "n", "low", "high")
        writer.writerow([*heads(one, found),
                         *(f"{name} {what}" for name in one.experiment.derived for what in whats)])
        for cell, values in found.rows:
            ends = [_ends(value) for value in values.values()]
            writer.writerow([*_labels(one, found, cell),
                             *(by[what] for by in ends for what in whats)])
    else:
        writer.writerow([*heads(one, found), *one.experiment.derived, "error"])
        problems = [failures.get(run.arguments) for run in one.runs]
        writer.writerows([*row, problem] for row, problem in zip(_rows(one), problems, strict=True))
    return text.getvalue()


def as_text(one: Evaluated, found: Means | None, best: Frontier | None) -> str:
    """The tables of a terminal."""
    lines = [*words.columns(table(one, found), [40] * _width(one, found)),
             *(["", note(one, found)] if found else [])]
    if best:
        rows = frontier(one, found, best)
        lines += ["", frontier_note(best), *words.columns(rows, [40] * len(rows[0]))]
    return "\n".join(lines)


def frontier_note(best: Frontier) -> str:
    """What the rows of a frontier are."""
    prices = best.asked.prices
    of = (f"; a GiB of the device's DRAM at {prices.dram:g}, of host memory at {prices.host:g}, of"
          f" flash at {prices.flash:g}") if COST in (best.asked.x, best.asked.y) else ""
    return (f"{len(best.best)} of {len(best.points)} points are on the frontier of {best.asked.x}"
            f" and {best.asked.y}{of}")


def frontier(one: Evaluated, found: Means | None, best: Frontier) -> list[list[str]]:
    """Heads, and rows of labels and the two measures."""
    return [[*heads(one, found), best.asked.x, best.asked.y],
            *([*_labels(one, found, point.cell), number(point.x), number(point.y)]
              for point in best.best)]


def table(one: Evaluated, found: Means | None) -> list[list[str]]:
    """Heads, and rows of labels and values."""
    rows = [[*heads(one, found), *one.experiment.derived]]
    if found:
        repeats = len(one.experiment.axis(found.axis).labels)
        return rows + [[*_labels(one, found, cell),
                        *(_told(value, repeats) for value in values.values())]
                       for cell, values in found.rows]
    labels = len(heads(one, found))
    return rows + [[*row[:labels], *map(number, row[labels:])] for row in _rows(one)]


def ends(one: Evaluated, found: Means | None, measure: str) -> tuple[str, str] | None:
    """The least and the greatest value of a measure, each with where it is; none if all read alike,
    or are no numbers."""
    if found:
        all_of = [(_labels(one, found, cell), values[measure]["mean"])
                  for cell, values in found.rows]
    else:
        at = len(heads(one, found)) + list(one.experiment.derived).index(measure)
        all_of = [(row[:len(heads(one, found))], row[at]) for row in _rows(one)]
    known = [(labels, value) for labels, value in all_of
             if isinstance(value, int | float) and math.isfinite(value)]
    places: dict[str, list[list[str]]] = {}
    for labels, value in sorted(known, key=lambda pair: pair[1]):
        places.setdefault(number(value), []).append(labels)
    if len(places) < 2:
        return None
    low, *_, high = places
    keys = heads(one, found)
    return f"{low} ({_where(keys, places[low])})", f"{high} ({_where(keys, places[high])})"


def _where(keys: list[str], places: list[list[str]]) -> str:
    """Where a value is: the labels that all of its places have. A number alone does not say of what
    it is."""
    shared = [(key, of[0]) for key, of in zip(keys, zip(*places, strict=True), strict=True)
              if len(set(of)) == 1]
    told = [f"{key} {label}" if re.fullmatch(r"[\d.]+", label) else label for key, label in shared]
    return ", ".join(told) or f"{len(places)} of them"


def note(one: Evaluated, found: Means) -> str:
    """What the numbers of a table with means are."""
    axis = one.experiment.axis(found.axis)
    return (f"mean ± half of its 95 % interval (Student's t), over {len(axis.labels)} values of"
            f" {axis.title}")


def _told(value: Mapping[str, float | None], repeats: int) -> str:
    if not value["n"]:
        return "none"
    known = spread(value["mean"], value["interval"])
    return known if value["n"] == repeats else f"{known} of {number(value['n'])}"


def heads(one: Evaluated, found: Means | None) -> list[str]:
    """The axes by their keys, without that of repeats; behind each what its labels set."""
    return cells.heads(_axes(one, found))


def _axes(one: Evaluated, found: Means | None) -> list[Axis]:
    return [axis for axis in one.experiment.axes if not found or axis.name != found.axis]


def _labels(one: Evaluated, found: Means | None, cell: Cell) -> list[str]:
    return cells.labels(_axes(one, found), cell)


def _width(one: Evaluated, found: Means | None) -> int:
    return len(heads(one, found)) + len(one.experiment.derived)


def _rows(one: Evaluated) -> Iterator[list[Any]]:
    names = [axis.name for axis in one.experiment.axes]
    for run in one.runs:
        place = dict(zip(names, run.cell, strict=True))
        yield [*_labels(one, None, run.cell),
               *(cells.at(one.known[name], place) for name in one.experiment.derived)]
