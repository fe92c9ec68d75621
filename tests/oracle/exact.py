"""Compares the eviction policies with libCacheSim: misses must be the same, to the last one.

Three traces, three cache sizes each: `make oracle` runs five million requests, `--quick` fewer.
Traces are made in the folder `--traces` and kept there. Exit status 1 if a count differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import libcachesim as lcs

sys.path.insert(0, str(Path(__file__).parent))
import oracle_traces as traces

import sluice

LENGTH, QUICK_LENGTH = 5_000_000, 100_000
PAGE_BYTES = 4096
# Shares of the pages that a trace touches.
SIZES = [0.004, 0.06, 0.31]


@dataclass(frozen=True)
class Policy:
    """A policy here and there, with matched parameters."""

    name: str
    theirs: Callable[..., lcs.cache.CacheBase]
    overrides: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    least_pages: int = 0  # what the library's parameters need to mean anything

    def settings(self, pages: traces.Pages, cache_pages: int) -> dict[str, object]:
        """`cylon` with this policy, and room for every page of the trace and for the cache."""
        count = max(int(pages.max()) + 1, cache_pages)
        return {
            "device.capacity": f"{count * PAGE_BYTES}B",
            "cache.capacity": f"{cache_pages * PAGE_BYTES}B",
            "cache.policy": self.name,
            **self.overrides,
        }

    def misses(self, pages: traces.Pages, cache_pages: int) -> int:
        if self.name == "belady":
            return sluice.optimum(pages, cache_pages)
        return sluice.replay("cylon", self.settings(pages, cache_pages), pages)["misses"]


POLICIES = [
    Policy("fifo", lcs.FIFO),
    Policy("lru", lcs.LRU),
    Policy("clock", lcs.Clock),
    Policy("clock", partial(lcs.Clock, n_bit_counter=2), {"cache.clock_bits": 2}, "clock, 2 bits"),
    Policy("sieve", lcs.Sieve),
    Policy("s3fifo", lcs.S3FIFO),
    Policy("s3fifo", partial(lcs.S3FIFO, small_size_ratio=0.3, ghost_size_ratio=0.5,
                             move_to_main_threshold=1),
           {"cache.s3fifo_small": "30%", "cache.s3fifo_ghost": "50%", "cache.s3fifo_promote": 1},
           "s3fifo, other shares"),
    Policy("lfu", lcs.LFU),
    Policy("slru", lcs.SLRU, {"cache.slru_variant": "libcachesim", "cache.slru_segments": 4}),
    Policy("twoq", lcs.TwoQ, {"cache.twoq_variant": "libcachesim"}),
    Policy("arc", lcs.ARC),
    # With one page in its queue the library forgets that it evicted it; below 100 pages its
    # window has none, and it caches nothing.
    Policy("lirs", lcs.LIRS, {"cache.lirs_variant": "libcachesim"}, "lirs libcachesim", 204),
    Policy("wtinylfu", lcs.WTinyLFU, {"cache.wtinylfu_variant": "libcachesim"},
           "wtinylfu libcachesim", 104),
    Policy("belady", lcs.Belady),
]


@dataclass(frozen=True)
class Row:
    policy: str
    trace: str
    cache_pages: int
    theirs: int
    ours: int


def sizes(pages: traces.Pages) -> list[int]:
    """Cache sizes for a trace: odd, so that the parts that policies make of them are rounded."""
    distinct = int(pages.max()) + 1
    return [max(int(distinct * share) // 8, 2) * 8 + 7 for share in SIZES]


def reader(path: Path) -> lcs.TraceReader:
    return lcs.TraceReader(str(path), lcs.TraceType.ORACLE_GENERAL_TRACE)


def their_misses(policy: Policy, path: Path, requests: int, cache_pages: int) -> int:
    cache = policy.theirs(cache_pages, hashpower=20)
    ratio, _ = cache.process_trace(reader(path))
    return round(ratio * requests)


def rows(policies: list[Policy], length: int, folder: Path) -> Iterator[Row]:
    for name in traces.MAKERS:
        pages = traces.made(name, length, folder)
        path = folder / f"{name}-{length}.oracleGeneral"
        if not path.exists():
            traces.write_for_libcachesim(pages, path)
        for policy in policies:
            for cache_pages in sizes(pages):
                cache_pages = max(cache_pages, policy.least_pages)
                theirs = their_misses(policy, path, pages.size, cache_pages)
                ours = policy.misses(pages, cache_pages)
                yield Row(policy.label or policy.name, name, cache_pages, theirs, ours)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short traces")
    parser.add_argument("--traces", type=Path, default=Path("target/oracle"), metavar="DIR")
    parser.add_argument("--policy", action="append", help="only this one; may be repeated")
    options = parser.parse_args(arguments)
    wanted = [policy for policy in POLICIES
              if not options.policy or policy.name in options.policy]
    length = QUICK_LENGTH if options.quick else LENGTH
    total = len(wanted) * len(traces.MAKERS) * len(SIZES)
    print(f"misses of {length:,} requests; libCacheSim {lcs.__version__}")
    print(f"{'policy':24} {'trace':14} {'pages':>9} {'libCacheSim':>12} {'sluice':>12}")
    done, different, start = 0, 0, time.monotonic()
    for row in rows(wanted, length, options.traces):
        done += 1
        different += row.theirs != row.ours
        mark = "" if row.theirs == row.ours else f"  DIFFERS by {row.ours - row.theirs:+,}"
        clear_progress()
        print(f"{row.policy:24} {row.trace:14} {row.cache_pages:>9,} {row.theirs:>12,}"
              f" {row.ours:>12,}{mark}")
        progress(f"{done} of {total}, {time.monotonic() - start:.0f} s")
    clear_progress()
    print(f"{done - different} of {done} are equal, {time.monotonic() - start:.0f} s")
    return 1 if different or not done else 0


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def clear_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
