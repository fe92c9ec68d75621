"""Does a sweep run every combination once, measure what was asked for, and lose nothing?"""

from __future__ import annotations

import csv
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from experiments import Lab

import sluice
from sluice.quantity import spread
from sluice.reproduce import matrix
from sluice.reproduce.engines import Program
from sluice.reproduce.engines.local import Local
from sluice.reproduce.spread import interval
from sluice.sweep import labels, main
from sluice.sweep.plan import plan
from sluice.sweep.session import _nearest

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
    expected = [[load, speed, str(int(load[0]) * 100 / int(speed)), ""]
                for load in ("1us", "2us", "4us") for speed in ("1", "4")]
    assert numbers(lab) == [["load", "device.speed", "time_s", "error"], *expected]
    assert sorted(lab.calls()) == sorted(
        f"sim --work 100 --load {load} --set device.speed={speed} --json"
        for load, speed, _, _ in expected)
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
    assert rows[0][2:] == ["gain", "time_s * 1000", "error"]
    assert [row[2] for row in rows[1:]] == ["1.0", "4.0"] * 3
    assert document(lab)["measures"]["gain"] == "at(time_s, speed='1') / time_s"
    assert document(lab)["runs"][-1]["values"] == {"gain": 4.0, "time_s * 1000": 100_000.0}


