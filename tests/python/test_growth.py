"""``scripts/growth``: the fit of series that are made up, and a row of small size.

scripts/growth/__main__.py runs what scripts/growth/series.py lists, each command under
scripts/growth/took.py. scripts/growth/fit.py finds exponents, scripts/growth/page.py writes, and
scripts/growth/kept.py keeps the points.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "growth"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SLUICE = TARGET / "release" / "sluice"
WORK = [step * 10**decade for decade in range(3) for step in (1, 2, 5)] + [1000]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT)
    import page

    return page


def measured(page: ModuleType, seconds: list[float]) -> Any:
    series = page.Series("made up", "things", tuple(WORK), "sluice", lambda *_: [])
    points = [page.Point(work, second, 8_000.0) for work, second in zip(WORK, seconds, strict=True)]
    return page.Measured(series, points)


def test_a_quadratic_series_is_found(page: ModuleType) -> None:
    one = measured(page, [0.003 + 1e-6 * work**2 for work in WORK])
    assert one.time().slope == pytest.approx(2, abs=0.02)
    assert [line.split(" ±")[0] for line in one.above()] == [
        "made up: time grows by the power 1.99"]


def test_a_line_has_one_whatever_its_start(page: ModuleType) -> None:
    for start in (0.001, 0.1):
        one = measured(page, [start + 1e-3 * work for work in WORK])
        assert one.time().slope == pytest.approx(1, abs=1e-9)
        assert one.above() == []


def test_a_quadratic_part_that_shows_late_is_found(page: ModuleType) -> None:
    one = measured(page, [0.01 + 1e-4 * work + 1e-6 * work**2 for work in WORK])
    assert one.time().slope > 1.5


def test_what_does_not_double_is_in_brackets(page: ModuleType) -> None:
    one = measured(page, [0.01 * (1.1 if work % 3 else 1) for work in WORK])
    assert abs(one.time().slope) < 0.05
    assert page.shown(one.time()).startswith("(")


def test_the_interval_holds_what_the_points_scatter(page: ModuleType) -> None:
    """An alternation of 10 % up and down, against the formula of the standard error."""
    seconds = [1e-3 * work * (1.1 if at % 2 else 0.9) for at, work in enumerate(WORK)]
    one = measured(page, seconds).time()
    assert abs(one.slope - 1) < one.half < 0.5


def test_a_row_of_small_size(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, SLUICE, "--only", "nodes", "--values", "5", "--out",
         tmp_path / "growth"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line for line in (tmp_path / "growth.md").read_text().splitlines()
            if line.startswith("| nodes, fully connected | 4 | 64 nodes |")]
    assert len(rows) == 1
    assert (tmp_path / "growth.svg").read_text().count("nodes, fully connected") >= 1
    follows_the_scheme(tmp_path / "growth.svg")


def follows_the_scheme(picture: Path) -> None:
    """All of it, or white paper stays in the dark."""
    text = picture.read_text()
    assert text.count("prefers-color-scheme: dark") == 1, picture
    drawn = re.sub(r"<style>.*?</style>", "", text, count=1, flags=re.DOTALL)
    assert "var(--paper)" in drawn and "#ffffff" not in drawn and "#000000" not in drawn, picture


@pytest.mark.parametrize("name", ["growth", "fabric-cost", "pictures/tutorial-misses"])
def test_pictures_of_pages_follow_the_scheme(name: str) -> None:
    follows_the_scheme(SCRIPT.parents[1] / "docs" / f"{name}.svg")


def test_an_unknown_series_is_refused() -> None:
    done = subprocess.run([sys.executable, SCRIPT, SLUICE, "--only", "nots"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "no series begins with nots; there are accesses that hit" in done.stderr


def test_kept_points_take_the_place_of_what_is_not_measured(
        page: ModuleType, tmp_path: Path) -> None:
    import kept
    old, other = measured(page, [1.0] * len(WORK)), measured(page, [3.0] * len(WORK))
    new = measured(page, [2.0] * len(WORK))
    known = [old.series, page.Series("other", "things", tuple(WORK), "sluice", lambda *_: [])]
    other = page.Measured(known[1], other.points)
    bound = page.Bound("what", "1 s", True, "sluice")
    kept.write(tmp_path / "points.json", [old, other], [bound])
    read, bounds = kept.read(tmp_path / "points.json", known)
    assert bounds == [bound]
    assert [one.points for one in read] == [old.points, other.points]
    merged = kept.merged([new], read, known)
    assert [one.points[0].seconds for one in merged] == [2.0, 3.0]
    assert kept.read(tmp_path / "none.json", known) == ([], [])
