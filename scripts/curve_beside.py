#!/usr/bin/env python3
"""Sets `sluice curve --on host` beside other tools on this host's memory.

    scripts/curve_beside.py target/release/sluice [MULTICHASE]

sysbench and the STREAM of stress-ng are Debian's packages, which root installs here. MULTICHASE is
a folder: `git clone https://github.com/google/multichase && make -C multichase`.

Both of a pair measure the same in turn, several times, with one thread. The medians and their ratio
are printed. What is compared:

- reading 128 MiB in order, and storing to it: sysbench's memory test. A store reads its line first;
  neither tool counts that.
- STREAM's mix: six lines read for four written, past the caches where the processor can. The sum of
  what is read and written. STREAM goes through its arrays in order, sluice draws load or store.
- with multichase: dependent loads through one random cycle, and reading.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PAIRS = 11
STREAMS = 3
MIB = 128
PASSES = 48
STREAM_S = 8
STREAM_CACHE = "32M"
PACKAGES = {"sysbench": "sysbench", "stress-ng": "stress-ng"}
Rate = Callable[[], float]


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    sluice = Path(sys.argv[1]).absolute()
    install()
    report("reading, GB/s", "sysbench", PAIRS, curve(sluice, 100), lambda: sysbench("read"))
    report("storing, GB/s", "sysbench", PAIRS, curve(sluice, 0), lambda: sysbench("write"))
    mix = curve(sluice, 60, "--store", "nontemporal")
    report("STREAM's mix, GB/s", "stress-ng", STREAMS, mix, stream)
    if len(sys.argv) == 3:
        multichase = Path(sys.argv[2]).absolute()
        report("latency, ns", "multichase", PAIRS, chase(sluice), lambda: chased(multichase))
        report("reading, GB/s", "multichase", PAIRS, curve(sluice, 100), lambda: summed(multichase))
    return 0


def install() -> None:
    """What is not there, from the distribution."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program)]
    if missing and os.geteuid() != 0:
        sys.exit(f"curve_beside: {', '.join(missing)} not on PATH; as root this script installs"
                 f" them, or: apt-get install {' '.join(missing)}")
    if missing:
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
                       check=True, stdout=subprocess.DEVNULL)


def report(what: str, beside: str, count: int, ours: Rate, theirs: Rate) -> None:
    """Runs the pairs, each in the other order than the one before."""
    pairs = []
    for turn in range(count):
        if turn % 2:
            other = theirs()
            pairs.append((ours(), other))
        else:
            mine = ours()
            pairs.append((mine, theirs()))
    sides = [statistics.median(side) for side in zip(*pairs, strict=True)]
    ratios = sorted(mine / other for mine, other in pairs)
    print(f"{what}: sluice {sides[0]:.4g}, {beside} {sides[1]:.4g}, ratio of {count} pairs"
          f" {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})", flush=True)


def curve(sluice: Path, reads: int, *more: str) -> Rate:
    """GB/s of one thread."""
    command = [sluice, "curve", "--on", "host", "--json", "--pace", "0ns", "--threads", "1",
               "--chase", "0B", "--size", f"{MIB}MiB", "--passes", str(PASSES),
               "--reads", str(reads), *more]
    return lambda: json.loads(told(command))["loads"][0]["bytes_per_s"] / 1e9


def chase(sluice: Path) -> Rate:
    """Mean time of a dependent load, ns."""
    command = [sluice, "curve", "--on", "host", "--json", "--pace", "0ns", "--threads", "0",
               "--chase", f"{MIB}MiB", "--passes", "1"]
    return lambda: json.loads(told(command))["loads"][0]["chase_latency_ns"]["mean"]


def sysbench(operation: str) -> float:
    """GB/s, of the MiB/sec that it prints."""
    text = told(["sysbench", "memory", f"--memory-oper={operation}", "--memory-access-mode=seq",
                 f"--memory-block-size={MIB}M", f"--memory-total-size={MIB * PASSES}M",
                 "--threads=1", "run"])
    return found(r"\(([\d.]+) MiB/sec\)", text) * (1 << 20) / 1e9


def stream() -> float:
    """GB/s read and written, of the MB of 2^20 bytes that it prints."""
    text = told(["stress-ng", "--stream", "1", "--stream-l3-size", STREAM_CACHE, "--timeout",
                 f"{STREAM_S}s"])
    rates = [found(rf"([\d.]+) MB {way}/sec", text) for way in ("read", "write")]
    return sum(rates) * (1 << 20) / 1e9


def chased(multichase: Path) -> float:
    return float(told([multichase / "multichase", "-a", "-m", f"{MIB}m", "-s", "64",
                       "-T", f"{MIB}m", "-n", "2"]))


def summed(multichase: Path) -> float:
    """GB/s, of the table of MiB/s that it prints: the average over its samples."""
    text = told([multichase / "multiload", "-m", f"{MIB}m", "-l", "stream-sum", "-n", "2"])
    heads, values = ([cell.strip() for cell in line.split(",")] for line in text.splitlines()[-2:])
    return float(values[heads.index("LdAvgMibs")]) * (1 << 20) / 1e9


def found(form: str, text: str) -> float:
    match = re.search(form, text)
    if not match:
        sys.exit(f"curve_beside: no {form!r} in:\n{text}")
    return float(match[1])


def told(command: list[object]) -> str:
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).strip()


if __name__ == "__main__":
    sys.exit(main())
