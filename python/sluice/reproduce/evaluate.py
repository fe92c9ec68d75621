"""From the output of runs to quantities, verdicts and one result object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import matrix
from sluice.reproduce.claims import Claim, Judged, Remark
from sluice.reproduce.formula import finite
from sluice.reproduce.grid import Cell, Grid
from sluice.reproduce.judge import judge
from sluice.reproduce.known import Known
from sluice.reproduce.matrix import Run, Trial
from sluice.reproduce.power import with_power
from sluice.reproduce.spec import Experiment, Metric
from sluice.reproduce.verdict import verdict

SCHEMA = "sluice.reproduce/3"
Results = Mapping[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Evaluated:
    """An experiment with its quantities and verdict."""

    experiment: Experiment
    known: dict[str, Grid]
    runs: tuple[Run, ...]
    judged: list[Judged] = field(default_factory=list)
    consistency: list[Judged] = field(default_factory=list)
    remarks: list[tuple[Remark, list[tuple[str, float, str]]]] = field(default_factory=list)
    verdict: str = ""
    trials: list[tuple[Trial, float]] = field(default_factory=list)
    base: float | None = None


def evaluate(experiment: Experiment, results: Results) -> Evaluated:
    """Computes everything. Raises ``ExperimentError`` that says which quantity is not there."""
    runs = matrix.runs(experiment)
    try:
        known = quantities(experiment, runs, results)

        def judged(claims: tuple[Claim, ...]) -> list[Judged]:
            measured = {name: known[name] for name in experiment.metrics}
            return with_power([judge(claim, known) for claim in claims], measured,
                              experiment.known(), experiment.derived, experiment.name)

        claims, checks = judged(experiment.claims), judged(experiment.consistency)
        remarks = [(one, _remarked(one, known)) for one in experiment.remarks]
        tried, base = _sensitivity(experiment, results)
        _check_figures(experiment, known)
    except ExperimentError as error:
        table = "derived." if error.key in experiment.derived else ""
        raise ExperimentError(f"{experiment.folder / 'experiment.toml'}: {table}{error}") from None
    return Evaluated(experiment, known, runs, claims, checks, remarks, verdict(claims, checks),
                     tried, base)


def _check_figures(experiment: Experiment, known: Mapping[str, Grid]) -> None:
    """Raises ``ExperimentError`` for a figure of a quantity that has more axes than the figure: a
    value would have no place."""
    for figure in experiment.figures:
        if not figure.x:
            continue
        drawn = {figure.x, figure.series, figure.panel}
        for key, formula in figure.formulas().items():
            more = [axis for axis in formula(known).axes if axis not in drawn]
            if more:
                raise ExperimentError(f"{figure.section}: {key}: the quantity has the axis"
                                      f" {more[0]!r}, and the figure neither as x nor as series or"
                                      " panel", key=figure.section)


def _remarked(remark: Remark, known: Mapping[str, Grid]) -> list[tuple[str, float, str]]:
    """The numbers that show it. Raises ``ExperimentError`` if they do not."""
    if not remark.holds(known).truth:
        raise ExperimentError(f"{remark.section}: {remark.holds.text!r} is not true",
                              key=remark.section)
    return [(says, formula.number(known), unit) for says, formula, unit in remark.because]


def quantities(experiment: Experiment, runs: tuple[Run, ...], results: Results
               ) -> dict[str, Grid]:
    """Measured, published and derived quantities by name. Raises ``ExperimentError`` with the name
    of the one that cannot be computed as its key."""
    measured = _measured(experiment, runs, results)
    known = {**experiment.known(), **measured}
    for name, formula in experiment.derived.items():
        try:
            known[name] = formula(known)
        except ExperimentError as error:
            raise ExperimentError(f"{name}: {error}", key=name) from None
    return known


def _measured(experiment: Experiment, runs: tuple[Run, ...], results: Results) -> dict[str, Grid]:
    """The metrics of these runs, along the labels that the runs have."""
    names = [axis.name for axis in experiment.axes]
    there = {name: {run.cell[index] for run in runs} for index, name in enumerate(names)}
    used = {name: tuple(label.name for label in experiment.axis(name).labels
                        if label.name in there[name]) for name in names}
    known: dict[str, Grid] = {}
    for name, metric in experiment.metrics.items():
        cells: dict[Cell, Any] = {}
        for run in runs:
            at = dict(zip(names, run.cell, strict=True))
            if run.arguments in results and metric.is_of(at):
                value = _pointed(results[run.arguments], metric, run.words, name, run)
                # What is true or false is no number.
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if metric.factor != 1 and not number:
                    raise ExperimentError(f"metrics.{name}: factor: only a number can have one, not"
                                          f" {json.dumps(value)[:40]}", key=f"metrics.{name}")
                cells[run.cell] = finite(value if metric.factor == 1 else value * metric.factor)
        # Labels that do not have the metric are none of its grid, so that they are no gaps.
        axes = {axis: tuple(one for one in labels if one in metric.only.get(axis, labels))
                for axis, labels in used.items()}
        known[name] = Grid(axes, cells)
    return known


def _filled(pointer: str, words: Mapping[str, str]) -> str:
    """What stands in braces is the run's label on that axis, or a setting of its labels:
    ``/hops/latency_ns/{hops}``."""
    for name, word in words.items():
        pointer = pointer.replace(f"{{{name}}}", word)
    return pointer


def _pointed(result: Any, metric: Metric, words: Mapping[str, str], name: str, run: Run) -> Any:
    """The value at the first of the pointers that leads to one; ``null`` is a number that does not
    exist."""
    pointers = [_filled(pointer, words) for pointer in metric.pointers]
    found = []
    for pointer in pointers:
        try:
            found.append(_at(result, pointer))
        except LookupError:
            continue
        if found[-1] is not None:
            return found[-1]
    if found:
        return math.nan
    raise ExperimentError(f"metrics.{name}: no {' and no '.join(pointers)} in the output of"
                          f" `sluice {' '.join(run.arguments)}`", key=f"metrics.{name}")


def _at(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to. Of a part that is ``null`` no number exists either. Raises
    ``LookupError`` if nothing is there."""
    for part in pointer.split("/")[1:]:
        if value is None:
            return None
        if isinstance(value, list) and part.isdigit():
            value = value[int(part)]
        elif isinstance(value, dict):
            value = value[part]
        else:
            raise LookupError(part)
    return value


