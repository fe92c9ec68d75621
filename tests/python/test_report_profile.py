"""The tables of allocations and threads in a report, of runs with ``--profile``."""

from __future__ import annotations

from pathlib import Path

import runs

from sluice.report.folder import load_runs
from sluice.report.profile import ROWS_MAX, site_grid, thread_grid


def site(waited_ns: int, misses: int, by: str) -> dict:
    return {"waited_ns": waited_ns, "misses": misses, "allocations": 1, "bytes": 3 << 20,
            "calls": [], "by": by}


def run(folder: Path, sites: list[dict], threads: list[dict] | None = None) -> list:
    profile = {"from_bytes": 65536, "sites": sites, "threads": threads or [],
               "other_pages": {"misses": 4, "waited_ns": 1_000},
               "other_threads": {"misses": 0, "waited_ns": 0}, "lost_allocations": 0}
    return load_runs([runs.run(folder, profile=profile)])


def test_a_site_has_its_calls_and_its_share(tmp_path: Path) -> None:
    grid = site_grid(run(tmp_path / "a", [
        site(6_000, 2, "build (prog.c:12) < main"), site(3_000, 1, "prog+0x1234")]))
    assert grid is not None
    assert [row.head[1] for row in grid.rows] == [
        "build (prog.c:12) < main", "prog+0x1234", "others, and smaller allocations"]
    assert [row.cells for row in grid.rows] == [
        ["6.00 µs", "60.0 %", "2", "3 MiB"], ["3.00 µs", "30.0 %", "1", "3 MiB"],
        ["1.00 µs", "10.0 %", "4", ""]]


def test_what_is_not_shown_is_among_the_others(tmp_path: Path) -> None:
    sites = [site(1_000, 1, f"f{number}") for number in range(ROWS_MAX + 5)]
    grid = site_grid(run(tmp_path / "a", sites))
    assert grid is not None
    assert len(grid.rows) == ROWS_MAX + 1
    assert grid.rows[-1].cells[2] == "9"


def test_threads_have_their_names(tmp_path: Path) -> None:
    threads = [{"pid": 7, "thread": 8, "name": "reader", "misses": 3, "waited_ns": 1_000}]
    grid = thread_grid(run(tmp_path / "a", [], threads))
    assert grid is not None
    assert [(row.head[1], row.cells) for row in grid.rows] == [
        ("reader (8)", ["1.00 µs", "100.0 %", "3"])]


def test_runs_without_a_profile_have_no_such_tables(tmp_path: Path) -> None:
    plain = load_runs([runs.run(tmp_path / "a")])
    assert site_grid(plain) is None
    assert thread_grid(plain) is None
