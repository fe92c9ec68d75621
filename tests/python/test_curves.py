"""The page of `sluice curve`."""

import json
from pathlib import Path

import runs

from sluice.report import write_report
from sluice.results import SCHEMAS


def _load(pace: float, rate: float, latency: float | None) -> dict[str, object]:
    chase = None if latency is None else {"p50": latency, "p99": 2 * latency}
    return {"pace_ns": pace, "bytes_per_s": rate, "misses": None, "chase_latency_ns": chase}


def _folder(at: Path, **changed: object) -> Path:
    curve: dict[str, object] = {
        "schema": "sluice.curve/1", "on": "simulated", "device": "cmm-h",
        "traffic": {"threads": 8}, "knee": 1,
        "loads": [_load(1000, 0.5e9, 600), _load(100, 5e9, 620), _load(0, 24.7e9, 9000)],
    }
    at.mkdir()
    made = runs.whole(SCHEMAS["curve"], curve | changed)
    (at / "stats.json").write_text(json.dumps(made), encoding="utf-8")
    return at


def test_the_knee_is_told_and_all_curves_are_in_one_picture(tmp_path: Path) -> None:
    one = _folder(tmp_path / "device")
    other = _folder(tmp_path / "memory", on="host", device=None)
    host = _folder(tmp_path / "system", on="system", device="base-cssd")
    node = _folder(tmp_path / "node", on="host", device=None,
                   traffic={"threads": 1, "numa_node": 1})
    page = tmp_path / "report.html"
    write_report([one, other, host, node], page)
    text = page.read_text(encoding="utf-8")
    assert "base-cssd, a simulated host: 8 threads" in text
    assert "this host&#39;s memory, of node 1: 1 thread<" in text
    assert "The knee is at 5 GB/s, where a load takes 620 ns." in text
    assert "cmm-h, simulated: 8 threads" in text and "this host&#39;s memory: 8 threads" in text
    assert text.count("<h2>Latency by bandwidth</h2>") == 1
    for label in ("device", "memory", "system", "node"):
        assert f"<h2>{label}</h2>" in text


def test_a_curve_without_dependent_loads_has_no_knee(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "plain", knee=None, loads=[_load(0, 1e9, None)])
    page = tmp_path / "report.html"
    write_report([folder], page)
    assert "there is no knee" in page.read_text(encoding="utf-8")


def test_names_of_folders_are_no_formulas(tmp_path: Path) -> None:
    names = [r"a$\foo$", "_base", "x$1"]
    page = tmp_path / "report.html"
    write_report([_folder(tmp_path / name) for name in names], page)
    text = page.read_text(encoding="utf-8")
    drawn = text[text.index("<svg"):text.rindex("</svg>")]
    for name in names:
        assert drawn.count(f">{name}</text>") == 2, "each for two widths"


def test_a_knee_is_a_load_even_among_those_without_latencies(tmp_path: Path) -> None:
    loads = [_load(1000, 1e9, None), _load(100, 5e9, 620), _load(0, 24.7e9, 9000)]
    large = 'class="wide"'
    drawn = {}
    for knee in (1, 2, 0, 7, None):
        folder = _folder(tmp_path / f"knee{knee}", knee=knee, loads=loads)
        write_report([folder], tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        drawn[knee] = text[text.index(large):text.index("</svg>")]
        said = {1: "The knee is at 5 GB/s, where a load takes 620 ns.",
                2: "The knee is at 24.7 GB/s, where a load takes 9000 ns."}
        assert said.get(knee, "there is no knee") in text
    plain = drawn[None].count("<use ")
    assert [drawn[knee].count("<use ") - plain for knee in (1, 2, 0, 7)] == [1, 1, 0, 0]
    assert drawn[1] != drawn[2]
