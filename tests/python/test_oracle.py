"""Is a policy the policy it says? Short traces, and libCacheSim's misses; `make oracle` is long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import sluice

ROOT = Path(__file__).parents[2]
SLUICE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "sluice"
ORACLE = Path(__file__).parents[1] / "oracle"


def told(script: str, *arguments: str | Path) -> str:
    """What a script that must succeed prints."""
    # A process of its own: what libcachesim imports warns, and warnings are errors here.
    done = subprocess.run([sys.executable, ORACLE / script, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_misses_equal_those_of_libcachesim(tmp_path: Path) -> None:
    text = told("exact.py", "--quick", "--traces", tmp_path)
    assert "DIFFERS" not in text and text.count("\n") > 36


def test_the_speed_comparison_runs_and_counts_the_same_misses(tmp_path: Path) -> None:
    text = told("speed.py", "--quick", "--rounds", "1", "--traces", tmp_path)
    assert "DIFFERENT" not in text and text.count("equal") > 10


def test_requests_from_the_command_line_miss_as_those_of_libcachesim(tmp_path: Path) -> None:
    text = told("requests.py", "--sluice", SLUICE, "--traces", tmp_path)
    assert "DIFFERENT" not in text and text.count("equal") > 10


def test_a_page_beyond_the_device_is_refused() -> None:
    small = {"device.capacity": "16KiB", "cache.capacity": "4KiB"}
    pages = numpy.array([0, 3, 0], dtype=numpy.uint32)
    assert sluice.replay("cylon", small, pages)["misses"] == 3
    with pytest.raises(sluice.BadValueError, match='"4"; expected page numbers below 4'):
        sluice.replay("cylon", small, pages + 1)
