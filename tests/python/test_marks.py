"""Marks from Python part a live run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sluice

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
SLUICE = TARGET / "release" / "sluice"

# 256 pages are written between the marks, and nothing else is new there.
PROGRAM = """
import mmap, sluice
memory = mmap.mmap(-1, 256 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
assert sluice.mark("loaded")
for page in range(256):
    memory[page * 4096] = 1
assert sluice.mark("done")
for wrong in ("a b", "a\\0b", "\\udcff"):
    try:
        print(sluice.mark(wrong))
    except sluice.BadValueError as why:
        print(why)
"""


def test_without_a_device_nothing_is_marked() -> None:
    """The same program runs alone."""
    assert sluice.mark("loaded") is False


@pytest.mark.parametrize("trap", ["event", "signal"])
def test_marks_part_the_figures(trap: str) -> None:
    """What happens between two marks is told apart."""
    command = [SLUICE, "run", "--json", "--trap", trap, "--set", "nand.read=5us", "--"]
    told = subprocess.run([*command, sys.executable, "-c", PROGRAM], capture_output=True,
                          text=True, check=False)
    assert told.returncode == 0, told.stderr
    *said, result = filter(None, told.stdout.splitlines())
    expected = "expected 1 to 64 letters, digits, `-`, `_` or `.`"
    assert said == [f"bad mark {wrong!r}: {expected}" for wrong in ("a b", "a\0b", "\udcff")]
    regions = json.loads(result)["regions"]
    assert [region["from"] for region in regions] == [None, "loaded", "done"]
    # The interpreter may use some pages of its own meanwhile.
    used = sum(regions[1]["cache"][key] for key in ("misses", "prefetch_used"))
    assert 240 <= used < 300, regions[1]["cache"]
