"""Does a sweep say what memory costs, and which runs are best for that?"""

from __future__ import annotations

import itertools
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from experiments import Lab

import sluice
from sluice.errors import ExperimentError
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.grid import Grid
from sluice.reproduce.matrix import Run
from sluice.sweep import main
from sluice.sweep.pareto import Pareto, Prices, frontier

GIB = 1 << 30
CONFIGURED = """#!{python}
import json, os, sys
if "--version" in sys.argv:
    print("sluice 0.0.0")
    raise SystemExit
value = dict(zip(sys.argv[1:], sys.argv[2:]))
sets = dict(sys.argv[i + 1].split("=") for i, a in enumerate(sys.argv) if a == "--set")
cache = sets["cache.capacity"]
time_s = float(value["--work"]) / int(cache.removesuffix("GiB"))
config = {{"device.kind": "cxl-ssd", "device.capacity": sets.get("device.capacity", "100GiB"),
          "cache.capacity": cache, "write_log.capacity": "none"}}
told = {{}} if "BARE" in os.environ else {{"config": config}}
print(json.dumps({{"sim_time_s": time_s, **told}}))
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    import sys

    lab = Lab(tmp_path)
    lab.sluice.write_text(CONFIGURED.format(python=sys.executable))
    return lab


CACHES = ["--over", "cache.capacity=1GiB,2GiB,4GiB", "--over", "work=1,2"]


def sweep(lab: Lab, *arguments: str) -> int:
    return main(["--sluice", str(lab.sluice), "--out", str(lab.out), *CACHES, *arguments, "--",
                 "sim"])


def document(lab: Lab) -> dict[str, Any]:
    return json.loads((lab.out / "results.json").read_text())


def test_the_frontier_is_what_no_other_run_beats(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, "--pareto", "cost,time") == 0
    told = document(lab)["pareto"]
    flash = 100 * 0.27
    # Half the work takes half as long in the same cache: of each pair one is left.
    assert [(one["at"]["capacity"], one["at"]["work"]) for one in told["frontier"]] == [
        ("1GiB", "1"), ("2GiB", "1"), ("4GiB", "1")]
    assert [one["x"] for one in told["frontier"]] == pytest.approx(
        [flash + gib * 4.28 for gib in (1, 2, 4)], rel=1e-12)
    assert [one["y"] for one in told["frontier"]] == [1, 0.5, 0.25]
    assert (told["x"], told["y"], told["points"]) == ("cost", "sim_time_s", 6)
    out = capsys.readouterr().out
    assert "3 of 6 points are on the frontier of cost and sim_time_s; a GiB of the device's DRAM" \
        " at 4.28, of host memory at 4.28, of flash at 0.27" in out
    runs = sluice.read_runs(lab.out / "results.parquet")
    assert runs["cost"][0] == told["frontier"][0]["x"]
    page = (lab.out / "index.html").read_text()
    assert page.index("frontier of cost and sim_time_s") < page.index('id="numbers"')
    # A picture of the frontier for each of two widths, one of each measure.
    assert page.count("<svg") == 4


def test_prices_are_parameters_and_move_the_frontier(lab: Lab) -> None:
    assert sweep(lab, "--pareto", "cost,time", "--price-dram", "0", "--price-flash", "1") == 0
    told = document(lab)["pareto"]
    assert told["prices"] == {"dram": 0.0, "host": 4.28, "flash": 1.0}
    # Caches that cost nothing: only the largest is left.
    assert [one["at"] for one in told["frontier"]] == [{"capacity": "4GiB", "work": "1"}]
    assert told["frontier"][0]["x"] == 100


def test_measures_can_be_on_it_and_use_the_cost(lab: Lab) -> None:
    assert sweep(lab, "--measure", "per_second = cost * sim_time_s", "--pareto",
                 "cost,per_second") == 0
    told = document(lab)
    assert told["pareto"]["y"] == "per_second" and list(told["measures"]) == ["per_second", "cost"]
    for run in told["runs"]:
        time = int(run["at"]["work"]) / int(run["at"]["capacity"][0])
        assert run["values"]["per_second"] == pytest.approx(run["values"]["cost"] * time)


def test_repeats_are_one_point(lab: Lab) -> None:
    assert sweep(lab, "--pareto", "cost,time", "--mean", "work") == 0
    told = document(lab)["pareto"]
    assert told["points"] == 3 and told["frontier"][0]["at"] == {"capacity": "1GiB"}
    assert told["frontier"][0]["y"] == 1.5


def test_shards_carry_what_was_asked(lab: Lab, tmp_path: Path) -> None:
    assert sweep(lab, "--pareto", "cost,time") == 0
    whole = (lab.out / "results.parquet").read_bytes()
    parts = [tmp_path / f"part{one}" for one in (1, 2)]
    for number, folder in enumerate(parts, start=1):
        assert sweep(lab, "--pareto", "cost,time", "--out", str(folder), "--shard",
                     f"{number}/2") == 0
    merged = tmp_path / "merged"
    assert main(["--out", str(merged), "--merge", *map(str, parts)]) == 0
    assert (merged / "results.parquet").read_bytes() == whole


def test_long_labels_leave_the_picture_its_room(lab: Lab) -> None:
    """The path of a trace beside a point left the axes no room at all."""
    with warnings.catch_warnings():
        # Matplotlib only warns of it.
        warnings.simplefilter("error", UserWarning)
        assert sweep(lab, "--pareto", "cost,time", "--over", "note=" + "long/" * 40) == 0


@pytest.mark.parametrize(("arguments", "said"), [
    (["--pareto", "cost"], "bad --pareto 'cost'; it is two measures, such as cost,time"),
    (["--pareto", "cost,cost"], "bad --pareto 'cost,cost'"),
    (["--pareto", "cost,latency"], "no number 'latency' in the output"),
    (["--price-dram", "3"], "--price-dram: only with --pareto cost,MEASURE"),
    (["--measure", "t = sim_time_s", "--pareto", "t,time", "--price-host", "3"],
     "--price-host: --pareto t,time has no cost"),
])
def test_bad_input_is_told(lab: Lab, capsys: pytest.CaptureFixture[str], arguments: list[str],
                           said: str) -> None:
    assert sweep(lab, *arguments) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (lab.out / "results.json").exists()


def test_a_price_is_a_number(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    for price in ("-1", "nan", "much"):
        with pytest.raises(SystemExit):
            sweep(lab, "--pareto", "cost,time", f"--price-dram={price}")
        assert "--price-dram" in capsys.readouterr().err


def test_an_output_without_settings_has_no_cost(
        lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARE", "1")
    assert sweep(lab, "--pareto", "cost,time") == 2
    assert "--pareto cost: the output has no config with device.capacity" in \
        capsys.readouterr().err


def test_costs_are_those_of_the_memory_that_a_system_has() -> None:
    prices = Prices()
    full = sluice.resolve_system("skybyte-full", {"device.capacity": "128GiB"})
    dram = sluice.resolve_system("dram-only", {"device.capacity": "128GiB"})
    # SkyByte VI-B: 15.9 times, of $4.28 and $0.27 a GB: flash alone against DRAM.
    free = Prices(dram=0, host=0)
    assert prices.of(dram) / free.of(full) == pytest.approx(15.9, abs=0.06)
    # With a cache and a log of 512 MiB in the device, and 2 GiB of host memory for its pages.
    assert full["migration.capacity"] == "2GiB"
    device = sum(_size(full[key]) for key in ("cache.capacity", "write_log.capacity"))
    assert prices.of(full) == pytest.approx(128 * 0.27 + (device / GIB + 2) * 4.28)
    # docs/sweeps.md says so.
    assert prices.of(dram) / prices.of(full) == pytest.approx(12.0, abs=0.05)
    assert prices.of(sluice.resolve("cxl-dram")) == pytest.approx(256 * 4.28)
    half = sluice.resolve("cxl-ssd", {"device.capacity": "64GiB", "cache.capacity": "50%"})
    assert prices.of(half) == pytest.approx(64 * 0.27 + 32 * 4.28)
    third = sluice.resolve("cxl-ssd", {"device.capacity": "48GiB", "cache.capacity": "1/3"})
    assert third["cache.capacity"] == "1/3"
    assert prices.of(third) == pytest.approx(48 * 0.27 + 16 * 4.28)
    with pytest.raises(ExperimentError, match="'many' is no size"):
        prices.of(half | {"cache.capacity": "many"})


def _size(text: str) -> int:
    return int(text.removesuffix("MiB")) << 20 if text.endswith("MiB") else \
        int(text.removesuffix("GiB")) << 30


def test_random_points_against_a_search_of_all_pairs() -> None:
    stream = random.Random(3)
    for _ in range(200):
        count = stream.randint(1, 12)
        cells = [(str(number),) for number in range(count)]
        grids = {name: Grid({"n": tuple(cell[0] for cell in cells)},
                            {cell: float(stream.randint(0, 6)) for cell in cells})
                 for name in ("a", "b")}
        best = frontier(Pareto("a", "b"), _evaluated(cells, grids), None).best

        def beats(one: tuple[str], other: tuple[str], grids: dict[str, Grid] = grids) -> bool:
            pairs = [(grids[name].cells[one], grids[name].cells[other]) for name in ("a", "b")]
            return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)

        beaten = {other for one, other in itertools.permutations(cells, 2) if beats(one, other)}
        assert {point.cell for point in best} == set(cells) - beaten


def _evaluated(cells: list[tuple[str]], grids: dict[str, Grid]) -> Evaluated:
    from sluice.sweep.plan import plan

    over = f"n={','.join(cell[0] for cell in cells)}"
    experiment = plan([over], ["a", "b"], ["sim"]).experiment
    return Evaluated(experiment, grids, tuple(Run(cell, cell) for cell in cells))
