"""A bar for simulations that take longer than a moment: in a notebook, or on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

PATIENCE_S = 1.0
"""What ends earlier has no bar."""
EVERY_S = 0.2
_WIDTH = 30
Draw = Callable[[str, float | None, bool], None]
"""Shows what is said, the share that is done if it is known, and whether this is the end."""


class Progress:
    """Draws how far a run is. Called with how much is done, and of how much if that is known.

    >>> import sluice
    >>> result = sluice.simulate("cxl-ssd", {"device.capacity": "64MiB"},
    ...                          "uniform:size=1MiB,ops=200000", progress=True)
    >>> result.accesses
    200000
    """

    def __init__(self, what: str, draw: Draw) -> None:
        self._what = what
        self._draw = draw
        self._began = time.monotonic()
        self._next = self._began + PATIENCE_S
        self._is_shown = False

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY_S
        self._is_shown = True
        took = now - self._began
        share = min(done / total, 1.0) if total else None
        told = f"{self._what}: {done:,}"
        told += f" of {total:,}" if total else ""
        told += f", {_span(took / share - took)} left" if share else f", {_span(took)}"
        self._draw(told, share, False)

    def end(self, is_whole: bool) -> None:
        """The run has ended, or was stopped."""
        if self._is_shown:
            took = _span(time.monotonic() - self._began)
            how = "done in" if is_whole else "stopped after"
            self._draw(f"{self._what}: {how} {took}", 1.0 if is_whole else None, True)


class Bar:
    """A run with its bar, or with none: ``with Bar(...) as told`` is what to tell."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def __enter__(self) -> Progress | None:
        return self._progress

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._progress:
            self._progress.end(kind is None)


def of(wanted: bool | None, what: str) -> Progress | None:
    """The bar of a run: where it was asked for, and unasked in a notebook."""
    display = _notebook()
    if wanted is False or (wanted is None and display is None):
        return None
    return Progress(what, display() if display else _terminal(sys.stderr))


def _notebook() -> Callable[[], Draw] | None:
    """What makes a bar in the notebook that this runs in."""
    # In a notebook it is imported already.
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None

    def make() -> Draw:
        from IPython.display import HTML, display

        shown: list[Any] = []

        def draw(told: str, share: float | None, _is_end: bool) -> None:
            value = "" if share is None else f" value='{share:.4f}'"
            bar = HTML(f"<progress max='1'{value}></progress> {told}")
            if shown:
                shown[0].update(bar)
            else:
                shown.append(display(bar, display_id=True))

        return draw

    return make


def _terminal(to: TextIO) -> Draw:
    """A line that changes in place, and what is printed next stands below it; nothing in a
    pipe."""
    def draw(told: str, share: float | None, is_end: bool) -> None:
        if not to.isatty():
            return
        full = round(_WIDTH * share) if share is not None else 0
        bar = f"[{'#' * full}{'.' * (_WIDTH - full)}] " if share is not None else ""
        print(f"\r\x1b[K{bar}{told}", end="\n" if is_end else "", file=to, flush=True)

    return draw


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
