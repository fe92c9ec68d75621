"""Does a claim match when what was measured is damaged?"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiments import EXPERIMENT, Lab

from sluice.errors import ExperimentError
from sluice.reproduce.claims import DIFFERS, MATCH, Claim, Judged
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid
from sluice.reproduce.judge import judge
from sluice.reproduce.tolerance import Tolerance
from sluice.sweep import main as sweep

KINDS: dict[str, dict[str, Any]] = {
    "value": {"published": Formula("4")}, "ratio": {"published": Formula("4")},
    "order": {"order": ((",", "b"), (",", "a"))}, "trend": {"trend": "rises"},
    "range": {"low": Formula("0.5")},
    "contradiction": {"low": Formula("100"), "holds": Formula("1 < 2")},
}


def judged(kind: str, cells: dict[tuple[str, ...], Any], ours: str = "m") -> Judged:
    claim = Claim("claims[1]", kind, "says", "place", "", "", "why", Tolerance.read("10 %"),
                  ours=Formula(ours), axis="x")
    grid = Grid({"x": ("a", "b"), "w": ("p", "q")}, cells)
    return judge(replace(claim, **KINDS[kind]), {"m": grid})


def four(last: Any) -> dict[tuple[str, ...], Any]:
    return {("a", "p"): 1.0, ("a", "q"): 2.0, ("b", "p"): 4.0, ("b", "q"): last}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", ["text", "4", [4], {"p50": 4}, True])
def test_what_is_no_number_is_refused(kind: str, odd: Any) -> None:
    with pytest.raises(ExperimentError, match="a number was needed, not "):
        judged(kind, four(odd))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [math.inf, -math.inf])
def test_what_is_endless_is_no_number(kind: str, odd: float) -> None:
    assert judged(kind, four(odd)).outcome == DIFFERS


def test_what_is_endless_is_none_in_a_sweep_s_means(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    text = lab.sluice.read_text()
    lab.sluice.write_text(text.replace('{"time_s": time_s',
                                       '{"time_s": time_s if time_s < 4 else 1e999'))
    command = ["--sluice", str(lab.sluice), "--out", str(lab.out), "--over", "load=1us,2us,4us",
               "--mean", "load", "--measure", "time_s", "--measure", "more = time_s * 1e308 * 9"]
    assert sweep([*command, "--", "sim", "--work", "1"]) == 0
    [row] = json.loads((lab.out / "results.json").read_text())["means"]["rows"]
    assert (row["values"]["time_s"]["n"], row["values"]["more"]["n"]) == (2, 0)


@pytest.mark.parametrize("kind", ["order", "trend"])
def test_a_line_that_a_condition_empties_does_not_pass(kind: str) -> None:
    assert judged(kind, four(8.0), "where(m, m > 0)").outcome == MATCH
    gone = {**four(0.0), ("a", "q"): 0.0}
    assert judged(kind, gone, "where(m, m > 0)").outcome == DIFFERS


@pytest.mark.parametrize("time_s", ['"7"', "[time_s]", '{"p50": time_s}'])
def test_a_program_that_prints_no_number_is_refused_in_one_line(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], time_s: str) -> None:
    lab = Lab(tmp_path, EXPERIMENT.replace(
        "at(time, system='slow') / at(time, system='fast')", "at(time, system='fast')"))
    text = lab.sluice.read_text()
    assert '{"time_s": time_s' in text
    lab.sluice.write_text(text.replace('{"time_s": time_s', f'{{"time_s": {time_s}'))
    assert lab.run() == 1
    told = capsys.readouterr().err
    # The place is a claim's, and not one of a derived quantity.
    assert "experiment.toml: claims[1]: 'speedup': a number was needed, not " in told
    assert told.count("\n") == 1


def test_labels_have_no_logarithm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(tmp_path, EXPERIMENT.replace('kind = "bars"', 'kind = "bars"\nlog_x = true'))
    assert lab.run() == 2
    assert "figures[1].log_x: no such key" in capsys.readouterr().err
    lab.write(EXPERIMENT.replace('kind = "bars"', 'kind = "lines"\nlog_x = true'))
    assert lab.run() == 0


def test_an_axis_and_a_metric_of_one_name_are_refused(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(tmp_path, EXPERIMENT.replace("[metrics]", '[metrics]\nload = "/time_s"'))
    assert lab.run() == 2
    # Two columns of one name are a file of Parquet that nobody can read.
    assert "metrics.load: an axis has that name" in capsys.readouterr().err
    assert not lab.calls()


def test_results_of_an_experiment_that_has_changed_are_left_out(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(tmp_path)
    home = lab.root / "test"
    for name in ("fig2", "fig3"):
        shutil.copytree(home / "fig1", home / name)
    assert lab.run() == 0
    capsys.readouterr()
    assert lab.run("test/fig1") == 0
    assert capsys.readouterr().err == "" and listed(lab) == ["test/fig1", "test/fig2", "test/fig3"]
    # With another tolerance the second has another verdict, and the third is nobody's any more.
    changed = home / "fig2" / "experiment.toml"
    changed.write_text(changed.read_text().replace('tolerance = "5 %"', 'tolerance = "0.1 %"', 1))
    shutil.rmtree(home / "fig3")
    assert lab.run("test/fig1") == 0
    assert "changed since, or are gone: test/fig2, test/fig3" in capsys.readouterr().err
    assert listed(lab) == ["test/fig1"]
    assert lab.run("test/fig2") == 0
    assert listed(lab) == ["test/fig1", "test/fig2"]
    # Published numbers are a part of the experiment.
    (home / "fig1" / "published.csv").write_text("load,speedup\n1us,9\n")
    assert lab.run("test/fig2") == 0
    assert listed(lab) == ["test/fig2"]


def listed(lab: Lab) -> list[str]:
    told = json.loads((lab.out / "results.json").read_text())
    return [one["experiment"] for one in told["results"]]
