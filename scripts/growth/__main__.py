"""How time and memory of the command grow with its work: exponents, a table and a picture.

    scripts/growth target/release/sluice --out docs/growth

`make bench-growth` does that. Status 1 if an exponent is above 1.1, or a bound is passed. With
--only it measures the named series, and the page has the others as they are kept beside it. With
--values it takes the first so many values of each series, which are too small to be judged.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import kept
from fit import LEAST
from page import Bound, Measured, Point, write
from series import Series, Tools, fully_connected, series

ROUNDS = 3
# Seconds from which on one run says enough.
LONG_S = 10.0
TOOK = Path(__file__).with_name("took.py")
BILLION = 1_000_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__.splitlines()[0])
    parser.add_argument("sluice", type=Path)
    parser.add_argument("--out", type=Path, help="path of page and picture, without their suffix")
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                        help="series whose name begins so")
    parser.add_argument("--values", metavar="N", type=int,
                        help=f"only the first N of each series, {LEAST + 1} at least")
    parser.add_argument("--note", default="", help="what to say of the build on the page")
    options = parser.parse_args()
    if options.values is not None and options.values <= LEAST:
        parser.error(f"--values {options.values}: a slope needs {LEAST + 1} at least")
    chosen = [one for one in series()
              if not options.only or any(one.name.startswith(name) for name in options.only)]
    if not chosen:
        names = ", ".join(one.name for one in series())
        print(f"growth: no series begins with {' or '.join(options.only)}; there are {names}",
              file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="sluice-growth-") as folder:
        tools = Tools(options.sluice.absolute(), Path(folder))
        measured = [measure(one, tools, options.values) for one in chosen]
        bounds = [] if options.only or options.values else bounded(tools)
    failed = [line for one in measured for line in one.above()]
    failed += [f"{one.what}: {one.found}" for one in bounds if not one.holds]
    if options.out:
        points = options.out.with_suffix(".json")
        if options.only:
            old, bounds = kept.read(points, series())
            measured = kept.merged(measured, old, series())
        kept.write(points, measured, bounds)
        write(options.out, measured, bounds, LONG_S, options.note)
    for line in failed:
        print(f"growth: {line}", file=sys.stderr)
    return 1 if failed and not options.values else 0


def measure(one: Series, tools: Tools, values: int | None) -> Measured:
    """All points of a series, printed as they come."""
    print(f"{one.name}: {one.shown}", flush=True)
    points = []
    for value in one.values[:values]:
        if one.prepare:
            one.prepare(tools, value)
        points.append(Point(value, *took(one.words(tools, value))))
        print(f"  {value:>12,} {one.of}: {points[-1].seconds:.3f} s, {points[-1].kib:,.0f} KiB",
              flush=True)
    found = Measured(one, points)
    print(f"  exponents: time {found.time()}, memory {found.memory()}", flush=True)
    return found


def took(words: list[str]) -> tuple[float, float]:
    """Median processor time in seconds, and peak memory in KiB."""
    rounds: list[tuple[float, float]] = []
    while len(rounds) < ROUNDS:
        done = subprocess.run([sys.executable, "-I", "-S", TOOK, *words], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise SystemExit(f"growth: `{' '.join(words)}` ended with {done.returncode}:"
                             f" {done.stderr.strip()}")
        seconds, kib = map(float, done.stdout.split())
        rounds.append((seconds, kib))
        if seconds > LONG_S:
            break
    return (statistics.median(seconds for seconds, _ in rounds),
            statistics.median(kib for _, kib in rounds))


def bounded(tools: Tools) -> list[Bound]:
    """The costs that have a bound of their own."""
    words = [str(tools.sluice), *fully_connected(1024)]
    seconds, _ = took(words)
    nodes = Bound("1,024 requesters and 1,024 memories, fully connected, are set up within 2 s",
                  f"{seconds:.2f} s", seconds <= 2, " ".join(["sluice", *words[1:]]))
    words = [str(tools.sluice), "sim", "--set", "device.capacity=256MiB", "--set",
             "cache.capacity=1MiB", "--workload", f"uniform:size=64MiB,ops={BILLION}"]
    seconds, kib = took(words)
    misses = Bound("a billion accesses, 63 in 64 of which miss, take less than 1 GB",
                   f"{kib * 1024 / 1e6:.1f} MB, in {seconds:.0f} s", kib * 1024 < 1e9,
                   " ".join(["sluice", *words[1:]]))
    return [nodes, misses]


if __name__ == "__main__":
    sys.exit(main())
