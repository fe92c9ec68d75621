"""The page of measurements: verdicts are computed, and the last run of a figure counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import measurements  # noqa: E402


def figure(median: str = "", low: str = "", high: str = "", goal: str = "", run: str = "1",
           name: str = "hits") -> measurements.Row:
    return {"run": run, "figure": name, "series": "", "median": median, "low": low, "high": high,
            "unit": "×", "goal": goal, "promise": "4"}


@pytest.mark.parametrize(("row", "verdict"), [
    (figure("1.02", "0.9", "1.1", "<= 1.02"), "yes"),
    (figure("1.03", "0.9", "1.1", "<= 1.02"), "**no**"),
    (figure("20", goal=">= 20"), "yes"),
    (figure("-2.1", goal="-2 to 2"), "**no**"),
    (figure(low="7", high="30", goal="-10 to 10"), "in part"),
    (figure(low="18", high="53", goal="-10 to 10"), "**no**"),
    (figure(low="1", high="2", goal="-10 to 10"), "yes"),
    (figure("5"), ""),
])
def test_a_verdict_follows_from_median_and_goal(row: measurements.Row, verdict: str) -> None:
    assert measurements.verdict(row) == verdict


def test_a_goal_that_is_none_is_named() -> None:
    with pytest.raises(SystemExit, match="'about 3' is no goal"):
        measurements.holds(3, "about 3")


def test_a_later_run_takes_the_place_of_an_earlier_one() -> None:
    runs = [{"run": run, "group": "Live: hits", "command": "bench", "host": "a", "rounds": "7",
             "date": f"2026-11-0{run}"} for run in ("1", "2")]
    rows = [figure("1.00", run="1"), figure("3", run="1", name="old"), figure("1.50", run="2")]
    text = measurements.page(runs, rows)
    assert "1.50 ×" in text and "1.00 ×" not in text and "| old | 3 × |" in text


def test_a_figure_is_added_with_its_median_and_range(tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    for name, keys in (("runs.csv", measurements.RUNS), ("figures.csv", measurements.FIGURES)):
        (tmp_path / name).write_text(",".join(keys) + "\n")
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)
    for name in ("a, b", "c"):
        measurements.add("Group", name, [3.0, 1.0, 2.0], command="bench", goal="<= 2")
    runs = measurements.read("runs.csv", measurements.RUNS)
    rows = measurements.read("figures.csv", measurements.FIGURES)
    assert len(runs) == 1 and runs[0]["rounds"] == "3"
    assert [(row["figure"], row["median"], row["low"], row["high"]) for row in rows] == [
        ("a, b", "2", "1", "3"), ("c", "2", "1", "3")]
    assert [measurements.verdict(row) for row in rows] == ["yes", "yes"]
