"""The runs of a sweep, and what is written of them."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import matrix, program
from sluice.reproduce.evaluate import Evaluated, quantities
from sluice.reproduce.formula import Formula
from sluice.reproduce.matrix import Run
from sluice.reproduce.progress import Progress
from sluice.reproduce.runner import Runner
from sluice.reproduce.spec import Experiment
from sluice.sweep import page, results
from sluice.sweep.plan import Plan, metrics

DEFAULTS = ("time_s", "sim_time_s", "wall_s", "ipc", "cache.hit_ratio", "latency_ns.mean",
            "latency_ns.p99", "latency_ns.accesses.mean", "latency_ns.accesses.p99",
            "latency_ns.achieved.mean", "latency_ns.achieved.p99")
"""What is measured if nothing was asked for, as far as the output has it."""


@dataclass(frozen=True)
class Told:
    """The results: as an object, and as a table for a terminal."""

    document: dict[str, Any]
    text: str
    total: int


class Session:
    """Sweeps into one folder."""

    def __init__(self, sluice: Path, out: Path, jobs: int, fresh: bool,
                 command: Sequence[str], replaces: bool) -> None:
        self._out = out
        self._command = list(command)
        self._replaces = replaces
        self._runner = Runner(sluice, out / program.RUNS, jobs, fresh)

    def sweep(self, plan: Plan) -> Told:
        """Runs every combination, and writes page and numbers. Raises ``ExperimentError`` if no
        run ended, a measure is not in the output, or the folder has another sweep."""
        planned = plan.experiment
        if not self._replaces:
            self._refuse_another()
        runs = matrix.runs(planned)
        labels = {run.arguments: " ".join(run.cell) for run in runs}
        progress = Progress()
        progress.start("sweep", labels)
        # Whether the measures are there is known after one run.
        self._runner.run([runs[0].arguments], progress.told, alone=True)
        planned = self._measured(planned, runs[0])
        self._runner.run(labels, progress.told, alone=planned.live)
        progress.clear()
        if not self._runner.results:
            first, problem = next(iter(self._runner.failures.items()))
            raise ExperimentError(f"all {len(runs)} runs failed; the first, `sluice"
                                  f" {' '.join(first)}`: {problem}")
        known = quantities(planned, runs, self._runner.results)
        # A repeat that failed is told as such: means are of the others.
        one = Evaluated(planned, {name: grid.thin() for name, grid in known.items()}, runs)
        means = results.means(one, plan.mean)
        document = results.document(one, means, self._runner.results, self._runner.failures,
                                    self._runner.version)
        document["command"] = self._command
        self._write("results.json", json.dumps(document, indent=1) + "\n")
        self._write("results.csv", results.as_csv(one, means))
        self._write("index.html", page.render(one, means, document, self._runner.version))
        return Told(document, results.as_text(one, means), len(runs))

    def _refuse_another(self) -> None:
        """The same command may have more values or measures; another one loses nothing unasked."""
        try:
            known = json.loads((self._out / "results.json").read_text(encoding="utf-8"))
            before = list(known["command"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        if before != self._command:
            raise ExperimentError(f"{self._out} has the sweep of `sluice {' '.join(before)}`; name"
                                  " another folder by --out, or replace it with --force")

    def _measured(self, planned: Experiment, run: Run) -> Experiment:
        """With measures, if none were given, and refused if one is not there."""
        result = self._runner.results.get(run.arguments)
        if result is None:
            return planned
        there = dict(_numbers(result))
        if not planned.derived:
            chosen = [name for name in DEFAULTS if name in there]
            if not chosen:
                raise ExperimentError(f"none of {', '.join(DEFAULTS)} is in the output; --measure"
                                      f" names one of {_some(there)}")
            return dataclasses.replace(
                planned, derived={name: Formula(name) for name in chosen},
                metrics=metrics(chosen))
        for name in planned.metrics:
            if name not in there:
                near = difflib.get_close_matches(name, there, 4, 0.4)
                raise ExperimentError(f"no number {name!r} in the output of `sluice"
                                      f" {' '.join(run.arguments)}`; there is"
                                      f" {_some(near or there)}")
        return planned

    def _write(self, name: str, text: str) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / name).write_text(text, encoding="utf-8")


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Every number of an output, by its keys with dots; ``null`` is one that does not exist."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _numbers(below, f"{path}.{key}" if path else key)
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value


def _some(names: Any) -> str:
    names = [*names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
