"""Compares the command line with libCacheSim on traces of requests: an object trace and a block
trace of 4 KiB requests, converted and simulated, must have the same misses, to the last one.

With `--request lines` they must not: each request is 64 accesses then, and a policy sees hits that
nobody asked for. Exit status 1 if a count is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import exact
import numpy as np
import oracle_traces as traces

LENGTH = 30_000
# These take something else for another than it is when each request has 63 hits behind it.
DECIDE_BY_HITS = {"clock", "s3fifo", "sieve", "slru", "arc", "lirs libcachesim"}


def write_objects(source: Path, path: Path) -> None:
    """The same requests, each for an object of 4 KiB. libCacheSim counts objects of one byte in
    caches of as many bytes."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    requests = np.fromfile(source, dtype=record)
    requests["size"] = 4096
    requests.tofile(path)


def write_msr(pages: traces.Pages, path: Path) -> None:
    """Reads and writes by turns: libCacheSim makes no difference."""
    with path.open("w") as file:
        for number, page in enumerate(pages):
            kind = ("Read", "Write")[number % 2]
            file.write(f"{number * 10},disk,0,{kind},{int(page) * 4096},4096,1\n")


def converted(sluice: Path, source: Path, form: str, trace: Path) -> Path:
    subprocess.run([sluice, "trace", "convert", source, trace, "--request", form], check=True,
                   stderr=subprocess.DEVNULL)
    return trace


def misses(sluice: Path, trace: Path, settings: dict[str, object]) -> int:
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([sluice, "sim", "--device", "cylon", *sets, "--trace", trace, "--place",
                           "address", "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["cache"]["misses"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sluice", type=Path, required=True)
    parser.add_argument("--traces", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    pages = traces.scan_and_loop(LENGTH)
    small, objects, block = (options.traces / name for name in (
        "small.oracleGeneral", "r.oracleGeneral", "r.csv"))
    traces.write_for_libcachesim(pages, small)
    write_objects(small, objects)
    write_msr(pages, block)
    form = {
        (source.suffix, how): converted(options.sluice, source, how,
                                        options.traces / f"{source.suffix[1:]}-{how}.trace")
        for source in (objects, block) for how in ("page", "lines")}
    wrong, apart = 0, set()
    for policy in exact.POLICIES:
        label = policy.label or policy.name
        if policy.name == "belady":
            continue
        size = max(exact.sizes(pages)[1], policy.least_pages)
        settings = policy.settings(pages, size)
        theirs = exact.their_misses(policy, small, pages.size, size)
        ours = {of: misses(options.sluice, form[of, "page"], settings)
                for of in (objects.suffix, block.suffix)}
        lines = misses(options.sluice, form[objects.suffix, "lines"], settings)
        apart |= {label} if lines != theirs else set()
        good = set(ours.values()) == {theirs}
        wrong += not good
        print(f"{label:24} {theirs:>8} {ours[objects.suffix]:>8} {ours[block.suffix]:>8}"
              f" {lines:>8} {'equal' if good else 'DIFFERENT'}")
    missing = DECIDE_BY_HITS - apart
    if missing:
        print(f"DIFFERENT from what was expected: by lines {', '.join(sorted(missing))} count as by"
              " pages")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