def _sensitivity(experiment: Experiment, results: Results
                 ) -> tuple[list[tuple[Trial, float]], float | None]:
    """The measure for each value of each open parameter, and with none of them changed."""
    about = experiment.sensitivity
    if not about:
        return [], None

    def measure(runs: tuple[Run, ...]) -> float:
        grids = {**experiment.known(), **_measured(experiment, runs, results)}
        return about.measure.number(Known(grids, experiment.derived))

    tried = [(trial, measure(trial.runs)) for trial in matrix.trials(experiment)]
    return tried, measure(matrix.runs(experiment, about.axes))


def document(one: Evaluated, version: str, program: str) -> dict[str, Any]:
    """The result as a JSON object: the same runs give the same bytes."""
    experiment = one.experiment
    numbers = {}
    for name in [*experiment.metrics, *experiment.derived]:
        rows = [[*cell, value] for cell, value in one.known[name].rows()
                if isinstance(value, int | float)]
        numbers[name] = {"axes": list(one.known[name].axes), "values": rows}
    return _finite({
        "schema": SCHEMA, "experiment": experiment.name, "paper": experiment.paper,
        "title": experiment.title, "place": experiment.place, "version": version,
        "program": program, "quick": experiment.quick, "files": dict(experiment.files),
        "verdict": one.verdict,
        "claims": [_claim(judged) for judged in one.judged],
        "consistency": [_claim(judged) for judged in one.consistency],
        "remarks": [{"says": remark.says, "place": remark.place, "note": remark.note,
                     "because": _reasons(shown)} for remark, shown in one.remarks],
        "quantities": numbers,
        "sensitivity": {
            "says": experiment.sensitivity.says, "unchanged": one.base,
            "trials": [{"parameter": trial.open.name, "value": trial.value, "measure": value}
                       for trial, value in one.trials],
        } if experiment.sensitivity else None,
        "runs": [["sluice", *run.arguments] for run in one.runs],
    })


def _claim(judged: Judged) -> dict[str, Any]:
    claim = judged.claim
    return {
        "kind": claim.kind, "says": claim.says, "place": claim.place, "unit": claim.unit,
        "outcome": judged.outcome, "why": claim.why, "needs": claim.lacks or None,
        "fitted": claim.fitted or None,
        "tolerance": claim.tolerance.text if claim.tolerance else None,
        "findings": [{"where": list(one.where), "published": one.published, "ours": one.ours,
                      "distance": one.distance, "good": one.good} for one in judged.findings],
        "because": _reasons(judged.reasons),
        "power": _power(judged),
    }


def _power(judged: Judged) -> dict[str, Any] | None:
    power = judged.power
    return None if power is None else {
        "word": power.word, "permuted": power.permuted[1], "permuted_matching": power.permuted[0],
        "shuffled": power.shuffled[1], "shuffled_matching": power.shuffled[0],
        "noisy": power.noise[1], "noisy_matching": power.noise[0],
        "no_effect_matches": power.no_effect,
    }


def _reasons(reasons: list[tuple[str, float, str]]) -> list[dict[str, Any]]:
    return [{"says": says, "value": value, "unit": unit} for says, value, unit in reasons]


def _finite(value: Any) -> Any:
    """What is no number becomes ``null``."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
