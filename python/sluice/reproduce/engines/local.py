"""Runs on this machine's cores."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue

from sluice.reproduce.engines import Arguments, Outcome, Program, environment, outcome

# What Python ignores, a program it starts need not: a pipe that nobody reads ends it.
_DEFAULT = [signal.SIGPIPE, signal.SIGXFSZ]


class Local:
    """Some processes at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def outcomes(self, program: Program, todo: Sequence[Arguments], alone: bool
                 ) -> Iterator[tuple[Arguments, Outcome]]:
        """See :class:`sluice.reproduce.engines.Engine`."""
        children = _Children(program)
        left = iter(todo)
        ended: SimpleQueue[tuple[Arguments, Outcome | BaseException]] = SimpleQueue()

        def work() -> None:
            while (one := children.next(left)) is not None:
                try:
                    ended.put((one, children.run(one)))
                except BaseException as error:
                    ended.put((one, error))

        count = min(1 if alone else self._jobs, len(todo))
        threads = [threading.Thread(target=work, name=f"run-{number}") for number in range(count)]
        try:
            for thread in threads:
                thread.start()
            for _ in todo:
                one, found = ended.get()
                if isinstance(found, BaseException):
                    raise found
                yield one, found
        finally:
            children.stop()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


class _Children:
    """Processes that end together when they are stopped."""

    def __init__(self, program: Program) -> None:
        self._program = os.fspath(program.path)
        self._environment = environment(program.path)
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def next(self, left: Iterator[Arguments]) -> Arguments | None:
        """What to run next, if anything is left to run."""
        with self._lock:
            return None if self._stopped else next(left, None)

    def run(self, arguments: Arguments) -> Outcome:
        started = time.monotonic()
        # Files in memory take what a child says without a thread that reads it meanwhile.
        output, errors = _file("output"), _file("errors")
        try:
            status = self._wait(self._start(arguments, output, errors))
            return outcome(status, _read(output), _read(errors), time.monotonic() - started)
        finally:
            os.close(output)
            os.close(errors)

    def _start(self, arguments: Arguments, output: int, errors: int) -> int | None:
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]
        with self._lock:
            if self._stopped:
                return None
            pid = os.posix_spawn(self._program, [self._program, *arguments], self._environment,
                                 file_actions=actions, setsigdef=_DEFAULT)
            self._running.add(pid)
            return pid

    def _wait(self, pid: int | None) -> int:
        if pid is None:
            return -signal.SIGTERM
        # Its number is its own until it is waited for, and `stop` may still use it.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._running.discard(pid)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def stop(self) -> None:
        """Ends what runs, and starts nothing more."""
        with self._lock:
            self._stopped = True
            for pid in self._running:
                os.kill(pid, signal.SIGTERM)


def _file(name: str) -> int:
    """A file in memory, whose number is none of the first three, which a child has for its own."""
    file = os.memfd_create(name)
    if file > 2:
        return file
    other = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(file)
    return other


def _read(file: int) -> str:
    """What a child has written from the beginning on."""
    parts, at = [], 0
    while part := os.pread(file, 1 << 20, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts).decode(errors="replace")
