"""Where the commands begin: while Python still imports, Ctrl-C ends one quietly.

What a command needs takes Python up to a second to import, and a traceback of that says nothing.
``sluice`` holds Ctrl-C back until somebody here can take it.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module

EXIT_INTERRUPTED = 130
COMMANDS = {"sluice.report", "sluice.sweep", "sluice.reproduce", "sluice.recipes"}


def report() -> int:
    """``sluice-report``."""
    return _run("report")


def sweep() -> int:
    """``sluice-sweep``."""
    return _run("sweep")


def reproduce() -> int:
    """``sluice-reproduce``."""
    return _run("reproduce")


def recipe() -> int:
    """``sluice-recipe``."""
    return _run("recipes")


def begin(module: str) -> None:
    """From now on Ctrl-C ends the command, if the module is one."""
    if module not in COMMANDS:
        return
    # In the background of a shell that ignores Ctrl-C for its jobs it goes on being ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    _take()


def _run(package: str) -> int:
    begin(f"sluice.{package}")
    status: int = import_module(f"sluice.{package}").main()
    end_quietly()
    return status


def hear() -> None:
    """From now on Ctrl-C is an exception: there is something to say about it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _raise)
    _take()


def end_quietly() -> None:
    """From now on Ctrl-C ends the command at once: all has been said."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _end)


def _take() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _end(*_: object) -> None:
    os._exit(EXIT_INTERRUPTED)


def _raise(*_: object) -> None:
    raise KeyboardInterrupt
