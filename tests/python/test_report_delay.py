"""The tile of waits for a CPU, which is there where they are worth a look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import runs

from sluice.report.content import card
from sluice.report.folder import load_runs


@pytest.mark.parametrize(("misses", "asked", "mean", "shown"), [
    (1_000, 100, 2_050, []), (1_000, 100, 2_100, ["2.10 µs"]), (1_000, 20, 2_100, ["2.10 µs"]),
    # Of no miss, and of a few that were asked about, one that waits long would be all of it.
    (0, 100, 2_100, []), (1_000, 19, 90_000, [])])
def test_a_wait_for_a_cpu_is_shown_above_a_twentieth_of_a_miss(
        tmp_path: Path, misses: int, asked: int, mean: int, shown: list[str]) -> None:
    latency = {"achieved": {"count": misses, "mean": 41_000.0 if misses else 0.0, "p50": 40_904}}
    folder = runs.run(tmp_path / "a", latency_ns=latency)
    stats = json.loads((folder / "stats.json").read_text())
    stats["late"] |= {"run_delays": asked, "run_delay_ns": asked * mean}
    (folder / "stats.json").write_text(json.dumps(stats))
    tiles = card(load_runs([folder])[0], 0, []).tiles
    assert [tile.value for tile in tiles if tile.metric == "run-delay"] == shown
