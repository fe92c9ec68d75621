#!/usr/bin/env python3
"""Measures on each preset what one page of cache more or less does to the mean latency.

Writes docs/reference/cache-neighbours.csv, from which the reference of presets says which of them
differ: minutes of simulation, so that it is made by hand, where the model or a preset has changed.
200 caches around 16 MiB, a page apart or a set; four patterns, each over four times the cache.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/reference/cache-neighbours.csv"
PAGE = 4096
MIDDLE = 4096
SIZES = 200
# Of two neighbours whose hit ratios differ by no more than this, latencies are compared.
SAME_HITS = 0.001
PATTERNS = {
    "chase": "chase:size=64MiB,stride=4096,passes=3,write=1",
    "stream": "stream:size=64MiB,stride=4096,passes=3,write=1",
    "uniform": "uniform:size=64MiB,ops=40k,write=1/2",
    "zipf": "zipf:size=64MiB,ops=40k,write=1/2",
}


def told(sluice: str, *words: str) -> Any:
    """What the command prints as JSON."""
    done = subprocess.run([sluice, *words, "--json"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run(sluice: str, device: str, pattern: str, pages: int) -> tuple[int, float, float]:
    """A cache's pages, hit ratio and mean latency."""
    result = told(sluice, "sim", "--device", device, "--workload", PATTERNS[pattern],
                  "--set", f"cache.capacity={pages * PAGE}B")
    return pages, result["cache"]["hit_ratio"], result["latency_ns"]["accesses"]["mean"]


def worst(runs: list[tuple[int, float, float]]) -> tuple[float, int]:
    """The largest quotient of neighbours that hit alike, and the smaller cache's bytes."""
    alike = [(max(a[2], b[2]) / min(a[2], b[2]), a[0] * PAGE)
             for a, b in zip(runs, runs[1:], strict=False) if abs(a[1] - b[1]) <= SAME_HITS]
    return max(alike, key=lambda pair: pair[0])


def main() -> None:
    """Measures all presets with a cache of flash."""
    sluice = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/sluice")
    rows = ["device,pattern,step_bytes,largest_quotient,at_bytes"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for device in (preset["name"] for preset in told(sluice, "device", "list")):
            shown = told(sluice, "device", "show", device)
            config = {row["key"]: row["value"] for row in shown}
            if config["device.kind"] == "memory":
                continue
            ways = config["cache.ways"]
            step = 1 if ways == "full" else int(ways)
            sizes = [MIDDLE + (at - SIZES // 2) * step for at in range(SIZES)]
            for pattern in PATTERNS:
                runs = [pool.submit(run, sluice, device, pattern, pages) for pages in sizes]
                quotient, at = worst([one.result() for one in runs])
                rows.append(f"{device},{pattern},{step * PAGE},{quotient:.3f},{at}")
                print(rows[-1], flush=True)
    TABLE.write_text("\n".join([*rows, ""]))


if __name__ == "__main__":
    main()
