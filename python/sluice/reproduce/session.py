"""Everything for one call: the runs of all experiments, their pages, and the table at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import markdown, matrix, page, program, words
from sluice.reproduce.claims import CONTRADICTS
from sluice.reproduce.evaluate import Evaluated, document, evaluate
from sluice.reproduce.progress import Progress
from sluice.reproduce.quantity import number
from sluice.reproduce.runner import Arguments, Runner
from sluice.reproduce.spec import Experiment, in_order


class Session:
    """Reproduces experiments into one folder; runs that they share are run once."""

    def __init__(self, sluice: Path, out: Path, jobs: int, fresh: bool) -> None:
        self._out = out
        self._runner = Runner(sluice, out / program.RUNS, jobs, fresh)
        self._done: list[Evaluated] = []
        self._failures: list[tuple[str, str]] = []
        self.documents: list[dict[str, Any]] = []

    def reproduce(self, experiments: Sequence[Experiment]) -> bool:
        """Runs, evaluates and writes each; whether a run failed."""
        wanted = {one.name: _arguments(one) for one in experiments}
        progress = Progress()
        for turn, one in enumerate(experiments, start=1):
            place = f" ({turn} of {len(experiments)})" if len(experiments) > 1 else ""
            progress.start(f"{one.name}{place}", wanted[one.name])
            self._runner.run(wanted[one.name], progress.told, alone=one.live)
            progress.clear()
            self._finish(one, wanted[one.name])
        told = self._documents()
        self._write("index.html", page.render_index(told, self._failures, self._runner.version))
        self._write("results.md", markdown.render(told, self._runner.version))
        return bool(self._failures)

    def _finish(self, experiment: Experiment, wanted: Mapping[Arguments, str]) -> None:
        failed = [one for one in wanted if one in self._runner.failures]
        if failed:
            problem = self._runner.failures[failed[0]]
            self._failures.append((experiment.name, problem))
            print(f"sluice reproduce: {experiment.name}: {len(failed)} of {len(wanted)} runs"
                  f" failed; the first, `sluice {' '.join(failed[0])}`: {problem}",
                  file=sys.stderr)
            return
        try:
            one = evaluate(experiment, self._runner.results)
        except ExperimentError as error:
            self._failures.append((experiment.name, str(error)))
            print(f"sluice reproduce: {experiment.name}: {error}", file=sys.stderr)
            return
        self._done.append(one)
        told = document(one, self._runner.version)
        self.documents.append(told)
        self._write(f"{experiment.name}/result.json", json.dumps(told, indent=1) + "\n")
        self._write(f"{experiment.name}/index.html", page.render(one, self._runner.version))

    def _documents(self) -> list[dict[str, Any]]:
        """Every result in the folder, those of earlier calls too."""
        failed = {name for name, _ in self._failures}
        paths = self._out.glob("*/*/result.json")
        told = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        told.sort(key=lambda one: in_order(one["experiment"]))
        return [one for one in told if one["experiment"] not in failed]

    def _write(self, name: str, text: str) -> None:
        path = self._out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def table(self) -> str:
        """Claim, published, ours, distance and verdict of everything that ran."""
        lines = []
        for one in self._done:
            quick = " (quick)" if one.experiment.quick else ""
            lines += [f"{one.experiment.name}: {one.experiment.title}{quick}", ""]
            rows = [["", "claim", "published", "ours", "distance", "verdict"]]
            for judged in one.judged:
                rows.append([words.MARKS[judged.outcome], judged.claim.says,
                             words.published(judged), words.ours(judged),
                             words.distance(judged), judged.outcome])
            lines += [f"  {line}" for line in words.columns(rows, [1, 46, 20, 20, 34, 24])]
            for judged in one.judged:
                if judged.outcome == CONTRADICTS:
                    lines += ["", f"  ! {judged.claim.says}"]
                    lines += [f"    {says}: {number(value, unit)}"
                              for says, value, unit in judged.reasons]
            lines += ["", f"  {words.MARKS[one.verdict]} {one.verdict}:"
                          f" {words.MEANINGS[one.verdict]}", ""]
        return "\n".join([*lines, f"pages: {self._out / 'index.html'}"])


def _arguments(experiment: Experiment) -> dict[Arguments, str]:
    """The runs of the experiment and of its sensitivities, each once, with its labels."""
    every = {run.arguments: " ".join(run.cell) for run in matrix.runs(experiment)}
    for trial in matrix.trials(experiment):
        for run in trial.runs:
            every.setdefault(run.arguments,
                             f"{' '.join(run.cell)} {trial.open.name}={trial.value}")
    return every
