"""A minute of the torture suite, and what its runner says when something is wrong."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tests" / "torture" / "run.py"
ROUND = "c/7/event/heap/lru/4MiB/5us/40/alone"


def torture(*words: str, limit: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUN, *words], capture_output=True, text=True, check=False, timeout=limit,
        env=os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", ROOT / "target")},
    )


def stand_in(folder: Path, script: str) -> str:
    """A program in the place of `sluice`."""
    path = folder / "sluice"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


# What a stand-in runs: everything behind the "--".
PROGRAM = 'while [ "$1" != -- ]; do shift; done; shift\n'


def test_a_minute_of_rounds_in_both_modes_and_places() -> None:
    out = torture("--minutes", "1", "--seed", "1", "--steps", "150", limit=900)
    assert out.returncode == 0, out.stdout + out.stderr
    assert out.stdout.count("well") == 0, "only failures are printed"


def test_a_program_that_runs_as_it_does_alone_is_well(tmp_path: Path) -> None:
    path = stand_in(tmp_path, PROGRAM + 'exec "$@"')
    out = torture("--sluice", path, "--round", ROUND, limit=120)
    assert out.returncode == 0, out.stdout + out.stderr


def test_a_slow_round_does_not_hang(tmp_path: Path) -> None:
    steps = 'for n in 1 2 3 4; do echo "sluice: 99 traps"; sleep 2; done; exec "$@"'
    path = stand_in(tmp_path, PROGRAM + steps)
    out = torture("--sluice", path, "--round", ROUND, "--limit", "5", limit=120)
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (PROGRAM + 'shift 3; exec "$0.real" "$@"', "status 127"),
        (PROGRAM + 'p=$1; shift 3; exec "$p" --seed 8 "$@"', "line 0 of the log"),
        (PROGRAM + '"$@"; exit 5', "status 5"),
        (PROGRAM + '"$@"; echo more', "more"),
        (PROGRAM + 'sleep 300 & exec "$@"', "processes are left"),
        (PROGRAM + '"$@"; mkdir -p /dev/shm/sluice-user-$(id -u)/$$-0',
         "session folders are left"),
        ("exec sleep 300", "took no step for 5 s"),
    ],
)
def test_what_is_wrong_is_told_and_can_be_repeated(tmp_path: Path, script: str, told: str) -> None:
    path = stand_in(tmp_path, script)
    out = torture("--sluice", path, "--round", ROUND, "--limit", "5", limit=120)
    for left in re.findall(r"/dev/shm/sluice-user-[0-9]+/[0-9]+-0", out.stdout):
        Path(left).rmdir()
    assert out.returncode == 1, out.stdout + out.stderr
    assert told in out.stdout and f"--round {ROUND}" in out.stdout, out.stdout


def test_a_round_that_is_none_is_refused() -> None:
    out = torture("--round", "c/7/event", limit=60)
    assert out.returncode == 2 and "program/seed/trap/place" in out.stderr


def test_every_limit_has_its_reason() -> None:
    out = torture("--limits", limit=60)
    assert out.returncode == 0
    assert all(len(line.split(maxsplit=3)[3]) > 20 for line in out.stdout.splitlines())


def test_a_round_whose_steps_are_slow_has_fewer_and_is_given_more_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(RUN.parent)
    limits = importlib.import_module("limits")
    assert limits.steps("lru", "hogs", 300) == 300
    assert limits.steps("mru", "ring", 300) == 75
    assert limits.steps("mru", "hogs", 300) == 25
    assert limits.steps("lifo", "ring+hogs", 2) == 1
    assert limits.patience("lru", "alone", 120) == limits.patience("arc", "ring", 120) == 120
    assert limits.patience("lru", "ring+hogs", 120) == limits.patience("mru", "ring", 120) == 120
    assert limits.patience("lifo", "hogs", 120) == 360
