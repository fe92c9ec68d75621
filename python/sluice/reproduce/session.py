"""Everything for one call: the runs of all experiments, their pages, and the table at the end."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.quantity import number
from sluice.reproduce import frame, markdown, matrix, memory, page, program, words
from sluice.reproduce.claims import CONTRADICTS, Judged
from sluice.reproduce.engines import Arguments, Engine, Program
from sluice.reproduce.evaluate import SCHEMA, Evaluated, document, evaluate
from sluice.reproduce.inputs import digest
from sluice.reproduce.progress import Progress
from sluice.reproduce.runner import Runner, put
from sluice.reproduce.spec import Experiment, in_order


class Session:
    """Reproduces experiments of one folder into another; runs that they share are run once."""

    def __init__(self, sluice: Program, root: Path, out: Path, engine: Engine, fresh: bool) -> None:
        self._root = root
        self._out = out
        self._runner = Runner(sluice, out / program.RUNS, engine, fresh)
        self._done: list[Evaluated] = []
        self._quick = False
        self.failures: list[tuple[str, str]] = []
        self.documents: list[dict[str, Any]] = []

    def reproduce(self, experiments: Sequence[Experiment]) -> bool:
        """Runs, evaluates and writes each; whether a run failed."""
        wanted = {one.name: _arguments(one) for one in experiments}
        self._quick = any(one.quick for one in experiments)
        progress = Progress()
        for turn, one in enumerate(experiments, start=1):
            place = f" ({turn} of {len(experiments)})" if len(experiments) > 1 else ""
            progress.start(f"{one.name}{place}", wanted[one.name])
            with memory.there(one.name, one.memory) if one.memory else nullcontext():
                self._runner.run(wanted[one.name], progress.told, alone=one.live)
            progress.clear()
            self._finish(one, wanted[one.name])
        told = self._documents()
        self._write("index.html", page.render_index(told, self.failures, self._runner.version))
        self._write("results.md", markdown.render(told, self.failures, self._runner.version))
        self._write("results.json", json.dumps(listed(told, self.failures)) + "\n")
        return bool(self.failures)

    def _finish(self, experiment: Experiment, wanted: Mapping[Arguments, str]) -> None:
        failed = [one for one in wanted if one in self._runner.failures]
        if failed:
            problem = self._runner.failures[failed[0]]
            self.failures.append((experiment.name, problem))
            print(f"sluice reproduce: {experiment.name}: {len(failed)} of {len(wanted)} runs"
                  f" failed; the first, `sluice {' '.join(failed[0])}`: {problem}",
                  file=sys.stderr)
            return
        try:
            one = evaluate(experiment, self._runner.results)
        except ExperimentError as error:
            self.failures.append((experiment.name, str(error)))
            print(f"sluice reproduce: {experiment.name}: {error}", file=sys.stderr)
            return
        self._done.append(one)
        told = document(one, self._runner.version, self._runner.program)
        self.documents.append(told)
        self._write(f"{experiment.name}/result.json", json.dumps(told, indent=1) + "\n")
        self._write(f"{experiment.name}/index.html", page.render(one, self._runner.version))
        for name, drawn in page.pictures(one).items():
            self._write(f"{experiment.name}/{name}", drawn)
        self._write(f"{experiment.name}/runs.csv", frame.as_csv(one))
        put(self._out / experiment.name / "runs.parquet",
            frame.as_parquet(one, self._runner.results, self._runner.version))

    def _documents(self) -> list[dict[str, Any]]:
        """Every result in the folder, those of earlier calls too, if the same program and the same
        rules made them, of experiments as they are now, in runs as long as this call's: others
        would pass as this one's."""
        failed = {name for name, _ in self.failures}
        every = [one for path in sorted(self._out.glob("*/*/result.json"))
                 if (one := _result(path)) and one["experiment"] not in failed]
        of_build = [one for one in every if (one["schema"], one.get("program"))
                    == (SCHEMA, self._runner.program)]
        of_now = [one for one in of_build if self._is_as_then(one)]
        told = [one for one in of_now if one["quick"] == self._quick]
        other = "full" if self._quick else "quick"
        for why, all_of, kept in (("another build made them", every, of_build),
                                  ("their files have changed since, or are gone", of_build, of_now),
                                  (f"they are of {other} runs", of_now, told)):
            out = {one["experiment"] for one in all_of} - {one["experiment"] for one in kept}
            if out:
                print(f"sluice reproduce: left out, for {why}:"
                      f" {', '.join(sorted(out, key=in_order))}", file=sys.stderr)
        return sorted(told, key=lambda one: in_order(one["experiment"]))

    def _is_as_then(self, told: Mapping[str, Any]) -> bool:
        """Whether the experiment says what it said when this result was made."""
        files = told.get("files", {})
        return bool(files) and all(digest(str(self._root / told["experiment"] / name)) == then
                                   for name, then in files.items())

    def _write(self, name: str, text: str) -> None:
        put(self._out / name, text.encode())

    def table(self, room: int | None = None) -> str:
        """Claim, published, ours, distance and verdict of everything that ran, in lines of so many
        columns at most, if that is said."""
        lines = []
        for one in self._done:
            quick = " (quick)" if one.experiment.quick else ""
            lines.append(f"{one.experiment.name}: {one.experiment.title}{quick}")
            for head, other, every in (("claim", "published", one.judged),
                                       ("check", "expected", one.consistency)):
                if every:
                    lines += ["", *_rows(head, other, every, room)]
            for judged in one.judged:
                if judged.outcome == CONTRADICTS:
                    lines += ["", f"  ! {judged.claim.says}"]
                    lines += [f"    {says}: {number(value, unit)}"
                              for says, value, unit in judged.reasons]
            lines += ["", f"  {words.MARKS[one.verdict]} {one.verdict}:"
                          f" {words.MEANINGS[one.verdict]}", ""]
        lines += [f"{name}: failed: {problem}" for name, problem in self.failures]
        lines += [str(page.counted(self._done)), f"pages: {self._out / 'index.html'}"]
        if room is not None:
            lines = [part for line in lines for part in _folded(line, room)]
        return "\n".join(lines)


