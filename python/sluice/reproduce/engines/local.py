"""Runs on this machine's cores."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from sluice.reproduce.engines import Arguments, Outcome, Program, environment, outcome


class Local:
    """Some processes at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def outcomes(self, program: Program, todo: Sequence[Arguments], alone: bool
                 ) -> Iterator[tuple[Arguments, Outcome]]:
        """See :class:`sluice.reproduce.engines.Engine`."""
        children = _Children(program)
        with ThreadPoolExecutor(1 if alone else self._jobs) as pool:
            pending = {pool.submit(children.run, one): one for one in todo}
            try:
                for future in as_completed(pending):
                    yield pending.pop(future), future.result()
            finally:
                children.stop()
                pool.shutdown(wait=True, cancel_futures=True)


class _Children:
    """Processes that end together when they are stopped."""

    def __init__(self, program: Program) -> None:
        self._program = program.path
        self._environment = environment(program.path)
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, arguments: Arguments) -> Outcome:
        started = time.monotonic()
        with self._lock:
            if self._stopped:
                return Outcome(None, "stopped", 0.0)
            child = subprocess.Popen([self._program, *arguments], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                     env=self._environment)
            self._running.add(child)
        output, errors = child.communicate()
        with self._lock:
            self._running.discard(child)
        return outcome(child.returncode, output, errors, time.monotonic() - started)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.terminate()