def test_whole_numbers_keep_all_their_digits(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.sluice.write_text('#!/bin/sh\n[ $1 = --version ] && echo sluice 0 && exit\n'
                          '[ $3 != 7 ] && echo "{\\"n\\": $3, \\"of\\": {\\"x\\": 0.5}}"\n')
    seeds = ["18446744073709551615", "9007199254740993", "3"]
    assert sweep(lab, "--over", f"seed={','.join(seeds)},7", "--measure", "s=n", "--measure",
                 "of.x", "--measure", "n ** 2", "--", "sim") == 1
    told = capsys.readouterr().out
    assert "18,446,744,073,709,551,615" in told and "9,007,199,254,740,993" in told
    assert [row[1] for row in numbers(lab)] == ["s", *seeds, ""]
    assert [run["values"]["s"] for run in document(lab)["runs"]] == list(map(int, seeds))
    kept = sluice.read_runs(lab.out / "results.parquet").to_arrow()
    assert kept["s"].to_pylist() == [*map(int, seeds), None]
    assert [str(kept.schema.field(name).type) for name in ("s", "of.x")] == ["uint64", "double"]


def test_a_name_in_braces_is_filled(lab: Lab) -> None:
    assert sweep(lab, *LOADS, "--", "sim", "--load", "{load}", "--work", "5") == 0
    assert lab.calls()[0] == "sim --load 1us --work 5 --json"


def test_a_word_of_the_command_itself_can_be_in_braces(lab: Lab) -> None:
    command = ["sim", "--load", "{load}", "--work", "5", "{{load}}{{print}}"]
    assert sweep(lab, *LOADS, "--", *command) == 0
    assert lab.calls()[0] == "sim --load 1us --work 5 {load}{print} --json"
    other = ["sim", "--work", "5", "{{load}}"]
    assert sweep(lab, "--over", "load=1us", "--force", "--", *other) == 0
    assert lab.calls()[-1] == "sim --work 5 {load} --load 1us --json"


@pytest.mark.parametrize("program", [["--", "./p", "--json"], ["./p", "-x"]])
def test_the_options_of_a_live_run_are_not_its_programs(lab: Lab, program: list[str]) -> None:
    own = ["--json"] if program[0] == "--" else []
    assert sweep(lab, "--over", "load=1us", *SPEEDS, "--over", "work=5", "--", "run", *own,
                 *program) == 0
    assert lab.calls()[1] == (
        f"run --set device.speed=4 --json --load 1us --work 5 {' '.join(program)}")


@pytest.mark.parametrize(("command", "expected", "live"), [
    ("size -- ./p x", "size --set a.b=1 --json --seed 7 -- ./p x", True),
    ("size ./p --json", "size --set a.b=1 --json --seed 7 ./p --json", True),
    ("size --trace t", "size --trace t --seed 7 --set a.b=1 --json", False),
    ("size --trace=t --json", "size --trace=t --seed 7 --set a.b=1 --json", False),
    ("curve --on live", "curve --set a.b=1 --json --seed 7 --on live", True),
    ("curve --on=host", "curve --set a.b=1 --json --seed 7 --on=host", True),
    ("curve --on simulated", "curve --on simulated --seed 7 --set a.b=1 --json", False),
    ("curve --fabric esf", "curve --fabric esf --seed 7 --set a.b=1 --json", False),
    ("trace record -- p", "trace record --seed 7 --set a.b=1 --json -- p", False),
])
def test_a_programs_words_stay_its_own_and_what_measures_time_is_alone(
        command: str, expected: str, live: bool) -> None:
    found = plan(["seed=7", "a.b=1"], [], command.split()).experiment
    assert found.live is live
    assert " ".join(matrix.runs(found)[0].arguments) == expected


def test_a_curve_of_several_kinds_is_alone_if_one_is_live() -> None:
    assert plan(["on=simulated,live"], [], ["curve"]).experiment.live
    assert not plan(["on=simulated"], [], ["curve"]).experiment.live
    assert not plan(["trace=a,b"], [], ["size"]).experiment.live


@pytest.mark.parametrize(("words", "told"), [
    (["--measure", "error = time_s"], "--measure error: the results have that name for"),
    (["--measure", "load = time_s"], "--measure load: --over has that name, too"),
    (["--measure", "config.x"], "--measure config.x: the results have that name for"),
    (["--measure", "a = time_s", "--measure", "a = 2 * time_s"],
     "--measure a: that name is there twice"),
    (["--measure", "time_s", "--measure", "time_s"], "--measure time_s: that name is there twice"),
    (["--over", "error=1,2"], "--over error: the results have that name for"),
])
def test_columns_have_names_of_their_own(
        lab: Lab, capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    assert sweep(lab, *LOADS, *words, *COMMAND) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"sluice sweep: {told}") and said.count("\n") == 1, said
    assert lab.calls() == []


def test_a_comparison_is_a_number(lab: Lab) -> None:
    assert sweep(lab, *LOADS, "--measure", "slow = time_s > 150", *COMMAND) == 0
    values = [run["values"]["slow"] for run in document(lab)["runs"]]
    assert values == [0, 1, 1] and not any(isinstance(value, bool) for value in values)
    assert sluice.read_runs(lab.out / "results.parquet")["slow"].tolist() == [0, 1, 1]


def test_labels_stay_what_they_are(lab: Lab) -> None:
    large = [2**63 - 1, 2**63, 2**64 - 1]
    seeds = ",".join(map(str, large))
    assert sweep(lab, "--over", "load=1us", "--over", f"seed={seeds}", "--over",
                 "sign=-1,9223372036854775808", "--over", "name=007,10", "--over", "line=1_0,2",
                 "--over", "part=0.5,1e3", "--over", "same=1.0,1", *COMMAND) == 0
    runs = sluice.read_runs(lab.out / "results.parquet")
    found = runs.to_arrow()
    assert sorted(set(found["seed"].to_pylist())) == large
    assert sorted(set(found["sign"].to_pylist())) == ["-1", "9223372036854775808"]
    assert sorted(set(found["name"].to_pylist())) == ["007", "10"]
    assert sorted(set(found["line"].to_pylist())) == ["1_0", "2"]
    assert sorted(set(found["part"].to_pylist())) == [0.5, 1000.0]
    assert sorted(set(found["same"].to_pylist())) == ["1", "1.0"]


def test_a_wrong_measure_stops_after_one_run(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, "--measure", "times_s", *COMMAND) == 2
    assert "no number 'times_s' in the output" in (told := capsys.readouterr().err)
    assert told.strip().endswith("there is time_s") and len(lab.calls()) == 1


def test_a_wrong_measure_is_told_where_all_others_are() -> None:
    there = ["cache.hits", "cache.misses", "time_s", "accesses", "seed"]
    near = "cache.misses, cache.hits, accesses"
    assert _nearest("cache.mises", there) == f"{near}, and --json prints 2 others"
    assert _nearest("time", ["time_s"]) == "time_s"


def test_a_formula_that_cannot_be_computed_is_told_by_its_name(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, "--measure", "best = min(time_s, 'lod')", *COMMAND) == 2
    assert "sluice sweep: best: \"min(time_s, 'lod')\": no axis 'lod' here; there is load\n" == \
        capsys.readouterr().err


def test_a_run_that_fails_is_told_and_the_others_are_there(
        lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSE", "--load 2us")
    assert sweep(lab, *LOADS, *COMMAND) == 1
    assert "1 of 3 runs failed" in capsys.readouterr().err
    assert [row[1] for row in numbers(lab)] == ["time_s", "100.0", "", "400.0"]
    assert [row[2] for row in numbers(lab)] == ["error", "", "sluice: refused", ""]
    assert sluice.read_runs(lab.out / "results.parquet")["error"][1] == "sluice: refused"
    assert document(lab)["failures"][0]["problem"] == "sluice: refused"
    assert "sluice: refused" in (lab.out / "index.html").read_text()


def test_time_is_measured_alone(
        lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALONE", str(tmp_path / "alone"))
    monkeypatch.setenv("NAP", "0.05")
    assert sweep(lab, *LOADS, "--jobs", "4", "--", "run", "--work", "1") == 0
    # Long enough for two to meet on a busy machine.
    monkeypatch.setenv("NAP", "1")
    assert sweep(lab, *LOADS, "--jobs", "4", "--force", *COMMAND) == 1


def test_a_phone_shows_a_legible_picture_of_which_it_moves_a_part(lab: Lab) -> None:
    assert sweep(lab, *LOADS, *SPEEDS, *COMMAND) == 0
    with Browser() as browser:
        browser.open(lab.out / "index.html", 390, 844)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        scale = browser.evaluate("(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
                                 "(document.querySelector('.drawing svg'))")
        assert scale > 0.6


def test_a_long_name_stays_within_its_column(lab: Lab) -> None:
    """It ran over the end of its table."""
    assert sweep(lab, *LOADS, "--over", "latency_ns.accesses.mean=1,4", *COMMAND) == 0
    with Browser() as browser:
        browser.open(lab.out / "index.html", 1300, 900)
        heads = browser.evaluate("[...document.querySelectorAll('th')].map(head =>"
                                 " [head.textContent, head.scrollWidth <= head.clientWidth])")
    assert ["latency_ns.accesses.mean", True] in heads and all(fits for _, fits in heads)


@pytest.mark.parametrize(("arguments", "said"), [
    ([*COMMAND], "nothing to sweep over; --over KEY=VALUE,VALUE names"),
    ([*LOADS], "no command to run; put it behind --"),
    (["--over", "load", *COMMAND], "bad --over 'load'; it is KEY=VALUE,VALUE"),
    (["--over", "load=1us,,2us", *COMMAND], "bad --over 'load=1us,,2us'"),
    (["--over", "load=1us,1us", *COMMAND], "--over load: '1us' is there twice"),
    ([*LOADS, *LOADS, *COMMAND], "--over load is there twice; give it all its values at once"),
    ([*LOADS, "--", "sim", "{size}"], "the command has {size}, and no --over gives it values;"
                                      " there are load. For the word itself in braces write"
                                      " {{size}}\n"),
    ([*LOADS, "--over", "seed=4..1", *COMMAND], "--over seed: 4..1 is no range; FIRST..LAST"),
    ([*LOADS, "--mean", "seed", *COMMAND], "--mean seed: no --over gives it values; there are"
                                           " load"),
    ([*LOADS, "--measure", "max(", *COMMAND], "no formula: 'max('"),
])
def test_bad_input_is_told_and_nothing_runs(
        lab: Lab, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert sweep(lab, *arguments) == 2
    assert said in capsys.readouterr().err and lab.calls() == []


def test_repeats_become_a_mean_with_its_interval(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    repeats = ["--over", "device.speed=1,2,4", "--mean", "device.speed"]
    assert sweep(lab, *LOADS, *repeats, *COMMAND) == 0
    # Of 100, 50 and 25; Student's t for two degrees of freedom is 4.303 in every table of it.
    rows = numbers(lab)
    assert rows[0] == ["load", *(f"time_s {what}" for what in ("mean", "stddev", "n", "low",
                                                              "high"))]
    assert [row[0] for row in rows[1:]] == ["1us", "2us", "4us"]
    told = [float(value) for value in rows[1][1:]]
    half = 4.303 * 38.188 / 3 ** 0.5
    assert told == pytest.approx([58.333, 38.188, 3, 58.333 - half, 58.333 + half], rel=1e-3)
    means = document(lab)["means"]
    assert means["over"] == "speed" and means["rows"][2]["at"] == {"load": "4us"}
    assert list(means["rows"][0]["values"]["time_s"].values()) == told
    assert len(document(lab)["runs"]) == 9
    out = capsys.readouterr().out
    assert out.splitlines()[1].split() == ["1us", "58", "±", "95"]
    assert "over 3 values of device.speed" in out
    # A bar of error for each load, and no line for the repeats.
    page = (lab.out / "index.html").read_text()
    assert page.count("LineCollection_") == 1 and "58 ± 95" in page
    assert sweep(lab, *LOADS, *repeats[:2], *COMMAND) == 0
    assert "LineCollection_" not in (lab.out / "index.html").read_text()
    assert document(lab)["means"] is None


@pytest.mark.parametrize(("mean", "half", "told"), [
    (0.38641, 0.005939, "0.3864 ± 0.0059"), (0.14, 0.008226, "0.1400 ± 0.0082"),
    (1234567.0, 23456.0, "1,235,000 ± 23,000"), (3.0, 0.0996, "3.00 ± 0.10"),
    (58.333, 94.86, "58 ± 95"), (1.0, 0.0, "1 ± 0"), (1.5, None, "1.5 ± –"),
])
def test_a_mean_has_no_digit_that_its_interval_leaves_open(
        mean: float, half: float | None, told: str) -> None:
    assert spread(mean, half) == told


def test_repeats_that_failed_are_not_counted(
        lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSE", "--load 2us --set device.speed=4")
    assert sweep(lab, *LOADS, "--over", "device.speed=1,2,4", "--mean", "speed", *COMMAND) == 1
    table = capsys.readouterr().out.splitlines()
    assert "of" not in table[1] and table[2].endswith("of 2")
    assert [row[3] for row in numbers(lab)[1:]] == ["3", "2", "3"]


def test_where_every_repeat_failed_none_is_counted(
        lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSE", "--load 2us")
    assert sweep(lab, *LOADS, *SPEEDS, "--mean", "speed", *COMMAND) == 1
    assert capsys.readouterr().out.splitlines()[2].split() == ["2us", "none"]
    assert numbers(lab)[2] == ["2us", "", "", "0", "", ""]
    assert [row["values"]["time_s"]["n"] for row in document(lab)["means"]["rows"]] == [2, 0, 2]


def test_one_repeat_has_no_interval_and_nothing_beside_repeats_no_picture(lab: Lab) -> None:
    assert sweep(lab, "--over", "load=2us", "--mean", "load", *COMMAND) == 0
    assert numbers(lab)[1] == ["200.0", "", "1", "", ""]
    assert "<svg" not in (lab.out / "index.html").read_text()


@pytest.mark.parametrize(("values", "t"), [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776),
                                           (11, 2.228), (31, 2.042), (121, 1.980)])
def test_intervals_are_those_of_students_tables(values: int, t: float) -> None:
    half = interval([float(one) for one in range(values)])
    deviation = (values * (values + 1) / 12) ** 0.5
    assert half == pytest.approx(t * deviation / values ** 0.5, rel=3e-4)


def test_a_range_is_its_values(lab: Lab) -> None:
    assert sweep(lab, "--over", "load=1us", "--over", "work=8..11,20", "--", "sim") == 0
    assert [row[1] for row in numbers(lab)[1:]] == ["8", "9", "10", "11", "20"]


def test_a_picture_has_three_axes_at_most(lab: Lab) -> None:
    more = ["--over", "work=1,2", "--over", "a.depth=1", "--over", "b.depth=2"]
    assert sweep(lab, *LOADS, *SPEEDS, *more, "--", "sim") == 0
    page = (lab.out / "index.html").read_text()
    assert "<svg" not in page and "three axes at most, and here are 5" in page
    names = [axis["name"] for axis in document(lab)["axes"]]
    assert names == ["load", "speed", "work", "a_depth", "b_depth"]


def test_a_picture_has_as_many_panels_as_can_be_told_apart(lab: Lab) -> None:
    for works, drawn in (("1..24", 1), ("1..25", 0)):
        more = ["--over", "device.speed=1,2", "--over", f"work={works}", "--over", "load=1us,2us"]
        assert sweep(lab, *more, "--", "sim") == 0
        page = (lab.out / "index.html").read_text()
        assert page.count("<svg") == drawn
        assert ("No pictures: work has more values" in page) != bool(drawn)
    # The last axis of numbers is drawn along, whatever its length.
    assert sweep(lab, "--over", "load=1us,2us", "--over", "work=1..60", "--", "sim") == 0
    assert (lab.out / "index.html").read_text().count("<svg") == 1


def test_very_many_numbers_are_a_scale(lab: Lab) -> None:
    for count, words in ((50, 50), (51, 12)):
        assert sweep(lab, "--over", f"work=1..{count}", "--", "sim", "--load", "1us") == 0
        page = (lab.out / "index.html").read_text()
        picture = page[page.index("<svg"):page.index("</svg>")]
        assert (picture.count("<text") > words) == (count == 50)
        assert f"1, 2, 3 to {count}, {count} values" in page


def test_what_is_under_way_ends_when_nobody_wants_it(tmp_path: Path) -> None:
    program = tmp_path / "sluice"
    program.write_text("#!/bin/sh\n[ $1 = quick ] && echo '{}' && exit\n"
                       "echo $$ > $1\nexec sleep 60\n")
    program.chmod(0o755)
    todo = [("quick",), *((str(tmp_path / name),) for name in "abc")]
    outcomes = Local(2).outcomes(Program(program), todo, alone=False)
    assert next(outcomes)[1].result == {}
    until = time.monotonic() + 30
    while not all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in "ab"):
        assert time.monotonic() < until
        time.sleep(0.01)
    outcomes.close()
    assert time.monotonic() < until
    assert not (tmp_path / "c").exists()
    for name in "ab":
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / name).read_text()), 0)


def test_runs_that_nobody_has_asked_for_hold_no_descriptors(tmp_path: Path) -> None:
    program = tmp_path / "says"
    program.write_text("#!/bin/sh\necho \"{\\\"run\\\": $1}\"\n")
    program.chmod(0o755)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Each run has three while it is under way.
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 30, hard))
    try:
        outcomes = Local(2).outcomes(Program(program), [(str(n),) for n in range(100)], alone=False)
        found = [next(outcomes)]
        time.sleep(1)
        found += outcomes
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(one.result["run"] for _, one in found) == list(range(100))


