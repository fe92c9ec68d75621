"""Does a sweep come to the same bytes however it is carried out, and what does a loss cost?"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from experiments import Lab

from sluice.reproduce.runner import Runner
from sluice.sweep import main

SWEEP = ["--over", "load=1us,2us,4us", "--over", "work=1..6", "--over", "device.speed=1,2"]
COMMAND = ["--", "sim"]
FILES = ["results.json", "results.csv", "results.parquet", "index.html"]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    # One point fails, and must be the same row everywhere.
    monkeypatch.setenv("REFUSE", "--load 2us --work 3 --set device.speed=2")
    return Lab(tmp_path)


def sweep(lab: Lab, out: Path, *arguments: str) -> int:
    return main(["--sluice", str(lab.sluice), "--out", str(out), *arguments])


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


@pytest.fixture
def expected(lab: Lab, tmp_path: Path) -> list[bytes]:
    assert sweep(lab, tmp_path / "one", "--jobs", "1", *SWEEP, *COMMAND) == 1
    return contents(tmp_path / "one")


def test_two_processes_make_the_same_bytes(
        lab: Lab, tmp_path: Path, expected: list[bytes]) -> None:
    assert sweep(lab, tmp_path / "two", "--jobs", "2", *SWEEP, *COMMAND) == 1
    assert contents(tmp_path / "two") == expected


def test_shards_make_the_same_bytes(lab: Lab, tmp_path: Path, expected: list[bytes]) -> None:
    folders = [tmp_path / f"part{one}" for one in range(1, 5)]
    before = len(lab.calls())
    for number, folder in enumerate(folders, start=1):
        assert sweep(lab, folder, "--shard", f"{number}/4", *SWEEP, *COMMAND) in (0, 1)
    assert len(lab.calls()) == before + 36, "each point once"
    merged = tmp_path / "merged"
    assert main(["--out", str(merged), "--merge", *map(str, reversed(folders))]) == 1
    assert contents(merged) == expected and len(lab.calls()) == before + 36


def test_what_is_not_the_whole_of_one_sweep_is_not_merged(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    sweep(lab, one, "--shard", "1/2", *SWEEP, *COMMAND)
    sweep(lab, two, "--shard", "2/2", *SWEEP, *COMMAND)
    sweep(lab, other, "--shard", "2/2", "--over", "load=1us,2us", *COMMAND, "--work", "5")
    capsys.readouterr()

    def refused(*folders: Path) -> str:
        out = tmp_path / "merged"
        assert main(["--out", str(out), "--merge", *map(str, folders)]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and not out.exists()
        return told

    assert f"{other} has a shard of another sweep than {one}: its command" in refused(one, other)
    assert "shard 2/2 is missing" in refused(one)
    assert f"{one} and {one} both have shard 1/2" in refused(one, one)
    assert f"{tmp_path}: no shard of a sweep" in refused(tmp_path)
    runs = two / "runs.jsonl"
    runs.write_text("".join(runs.read_text().splitlines(keepends=True)[1:]))
    assert f"{two}: 1 of 18 runs of shard 2/2 are missing" in refused(one, two)
    # Its schema was called damage, and the shard would have run again for nothing.
    shard = two / "shard.json"
    shard.write_text(shard.read_text().replace("sluice.sweep-shard/1", "sluice.sweep-shard/2"))
    assert "schema is sluice.sweep-shard/2, not sluice.sweep-shard/1" in refused(one, two)
    (two / "shard.json").write_text("{}")
    assert "shard.json: damaged" in refused(one, two)


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "a/b"])
def test_a_part_that_is_none_is_refused(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], shard: str) -> None:
    with pytest.raises(SystemExit):
        sweep(lab, tmp_path / "out", "--shard", shard, *SWEEP, *COMMAND)
    assert "is no part of a sweep; I/N is part I of N" in capsys.readouterr().err


def test_a_full_disk_is_told_and_what_was_there_stays(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "disk"
    out.mkdir()
    call = [sys.executable, "-m", "sluice.sweep", "--sluice", lab.sluice, "--out", out]
    script = f"""set -e; mount -t tmpfs -o size=96k none {out}
        "$@" --over load=1us -- sim --work 1 >/dev/null; before=$(md5sum {out}/results.csv)
        head -c 90k /dev/zero >{out}/fill 2>/dev/null || true
        "$@" --over load=1us,2us -- sim --work 1 && exit 98; [[ $? = 2 ]]
        [[ $(md5sum {out}/results.csv) = $before ]]"""
    done = subprocess.run(["unshare", "-rm", "bash", "-c", script, "sh", *call], text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(f"sluice sweep: {out}/.*: No space left on device\n", done.stderr)


@pytest.mark.parametrize(("to", "status", "told"), [
    ("", 0, ""), (">&-", 0, ""), (">/dev/full", 2, "sluice sweep: No space left on device\n")])
def test_the_table_is_for_any_reader(lab: Lab, tmp_path: Path, to: str, status: int, told: str
                                     ) -> None:
    """Its plus-or-minus has no letter in ASCII."""
    command = [sys.executable, "-m", "sluice.sweep", "--sluice", lab.sluice, "--out",
               tmp_path / "out", "--over", "work=1,2", "--mean", "work", "--", "sim", "--load", "1"]
    done = subprocess.run(["sh", "-c", f'exec "$@" {to}', "sh", *command], capture_output=True,
                          text=True, check=False,
                          env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUNBUFFERED": ""})
    assert (done.returncode, done.stderr) == (status, told)
    assert ("1.5 ? 6.4" in done.stdout) is (not to)


def test_sigterm_ends_what_is_under_way(tmp_path: Path) -> None:
    program, pid = tmp_path / "sluice", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo sluice 0 && exit\necho $$ >{pid}\n"
                       "exec sleep 100\n")
    program.chmod(0o755)
    command = [sys.executable, "-m", "sluice.sweep", "--sluice", program, "--out", tmp_path / "out",
               "--over", "seed=1,2", "--", "sim"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        until("a run has begun", lambda: pid.exists() and pid.read_text().endswith("\n"))
        started.terminate()
        told = started.communicate(timeout=60)[1]
    assert started.returncode == 143
    assert "sluice sweep: interrupted; 0 runs are kept in" in told and "Traceback" not in told
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_of_two_sweeps_in_one_folder_the_first_to_end_stays(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    run, out = Runner.run, tmp_path / "out"

    def another_ends_meanwhile(runner: Runner, *words: object, **more: object) -> None:
        monkeypatch.setattr(Runner, "run", run)
        assert sweep(lab, out, "--over", "load=1us", "--", "sim", "--work", "9") == 0
        run(runner, *words, **more)

    monkeypatch.setattr(Runner, "run", another_ends_meanwhile)
    assert sweep(lab, out, "--over", "load=1us", "--", "sim", "--work", "8") == 2
    assert "has the sweep of `sluice sim --work 9`" in capsys.readouterr().err
    assert ",9.0," in (out / "results.csv").read_text()


class Dask:
    """A scheduler on loopback and its workers, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{one.getsockname()[1]}"
        host, port = self.address.split(":")
        self.scheduler = self._start("dask_scheduler", "--host", host, "--port", port,
                                     "--no-dashboard", "--no-show")
        self._started = [self.scheduler]
        self.workers = [self.worker(), self.worker()]

    def worker(self) -> subprocess.Popen[bytes]:
        return self._start("dask_worker", f"tcp://{self.address}", "--host", "127.0.0.1",
                           "--nthreads", "1", "--no-nanny", "--no-dashboard",
                           "--local-directory", str(self._folder))

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / "dask.log").open("ab") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        if module == "dask_worker":
            self._started.append(child)
        return child

    def end(self) -> None:
        for child in reversed(self._started):
            child.kill()
            child.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Dask]:
    dask = Dask(folder)
    try:
        yield dask
    finally:
        dask.end()


