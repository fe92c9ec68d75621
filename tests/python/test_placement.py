"""Memory that Python programs place: mapped arrays, and memory by name."""

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
SMALL = ["--json", "--set", "device.capacity=2GiB", "--set", "cache.capacity=1MiB",
         "--set", "nand.read=5us"]

SUMS = """
import sys
import numpy as np
read = np.memmap(sys.argv[1], np.int64, "r")
copy = np.memmap(sys.argv[1], np.int64, "c")
copy[::7] += 3
print(read.sum(), copy.sum(), copy[::-512][:5], np.sort(copy[::33])[:3], read.sum())
"""

EXPLICIT = """
import sluice
table = sluice.alloc(4 << 20).view("i8")
assert not table.any()
table[:] = range(len(table))
part = table[5:]
del table
assert part.sum() == sum(range(5, len(part) + 5))
del part
for size in (0, 1.5, (1 << 64) + 4096, 1 << 40):
    try:
        sluice.alloc(size)
    except sluice.Error as why:
        print(why)
"""


def run(trap: str, places: list[str], program: list[str]) -> tuple[str, dict]:
    """What a program prints on a device, and the result."""
    named = [word for place in places for word in ("--place", place)]
    command = [SLUICE, "run", "--trap", trap, *SMALL, *named, "--", sys.executable, "-c", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    *own, result = filter(None, done.stdout.splitlines())
    return "\n".join(own), json.loads(result)


@pytest.mark.parametrize("trap", ["event", "signal"])
def test_a_mapped_array_has_the_sums_of_a_plain_run(trap: str, tmp_path: Path) -> None:
    """`numpy.memmap` of a file, to be read and to be copied on writing."""
    path = tmp_path / "array.bin"
    path.write_bytes(b"".join((n * n).to_bytes(8, "little") for n in range(1 << 18)))
    before = path.read_bytes()
    program = [SUMS, str(path)]
    plain = subprocess.run([sys.executable, "-c", *program], capture_output=True, text=True,
                           check=True)
    told, result = run(trap, ["heap", "files:*.bin"], program)
    assert told == plain.stdout.strip()
    assert path.read_bytes() == before
    # In signal mode what is shared stays outside, and is counted.
    placed, left = result["memory"]["file_bytes"], result["memory"]["files_unleased_bytes"]
    assert (placed, left) == ((4 << 20, 0) if trap == "event" else (2 << 20, 2 << 20))


@pytest.mark.parametrize("trap", ["event", "signal"])
def test_memory_by_name_is_an_array(trap: str) -> None:
    """It alone is on the device, and goes with its last user."""
    told, result = run(trap, ["explicit"], [EXPLICIT])
    assert told.splitlines() == [
        *(f"bad value for `size`: {size}; expected a whole number from 1 to {2**63 - 1}"
          for size in (0, 1.5, 2**64 + 4096)),
        "no memory of the device: the device is full (raise device.capacity)",
    ]
    assert result["memory"]["placed_bytes"] == 0
    assert result["cache"]["misses"] >= 1024


def test_there_is_no_device_without_sluice_run() -> None:
    """The error gives the reason."""
    with pytest.raises(sluice.Error, match="not under `sluice run`"):
        sluice.alloc(1)
