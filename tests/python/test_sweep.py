"""Does a sweep run every combination once, measure what was asked for, and lose nothing?"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from experiments import Lab

from sluice.sweep import main

LOADS = ["--over", "load=1us,2us,4us"]
SPEEDS = ["--over", "device.speed=1,4"]
COMMAND = ["--", "sim", "--work", "100"]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def sweep(lab: Lab, *arguments: str) -> int:
    return main(["--sluice", str(lab.sluice), "--out", str(lab.out), *arguments])


def numbers(lab: Lab) -> list[list[str]]:
    with (lab.out / "results.csv").open() as file:
        return list(csv.reader(file))


def document(lab: Lab) -> dict[str, Any]:
    return json.loads((lab.out / "results.json").read_text())


def test_every_combination_runs_once(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, *SPEEDS, *COMMAND) == 0
    expected = [[load, speed, str(int(load[0]) * 100 / int(speed))]
                for load in ("1us", "2us", "4us") for speed in ("1", "4")]
    assert numbers(lab) == [["load", "device.speed", "time_s"], *expected]
    assert sorted(lab.calls()) == sorted(
        f"sim --work 100 --load {load} --set device.speed={speed} --json"
        for load, speed, _ in expected)
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["load", "device.speed", "time_s"]
    assert table[6].split() == ["4us", "4", "100"]
    page = (lab.out / "index.html").read_text()
    assert page.count("<svg") == 1 and "device.speed" in page


def test_what_has_run_is_found_again(lab: Lab) -> None:
    assert sweep(lab, *LOADS, *COMMAND) == 0
    page = (lab.out / "index.html").read_bytes()
    assert sweep(lab, *LOADS, *COMMAND) == 0
    assert len(lab.calls()) == 3 and (lab.out / "index.html").read_bytes() == page
    assert sweep(lab, *LOADS, "--fresh", *COMMAND) == 0
    assert len(lab.calls()) == 6


def test_measures_are_formulas(lab: Lab) -> None:
    gain = "gain = at(time_s, speed='1') / time_s"
    assert sweep(lab, *LOADS, *SPEEDS, "--measure", gain, "--measure", "time_s * 1000",
                 *COMMAND) == 0
    rows = numbers(lab)
    assert rows[0][2:] == ["gain", "time_s * 1000"]
    assert [row[2] for row in rows[1:]] == ["1.0", "4.0"] * 3
    assert document(lab)["measures"]["gain"] == "at(time_s, speed='1') / time_s"
    assert document(lab)["runs"][-1]["values"] == {"gain": 4.0, "time_s * 1000": 100_000.0}


def test_a_name_in_braces_is_filled(lab: Lab) -> None:
    assert sweep(lab, *LOADS, "--", "sim", "--load", "{load}", "--work", "5") == 0
    assert lab.calls()[0] == "sim --load 1us --work 5 --json"


def test_a_wrong_measure_stops_after_one_run(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, "--measure", "times_s", *COMMAND) == 2
    assert "no number 'times_s' in the output" in (told := capsys.readouterr().err)
    assert told.strip().endswith("there is time_s") and len(lab.calls()) == 1


def test_a_run_that_fails_is_told_and_the_others_are_there(
        lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSE", "--load 2us")
    assert sweep(lab, *LOADS, *COMMAND) == 1
    assert "1 of 3 runs failed" in capsys.readouterr().err
    assert [row[1] for row in numbers(lab)] == ["time_s", "100.0", "", "400.0"]
    assert document(lab)["failures"][0]["problem"] == "sluice: refused"
    assert "sluice: refused" in (lab.out / "index.html").read_text()


def test_time_is_measured_alone(
        lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALONE", str(tmp_path / "alone"))
    monkeypatch.setenv("NAP", "0.05")
    assert sweep(lab, *LOADS, "--jobs", "4", "--", "run", "--work", "1") == 0
    assert sweep(lab, *LOADS, "--jobs", "4", *COMMAND) == 1


@pytest.mark.parametrize(("arguments", "said"), [
    ([*COMMAND], "nothing to sweep over; --over KEY=VALUE,VALUE names"),
    ([*LOADS], "no command to run; put it behind --"),
    (["--over", "load", *COMMAND], "bad --over 'load'; it is KEY=VALUE,VALUE"),
    (["--over", "load=1us,,2us", *COMMAND], "bad --over 'load=1us,,2us'"),
    (["--over", "load=1us,1us", *COMMAND], "--over load: '1us' is there twice"),
    ([*LOADS, *LOADS, *COMMAND], "--over load is there twice; give it all its values at once"),
    ([*LOADS, "--", "sim", "{size}"], "the command has {size}, and no --over gives it values"),
    ([*LOADS, "--measure", "max(", *COMMAND], "no formula: 'max('"),
])
def test_bad_input_is_told_and_nothing_runs(
        lab: Lab, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert sweep(lab, *arguments) == 2
    assert said in capsys.readouterr().err and lab.calls() == []


def test_a_picture_has_three_axes_at_most(lab: Lab) -> None:
    more = ["--over", "work=1,2", "--over", "a.depth=1", "--over", "b.depth=2"]
    assert sweep(lab, *LOADS, *SPEEDS, *more, "--", "sim") == 0
    page = (lab.out / "index.html").read_text()
    assert "<svg" not in page and "three axes at most, and here are 5" in page
    names = [axis["name"] for axis in document(lab)["axes"]]
    assert names == ["load", "speed", "work", "a_depth", "b_depth"]