def test_the_sweep_of_another_command_stays(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, *COMMAND) == 0
    before = (lab.out / "results.json").read_bytes()
    other = ["--", "sim", "--work", "200"]
    assert sweep(lab, *LOADS, *other) == 2
    assert "replace it with --force" in capsys.readouterr().err
    assert (lab.out / "results.json").read_bytes() == before
    # The same command may have other values.
    assert sweep(lab, "--over", "load=1us,8us", *COMMAND) == 0
    assert sweep(lab, *LOADS, "--force", *other) == 0
    assert document(lab)["command"] == other[1:]


@pytest.mark.parametrize(("field", "values", "label"), [
    ("latency_ns.accesses.mean", [1.5], "latency of an access, mean, ns"),
    ("latency_ns.misses.p99", [1.5], "latency of a miss, 99th percentile, ns"),
    ("cache.hit_ratio", [0.5, 1.0], "cache hit ratio, 0 to 1"),
    ("cache.misses", [3.0, 4.0], "cache misses, number"),
    ("sim_time_s", [0.1], "simulated time, s"), ("ipc", [1.0, 2.0], "instructions per cycle"),
    ("amat_ns.flash", [0.1], "average memory access time flash, ns"),
    ("latency_ns.p999", [1.5], "latency, 99.9th percentile, ns"),
    ("latency_ns.count", [1.0], "latency count, number"), ("bytes_per_s", [1.5], "bandwidth, B/s"),
    ("misses_per_s", [1.5], "misses, 1/s"), ("requests.s_w", [1.0], "requests s w, number"),
])
def test_a_field_has_a_name_and_a_unit_at_an_axis(field: str, values: list[float],
                                                  label: str) -> None:
    assert labels.of_measure(field, field, values) == label
    # A measure with a name has it at its axis, too.
    assert labels.of_measure("gain", field, values) == "gain"


