"""Does a long simulation say how far it is, and a short one nothing?"""

from __future__ import annotations

import io
import sys
import types

import pytest

import sluice
from sluice import progress

SMALL = {"device.capacity": "64MiB", "cache.capacity": "1MiB"}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every run were a long one, on a machine that takes no time for it."""
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: 0.0))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=terminal, modules={}))
    return terminal


def test_a_terminal_has_a_bar_that_ends_whole(at_once: None, terminal: Terminal) -> None:
    sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=300000", progress=True)
    lines = terminal.getvalue().split("\r\x1b[K")[1:]
    # Progress is printed after each 65,536 accesses.
    assert lines[0].startswith("[#######....") and "accesses: 65,536 of 300,000, " in lines[0]
    assert len(lines) == 5 and lines[-1] == f"[{'#' * 30}] accesses: done in 0 s\n"


def test_what_follows_the_last_access_is_no_more_of_them(
        at_once: None, terminal: Terminal) -> None:
    """The optimum is computed behind them, and asks whether to stop as they do."""
    sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=131072", bound=True, progress=True)
    lines = terminal.getvalue().split("\r\x1b[K")
    assert len([line for line in lines if "131,072 of 131,072, 0 s left" in line]) > 1
    # The line that is full is not the last one.
    assert terminal.getvalue().count("\n") == 1
    assert "196,608" not in terminal.getvalue()


def test_systems_and_fabrics_tell_theirs(at_once: None, terminal: Terminal) -> None:
    sluice.simulate_fabric("esf", warmup=1_000, requests=200_000, progress=True)
    assert "requests: " in terminal.getvalue() and " of 201,000, " in terminal.getvalue()
    sluice.simulate_system("skybyte-full", "srad", scale=512, warmup=0, instructions=3_000_000,
                           progress=True)
    assert " of 3,000,000, " in terminal.getvalue()
    sluice.Device("cylon", SMALL).access([0] * 70_000, progress=True)
    assert "accesses: 65,536 of 70,000" in terminal.getvalue()


def test_what_is_short_or_unasked_has_none(terminal: Terminal) -> None:
    sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=100000", progress=True)
    progress.PATIENCE_S, before = 0.0, progress.PATIENCE_S
    try:
        sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=100000")
    finally:
        progress.PATIENCE_S = before
    assert terminal.getvalue() == ""


def test_a_run_that_is_stopped_says_so(at_once: None, terminal: Terminal) -> None:
    class Stops(sluice.Policy):
        def __init__(self, space: sluice.PolicySpace) -> None:
            self.left = 70_000

        def insert(self, set_: int, slot: int, lpn: int) -> None:
            pass

        def hit(self, set_: int, slot: int) -> None:
            self.left -= 1
            if not self.left:
                raise KeyError("stop")

        def victim(self, set_: int, evictable: object) -> None:
            return None

        def remove(self, set_: int, slot: int) -> None:
            pass

    with pytest.raises(KeyError):
        sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=300000", policy=Stops, progress=True)
    # What is printed next, such as a traceback, stands below it.
    assert terminal.getvalue().endswith("accesses: stopped after 0 s\n")


def test_a_notebook_has_a_bar_unasked(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, bar: str) -> None:
            shown.append(bar)

    def display(bar: str, display_id: bool) -> Handle:
        shown.append(bar)
        return Handle()

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    displays = types.ModuleType("IPython.display")
    displays.HTML, displays.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=131072")
    assert shown == [
        "<progress max='1' value='0.5000'></progress> accesses: 65,536 of 131,072, 0 s left",
        "<progress max='1' value='1.0000'></progress> accesses: 131,072 of 131,072, 0 s left",
        "<progress max='1' value='1.0000'></progress> accesses: done in 0 s"]
    shown.clear()
    sluice.simulate("cylon", SMALL, "uniform:size=1MiB,ops=131072", progress=False)
    assert shown == []


def test_how_many_accesses_there_will_be_is_known() -> None:
    for pattern in ("chase:size=1MiB,passes=3", "chase:size=1MiB,passes=2,write=1,threads=2",
                    "stream:size=1MiB,passes=5,threads=3", "zipf:size=1MiB,ops=1234,threads=2"):
        totals: set[int | None] = set()
        told = sluice._core.simulate("cylon", SMALL, pattern,
                                     progress=lambda done, total, to=totals: to.add(total))
        assert told["accesses"] < 65_536 or totals == {told["accesses"]}, pattern
