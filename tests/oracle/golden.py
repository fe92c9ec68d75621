"""Writes golden.txt: exact hit counts of libCacheSim on the traces of sluice-testkit.

The counts are an oracle for the eviction policies: libCacheSim is another implementation by other
people. Run from the repository's root, with the PyPI package libcachesim installed:

    cargo run -q -p sluice-testkit --example oracle_traces | python3 tests/oracle/golden.py
"""

import sys
from importlib.metadata import version
from pathlib import Path

import libcachesim as lcs

# Those whose defaults are the same here and there.
POLICIES = {
    "fifo": lcs.FIFO,
    "lru": lcs.LRU,
    "clock": lcs.Clock,
    "s3fifo": lcs.S3FIFO,
    "sieve": lcs.Sieve,
    "lfu": lcs.LFU,
}
CAPACITIES = [20, 99, 100, 256, 777]
COMMAND = "cargo run -q -p sluice-testkit --example oracle_traces | python3 tests/oracle/golden.py"


def hits(policy, capacity, pages):
    cache = POLICIES[policy](capacity, hashpower=14)
    request = lcs.Request(obj_size=1, op=lcs.ReqOp.OP_GET)
    count = 0
    for time, page in enumerate(pages):
        request.obj_id = page
        request.clock_time = time
        count += cache.get(request)
    return count


def main():
    lines = [
        f"# Made by: {COMMAND}",
        f"# libcachesim {version('libcachesim')}",
        "# trace policy cache_pages hits",
    ]
    for line in sys.stdin:
        name, *pages = line.split()
        pages = [int(page) for page in pages]
        for policy in POLICIES:
            for capacity in CAPACITIES:
                lines.append(f"{name} {policy} {capacity} {hits(policy, capacity, pages)}")
    Path(__file__).with_name("golden.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