def test_a_parameter_has_its_meaning_at_an_axis() -> None:
    assert labels.of_axis("nand.channels") == "channels (nand.channels)"
    assert labels.of_axis("theta") == "theta"


def test_a_page_begins_with_what_was_found(lab: Lab) -> None:
    assert sweep(lab, *LOADS, *SPEEDS, *COMMAND) == 0
    first = (lab.out / "index.html").read_text().split("<h1>")[1].split("<p>")[1]
    told = "<b>time, s</b>: from 25 (1us, device.speed 4) to 400 (4us, device.speed 1)."
    assert first.startswith(told), first


@pytest.mark.parametrize(("words", "told"), [
    (["--jobs", "0"], "argument --jobs: '0' is no whole number from 1 up; see"),
    (["--jobs", "x"], "argument --jobs: 'x' is no whole number from 1 up; see"),
    (["--shard", "3/2"], "argument --shard: '3/2' is no part of a sweep"),
    (["--ovr", "a=1"], "unrecognized arguments: --ovr"),
    (["--price-dram", "free"], "argument --price-dram: 'free' is no price; 0 or more was needed"),
    (["--meas", "x"], "unrecognized arguments: --meas"),
])
def test_a_mistake_of_the_command_line_is_one_line(words: list[str], told: str, lab: Lab,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        sweep(lab, *words, *LOADS, *([] if words[0] in ("--ovr", "--meas") else COMMAND))
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith(f"sluice sweep: {told}"), said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("words", "told"), [
    (["--", "sluice", "sim", "--workload", "zipf"],
     "-- sluice: the command begins behind the program's name; leave `sluice` out: -- sim"),
    ([*COMMAND, "--out", "x"], "-- .. --out x: all runs would write there; leave it out"),
    (["--engine", "slurm", "--worker-time", "5", *COMMAND],
     "--worker-time 5: expected HH:MM:SS, such as 01:00:00"),
    (["--engine", "slurm", "--worker-memory", "2", *COMMAND],
     "--worker-memory 2: expected a size such as 2GiB"),
    (["--engine", "pbs", *COMMAND], "--engine pbs: no qsub on the PATH, which submits its jobs"),
    (["--out", "/proc/none", *COMMAND], "--out /proc/none: No such file or directory; name"),
])
def test_what_cannot_come_out_is_refused_before_it_runs(
        words: list[str], told: str, lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, *LOADS, *words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"sluice sweep: {told}") and said.count("\n") == 1, said
    assert not (lab.out / "runs.jsonl").exists()
    assert not lab.out.exists(), "an empty folder was left"


def test_a_file_in_the_place_of_the_results_is_named(lab: Lab,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    lab.out.parent.mkdir(exist_ok=True)
    lab.out.write_text("mine")
    assert sweep(lab, *LOADS, *COMMAND) == 2
    said = capsys.readouterr().err
    assert "a file is where the folder of results would be" in said and said.count("\n") == 1
    assert lab.out.read_text() == "mine"
