"""Runs ``sluice`` on an engine, and keeps what each run said."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from sluice.reproduce.engines import Arguments, Engine, Known, Outcome, Program
from sluice.reproduce.kept import Kept


class Runner:
    """Starts runs of one ``sluice``; a run that is ``kept`` there is not started again.

    What is kept is found by the full argument list, the version and the bytes of the program.
    """

    def __init__(self, program: Program | Known, kept: Path, engine: Engine,
                 fresh: bool = False) -> None:
        self._program = program
        self.kept = Kept(kept)
        self._engine = engine
        self._fresh = fresh
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
        """Fills ``results`` and ``failures``; ``told`` hears of each end: done, of how many, what.
        With ``alone`` there is one run at a time.

        ``KeyboardInterrupt`` ends the runs that are under way; those that ended are kept.
        """
        todo = [one for one in dict.fromkeys(wanted) if not self._is_known(one)]
        if not todo:
            return
        assert isinstance(self._program, Program), "of another machine's program all is kept"
        with closing(self._engine.outcomes(self._program, todo, alone)) as outcomes:
            for done, (arguments, outcome) in enumerate(outcomes, start=1):
                if outcome.result is None:
                    self.failures[arguments] = outcome.problem
                else:
                    self._keep(arguments, outcome)
                    self.results[arguments] = outcome.result
                told(done, len(todo), arguments)

    def _is_known(self, arguments: Arguments) -> bool:
        if arguments in self.results or arguments in self.failures:
            return True
        result = None if self._fresh else self.kept.result(self.key(arguments))
        if result is None:
            return False
        self.results[arguments] = result
        return True

    def _keep(self, arguments: Arguments, outcome: Outcome) -> None:
        about = {"arguments": list(arguments), "version": self.version, "program": self.program,
                 "wall_s": outcome.wall_s}
        self.kept.add(self.key(arguments), about, outcome.text)


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
    except OSError as error:
        Path(beside).unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
