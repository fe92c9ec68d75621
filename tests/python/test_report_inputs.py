"""Odd but readable run folders: programs that are not ours, names that are no text, odd numbers.
And what becomes of a page that cannot be written."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import runs

from sluice import report
from sluice.report import main, svg
from sluice.report.charts import Series, charts
from sluice.report.content import answer, card, program_grid
from sluice.report.folder import load_runs
from sluice.results import SCHEMAS


def page(*folders: Path) -> str:
    output = folders[0].parent / "page.html"
    assert main([*map(str, folders), "-o", str(output)]) == 0
    return output.read_text()


def total(folder: Path, document: dict) -> list[str]:
    """Number and mean of all passes."""
    (folder / "program.json").write_text(json.dumps(document))
    grid = program_grid(load_runs([folder]))
    assert grid is not None and grid.rows[-1].head[-1] == "all"
    return grid.rows[-1].cells[:2]


@pytest.mark.parametrize("kind", typing.get_args(SCHEMAS["workload"]))
def test_a_program_that_timed_whole_passes_has_its_total(tmp_path: Path, kind: type) -> None:
    folder = runs.run(tmp_path / "a")
    passes = [{"pass": n, "accesses": 1000 * n, "wall_s": 1.0, "ns_per_access": 100.0 * n,
               "histogram": []} for n in (1, 2)]
    document = runs.whole(kind, {
        "schema": "sluice.workload/1", "workload": kind.__name__.removeprefix("Workload").lower(),
        "passes": passes, "latency_ns": None, "histogram": []})
    # 1,000 accesses of 100 ns and 2,000 of 200 ns.
    assert total(folder, document) == ["3,000", "167 ns"]
    passes[0] = {"pass": 1, "phase": "build"}
    assert total(folder, {"schema": "sluice.workload/1", "workload": "other",
                          "passes": passes}) == ["–", "–"]


def test_a_foreign_program_needs_no_passes(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    document = {"schema": "sluice.workload/1", "workload": "other", "histogram": [[100, 3]]}
    assert total(folder, document) == ["–", "–"]
    assert "other: under 1 µs" in page(folder)


def test_the_picture_of_hits_agrees_with_the_sampled_ratio(tmp_path: Path) -> None:
    """Inactive pages are no samples; their uses are counted one by one."""
    folder = runs.run(tmp_path / "a")
    # In 10 s: 100 samples with windows of 50 ms, half of them used, of 40 mapped pages each; 1,000
    # inactive pages used, and 2,000 missed.
    (folder / "timeline.csv").write_text(
        "t_s,traps,misses,soft,sampled_pages,sampled_touched,sampled_window_ns,sampled_mapped,"
        "reactivated\n0,0,0,0,0,0,0,0,0\n10,3000,2000,0,100,50,5000000000,4000,1000\n")
    windows = 10 / 0.05
    used = 0.5 * 40 + 1000 / windows
    made = {chart.slug: chart for chart in charts(load_runs([folder]))}
    drawn = made["hit-ratio"].series[0].ys
    assert np.allclose(drawn, used / (used + 2000 / windows))


@pytest.mark.parametrize("later", ["", "1.0,100,75,25\n"])
def test_what_came_before_the_first_sample_is_drawn(tmp_path: Path, later: str) -> None:
    """A run of a tenth of a second had no figure, and a longer one began behind its start."""
    folder = runs.run(tmp_path / "a")
    (folder / "timeline.csv").write_text(f"t_s,traps,misses,soft\n0.5,100,75,25\n{later}")
    drawn = {chart.slug: chart for chart in charts(load_runs([folder]))}["trap-rate"].series[0]
    assert drawn.xs[0] == 0 and drawn.ys[0] == 200
    assert float((np.diff(drawn.xs) * drawn.ys[:-1]).sum()) == pytest.approx(100)


@pytest.mark.parametrize(("misses", "late", "told", "state"), [
    (100, 0.2, "host too slow for this device", "bad"), (100, 0.01, "in time for this", "good"),
    (99, 0.2, "too few to judge the host", "")])
def test_of_few_misses_no_host_is_judged(
        tmp_path: Path, misses: int, late: float, told: str, state: str) -> None:
    """One late miss of five was the host's fault, of which the run itself had not warned."""
    waits = {"count": misses, "mean": 41_000.0, "p50": 40_904}
    folder = runs.run(tmp_path / "a", late=late,
                      latency_ns={"achieved": waits, "modelled": waits})
    [run] = load_runs([folder])
    [tile] = [tile for tile in card(run, 0, []).tiles if tile.metric == "late"]
    assert told in tile.detail[1] and tile.state == state
    assert ("the host was too slow" in answer(run)) is (state == "bad")


