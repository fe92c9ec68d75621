"""Does a verdict follow from the numbers, and does nothing that has run get lost?"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from experiments import EXPERIMENT, Lab

import sluice
from sluice.reproduce import main, markdown, memory, spec

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "python/sluice/reproduce/result.schema.json"
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def without_contradiction(experiment: str) -> str:
    before, rest = experiment.split('[[claims]]\nkind = "contradiction"')
    return before + rest[rest.index("[[consistency]]"):]


def outcomes(lab: Lab) -> list[str]:
    return [claim["outcome"] for claim in lab.result()["claims"]]


def test_runs_are_parquet_and_csv(lab: Lab) -> None:
    assert lab.run() == 0
    runs = sluice.read_runs(lab.out / "test" / "fig1" / "runs.parquet")
    rows = zip(runs["system"], runs["load"], runs["time"], strict=True)
    assert [*rows] == [("slow", "1us", 100.0), ("slow", "2us", 200.0), ("slow", "4us", 400.0),
                       ("fast", "1us", 25.0), ("fast", "2us", 50.0), ("fast", "4us", 100.0)]
    assert runs.units["time"] == "s" and runs.made["experiment"] == "test/fig1"
    head, *lines = (lab.out / "test" / "fig1" / "runs.csv").read_text().splitlines()
    assert head.split(",") == [name for name in runs.columns if not name.startswith("config.")]
    assert [line.split(",")[:2] for line in lines] == [[*row] for row in zip(
        runs["system"], runs["load"], strict=True)]
    assert [float(line.split(",")[head.split(",").index("time")]) for line in lines] == [
        100.0, 200.0, 400.0, 25.0, 50.0, 100.0]


def test_a_picture_is_a_file_that_has_its_colours(lab: Lab) -> None:
    assert lab.run() == 0
    text = (lab.out / "test" / "fig1" / "figure-1.svg").read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for name in set(re.findall(r"var\((--\w+)\)", text)):
        # Once for light pages, once for dark ones.
        assert text.count(f"{name}: #") == 2, name


def test_a_match_is_computed(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.run() == 0
    assert lab.result()["verdict"] == "contradicts its set-up"
    assert outcomes(lab) == ["match", "match", "contradicts its set-up"]
    # 4.1 against 4 is 2.4 % off; where nothing was published, nothing is compared.
    findings = lab.result()["claims"][0]["findings"]
    assert [(one["where"], one["distance"]) for one in findings] == [
        (["1us"], "-2.4 %"), (["2us"], "+0.0 %")]
    table = capsys.readouterr().out
    assert "! contradicts its set-up" in table
    assert "the most that the set-up allows: 8 x" in table
    # Systems that change places change the speed-up, and so does noise: power finds it to five per
    # cent. Most noise leaves it true that the time grows with the load.
    assert ("2 of 3 claims match, of these 1 strong; 1 contradict; 0 differ; 0 unchecked"
            in table)
    assert lab.result()["consistency"][0]["outcome"] == "match"
    assert lab.result()["remarks"][0]["because"][0]["value"] == 4.1
    assert_valid(lab.result(), json.loads(SCHEMA.read_text()))


def assert_valid(value: Any, schema: dict[str, Any], place: str = "") -> None:
    """Whether the value is one that the schema describes, which uses little of what there is."""
    kinds: Any = {"object": dict, "array": list, "string": str, "number": (int, float),
                  "integer": int, "boolean": bool, "null": type(None)}
    allowed = schema.get("type", [])
    allowed = [allowed] if isinstance(allowed, str) else allowed
    assert not allowed or any(isinstance(value, kinds[kind]) for kind in allowed), place
    assert value in schema.get("enum", [value]) and value == schema.get("const", value), place
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]) == set(schema["required"]), place
    for name, one in value.items() if isinstance(value, dict) else ():
        below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        assert_valid(one, below or {}, f"{place}/{name}")
    for one in value if isinstance(value, list) else ():
        assert_valid(one, schema.get("items", {}), f"{place}[]")


@pytest.mark.parametrize(("published", "verdict", "outcome"), [
    ("load,speedup\n1us,4.3\n", "trend only", "trend only"),
    ("load,speedup\n1us,0.5\n", "differs", "differs"),
])
def test_a_wrong_number_turns_the_verdict(
        lab: Lab, published: str, verdict: str, outcome: str) -> None:
    lab.write(without_contradiction(EXPERIMENT), published)
    assert lab.run() == 0
    assert (lab.result()["verdict"], outcomes(lab)[0]) == (verdict, outcome)


def test_a_broken_trend_turns_the_verdict(lab: Lab) -> None:
    lab.write(EXPERIMENT.replace('"rises"', '"falls"'))
    assert lab.run() == 0
    assert (lab.result()["verdict"], outcomes(lab)[1]) == ("differs", "differs")


def test_a_contradiction_whose_reason_does_not_hold_differs(lab: Lab) -> None:
    lab.write(EXPERIMENT.replace("max(speedup) < 10", "max(speedup) > 10"))
    assert lab.run() == 0
    assert (lab.result()["verdict"], outcomes(lab)[2]) == ("differs", "differs")


def test_a_check_that_fails_makes_an_experiment_differ(lab: Lab) -> None:
    lab.write(EXPERIMENT.replace("published = 4\n", "published = 5\n"))
    assert lab.run() == 0
    assert lab.result()["verdict"] == "differs"
    assert outcomes(lab) == ["match", "match", "contradicts its set-up"]


def test_a_remark_that_is_not_true_is_an_error(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.write(EXPERIMENT.replace('speedup)) < 10"', 'speedup)) < 1"'))
    assert lab.run() == 1
    told = capsys.readouterr()
    assert "remarks[1]: 'max(known(published.speedup)) < 1' is not true" in told.err
    assert "test/fig1: failed: " in told.out
    # Nobody may take a table without it for the whole.
    assert "| test/fig1 | " in (lab.out / "results.md").read_text()
    assert "| failed |" in (lab.out / "results.md").read_text()
    failed = json.loads((lab.out / "results.json").read_text())["failed"]
    assert [one["experiment"] for one in failed] == ["test/fig1"]


def test_results_of_another_build_are_left_out(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(lab.root / "test" / "fig1", lab.root / "test" / "fig2")
    assert lab.run() == 0
    assert "| test/fig2 |" in (lab.out / "results.md").read_text()
    lab.sluice.write_text(lab.sluice.read_text() + "# another build\n")
    capsys.readouterr()
    assert lab.run("test/fig1") == 0
    assert "another build made them: test/fig2" in capsys.readouterr().err
    told = (lab.out / "results.md").read_text() + (lab.out / "index.html").read_text()
    assert "test/fig1" in told and "test/fig2" not in told


def test_what_a_run_calls_false_is_no_number(lab: Lab) -> None:
    needs = 'needs = "all(wet)"\nlacks = "water"\ntrend = "rises"'
    lab.write(EXPERIMENT.replace("[metrics]", '[metrics]\nwet = "/wet"')
              .replace('trend = "rises"', needs))
    assert lab.run() == 0
    assert lab.result()["claims"][1]["outcome"] == "unchecked here"


@pytest.mark.parametrize(("limit", "outcome", "verdict", "counts"), [
    ("given.limit > 10", "unchecked here", "contradicts its set-up", "1 of 3 | 1 | 1 | 0 | 1"),
    ("given.limit < 10", "differs", "differs", "1 of 3 | 1 | 1 | 1 | 0"),
])
def test_what_a_host_cannot_show_does_not_decide(
        lab: Lab, limit: str, outcome: str, verdict: str, counts: str) -> None:
    needs = f'needs = "{limit}"\nlacks = "more room"\ntrend = "falls"'
    lab.write(EXPERIMENT.replace('trend = "rises"', needs))
    assert lab.run() == 0
    assert (lab.result()["verdict"], outcomes(lab)[1]) == (verdict, outcome)
    assert lab.result()["claims"][1]["needs"] == "more room"
    assert f"| {counts} |" in (lab.out / "results.md").read_text()
    index = (lab.out / "index.html").read_text()
    cells = "\n".join(f'<td class="number">{count}</td>' for count in counts.split(" | "))
    assert cells in index
    page = (lab.out / "test/fig1/index.html").read_text()
    assert ("Not counted: it needs more room" in page) == (outcome == "unchecked here")


def test_what_no_run_can_decide_has_a_row(lab: Lab) -> None:
    own = '\n[[claims]]\nkind = "unchecked"\nsays = "it flies"\nplace = "1"\nlacks = "wings"\n'
    lab.write(EXPERIMENT.replace("\n[[claims]]", own + "\n[[claims]]", 1))
    assert lab.run() == 0
    claim = lab.result()["claims"][0]
    assert (claim["outcome"], claim["needs"], claim["power"]) == ("unchecked here", "wings", None)
    assert "Not counted: it needs wings" in (lab.out / "test/fig1/index.html").read_text()
    lab.write(EXPERIMENT.replace("\n[[claims]]", own.replace("lacks", "ours") + "\n[[claims]]", 1))
    assert lab.run() == 2


def test_a_label_can_have_a_command_of_its_own(lab: Lab) -> None:
    own = '["run", "--load", "{load}", "--work", "{work}", "{none}", "--set", "speed={speed}"]'
    lab.write(EXPERIMENT.replace('set = { speed = "4" }',
                                 f'settings = {{ none = "", speed = "4" }}, command = {own}'))
    assert lab.run() == 0
    assert outcomes(lab)[:2] == ["match", "match"]
    assert "run --load 1us --work 100 --set speed=4 --json" in lab.calls()


def test_an_axis_of_commands_has_a_quantity_where_it_says(lab: Lab) -> None:
    metrics = """time = ["/nowhere/0", "/{place}"]
