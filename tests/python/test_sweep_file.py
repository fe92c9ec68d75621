"""Is what a sweep file asks for what runs, and are its points drawn as it says?"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars
import pyarrow.parquet
import pytest
from experiments import Lab
from matplotlib.axes import Axes

import sluice
from sluice import parquet
from sluice.errors import ExperimentError
from sluice.reproduce import matrix
from sluice.reproduce.section import Section
from sluice.sweep import design, file, main, results
from sluice.sweep.plan import plan

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
FILE = """
command = "sim --work 100"
measures = ["time_s", "double = time_s * 2"]

[grid]
load = ["1us", "2us"]

[sample]
method = "latin-hypercube"
count = 8
seed = 7
[sample.over]
nand.read = { from = "1us", to = "80us" }
"cache.capacity" = { from = "4MiB", to = "1024MiB", scale = "log" }
cache.policy = ["lru", "fifo"]
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def sweep(lab: Lab, text: str, *arguments: str) -> int:
    path = lab.out.parent / "sweep.toml"
    path.write_text(text)
    return main(["--sluice", str(lab.sluice), "--out", str(lab.out), "--file", str(path),
                 *arguments])


def test_a_sample_and_a_grid_make_combinations(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, FILE) == 0
    runs = sluice.read_runs(lab.out / "results.parquet")
    assert len(runs) == 16 and sorted(set(runs["load"])) == ["1us", "2us"]
    assert runs.columns[:8] == ["sample", "nand.read", "cache.capacity", "cache.policy", "load",
                                "time_s", "double", "error"]
    with pytest.raises(KeyError, match="no column 'policy'; near are cache.policy"):
        runs["policy"]
    # Every point is run with the values that the table has, and eight parts of each range have one
    # point each.
    for row in runs.to_polars().iter_rows(named=True):
        assert (f"sim --work 100 --load {row['load']} --set nand.read={row['nand.read']} --set"
                f" cache.capacity={row['cache.capacity']} --set cache.policy={row['cache.policy']}"
                " --json") in lab.calls()
    reads = sorted(int(value.removesuffix("us")) for value in set(runs["nand.read"]))
    assert [(one - 1) // 10 for one in reads] == list(range(8))
    sizes = sorted(int(value.removesuffix("MiB")) for value in set(runs["cache.capacity"]))
    assert [int(math.log2(one) - 2 - 1e-9) for one in sizes] == list(range(8))
    policies = [*runs["cache.policy"]]
    assert policies.count("lru") == policies.count("fifo") == 8
    assert runs.made["samples"] == [
        {"name": "sample", "method": "latin-hypercube", "seed": 7, "count": 8}]
    assert "8 points, latin-hypercube, seed 7" in capsys.readouterr().out
    assert "seed 7" in (lab.out / "index.html").read_text()


def test_the_seed_draws_the_points_and_each_parameter_has_a_stream_of_its_own() -> None:
    over = {"a": design.read_range("1", "1000", "linear"), "b": design.Choice(("x", "y", "z"))}
    drawn = design.draw("random", 50, 7, over)
    assert drawn == design.draw("random", 50, 7, over)
    assert drawn != design.draw("random", 50, 8, over)
    more = design.draw("random", 50, 7, {"c": design.Choice(("1", "2")), **over})
    assert [{key: one[key] for key in "ab"} for one in more] == drawn


def test_random_points_are_even() -> None:
    how = design.read_range("0", "9", "linear")
    values = [int(one["a"]) for one in design.draw("random", 5000, 1, {"a": how})]
    # Chi-squared of ten values with nine degrees of freedom is below 27.9 in 999 of 1000 cases.
    assert sum((values.count(one) - 500) ** 2 / 500 for one in range(10)) < 27.9


def test_values_have_as_many_digits_as_their_ends() -> None:
    fine = design.read_range("1.00us", "2us", "linear")
    assert {len(fine.value(one / 10)) for one in range(10)} == {len("1.00us")}
    assert fine.value(0.0) == "1.00us" and fine.value(0.9999) == "2.00us"
    assert design.read_range(1, 1000, "log").value(0.5) == "32"


def test_a_small_number_has_no_exponent(lab: Lab) -> None:
    assert sweep(lab, "[grid]\nload = [0.00001, 2e-5]\n", "--", "sim", "--work", "3") == 0
    assert [call.split("--load ")[1].split()[0] for call in lab.calls()] == ["0.00001", "0.00002"]
    assert design.read_range(1e-5, 0.5, "linear").value(0) == "0.00001"


def test_listed_points_set_several_parameters_at_once(lab: Lab) -> None:
    points = "".join(f'[[points]]\nload = "{load}"\ncache.policy = "{policy}"\n'
                     for load, policy in [("1us", "lru"), ("4us", "fifo")])
    assert sweep(lab, f'measures = ["time_s"]\n{points}', "--", "sim", "--work", "3") == 0
    assert [*map(str.split, (lab.out / "results.csv").read_text().splitlines())] == [
        ["point,load,cache.policy,time_s,error"], ["1,1us,lru,3.0,"], ["2,4us,fifo,12.0,"]]
    assert "sim --work 3 --load 4us --set cache.policy=fifo --json" in lab.calls()


def test_parquet_tells_units_and_the_resolved_configuration(tmp_path: Path) -> None:
    measures = ["--measure", "latency_ns.accesses.mean", "--measure", "cache.hit_ratio"]
    assert main(["--sluice", str(SLUICE), "--out", str(tmp_path), *measures, "--over",
                 "cache.policy=lru,fifo", "--", "sim", "--set", "device.capacity=64MiB", "--set",
                 "cache.capacity=4MiB", "--workload", "zipf:size=16MiB,ops=20000"]) == 0
    runs = sluice.read_runs(tmp_path / "results.parquet")
    assert runs.units["latency_ns.accesses.mean"] == "ns" and runs.units["cache.hit_ratio"] == ""
    assert [*runs["config.cache.policy"]] == ["lru", "fifo"]
    assert set(runs["config.cache.capacity"]) == {"4MiB"}
    frame = runs.to_polars()
    assert frame.equals(polars.read_parquet(tmp_path / "results.parquet"))
    told = json.loads((tmp_path / "results.json").read_text())
    assert frame["cache.hit_ratio"].to_list() == [one["values"]["cache.hit_ratio"]
                                                 for one in told["runs"]]


@pytest.mark.parametrize(("change", "said"), [
    (('cache.policy', 'cache.polcy'), "sample.over.cache.polcy: no such parameter; near are"
                                      " cache.policy"),
    (('"80us"', '"80ms"'), "1us and 80ms have two units"),
    (('to = "80us"', 'to = "1us"'), "it goes up, and 1us is not below 1us"),
    (('"4MiB"', '"0MiB"'), "on a logarithmic scale it begins above 0"),
    (('"log"', '"logarithmic"'), "no 'logarithmic'; there are linear, log"),
    (('latin-hypercube', 'sobol'), "no 'sobol'; there are random, latin-hypercube"),
    (('seed = 7', ''), "sample.seed: is missing"),
    (('count = 8', 'count = 0'), "sample.count: a whole number from 1 to 1000000"),
    (('[grid]', '[gird]'), "gird: no such key; there are command, grid, mean, measures"),
    (('["1us", "2us"]', '[[1]]'), "grid.load: plain values were needed"),
    (('["1us", "2us"]', '[2020-01-01]'), "grid.load: plain values were needed"),
    (('from = "1us"', 'from = true'), "True is no number with a unit"),
    (('from = "1us"', 'from = 2020-01-01'), "is no number with a unit, such as 40us"),
    (('"80us"', f'"{"9" * 40}us"'), "is no number with a unit, such as 40us"),
    (('sim --work 100', 'sim \\"--work 100'), "command: No closing quotation: sim"),
    (('["1us", "2us"]', '["1us"]\ncache.policy = ["lru"]\n"cache.policy" = ["fifo"]'),
     "grid.cache.policy: is there twice, with dots and as a table"),
    (('from = "1us", to = "80us"', 'from = "1e-0", to = "80"'), "'1e-0' is no number with a unit"),
    (('from = "1us", to = "80us"', f'from = "0.{"0" * 14}1", to = "1{"0" * 14}"'),
     "takes numbers of 30 digits; 28 are the most"),
    (('"80us"', "9" * 5000), "sweep.toml: "),
    (('"80us"', "[" * 5000), "sweep.toml: "),
    (('sim --work 100', 'sim {size}'), "the command has {size}, and no --over gives it values"),
])
def test_bad_files_are_told_and_nothing_runs(
        lab: Lab, capsys: pytest.CaptureFixture[str], change: tuple[str, str], said: str) -> None:
    assert sweep(lab, FILE.replace(*change)) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1 and lab.calls() == []


@pytest.mark.parametrize(("command", "told"), [
    ("sluice sim --work 100", "-- sluice: the command begins behind the program's name"),
    ("sim --work 100 --out x", "-- .. --out x: all runs would write there"),
])
def test_the_command_of_a_file_is_checked_as_any_other(
        lab: Lab, capsys: pytest.CaptureFixture[str], command: str, told: str) -> None:
    assert sweep(lab, FILE.replace("sim --work 100", command)) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1 and lab.calls() == []


def test_a_command_stands_in_one_place(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, FILE, "--", "sim") == 2
    assert "the command is in the file, and behind --" in capsys.readouterr().err
    assert sweep(lab, "[grid\n") == 2 and "sweep.toml: " in capsys.readouterr().err


def test_what_is_no_table_of_runs_is_refused(tmp_path: Path) -> None:
    other, text = tmp_path / "other.parquet", tmp_path / "text.parquet"
    polars.DataFrame({"a": [1]}).write_parquet(other)
    text.write_text("a,b\n")
    damaged = []
    for number, about in enumerate([b"{", b"\xff", b"[1]"]):
        damaged.append(tmp_path / f"damaged{number}.parquet")
        table = pyarrow.table({"a": [1]}).replace_schema_metadata({parquet.KEY: about})
        pyarrow.parquet.write_table(table, damaged[-1])
    for path, said in [(other, "Sluice has not made it; sluice.runs/1 was needed"),
                       (text, "no file in Parquet's format"),
                       (damaged[0], "what it says of itself is damaged"),
                       (damaged[1], "what it says of itself is damaged"),
                       (damaged[2], r"its schema is \[1\]; sluice.runs/1 was needed"),
                       (tmp_path / "none", "No such file")]:
        with pytest.raises(sluice.TableError, match=said):
            sluice.read_runs(path)


def test_a_number_beyond_floats_is_a_name() -> None:
    for labels in (["1e400", "2"], ["-1e400", "2"], ["9" * 400 + ".5", "2"]):
        assert parquet.axis("x", labels).values == labels
    assert parquet.axis("x", ["1e300", "2"]).values == [1e300, 2.0]


@pytest.mark.parametrize("text", [
    'command = "run -- true"\n[grid]\nhost.on_long_delay = ["spin", "switch"]\n',
    '[[points]]\nhost.on_long_delay = "spin"\n',
    '[sample]\nmethod = "random"\ncount = 2\nseed = 1\n[sample.over]\n'
    'host.on_long_delay = ["spin", "switch"]\n',
])
def test_a_file_may_give_settings_of_live_runs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    read = file.read(path, ["run", "--", "true"])
    keys = [*read.grid, *(key for one in read.points for key in one.values[0])]
    assert keys == ["host.on_long_delay"]
    path.write_text(text.replace("run -- true", "sim"))
    with pytest.raises(ExperimentError, match="no such parameter"):
        file.read(path, ["sim"])


@pytest.mark.parametrize(("command", "points", "arguments"), [
    ("curve", 'on = "live"', "curve --json --on live"),
    ("curve", 'on = "simulated"', ""),
    ("size ./p", 'trace = "a"', ""),
    ("workload chase --json", 'size = "1MiB"', "workload chase --size 1MiB --json"),
])
def test_what_measures_time_is_alone(command: str, points: str, arguments: str) -> None:
    """Points of a live curve, and programs without a device, ran beside each other."""
    read = file.of(Section(Path("f"), "", tomllib.loads(f"[[points]]\n{points}")), command.split())
    found = plan([], [], command.split(), file=read).experiment
    assert found.live is bool(arguments)
    assert not arguments or " ".join(matrix.runs(found)[0].arguments) == arguments


def test_whole_numbers_may_be_large(lab: Lab) -> None:
    assert sweep(lab, f"[grid]\nload = ['1us']\nwork = [{10**400}]\n", "--", "sim") == 0
    assert lab.calls() == [f"sim --load 1us --work {10**400} --json"]


def test_a_word_that_no_program_can_have_is_named(lab: Lab) -> None:
    """The thread that starts programs ended, and the sweep waited for it for ever."""
    path = lab.out.parent / "sweep.toml"
    path.write_text('[grid]\nload = ["1us", "2us"]\nwork = ["1\\u0000"]\n')
    done = subprocess.run(
        [sys.executable, "-m", "sluice.sweep", "--sluice", lab.sluice, "--out", lab.out, "--file",
         path, "--", "sim"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "sim --load 1us --work 1\\x00 --json'` cannot be started" in done.stderr


@pytest.mark.parametrize("last", [
    "3", "[]", "null", '"text"',
    # Nor is the end of one that is cut off.
    '{"a":{"time_s":1}', '{"a":[{"time_s":1}', '{"a":[{},{"time_s":1}'])
def test_a_last_line_that_is_no_object_is_no_result(
        lab: Lab, capsys: pytest.CaptureFixture[str], last: str) -> None:
    lab.sluice.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 1 || echo '{last}'\n")
    assert sweep(lab, "[grid]\nload = ['1us']\n", "--", "sim") == 2
    assert "its last line is no JSON object" in capsys.readouterr().err


def test_a_line_goes_along_its_axis(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of values in another order it went back and forth."""
    drawn, plot = [], Axes.plot

    def record(axes: Axes, xs: Any, ys: Any, **style: Any) -> Any:
        drawn.append((list(xs), list(ys)))
        return plot(axes, xs, ys, **style)

    monkeypatch.setattr(Axes, "plot", record)
    assert sweep(lab, "[grid]\nload = ['9us', '1us', '3us']\nwork = [1]\n", "--", "sim") == 0
    assert drawn == [([1e-6, 3e-6, 9e-6], [1, 3, 9])]


def test_a_mean_is_of_the_repeats_that_have_a_number(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """One ratio of nothing to nothing took the mean with it, and three were counted."""
    lab.sluice.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\n"
                          'echo "{\\"time_s\\": $3}"\n')
    runs = "[grid]\nload = ['2', 'null', '4']\n"
    assert sweep(lab, runs, "--mean", "load", "--", "sim") == 0
    assert capsys.readouterr().out.splitlines()[1] == "3 ± 13 of 2"
    [row] = json.loads((lab.out / "results.json").read_text())["means"]["rows"]
    told = row["values"]["time_s"]
    assert (told["mean"], told["n"]) == (3, 2)
    assert sweep(lab, "[grid]\nload = ['null']\n", "--mean", "load", "--", "sim") == 0
    assert capsys.readouterr().out.splitlines()[1] == "none"


def test_the_ends_of_a_measure_are_named_by_what_they_share(lab: Lab) -> None:
    """Of equal runs one was named, as if the seed had made it the least."""
    runs = "[grid]\nload = ['1us', '2us']\nseed = [1, 2]\nwork = [6]\n"
    assert sweep(lab, runs, "--", "sim") == 0
    told = "<b>time, s</b>: from 6 (1us, work 6) to 12 (2us, work 6)."
    assert told in (lab.out / "index.html").read_text()
    assert sweep(lab, "[grid]\nload = ['1us', '2us']\nwork = [1, 2, 4]\n", "--force", "--",
                 "sim") == 0
    assert "from 1 (1us, work 1) to 8 (2us, work 4)." in (lab.out / "index.html").read_text()
    whole = [["1", "2"], ["2", "1"]]
    assert results._where(["load", "work"], whole) == "2 of them"


def test_numbers_in_lists_are_measured(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """No name led to the loads of a curve."""
    lab.sluice.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\n"
                          "echo '{\"loads\": [{\"t\": '$3', \"h\": [4, [5]]}, {\"t\": 2}]}'\n")
    names = ["loads[0].t", "loads[1].t", "loads[0].h[1][0]"]
    runs = f"measures = {[*names, 'sum = loads[0].t + loads[1].t']}\n[grid]\nlog = [1, 7]\n"
    assert sweep(lab, runs, "--", "sim") == 0
    told = json.loads((lab.out / "results.json").read_text())["runs"]
    expected = [[1, 2, 5, 3], [7, 2, 5, 9]]
    assert [[run["values"][name] for name in [*names, "sum"]] for run in told] == expected
    capsys.readouterr()
    for wrong, says in [("loads.t", "there is loads[1].t, loads[0].t"),
                        ("loads[2].t", "no number 'loads[2].t'"),
                        ("loads[log].t", "cannot read 'loads[log]'")]:
        assert sweep(lab, f"measures = ['{wrong}']\n[grid]\nlog = [1]\n", "--", "sim") == 2
        assert says in capsys.readouterr().err


def test_a_part_that_some_runs_lack_is_measured_in_the_others(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the first had none nothing ran, and where another had none all ran for nothing."""
    lab.sluice.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit\n"
                          'echo "{\\"time_s\\": 1, \\"log\\": $3}"\n')
    for order in ("'null', '{\"n\": 7}'", "'{\"n\": 7}', 'null'"):
        lab.out.mkdir(exist_ok=True)
        assert sweep(lab, f"measures = ['log.n']\n[grid]\nlog = [{order}]\n", "--", "sim") == 0
        told = json.loads((lab.out / "results.json").read_text())["runs"]
        assert {run["values"]["log.n"] for run in told} == {7, None}
    capsys.readouterr()
    for wrong in ("log.m", "time_s.n", "lag.n"):
        runs = f"measures = ['{wrong}']\n[grid]\nlog = ['null', '{{\"n\": 7}}']\n"
        assert sweep(lab, runs, "--", "sim") == 2
        assert f"no number '{wrong}' in the output of `sluice sim" in capsys.readouterr().err
