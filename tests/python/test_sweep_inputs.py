"""Is a run that is kept used only while the files that it has read are the same?"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from experiments import Lab

import sluice
from sluice.reproduce import inputs
from sluice.sweep import main

LOADS = ["--over", "load=1us,2us,4us"]
# Its result is what the file of its first argument says; and then it does what EDIT says.
READER = """#!/bin/sh
[ "$1" = --version ] && echo "sluice 0.0.0" && exit
echo "$*" >>{calls}
cat >/dev/null
for word; do case $word in *.toml) read value <{folder}/value ;; esac; done
eval "$EDIT"
echo "{{\\"time_s\\": ${{value:-0}}}}"
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.chdir(tmp_path)
    return Lab(tmp_path)


def sweep(lab: Lab, *arguments: str, out: Path | None = None) -> int:
    return main(["--sluice", str(lab.sluice), "--out", str(out or lab.out), *arguments])


def times(out: Path) -> list[float]:
    with (out / "results.csv").open() as file:
        return [float(row["time_s"]) for row in csv.DictReader(file)]


def reader(lab: Lab, folder: Path) -> None:
    """Its runs print what is in the file ``value``."""
    lab.sluice.write_text(READER.format(calls=folder / "calls", folder=folder))


@pytest.mark.parametrize("words", [
    "--device dev.toml", "--device=./dev.toml", "--device {cwd}/dev.toml",
    "--set cache.policy=a.so", "--workload trace:dev.toml,scale=2",
    "--workload x:file=a,b=dev.toml", "--trace a,b:c.trace", "--system system.toml",
    "--fabric deep/fabric.toml"])
