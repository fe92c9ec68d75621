"""Requests per second of the eviction policies and of libCacheSim's, in turns on the same trace.

The trace is zipf over two million pages (`--quick`: far fewer), the cache a tenth of them.
libCacheSim runs with its default settings from a file in the page cache, its fastest way; the
policies run alone, without a device. Medians of `--rounds`. Exit status 1 if misses differ; times
decide nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import exact
import libcachesim as lcs
import oracle_traces as traces

import sluice

REQUESTS, PAGES = 10_000_000, 2_000_000
QUICK_REQUESTS, QUICK_PAGES = 50_000, 20_000
# The ratio that is promised; of every other policy 3.
TEN_TIMES = {"fifo", "clock", "sieve", "s3fifo"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, default=Path("target/oracle"), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="a short trace; times mean nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--policy", action="append", help="only this one; may be repeated")
    options = parser.parse_args()
    requests, count = (QUICK_REQUESTS, QUICK_PAGES) if options.quick else (REQUESTS, PAGES)
    cache_pages = count // 10
    pages = traces.made("zipf", requests, options.traces, count)
    path = options.traces / f"zipf-{requests}-{count}.oracleGeneral"
    if not path.exists():
        traces.write_for_libcachesim(pages, path)
    print(f"million requests a second; {requests:,} of {count:,} pages, {cache_pages:,} cached;"
          f" libCacheSim {lcs.__version__}")
    print(f"{'policy':24} {'libCacheSim':>11} {'sluice':>8} {'ratio':>6} {'wanted':>6}  misses")
    different = 0
    for policy in exact.POLICIES:
        if policy.name == "belady":
            continue  # not a policy that could run
        if options.policy and policy.name not in options.policy:
            continue
        theirs, ours = [], []
        for _ in range(options.rounds):
            cache, reader = policy.theirs(cache_pages), exact.reader(path)
            start = time.perf_counter()
            ratio, _ = cache.process_trace(reader)
            theirs.append(time.perf_counter() - start)
            found = sluice.policy_misses("cylon", policy.settings(pages, cache_pages), pages)
            ours.append(found["seconds"])
        same = found["misses"] == round(ratio * requests)
        different += not same
        rates = [requests / statistics.median(times) / 1e6 for times in (theirs, ours)]
        wanted = 10 if policy.name in TEN_TIMES else 3
        print(f"{policy.label or policy.name:24} {rates[0]:>11.1f} {rates[1]:>8.1f}"
              f" {rates[1] / rates[0]:>6.1f} {wanted:>6}  {'equal' if same else 'DIFFERENT'}",
              flush=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
