#!/usr/bin/env python3
"""Sets `sluice curve --on host` beside Google's multichase on this host's memory.

    git clone https://github.com/google/multichase && make -C multichase
    scripts/curve_beside.py target/release/sluice multichase

Both measure the same in turn, several times: the latency of dependent loads through one random
cycle, and the bandwidth of one thread that reads. The medians and their ratio are printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

PAIRS = 11
MIB = 128
SUM = "stream-sum"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    sluice, beside = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    latency = [f"{beside}/multichase", "-a", "-m", f"{MIB}m", "-s", "64", "-T", f"{MIB}m",
               "-n", "2"]
    reading = [f"{beside}/multiload", "-m", f"{MIB}m", "-l", SUM, "-n", "2"]
    curve = [sluice, "curve", "--on", "host", "--json", "--pace", "0ns"]
    ours_latency = [*curve, "--threads", "0", "--chase", f"{MIB}MiB", "--passes", "1"]
    ours_reading = [*curve, "--threads", "1", "--chase", "0B", "--size", f"{MIB}MiB", "--passes",
                    "64"]
    rows: dict[str, list[tuple[float, float]]] = {"latency, ns": [], "reading, GB/s": []}
    for _ in range(PAIRS):
        load = json.loads(told(ours_latency))["loads"][0]
        rows["latency, ns"].append((load["chase_latency_ns"]["mean"], float(told(latency))))
        rate = json.loads(told(ours_reading))["loads"][0]["bytes_per_s"] / 1e9
        rows["reading, GB/s"].append((rate, multiload_rate(told(reading))))
    for name, pairs in rows.items():
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = sorted(mine / other for mine, other in pairs)
        print(f"{name}: sluice {ours:.4g}, multichase {theirs:.4g}, ratio of pairs"
              f" {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})")
    return 0


def multiload_rate(text: str) -> float:
    """GB/s, of the table of MiB/s that it prints: the average over its samples."""
    heads, values = ([cell.strip() for cell in line.split(",")] for line in text.splitlines()[-2:])
    return float(values[heads.index("LdAvgMibs")]) * (1 << 20) / 1e9


def told(command: list[object]) -> str:
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
