"""Which allocations and which threads waited for pages, of runs with ``--profile``."""

from __future__ import annotations

from collections.abc import Callable

from sluice.report import units
from sluice.report.content import Grid, Row
from sluice.report.folder import Run, Table

ROWS_MAX = 20


def site_grid(runs: list[Run]) -> Grid | None:
    """The places in the program whose memory was waited for, a row for each."""
    rows = [row for run in runs if run.stats.mapping("profile")
            for row in _rows(run, "sites", "other_pages", _site_cells)]
    if not rows:
        return None
    return Grid("sites", "Who allocated what was waited for", "Each row is a place in the program"
                " that allocates device memory, with the functions that led to it. The share is"
                " of all time that threads waited for pages.", ["run", "allocated by"],
                ["waited", "share", "misses", "allocated"], rows)


def thread_grid(runs: list[Run]) -> Grid | None:
    """The threads that waited for pages, a row for each."""
    rows = [row for run in runs if run.stats.mapping("profile")
            for row in _rows(run, "threads", "other_threads", _thread_cells)]
    if not rows:
        return None
    return Grid("threads", "Which threads waited", "", ["run", "thread"],
                ["waited", "share", "misses"], rows)


def _rows(run: Run, listed: str, others: str, cells_of: Callable[[Table, float], list[str]],
          ) -> list[Row]:
    every = run.stats.tables("profile", listed)
    shown = [one for one in every if one.number("misses")][:ROWS_MAX]
    total = _sum(run, every, others, "waited_ns")
    rows = [Row(listed, [run.label, _name(one, listed)], cells_of(one, total)) for one in shown]
    left = {name: _sum(run, every, others, name) - sum(one.number(name) or 0 for one in shown)
            for name in ("misses", "waited_ns")}
    if left["misses"]:
        cells = [*_waited(left["waited_ns"], total), units.count(left["misses"])]
        name = "others" if listed == "threads" else "others, and smaller allocations"
        rows.append(Row(listed, [run.label, name],
                        cells if listed == "threads" else [*cells, ""]))
    return rows


def _sum(run: Run, every: list[Table], others: str, name: str) -> float:
    return (sum(one.number(name) or 0 for one in every)
            + (run.stats.number("profile", others, name) or 0))


def _site_cells(site: Table, total: float) -> list[str]:
    return [*_thread_cells(site, total), units.size(site.number("bytes") or 0)]


def _thread_cells(one: Table, total: float) -> list[str]:
    return [*_waited(one.number("waited_ns") or 0, total), units.count(one.number("misses"))]


def _waited(ns: float, total: float) -> list[str]:
    return [units.duration(ns), units.percent(ns / total if total else None)]


def _name(one: Table, listed: str) -> str:
    if listed == "threads":
        return f"{one.text('name')} ({one.number('thread') or 0:.0f})"
    return one.text("by") or units.ABSENT
