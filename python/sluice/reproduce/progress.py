"""How far a call is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping

from sluice.reproduce.engines import Arguments


class Progress:
    """One line on a terminal that changes in place; nothing in a pipe."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._started = 0.0
        self._name = ""
        self._labels: Mapping[Arguments, str] = {}

    def start(self, name: str, labels: Mapping[Arguments, str]) -> None:
        """Runs begin."""
        self._name, self._labels = name, labels
        self._started = time.monotonic()
        self._show(f"{name}: starting")

    def told(self, done: int, total: int, what: Arguments) -> None:
        """One run has ended."""
        left = (time.monotonic() - self._started) / done * (total - done)
        self._show(f"{self._name}: {done} of {total} runs, {_span(left)} left; last"
                   f" {self._labels.get(what, '')}")

    def clear(self) -> None:
        """Takes the line away."""
        self._show("")

    def _show(self, line: str) -> None:
        if self._shown:
            width = max(20, shutil.get_terminal_size().columns - 1)
            print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
