"""Runs ``sluice`` on an engine, and keeps what each run said."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

from sluice.reproduce.engines import Arguments, Engine, Known, Outcome, Program
from sluice.reproduce.inputs import Digests, Inputs, digest, other, steady
from sluice.reproduce.kept import Kept


class Runner:
    """Starts runs of one ``sluice``; a run that is ``kept`` there is not started again.

    What is kept is found by the full argument list, the version and the bytes of the program, and
    used if the files that the arguments name have the bytes that the run read.
    """

    def __init__(self, program: Program | Known, kept: Path, engine: Engine,
                 fresh: bool = False) -> None:
        self._program = program
        self.kept = Kept(kept)
        self._engine = engine
        self._fresh = fresh
        self._inputs = Inputs()
        self.version = program.version
        self.program = program.digest
        self.results: dict[Arguments, dict[str, Any]] = {}
        self.failures: dict[Arguments, str] = {}

    def key(self, arguments: Arguments) -> str:
        """The name under which a run is kept."""
        whole = json.dumps([self.program, self.version, list(arguments)])
        return hashlib.sha256(whole.encode()).hexdigest()[:24]

    def run(self, wanted: Iterable[Arguments], told: Callable[[int, int, Arguments], None],
            alone: bool = False) -> None:
        """Fills ``results`` and ``failures``; calls ``told`` at each end: done, of how many,
        what. With ``alone`` there is one run at a time.

        ``KeyboardInterrupt`` ends the runs that are under way; those that ended are kept.
        """
        todo = self._not_known(wanted)
        if not todo:
            return
        assert isinstance(self._program, Program), "of another machine's program all is kept"
        with closing(self._engine.outcomes(self._program, todo, alone)) as outcomes:
            for done, (arguments, outcome) in enumerate(outcomes, start=1):
                left = self._ended(arguments, self._program)
                if outcome.result is None:
                    self.failures[arguments] = outcome.problem
                else:
                    self._keep(arguments, outcome, todo[arguments], left)
                    self.results[arguments] = _lean(outcome.result)
                told(done, len(todo), arguments)

    def _not_known(self, wanted: Iterable[Arguments]) -> dict[Arguments, Digests]:
        """Those that have to run, with the files that they name. The others are in ``results`` or
        ``failures`` then."""
        todo: dict[Arguments, Digests] = {}
        for arguments in dict.fromkeys(wanted):
            if arguments in self.results or arguments in self.failures:
                continue
            told = None if self._fresh else self.kept.run(self.key(arguments))
            # What another machine ran has read the files of that machine.
            is_here = isinstance(self._program, Program)
            inputs = self._inputs.of(arguments) if is_here else {}
            if told and (not is_here or self._has_read(arguments, told, inputs)):
                self.results[arguments] = _lean(told["result"])
            else:
                todo[arguments] = inputs
        return todo

    def _has_read(self, arguments: Arguments, told: Mapping[str, Any], inputs: Digests) -> bool:
        """Whether a run that is kept has read these files. A file that its program may write can
        also be as a run has left it."""
        then = told.get("inputs")
        if then is None or then == inputs:
            return then is not None
        names = [name for name in then.keys() | inputs.keys()
                 if then.get(name) != inputs.get(name)]
        return not steady(arguments, names) and all(
            inputs.get(name) in self._left.get(name, ()) for name in names)

    @cached_property
    def _left(self) -> dict[str, set[str]]:
        """Files that programs write, as each run has left them. What only some runs have changed
        may be somebody else's work."""
        left: dict[str, set[str]] = {}
        as_before: set[str] = set()
        for run in self.kept.runs():
            changed = run.get("left", {})
            as_before |= run.get("inputs", {}).keys() - changed.keys()
            for name, one in changed.items():
                left.setdefault(name, set()).add(one)
        return {name: states for name, states in left.items() if name not in as_before}

    def _ended(self, arguments: Arguments, program: Program) -> Digests:
        """The files of a run that has ended. Raises ``ExperimentError`` if it may have read others,
        or may have been another program, than the session began with."""
        left = self._inputs.left(arguments)
        if digest(str(program.path)) != self.program:
            raise other(str(program.path))
        return left

    def _keep(self, arguments: Arguments, outcome: Outcome, inputs: Digests, left: Digests
              ) -> None:
        about = {"arguments": list(arguments), "version": self.version, "program": self.program,
                 "inputs": {**inputs, **outcome.inputs},
                 "left": {name: one for name, one in left.items() if inputs.get(name) != one},
                 "wall_s": outcome.wall_s}
        self.kept.add(self.key(arguments), about, outcome.text)


def _lean(result: dict[str, Any]) -> dict[str, Any]:
    """With the settings as texts that all results share: most of thousands of runs have the same,
    and they were half of what the results took."""
    config = result.get("config")
    if isinstance(config, dict) and all(type(value) is str for value in config.values()):
        result["config"] = {sys.intern(key): sys.intern(value) for key, value in config.items()}
    return result


def put(path: Path, content: bytes) -> None:
    """Written beside and moved into place: a file is there whole or not at all."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        try:
            file = open(beside, "wb")
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            file = open(beside, "wb")
        with file:
            file.write(content)
        os.replace(beside, path)
    except BaseException as error:
        Path(beside).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
