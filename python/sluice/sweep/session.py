"""The runs of a sweep, and what is written of them."""

from __future__ import annotations

import dataclasses
import difflib
import gc
import importlib
import json
import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import matrix
from sluice.reproduce.evaluate import Evaluated, quantities
from sluice.reproduce.formula import Formula
from sluice.reproduce.matrix import Run
from sluice.reproduce.progress import Progress
from sluice.reproduce.runner import Runner, put
from sluice.reproduce.spec import Experiment
from sluice.sweep import frame, pareto, results, shards
from sluice.sweep.means import Means, over_repeats
from sluice.sweep.pareto import Frontier
from sluice.sweep.plan import metrics
from sluice.sweep.shards import Part, Shard, Wanted

DEFAULTS = ("time_s", "sim_time_s", "wall_s", "ipc", "cache.hit_ratio", "latency_ns.mean",
            "latency_ns.p99", "latency_ns.accesses.mean", "latency_ns.accesses.p99",
            "latency_ns.achieved.mean", "latency_ns.achieved.p99")
"""What is measured by default, as far as the output has it."""


@dataclass(frozen=True)
class Told:
    """The results: as an object, and as a table for a terminal."""

    document: dict[str, Any]
    text: str
    total: int


class Session:
    """Sweeps into one folder."""

    def __init__(self, runner: Runner, out: Path, wanted: Wanted, replaces: bool = False) -> None:
        self._out = out
        self._wanted = wanted
        self._plan = wanted.plan()
        self._command = list(self._plan.command)
        self._replaces = replaces
        self._runner = runner

    def sweep(self) -> Told:
        """Runs every combination, and writes page and numbers. Raises ``ExperimentError`` if no
        run ended, a measure is not in the output, or the folder has another sweep."""
        runs = self._run(None)
        return self._tell(runs)

    def shard(self, shard: Shard) -> str:
        """Runs a part, and keeps it for :meth:`merge`. Returns what to say."""
        runs = self._run(shard)
        failed = {one: self._runner.failures[one] for one in dict.fromkeys(
            run.arguments for run in runs) if one in self._runner.failures}
        shards.write(Part(self._out, self._wanted, shard, self._runner.version,
                          self._runner.program, failed))
        what = f", {len(failed)} failed" if failed else ""
        return (f"shard {shard}: {len(runs)} runs{what}; `sluice sweep --merge` with the folders"
                " of all shards prints the results")

    def merge(self, parts: Sequence[Part]) -> Told:
        """The results of all parts, as of one call that ran everything."""
        self._refuse_another()
        runs = matrix.runs(self._plan.experiment)
        shards.gather(parts, runs, self._runner.key, self._runner.kept)
        for part in parts:
            self._runner.failures |= part.failures
        with _all_kept():
            self._runner.run([run.arguments for run in runs], lambda *_: None)
        return self._tell(runs)

    def _run(self, shard: Shard | None) -> tuple[Run, ...]:
        self._refuse_another()
        every = matrix.runs(self._plan.experiment)
        runs = shard.of(every) if shard else every
        if not runs:
            raise ExperimentError(f"--shard {shard}: the sweep has {len(every)} runs only")
        labels = {run.arguments: " ".join(run.cell) for run in runs}
        progress = Progress()
        progress.start(f"sweep, shard {shard}" if shard else "sweep", labels)
        # Whether the measures are there is known after one run. What draws and writes takes most
        # of a second to import, which is as well spent while the others run.
        live = self._plan.experiment.live
        self._runner.run([runs[0].arguments], progress.told, alone=live)
        self._measured(runs)
        threading.Thread(target=_writers, name="import").start()
        with _all_kept():
            self._runner.run(labels, progress.told, alone=live)
        progress.clear()
        return runs

    def _tell(self, runs: tuple[Run, ...]) -> Told:
        planned = self._measured(runs)
        # Another one may have ended there meanwhile.
        self._refuse_another()
        if not self._runner.results:
            first, problem = next(iter(self._runner.failures.items()))
            all_of = f"all {len(runs)} runs failed; the first,"
            what = all_of if len(runs) > 1 else "its run failed,"
            raise ExperimentError(f"{what} `sluice {' '.join(first)}`: {problem}")
        done, failures = self._runner.results, self._runner.failures
        known = quantities(planned, runs, done)
        # A repeat that failed is shown as failed: means are of the others.
        one = Evaluated(planned, {name: grid.thin() for name, grid in known.items()}, runs)
        means = over_repeats(one, self._plan.mean)
        made: dict[str, Any] = {"version": self._runner.version, "command": self._command,
                "samples": [{"name": one.name, "method": one.method, "seed": one.seed,
                             "count": len(one.values)}
                            for one in self._plan.samples if one.seed is not None]}
        best = self._frontier(planned, one, means)
        axes = [axis.name for axis in planned.axes if not means or axis.name != means.axis]
        made["pareto"] = pareto.document(best, axes) if best else None
        document = results.document(one, means, done, failures, self._runner.version) | made
        self._write("results.json", json.dumps(document, indent=1) + "\n")
        self._write("results.csv", results.as_csv(one, means, failures))
        put(self._out / "results.parquet", frame.as_parquet(one, done, failures, made))
        self._write("index.html", _drawing().render(one, means, best, document,
                                                     self._runner.version))
        return Told(document, results.as_text(one, means, best), len(runs))

    def _frontier(self, planned: Experiment, one: Evaluated, means: Means | None
                  ) -> Frontier | None:
        given = self._wanted.pareto
        return pareto.frontier(pareto.named(given, planned.derived), one, means) if given else None

    def _refuse_another(self) -> None:
        """The same command may have more values or measures; another one loses nothing unasked."""
        if self._replaces:
            return
        try:
            known = json.loads((self._out / "results.json").read_text(encoding="utf-8"))
            before = list(known["command"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        if before != self._command:
            raise ExperimentError(f"{self._out} has the sweep of `sluice {' '.join(before)}`; name"
                                  " another folder by --out, or replace it with --force")

    def _measured(self, runs: Sequence[Run]) -> Experiment:
        """With measures, if none were given, and refused if one is not there: by the first run
        that ended well."""
        planned = self._plan.experiment
        self._price(runs)
        run = next((run for run in runs if run.arguments in self._runner.results), None)
        if run is None:
            return planned
        result = self._runner.results[run.arguments]
        there = dict(_numbers(result))
        derived = dict(planned.derived)
        if not derived:
            derived = {name: Formula(name) for name in DEFAULTS if name in there}
            if not derived:
                raise ExperimentError(f"none of {', '.join(DEFAULTS)} is in the output; --measure"
                                      f" names one of {_some(there)}")
        if self._wanted.pareto:
            pareto.add(self._wanted.pareto, derived, there)
        used = {name for formula in derived.values() for name in formula.names}
        planned = dataclasses.replace(planned, derived=derived, metrics=metrics(sorted(used)))
        for name in planned.metrics:
            if name not in there and not self._is_elsewhere(name, there, runs):
                raise ExperimentError(f"no number {name!r} in the output of `sluice"
                                      f" {' '.join(run.arguments)}`; there is"
                                      f" {_nearest(name, there)}")
        return planned

    def _is_elsewhere(self, name: str, there: Mapping[str, float | None], runs: Sequence[Run]
                      ) -> bool:
        """Whether one of the runs has a number of a part that the first one has not: of a write
        log, say, where ``none`` is one of its sizes."""
        parts = (name[:end.start()] for end in re.finditer(r"[.[]", name))
        done = self._runner.results
        return any(there.get(part, 0) is None for part in parts) and any(
            run.arguments not in done or name in dict(_numbers(done[run.arguments]))
            for run in runs)

    def _price(self, runs: Sequence[Run]) -> None:
        """Adds to each result what its memory costs, if that was asked for."""
        given, done = self._wanted.pareto, self._runner.results
        if not given:
            return
        for run in runs:
            result = done.get(run.arguments)
            if result is not None and pareto.COST not in result:
                cost = given.prices.of(result.get("config", {}))
                done[run.arguments] = {**result, pareto.COST: cost}

    def _write(self, name: str, text: str) -> None:
        # Names of files need not be text.
        put(self._out / name, text.encode(errors="replace"))


@contextmanager
def _all_kept() -> Iterator[None]:
    """What is made meanwhile stays until the end. The collector looks through thousands of results
    again and again, and would never find one that can go."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _writers() -> None:
    _drawing()
    importlib.import_module("pyarrow.parquet")


def _drawing() -> ModuleType:
    return importlib.import_module("sluice.sweep.page")


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Every number of an output, by its keys with dots, in a list by its place in brackets;
    ``null`` is one that does not exist."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _numbers(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from _numbers(below, f"{path}[{place}]")
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value


def _nearest(name: str, there: Collection[str]) -> str:
    """Names like this one, and where the others are, if there are others."""
    shown = difflib.get_close_matches(name, there, 4, 0.4) or there
    others = len(there) - len(shown)
    return _some(shown) + (f", and --json prints {others} others" if others else "")


def _some(names: Any) -> str:
    names = [*names]
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
