"""Runs ``sluice`` on all cores, or alone where time is measured, and keeps what each run said."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

Arguments = tuple[str, ...]


class Runner:
    """Starts runs of one ``sluice``; a run that is kept in ``folder`` is not started again.

    What is kept is found by the full argument list, the version and the bytes of the program.
    """

    def __init__(self, sluice: Path, folder: Path, jobs: int, fresh: bool = False) -> None:
        self._sluice = sluice
        self._folder = folder
        self._jobs = jobs
        self._fresh = fresh
        self.version = subprocess.run([sluice, "--version"], capture_output=True, text=True,
                                      check=True).stdout.strip()
        self.program = hashlib.sha256(sluice.read_bytes()).hexdigest()
        # A program that a run starts by the name `sluice` is the same one.
        path = os.pathsep.join([str(sluice.parent), os.environ.get("PATH", os.defpath)])
        self._environment = {**os.environ, "PATH": path}
        self._children: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False
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
        self._folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(1 if alone else self._jobs) as pool:
            pending = {pool.submit(self._one, one): one for one in todo}
            try:
                self._wait(pending, len(todo), told)
            except BaseException:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _wait(self, pending: dict[Future[None], Arguments], total: int,
              told: Callable[[int, int, Arguments], None]) -> None:
        left = set(pending)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
                told(total - len(left), total, pending[future])

    def _is_known(self, arguments: Arguments) -> bool:
        if arguments in self.results:
            return True
        path = self._path(arguments)
        if self._fresh or not path.is_file():
            return False
        kept = json.loads(path.read_text(encoding="utf-8"))
        self.results[arguments] = kept["result"]
        return True

    def _path(self, arguments: Arguments) -> Path:
        return self._folder / f"{self.key(arguments)}.json"

    def _one(self, arguments: Arguments) -> None:
        started = time.monotonic()
        with self._lock:
            if self._stopped:
                return
            child = subprocess.Popen([self._sluice, *arguments], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                     env=self._environment)
            self._children.add(child)
        output, errors = child.communicate()
        with self._lock:
            self._children.discard(child)
            stopped = self._stopped
        if child.returncode != 0:
            if not stopped:
                self.failures[arguments] = _problem(errors) or f"status {child.returncode}"
            return
        try:
            result = json.loads(output.strip().splitlines()[-1])
        except (ValueError, IndexError):
            self.failures[arguments] = "its last line is no JSON object"
            return
        self._keep(arguments, result, time.monotonic() - started)
        self.results[arguments] = result

    def _keep(self, arguments: Arguments, result: dict[str, Any], wall_s: float) -> None:
        """Written beside and moved into place: a run is there whole or not at all."""
        path = self._path(arguments)
        document = {"arguments": list(arguments), "version": self.version,
                    "program": self.program, "wall_s": wall_s, "result": result}
        beside = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        beside.write_text(json.dumps(document), encoding="utf-8")
        beside.replace(path)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            for child in self._children:
                child.terminate()


def _problem(errors: str) -> str:
    """The line that says what was wrong: that of a bad argument, or the last one."""
    lines = errors.strip().splitlines()
    return next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")
