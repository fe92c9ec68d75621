"""The tile of waits for a CPU, which is there where they are worth a look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import runs

from sluice.report.content import card
from sluice.report.folder import load_runs


@pytest.mark.parametrize(("waited", "shown"), [(100 * 2_050, []), (100 * 2_100, ["2.10 µs"])])
def test_a_wait_for_a_cpu_is_shown_above_a_twentieth_of_a_miss(
        tmp_path: Path, waited: int, shown: list[str]) -> None:
    latency = {"achieved": {"count": 1_000, "mean": 41_000.0, "p50": 40_904}}
    folder = runs.run(tmp_path / "a", latency_ns=latency)
    stats = json.loads((folder / "stats.json").read_text())
    stats["late"] |= {"run_delays": 100, "run_delay_ns": waited}
    (folder / "stats.json").write_text(json.dumps(stats))
    tiles = card(load_runs([folder])[0], 0, []).tiles
    assert [tile.value for tile in tiles if tile.metric == "run-delay"] == shown