def coordinator(lab: Lab, out: Path, dask: Dask) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sluice.sweep", "--sluice", lab.sluice, "--out", out, "--engine",
         f"dask://{dask.address}", *SWEEP, *COMMAND],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kept(out: Path) -> int:
    try:
        return (out / "runs.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return 0


def until(what: str, holds: object) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_lost_worker_and_a_lost_coordinator_cost_unfinished_points_only(
        lab: Lab, tmp_path: Path, expected: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAP", "0.2")
    out, before = tmp_path / "dask", len(lab.calls())
    with cluster(tmp_path) as dask:
        first = coordinator(lab, out, dask)
        until("five points are kept", lambda: kept(out) >= 5)
        os.kill(first.pid, signal.SIGKILL)
        first.communicate()
        had = kept(out)
        second = coordinator(lab, out, dask)
        until("five more points are kept", lambda: kept(out) >= had + 5)
        dask.workers[0].kill()
        _, told = second.communicate(timeout=120)
    assert second.returncode == 1, told
    assert contents(out) == expected
    # Run twice are at most those that two workers had under way or had not reported, at either
    # loss.
    assert 36 <= len(lab.calls()) - before <= 36 + 6


class Future:
    """A run of a cluster whose states are known: each look at it is at the next one."""

    def __init__(self, key: str, states: list[str]) -> None:
        self.key = key
        self._states = states

    @property
    def status(self) -> str:
        return self._states.pop(0) if len(self._states) > 1 else self._states[0]

    def add_done_callback(self, told: object) -> None:
        told(self)

    def exception(self) -> None:
        return None

    def result(self) -> object:
        from sluice.reproduce.engines import Outcome

        return Outcome({"of": self.key}, "", 0.0)


def test_a_run_that_had_ended_on_a_lost_worker_is_waited_for_again(lab: Lab) -> None:
    """Of 2,000 points four failed: their worker was lost between their end and the look at it."""
    from types import SimpleNamespace

    from sluice.reproduce.engines import Program
    from sluice.reproduce.engines import cluster as engine

    states = [["lost", "pending", "finished"], ["finished"]]
    client = SimpleNamespace(
        submit=lambda *_, key, **__: Future(key, states.pop(0)), cancel=lambda _: None,
        status="running")
    found = dict(engine.Cluster(client, "dask", 60).outcomes(
        Program(lab.sluice), {("sim", "1"): {}, ("sim", "2"): {}}, alone=False))
    assert [found[arguments].problem for arguments in (("sim", "1"), ("sim", "2"))] == ["", ""]


def test_a_lost_scheduler_is_said_and_costs_unfinished_points_only(
        lab: Lab, tmp_path: Path, expected: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs that had not ended were written down as failures, `NoneType: None` each."""
    monkeypatch.setenv("NAP", "0.2")
    out = tmp_path / "dask"
    with cluster(tmp_path) as dask:
        first = coordinator(lab, out, dask)
        until("five points are kept", lambda: kept(out) >= 5)
        dask.scheduler.kill()
        _, told = first.communicate(timeout=120)
    assert first.returncode == 2 and not (out / "results.csv").exists()
    assert "the scheduler is lost; what has ended is kept" in told and "Traceback" not in told
    with cluster(tmp_path) as dask:
        second = coordinator(lab, out, dask)
        _, told = second.communicate(timeout=120)
    assert second.returncode == 1, told
    assert contents(out) == expected


def test_a_run_that_measures_time_stays_on_this_machine(lab: Lab) -> None:
    """Two runs of a live sweep went to workers, since each was the only one left to run."""
    from types import SimpleNamespace

    from sluice.errors import ExperimentError
    from sluice.reproduce.engines import Program
    from sluice.reproduce.engines import cluster as engine

    todo: dict[tuple[str, ...], dict[str, str]] = {("run", "1"): {}}
    with pytest.raises(ExperimentError, match="--engine local does that"):
        next(engine.Cluster(SimpleNamespace(), "dask", 60).outcomes(
            Program(lab.sluice), todo, alone=True))


def test_a_worker_with_another_program_is_told(lab: Lab, tmp_path: Path) -> None:
    from sluice.reproduce.engines import cluster as engine

    told = engine.execute(str(lab.sluice), "0" * 64, ("sim",), {})
    assert told.result is None and "or another one than the coordinator's" in told.problem


def test_a_cluster_that_cannot_be_reached_is_told(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    from sluice.reproduce.engines import cluster as engine

    monkeypatch.setattr(engine, "REACH_S", 1)
    assert sweep(lab, tmp_path / "out", "--engine", "dask://127.0.0.1:1", *SWEEP, *COMMAND) == 2
    told = capsys.readouterr().err
    assert "no scheduler of Dask answers at 127.0.0.1:1" in told and told.count("\n") == 1


def test_engines_are_named(
        lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep(lab, tmp_path, "--engine", "kubernetes", *SWEEP, *COMMAND) == 2
    assert "no such engine; there are local, dask://HOST:PORT, slurm, pbs, lsf" in \
        capsys.readouterr().err
    assert sweep(lab, tmp_path, "--workers", "3", *SWEEP, *COMMAND) == 2
    assert "--workers 3: only with --engine slurm, pbs, lsf" in capsys.readouterr().err
    assert lab.calls() == []


@pytest.mark.parametrize(("batch", "lines"), [
    ("slurm", ["#SBATCH -p long", "#SBATCH --cpus-per-task=1", "#SBATCH --mem=4G",
               "#SBATCH -t 02:00:00"]),
    ("pbs", ["#PBS -q long", "#PBS -l walltime=02:00:00"]),
    ("lsf", ["#BSUB -q long", "#BSUB -W 02:00"]),
])
def test_jobs_of_a_batch_system_ask_for_what_was_asked(batch: str, lines: list[str]) -> None:
    """What is submitted, as text: no batch system is here."""
    from sluice.reproduce.engines import cluster as engine

    with engine.jobs(batch, "4GiB", "02:00:00", "long") as jobs:
        script = jobs.job_script()
    for line in lines:
        assert line in script, script


def test_the_example_of_a_job_array_runs_every_part(lab: Lab, tmp_path: Path) -> None:
    cluster_folder = Path(__file__).parents[2] / "examples" / "cluster"
    told = tmp_path / "told"
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "sluice"
    fake.write_text(f'#!/bin/bash\nprintf "%s\\n" "$@" >>{told}\n')
    fake.chmod(0o755)
    env = os.environ | {"PATH": f"{fake.parent}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "8"}
    subprocess.run(["bash", cluster_folder / "array.sbatch"], env=env, check=True)
    command, *arguments = told.read_text().splitlines()
    at = arguments.index("--file") + 1
    arguments[at] = str(cluster_folder / "sweep.toml")
    del arguments[arguments.index("--out"):]
    assert command == "sweep" and sweep(lab, tmp_path / "out", *arguments) == 1
    # The program of these tests knows no such workload: all that matters here is which runs.
    assert len(lab.calls()) == 400 // 8