fast = { pointer = "/time_s", factor = 2, only = { system = ["fast"] } }"""
    lab.write(EXPERIMENT.replace('time = "/time_s"', metrics).replace(
        '[settings]', '[settings]\nplace = "time_s"'))
    assert lab.run() == 0
    assert lab.result()["quantities"]["fast"]["values"] == [
        ["fast", "1us", 50.0], ["fast", "2us", 100.0], ["fast", "4us", 200.0]]
    lab.write(EXPERIMENT.replace('time = "/time_s"', 'time = ["/a", "/b/0"]'))
    assert lab.run() == 1


def test_what_measures_time_runs_alone(
        lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write(EXPERIMENT.replace("[runs]", "[runs]\nlive = true"))
    monkeypatch.setenv("ALONE", str(tmp_path / "alone"))
    monkeypatch.setenv("NAP", "0.05")
    assert lab.run("--jobs", "4") == 0
    assert len(lab.calls()) == 10


def test_memory_for_a_device_is_there_while_runs_run(lab: Lab, capsys: pytest.CaptureFixture[str]
                                                     ) -> None:
    lab.write(EXPERIMENT.replace("[runs]", "[runs]\nmemory = '64KiB'").replace(
        '"--work", "{work}"', '"--work", "{work}", "--place", "dax:{memory}"'))
    place = memory.path("test/fig1")
    with memory.there("test/fig1", 1 << 16):
        assert place.stat().st_size == 1 << 16
        assert lab.run() == 2
        assert "another `sluice reproduce` measures with this file" in capsys.readouterr().err
        assert place.exists()
    assert not place.exists()
    assert lab.run() == 0
    assert all(f"--place dax:{place}" in call for call in lab.calls()) and not place.exists()
    place.mkdir()
    assert lab.run("--fresh") == 2
    assert f"{place}: Is a directory; expected nothing there" in capsys.readouterr().err
    place.rmdir()
    lab.write(EXPERIMENT.replace("[runs]", "[runs]\nmemory = 'much'"))
    assert lab.run() == 2
    assert "runs.memory: a size such as 20MiB was needed" in capsys.readouterr().err


def test_open_parameters_are_tried(lab: Lab) -> None:
    lab.run()
    told = lab.result()["sensitivity"]
    # `depth` divides both times, so the ratio stays; it is the runs that are others.
    assert told["unchanged"] == 4
    assert [(one["value"], one["measure"]) for one in told["trials"]] == [("2", 4.0), ("3", 4.0)]
    assert sum("depth=3" in call for call in lab.calls()) == 2


def test_quick_is_shorter_and_without_open_parameters(lab: Lab) -> None:
    assert lab.run("--quick") == 0
    assert all("--work 10 " in f"{call} " for call in lab.calls())
    assert not any("depth" in call for call in lab.calls()) and lab.result()["quick"]


def test_what_ran_is_kept_until_program_or_arguments_change(lab: Lab) -> None:
    lab.run()
    assert len(lab.calls()) == 6 + 4
    first = (lab.out / "test/fig1/result.json").read_bytes()
    lab.run()
    assert len(lab.calls()) == 10
    assert (lab.out / "test/fig1/result.json").read_bytes() == first
    lab.run("--fresh")
    assert len(lab.calls()) == 20
    lab.sluice.write_text(lab.sluice.read_text() + "# another build\n")
    lab.run()
    assert len(lab.calls()) == 30
    lab.write(EXPERIMENT.replace('work = "100"', 'work = "200"'))
    lab.run()
    assert len(lab.calls()) == 40


def test_jobs_change_no_byte(tmp_path: Path) -> None:
    found = []
    for jobs in ("1", "2"):
        (tmp_path / jobs).mkdir()
        lab = Lab(tmp_path / jobs)
        assert lab.run("--jobs", jobs) == 0
        # The two programs differ, for each has the place of its folder in it.
        program = lab.result()["program"].encode()
        found.append([path.read_bytes().replace(program, b"") for path in sorted(lab.out.rglob("*"))
                      if path.suffix in (".html", ".json") and path.parent.name != "runs"])
    assert found[0] == found[1] and len(found[0]) == 4


def test_an_axis_can_be_a_place_in_the_output(lab: Lab) -> None:
    lab.write(EXPERIMENT.replace('time = "/time_s"', 'told = "/{part}"').replace(
        "[derived]", "[derived]\ntime = \"at(told, part='time_s')\"").replace(
        "[runs]", '[[axes]]\nname = "part"\nvalues = ["time_s"]\n\n[runs]'))
    assert lab.run() == 0
    assert outcomes(lab)[:2] == ["match", "match"]
    assert len(lab.calls()) == 10


def test_two_figures_share_runs(lab: Lab) -> None:
    other = lab.root / "test" / "fig2"
    other.mkdir()
    for name in ("experiment.toml", "published.csv"):
        (other / name).write_text((lab.root / "test" / "fig1" / name).read_text())
    assert lab.run() == 0
    assert len(lab.calls()) == 10
    index = (lab.out / "index.html").read_text()
    assert "test/fig1/index.html" in index and "test/fig2/index.html" in index
    rows = (lab.out / "results.md").read_text().splitlines()
    told = ("Time by system | contradicts its set-up | 2 of 3 | 1 | 1 | 0 | 0 |"
            " speed-up of fast over slow: 1us 4 (4.1), 2us 4 (4) |")
    assert rows[-2:] == [f"| test/fig1 | {told}", f"| test/fig2 | {told}"]


def test_no_line_parts_a_number_from_its_unit() -> None:
    claim = {"says": "the median", "unit": "ns", "tolerance": "10 %", "findings": [
        {"where": ["p50"], "ours": 602.6, "published": 771.0, "good": False}]}
    gap = "\N{NO-BREAK SPACE}"
    assert markdown._claim(claim) == f"the median: p50 602.6{gap}ns (771{gap}ns)"


def test_any_number_of_experiments_can_be_named(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fig2", "fig3"):
        shutil.copytree(lab.root / "test" / "fig1", lab.root / "test" / name)

    def listed(*names: str) -> list[str]:
        assert lab.run("--list", *names) == 0
        return [row.split()[0] for row in capsys.readouterr().out.splitlines()]

    assert listed() == listed("test") == ["test/fig1", "test/fig2", "test/fig3"]
    assert listed("test/fig3", "test/fig1", "test/fig3") == ["test/fig1", "test/fig3"]
    assert listed("test/fig3", "--quick", "test/fig1") == ["test/fig1", "test/fig3"]
    assert lab.run("test/fig3", "test/fig4") == 2
    assert "no experiment 'test/fig4'" in capsys.readouterr().err


@pytest.mark.parametrize("command", [
    ["sluice.reproduce", "--list"], ["sluice.reproduce"],
    ["sluice.sweep", "--over", "load=1us", "--", "sim", "--work", "1"]])
def test_nobody_who_reads_on_is_no_error(lab: Lab, command: list[str]) -> None:
    module, *rest = command
    given = lab.arguments() if module == "sluice.reproduce" else lab.arguments()[2:]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", module, *given, *rest], stdout=write,
                          stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_keeps_what_has_ended(lab: Lab) -> None:
    command = [sys.executable, "-m", "sluice.reproduce", *lab.arguments("--jobs", "1")]
    process = subprocess.Popen(command, env={**os.environ, "NAP": "0.4"}, text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True)
    deadline = time.monotonic() + 60
    while len(lab.calls()) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted" in errors
    kept = len((lab.out / "runs.jsonl").read_text().splitlines())
    assert kept >= 2
    started = len(lab.calls())
    assert lab.run() == 0
    assert len(lab.calls()) - started == 10 - kept


def test_a_run_that_fails_is_told_and_tried_again(
        lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("REFUSE", "--load 2us")
    assert lab.run() == 1
    told = capsys.readouterr().err
    assert "2 of 10 runs failed" in told and "sluice: refused" in told
    assert not (lab.out / "test/fig1/result.json").exists()
    assert "not run" in (lab.out / "index.html").read_text()
    monkeypatch.delenv("REFUSE")
    assert lab.run() == 0
    assert len(lab.calls()) == 10 + 2


@pytest.mark.parametrize(("old", "new", "key", "problem"), [
    ('place = "Figure 1"\nsetup', "setup", "place", "is missing"),
    ('title = "Time', 'titel = "Time', "title", "is missing"),
    ('[runs]\n', '[runs]\ncomand = []\n', "runs.comand", "no such key"),
    ('[runs]\n', '[[figures]]\nkind = "table"\ntitle = "t"\nx = "load"\npanel = "load"\n'
     'ours = "time"\n[runs]\n', "figures[1].panel", "no such key"),
    ('kind = "trend"', 'kind = "trent"', "claims[2].kind", "value, ratio, order, trend"),
    ('tolerance = "5 %"', 'tolerance = "5"', "claims[1].tolerance", "25 %"),
    ('tolerance = "5 %"\n', '', "claims[1].tolerance", "is missing"),
    ('why = "noise"\n', 'why = "noise"\nverdict = "match"\n', "claims[2].verdict", "no such key"),
    ('ours = "speedup"\ntol', 'ours = "spedup"\ntol', "claims[1].ours", "no quantity 'spedup'"),
    ('"at(time, system=\'slow\')', '"open(time)', "derived.speedup", "no function 'open'"),
    ('time = "/time_s"', 'time = "time_s"', "metrics.time", "JSON pointer"),
    ('"{work}"', '"{wrok}"', "runs.command", "no setting 'wrok'"),
    ('work = "10"', 'work = "10"\n[quick.axes]\nlaod = ["1us"]', "quick.axes.laod", "no such axis"),
    ('axis = "load"', 'axis = "lode"', "claims[2]", "no axis 'lode'"),
    ('published = "published.speedup"\nours', 'published = "speedup"\nours',
     "claims[1].published", "[[consistency]]"),
    (" and max(speedup) < 10", "", "claims[3].holds", "[[remarks]]"),
    ('holds = "max(known(published.speedup))', 'holds = "max(speedup)', "remarks[1].holds",
     "contradiction"),
    ('ours = "time"', 'ours = "published.speedup"', "claims[2].ours", "nothing that is measured"),
    ('kind = "ratio"', 'kind = "ratio"\nunit = "ns"', "claims[1].unit", "unit of a value"),
    ('axes = ["load"]', 'axes = ["lode"]', "lode", "no such column"),
    ('axes = { load = ["4us"] }', 'axes = { load = ["9us"] }', "sensitivity.axes.load", "'9us'"),
])
def test_a_bad_experiment_names_file_and_key(
        lab: Lab, capsys: pytest.CaptureFixture[str], old: str, new: str, key: str,
        problem: str) -> None:
    assert old in EXPERIMENT
    lab.write(EXPERIMENT.replace(old, new, 1))
    assert lab.run() != 0
    told = capsys.readouterr().err
    assert str(lab.root / "test" / "fig1") in told and key in told and problem in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("kind", ["table", "lines", "bars"])
def test_a_figure_has_every_axis_of_its_quantity(
        lab: Lab, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    label = "" if kind == "table" else 'y_label = "time, s"\n'
    figure = f'[[figures]]\nkind = "{kind}"\ntitle = "t"\nx = "load"\n{label}ours = "time"\n'
    lab.write(EXPERIMENT + figure)
    assert lab.run() == 1
    told = capsys.readouterr().err
    assert "'system'" in told and "figures[2]" in told and told.count("\n") == 1
    lab.write(EXPERIMENT + figure + 'series = "system"\n')
    assert lab.run() == 0


def test_bad_toml_and_bad_names_are_one_line(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.run("test/fig9") == 2
    assert "no experiment 'test/fig9'" in capsys.readouterr().err
    lab.write("title = ")
    assert lab.run() == 2
    told = capsys.readouterr().err
    assert "experiment.toml" in told and told.count("\n") == 1


def test_the_command_starts_it(tmp_path: Path) -> None:
    """`sluice reproduce` becomes the package's program, which learns which `sluice` it was."""
    script = tmp_path / "sluice-reproduce"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -m sluice.reproduce \"$@\"\n")
    script.chmod(0o755)
    lab = Lab(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = subprocess.run(
        [SLUICE, "reproduce", "--experiments", ROOT / "experiments", "--out", lab.out, "--quick",
         "cylon/table3"], env={**os.environ, "PATH": path}, text=True, capture_output=True,
        stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "claims match, of these" in done.stdout and done.stderr == ""


def test_every_experiment_can_be_read() -> None:
    names = spec.find(ROOT / "experiments")
    assert "cylon/table3" in names
    for name in names:
        for quick in (False, True):
            one = spec.load(ROOT / "experiments", name, quick)
            assert (one.claims or one.consistency) and one.figures, name


def test_table_3_of_esf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(tmp_path)
    lab.root, lab.sluice = ROOT / "experiments", SLUICE
    figure = "esf/table3"
    assert lab.run(figure, "--quick") == 0
    result = json.loads((lab.out / figure / "result.json").read_text())
    assert result["verdict"] == "consistent"
    assert_valid(result, json.loads(SCHEMA.read_text()))
    page = (lab.out / figure / "index.html").read_text()
    assert "<svg" in page and "<code>sluice reproduce" in page and "`" not in page
    # It claims nothing, which is not that nothing of none matches.
    told = capsys.readouterr().out
    for text in (page, told, (lab.out / "index.html").read_text(),
                 (lab.out / "results.md").read_text()):
        assert "2 of 2 checks" in text and "0 of 0" not in text
    assert "claim  " not in told


def test_table_3_of_cylon(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.root, lab.sluice = ROOT / "experiments", SLUICE
    assert lab.run("cylon/table3", "--quick") == 0
    result = (lab.out / "cylon/table3/index.html").read_text()
    assert "contradicts its set-up" in result and "<svg" in result


def test_a_folder_without_experiments_is_refused(tmp_path: Path,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--experiments", str(tmp_path), "--list"]) == 2
    assert f"no experiments in {tmp_path}; --experiments DIR" in capsys.readouterr().err
