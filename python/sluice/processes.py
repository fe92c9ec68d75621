"""The end of a command with all that it has started, however its programs take a request to end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_ROUNDS = 10
"""How often to look for what is started while others are killed."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, as a batch system sends it."""


@contextmanager
def as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM ends a command with all that it has started, too. Python alone would be gone at once,
    and what it started would go on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ended(*_: object) -> None:
        # Whoever sends another one does not want to wait.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end(child: subprocess.Popen[Any], grace_s: float) -> None:
    """Asks a command to end, and kills what still runs of it and below it after so many seconds.
    What is below goes on without it when the command alone is killed."""
    held = _held(child)
    child.terminate()
    with suppress(subprocess.TimeoutExpired):
        child.wait(grace_s)
    for _ in range(_ROUNDS):
        if not held:
            break
        for one in held:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(one, signal.SIGKILL)
            os.close(one)
        held = _held(child)
    child.kill()
    child.wait()


def _held(child: subprocess.Popen[Any]) -> list[int]:
    """Descriptors of the processes below one that nobody has waited for: by them each can be
    killed, and nobody who has its number later."""
    held = []
    for pid in _below(child.pid) if child.poll() is None else ():
        with suppress(ProcessLookupError):
            held.append(os.pidfd_open(pid))
    return held


def _below(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            for one in (thread / "children").read_text(encoding="ascii").split():
                yield int(one)
                yield from _below(int(one))
