"""Runs on this machine's cores."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import threading
import time
from collections.abc import Collection, Generator
from contextlib import ExitStack
from queue import SimpleQueue

from sluice.errors import ExperimentError
from sluice.reproduce.engines import Arguments, Outcome, Program, environment, outcome

# What Python ignores, a program it starts need not: a pipe that nobody reads ends it.
_DEFAULT = [signal.SIGPIPE, signal.SIGXFSZ]


class Local:
    """Some processes at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def outcomes(self, program: Program, todo: Collection[Arguments], alone: bool
                 ) -> Generator[tuple[Arguments, Outcome], None, None]:
        """See :class:`sluice.reproduce.engines.Engine`."""
        children = _Children(program, todo)
        thread = threading.Thread(target=children.run, name="runs",
                                  args=(1 if alone else self._jobs,))
        try:
            thread.start()
            for _ in todo:
                found = children.ended.get()
                if isinstance(found, Exception):
                    raise found
                yield found.arguments, found.outcome()
        finally:
            children.stop()
            if thread.ident is not None:
                thread.join()


class _Children:
    """Processes that end together when they are stopped. A thread starts each and waits for it:
    neither Ctrl-C nor a slow disk comes between, whatever becomes of those that have ended."""

    def __init__(self, program: Program, todo: Collection[Arguments]) -> None:
        self.ended: SimpleQueue[_Child | Exception] = SimpleQueue()
        self._program = os.fspath(program.path)
        self._environment = environment(program.path)
        self._left = iter(todo)
        self._running: dict[int, _Child] = {}
        self._ends = select.poll()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, count: int) -> None:
        """Carries out everything, so many at a time."""
        for _ in range(count):
            self._start()
        while self._running:
            for end, _ in self._ends.poll():
                self._ends.unregister(end)
                with self._lock:
                    child = self._running.pop(end)
                    child.wait()
                self._start()
                self.ended.put(child)

    def _start(self) -> None:
        """The next, if there is one."""
        with self._lock:
            arguments = None if self._stopped else next(self._left, None)
            if arguments is None:
                return
            try:
                child = _Child(self._program, arguments, self._environment)
            except OSError as error:
                self.ended.put(error)
                return
            except ValueError as error:
                # A zero, or a letter that this locale's names of files cannot have.
                self.ended.put(ExperimentError(f"`sluice {' '.join(arguments)!r}` cannot be"
                                               f" started: {error}; name other values"))
                return
            self._running[child.end] = child
            self._ends.register(child.end, select.POLLIN)

    def stop(self) -> None:
        """Ends what runs, and starts nothing more."""
        with self._lock:
            self._stopped = True
            for child in self._running.values():
                os.kill(child.pid, signal.SIGTERM)


class _Child:
    """One process, and what it has said."""

    def __init__(self, program: str, arguments: Arguments, where: dict[str, str]) -> None:
        self.arguments = arguments
        self._status = 0
        self._said: list[str] = []
        self._wall_s = -time.monotonic()
        with ExitStack() as undo:
            # Files in memory take what it says without anybody who reads it meanwhile.
            self._files = [_file("output"), _file("errors")]
            for file in self._files:
                undo.callback(os.close, file)
            actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                       *((os.POSIX_SPAWN_DUP2, file, to) for to, file in enumerate(self._files, 1))]
            self.pid = os.posix_spawn(program, [program, *arguments], where, file_actions=actions,
                                      setsigdef=_DEFAULT)
            undo.callback(os.waitpid, self.pid, 0)
            undo.callback(os.kill, self.pid, signal.SIGKILL)
            self.end = os.pidfd_open(self.pid)
            undo.pop_all()

    def wait(self) -> None:
        """Takes its status and what it has said; it has ended. It holds no descriptor afterwards,
        however long nobody asks what became of it."""
        self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._wall_s += time.monotonic()
        self._said = [_read(file) for file in self._files]
        for file in (self.end, *self._files):
            os.close(file)

    def outcome(self) -> Outcome:
        """What became of it."""
        output, errors = self._said
        return outcome(self._status, output, errors, self._wall_s)


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