def test_a_file_with_other_contents_is_another_run(
        lab: Lab, tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_SETTLED_NS", -10**18)
    (tmp_path / "deep").mkdir()
    (tmp_path / "system.toml").write_text('device = "dev.toml"\n')
    (tmp_path / "deep" / "fabric.toml").write_text(
        '[[requesters]]\nname = "a"\n[[endpoints]]\nsystem = "../system.toml"\n')
    read = next(tmp_path / name for name in ("a.so", "a,b:c.trace", "dev.toml")
                if name in words or name == "dev.toml")
    read.write_text('[cache]\ncapacity = "1MiB"\n')
    command = ["--", "sim", "--work", "1", *words.format(cwd=tmp_path).split()]
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 3
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 3
    os.utime(read, (1, 1))
    beside = tmp_path / "beside"
    beside.write_bytes(read.read_bytes())
    beside.replace(read)
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 3, "the same bytes"
    was = read.stat()
    read.write_text('[cache]\ncapacity = "4MiB"\n')
    os.utime(read, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert read.stat().st_size == was.st_size
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 6
    read.unlink()
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 9


def test_what_is_kept_without_its_files_runs_again(lab: Lab) -> None:
    """Earlier versions kept runs so."""
    command = ["--", "sim", "--work", "1"]
    assert sweep(lab, *LOADS, *command) == 0
    kept = lab.out / "runs.jsonl"
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    for line in lines:
        del line["inputs"]
    kept.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert sweep(lab, *LOADS, *command) == 0 and len(lab.calls()) == 6


@pytest.mark.parametrize("command", [["sim"], ["run"]])
def test_a_file_that_changes_during_the_runs_is_told(
        lab: Lab, tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    reader(lab, tmp_path)
    (tmp_path / "value").write_text("1\n")
    (tmp_path / "dev.toml").write_text("a = 1\n")
    command += ["--device", "dev.toml", "--", "./p"]
    edit = f"echo 2 >{tmp_path}/value; echo 'a = 2' >dev.toml"
    monkeypatch.setenv("EDIT", f'case "$*" in *2us*) {edit} ;; esac')
    assert sweep(lab, "--jobs", "1", *LOADS, "--", *command) == 2
    assert "dev.toml changed during the runs; give the same command" in capsys.readouterr().err
    assert not (lab.out / "results.csv").exists()
    monkeypatch.setenv("EDIT", "")
    assert sweep(lab, *LOADS, "--", *command) == 0
    assert times(lab.out) == [2, 2, 2]


def test_a_program_that_changes_during_the_runs_is_told(
        lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    reader(lab, tmp_path)
    monkeypatch.setenv("EDIT", f"echo >>{lab.sluice}")
    assert sweep(lab, *LOADS, "--", "sim") == 2
    assert f"{lab.sluice} changed during the runs" in capsys.readouterr().err


@pytest.mark.parametrize("written", ["log.txt", "log-{load}.txt"])
def test_what_a_live_program_writes_costs_no_run_and_what_it_reads_does(
        lab: Lab, tmp_path: Path, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader(lab, tmp_path)
    data, calls = tmp_path / "data.bin", tmp_path / "calls"
    data.write_text("1")
    monkeypatch.setenv("EDIT", 'for word; do case $word in log*) echo "$*" >$word ;; esac; done')
    command = [*LOADS, "--", "run", "--", "./p", "data.bin", written, "{load}"]
    for _ in range(2):
        assert sweep(lab, *command) == 0 and len(calls.read_text().splitlines()) == 3
    data.write_text("2")
    assert sweep(lab, *command) == 0 and len(calls.read_text().splitlines()) == 6
    # Of what somebody else has written nothing is known.
    (tmp_path / written.format(load="1us")).write_text("other")
    assert sweep(lab, *command) == 0 and len(calls.read_text().splitlines()) > 6


def test_what_somebody_changes_during_a_live_run_is_no_work_of_its_program(
        lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader(lab, tmp_path)
    (tmp_path / "data.bin").write_text("1")
    command = [*LOADS, "--", "run", "--", "./p", "data.bin", "{load}"]
    monkeypatch.setenv("EDIT", 'case "$*" in *2us*) echo 2 >data.bin ;; esac')
    assert sweep(lab, *command) == 0
    monkeypatch.setenv("EDIT", "")
    assert sweep(lab, *command) == 0
    # The last run has read the changed file; the two before have not.
    assert len((tmp_path / "calls").read_text().splitlines()) >= 3 + 2


def test_a_file_is_read_once(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_SETTLED_NS", -10**18)
    trace, read = tmp_path / "a.trace", []
    trace.write_bytes(bytes(1 << 20))

    def counted(file: object, name: str, hashed: Callable = hashlib.file_digest) -> object:
        read.append(file.name)
        return hashed(file, name)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert sweep(lab, *LOADS, "--", "sim", "--work", "1", "--trace", "a.trace") == 0
    assert read.count("a.trace") == 1 and len(lab.calls()) == 3


def test_shards_have_read_the_same_file_and_only_they_need_it(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader(lab, tmp_path)
    device, value = tmp_path / "dev.toml", tmp_path / "value"
    parts = [tmp_path / "one", tmp_path / "two"]
    merged = ["--out", str(lab.out), "--merge", *map(str, parts)]

    def shard(number: int, text: str) -> None:
        device.write_text(f"a = {text}\n")
        value.write_text(f"{text}\n")
        assert sweep(lab, "--shard", f"{number}/2", *LOADS, "--", "sim", "--device", "dev.toml",
                     out=parts[number - 1]) == 0
        device.unlink()

    shard(1, "1")
    shard(2, "1")
    assert main(merged) == 0 and times(lab.out) == [1] * 3
    shard(1, "2")
    capsys.readouterr()
    assert main(merged) == 2
    assert (f"{parts[1]}: its runs have read another dev.toml than those of {parts[0]}"
            in capsys.readouterr().err)
    shard(2, "2")
    assert main(merged) == 0 and times(lab.out) == [2] * 3


def test_a_worker_runs_with_the_coordinators_files(lab: Lab, tmp_path: Path) -> None:
    from sluice.reproduce.engines import cluster as engine

    device = tmp_path / "dev.toml"
    device.write_text("a = 1\n")
    arguments = ("sim", "--load", "1us", "--work", "1", "--device", "dev.toml")
    program, there = inputs.digest(str(lab.sluice)), inputs.digest("dev.toml")

    def run(files: inputs.Digests) -> object:
        return engine.execute(str(lab.sluice), program, arguments, files)

    assert run({"dev.toml": there}).result == {"time_s": 1.0, "wet": False}
    assert "has no dev.toml, or another one than the" in run({"dev.toml": "0" * 64}).problem
    assert run({}).inputs == {"dev.toml": there}, "a file that the coordinator has not"
    device.unlink()
    assert "has no dev.toml, or another one than the" in run({"dev.toml": there}).problem


def test_a_label_with_dollars_is_no_formula_in_a_picture(lab: Lab) -> None:
    words = ["--over", "load=1us,2us", "--over", "word=$a$,_b"]
    assert sweep(lab, *words, "--", "sim", "--work", "5") == 0
    page = (lab.out / "index.html").read_text()
    assert ">$a$</text>" in page and ">_b</text>" in page


def test_a_name_that_is_no_text_is_in_the_results(lab: Lab, tmp_path: Path) -> None:
    """Nothing was written of a sweep over such a name."""
    reader(lab, tmp_path)
    over = "file=a\udcff.trace,b.trace"
    assert sweep(lab, "--over", "load=1us", "--over", over, "--", "sim", "--work", "5") == 0
    assert "a?.trace" in (lab.out / "results.csv").read_text()
    assert [*sluice.read_runs(lab.out / "results.parquet")["file"]] == ["a?.trace", "b.trace"]
    told = json.loads((lab.out / "results.json").read_text())
    assert told["axes"][1]["values"] == ["a\udcff.trace", "b.trace"]


def test_a_folder_that_cannot_be_is_named(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    out = lab.out.parent / ("x" * 300)
    assert sweep(lab, "--over", "load=1us", "--", "sim", out=out) == 2
    assert capsys.readouterr().err == (
        f"sluice sweep: --out {out}: File name too long; name another folder\n")


def test_a_program_that_is_not_sluice_is_named(
        lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.sluice.write_text("#!/bin/sh\nexit 1\n")
    assert sweep(lab, "--over", "load=1us", "--", "sim") == 2
    assert f"{lab.sluice}: `--version` prints none, status 1" in capsys.readouterr().err