def test_runs_of_one_colour_differ_in_their_points(tmp_path: Path) -> None:
    text = page(*[runs.run(tmp_path / f"run{index}") for index in range(svg.PALETTE + 1)])
    keys = dict(re.findall(r"<li>(<svg class=\"key\".*?</svg>)run([0-9])</li>", text, re.DOTALL))
    forms = {run: form for form, run in keys.items()}
    assert len(forms) == svg.PALETTE + 1
    assert 'var(--c0)"' in forms["0"] and 'var(--c0)"' in forms["8"]
    chart = {chart.slug: chart for chart in charts(load_runs([tmp_path / "run0"]))}["trap-rate"]

    def drawn(colour: int) -> str:
        chart.series[:] = [Series("one", colour, np.arange(9.0), np.arange(9.0))]
        return svg.draw(chart, svg.SHAPES[0])

    assert drawn(8) != drawn(0) and drawn(16) != drawn(8)


def test_names_need_not_be_text(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
                                ) -> None:
    folder = runs.run(tmp_path / "a").rename(os.fsdecode(bytes(tmp_path) + b"/a\xff"))
    assert main([str(folder), "--title", "t\udcff"]) == 0
    assert capsysbinary.readouterr().out == bytes(folder) + b"/report.html\n"
    assert "<title>t?</title>" in (folder / "report.html").read_text()


def test_histograms_may_count_nothing_or_ages(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "a")
    runs.program(folder, histogram=[[100, 0]])
    (folder / "latency.csv").write_text(
        "latency_ns,modelled,achieved\n40000,5,5\n5000000000000,1,1\n1e29,0,1\n")
    (folder / "heat.csv").write_text("from_s,to_s,first_page,pages,misses\n0,0.5,128,128,0\n")
    assert "heat-0" not in page(folder)


@pytest.mark.parametrize(("heat", "said"), [
    ("0,0.5,1e25,64,1", "heat.csv: a first_page is beyond 4503599627370496, which no device has"),
    ("0,0.5," + "1" * 200_000 + ",64,1", "heat.csv is no table of numbers: field larger than"),
])
def test_what_no_picture_can_hold_is_one_clear_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], heat: str, said: str) -> None:
    folder = runs.run(tmp_path / "a")
    (folder / "heat.csv").write_text(f"from_s,to_s,first_page,pages,misses\n{heat}\n")
    assert main([str(folder)]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_a_full_disk_leaves_the_page_that_was_there(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs.run(tmp_path / "run")
    page = folder / "report.html"
    page.write_bytes(last := report.PAGE_MARK + b"the last one")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        assert main([str(folder)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert capsys.readouterr().err == (f"sluice report: {page}: File too large; "
                                       "expected a file that can be written\n")
    assert page.read_bytes() == last and not list(folder.glob(".report*"))


def test_a_full_output_is_one_line(tmp_path: Path) -> None:
    folder = runs.run(tmp_path / "run")
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "sluice.report", folder], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    said = f"sluice report: standard output: No space left on device; the page is {folder}/"
    assert done.returncode == 2 and done.stderr == f"{said}report.html\n"


def test_ctrl_c_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                            monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "_page", interrupted)
    assert main([str(tmp_path)]) == 130
    assert capsys.readouterr().err == "\nsluice report: interrupted; nothing was written\n"


def test_the_lines_of_a_command_are_below_each_other(tmp_path: Path) -> None:
    """Words with a line break between them lay on each other, amid the others."""
    folder = runs.run(tmp_path / "run", command=["python3", "-c", "import random\nx = 1"])
    assert "<span>random</span>\n<span>x</span>" in page(folder)