def _result(path: Path) -> dict[str, Any] | None:
    """The result of an experiment; of another file ``None``, which is said."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if str(told["schema"]).startswith("sluice.reproduce/") and "experiment" in told:
            return told
    except (ValueError, KeyError, TypeError):
        pass
    print(f"sluice reproduce: left out, for it is no result of an experiment: {path}",
          file=sys.stderr)
    return None


def listed(results: Sequence[Mapping[str, Any]], failures: Sequence[tuple[str, str]]
           ) -> dict[str, Any]:
    """Several results as one JSON object, and what has none."""
    return {"schema": "sluice.reproductions/2", "results": list(results),
            "failed": [{"experiment": name, "problem": problem} for name, problem in failures]}


def _rows(head: str, other: str, judged: Sequence[Judged], room: int | None) -> list[str]:
    rows = [["", head, other, "ours", "distance", "verdict", "power"]]
    rows += [[words.MARKS[one.outcome], one.claim.says, words.published(one), words.ours(one),
              words.distance(one), one.outcome, words.power(one)] for one in judged]
    lines = [f"  {line}" for line in words.columns(rows, [1, 46, 20, 20, 34, 24, 12])]
    if room is None or max(map(len, lines)) <= room:
        return lines
    # A claim that no line has room for, and its cells with their heads below.
    return [line for row in rows[1:]
            for line in (f"  {row[0]} {row[1]}", f"      {_told(rows[0], row)}")]


def _told(heads: Sequence[str], row: Sequence[str]) -> str:
    cells = zip(heads[2:], row[2:], strict=True)
    return "; ".join(f"{head} {cell}" for head, cell in cells if cell)


def _folded(line: str, room: int) -> list[str]:
    margin = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, room, subsequent_indent=margin, break_long_words=False,
                         break_on_hyphens=False) or [""]


def _arguments(experiment: Experiment) -> dict[Arguments, str]:
    """The runs of the experiment and of its sensitivities, each once, with its labels."""
    every = {run.arguments: " ".join(run.cell) for run in matrix.runs(experiment)}
    for trial in matrix.trials(experiment):
        for run in trial.runs:
            every.setdefault(run.arguments,
                             f"{' '.join(run.cell)} {trial.open.name}={trial.value}")
    return every
