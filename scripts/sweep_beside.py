#!/usr/bin/env python3
"""Sets `sluice sweep` beside the plain command under `xargs -P`, in turn: runs a second.

    scripts/sweep_beside.py target/release/sluice --pairs 3 --accesses 200000

Each of a pair carries out the same runs on all cores. The medians, the ratios of the pairs, and how
much of the cores stood still meanwhile are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measurements import record

CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Took:
    """Elapsed, and of all cores together, in seconds."""

    wall: float
    busy: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sluice", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--accesses", type=int, default=200_000, help="of one run")
    options = parser.parse_args()
    sluice, runs = options.sluice.absolute(), options.runs
    command = ["sim", "--set", "device.capacity=64MiB", "--set", "cache.capacity=1MiB",
               "--workload", f"zipf:size=1MiB,ops={options.accesses}"]
    pairs = [(sweep(sluice, runs, command), xargs(sluice, runs, command))
             for _ in range(options.pairs)]
    ours, plain = ([pair[side] for pair in pairs] for side in (0, 1))
    for name, all_of in (("sluice sweep", ours), (f"xargs -P{CORES}", plain)):
        wall = statistics.median(one.wall for one in all_of)
        busy = statistics.median(one.busy for one in all_of)
        print(f"{name}: {wall:.1f} s, {runs / wall:.1f} runs a second,"
              f" {1e3 * busy / runs:.2f} ms of a core each,"
              f" {100 * (1 - busy / wall / CORES):.0f} % of {CORES} cores idle")
    ratios = sorted(other.wall / mine.wall for mine, other in pairs)
    told = (("core time of a run, xargs -P2", "ms", [1e3 * one.busy / runs for one in plain]),
            ("sluice sweep", "ms", [1e3 * one.busy / runs for one in ours]),
            ("elapsed, xargs over sweep", "×", ratios))
    for series, unit, values in told:
        record("Beside other tools", f"runs of {options.accesses:,} accesses", values,
               "scripts/sweep_beside.py SLUICE --accesses N --pairs 4", series=series, unit=unit)
    print(f"sweep / xargs, of {len(ratios)} pairs: {statistics.median(ratios):.3f}"
          f" ({ratios[0]:.3f} to {ratios[-1]:.3f})")
    return 0


def sweep(sluice: Path, runs: int, command: list[str]) -> Took:
    with tempfile.TemporaryDirectory() as out:
        return timed([sluice, "sweep", "--over", f"seed=1..{runs}", "--measure",
                      "cache.hit_ratio", "--measure", "latency_ns.accesses.mean", "--out",
                      f"{out}/sweep", "--", *command])


def xargs(sluice: Path, runs: int, command: list[str]) -> Took:
    seeds = "".join(f"{seed}\n" for seed in range(1, runs + 1))
    return timed(["xargs", f"-P{CORES}", "-I{}", sluice, *command, "--json", "--seed", "{}"], seeds)


def timed(command: list[object], given: str = "") -> Took:
    began, before = time.perf_counter(), spent()
    subprocess.run([str(word) for word in command], input=given.encode(), check=True,
                   stdout=subprocess.DEVNULL)
    return Took(time.perf_counter() - began, spent() - before)


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
