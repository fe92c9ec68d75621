"""Tortures the device: rounds of random steps, natively and under `sluice run`, must agree.

One line for each round that failed, with the command that repeats it, and a summary at the end. The
exit status is 1 if any failed. See docs/torture.md.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import limits
from rounds import Round, Tools, build, play, repeat

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
KINDS = [
    *((trap, place) for place in ("heap", "stored", "dax") for trap in ("event", "signal")),
    ("event", "shared"),
]


def drawn(seed: int, steps: int) -> Iterator[Round]:
    """Rounds without an end: all modes and places in turn, the rest at random."""
    numbers = random.Random(seed)
    count = 0
    while True:
        trap, place = KINDS[count % len(KINDS)]
        count += 1
        program = "python" if place in ("heap", "stored") and numbers.random() < 0.25 else "c"
        outside = numbers.choice(["alone", "alone", "ring", "ring+hogs", "hogs"])
        seed, policy = numbers.randrange(1, 1 << 31), numbers.choice(limits.POLICIES)
        yield Round(
            program, seed, trap, place, policy, numbers.choice(limits.CACHES),
            numbers.choice(limits.READS), limits.steps(policy, outside, steps), outside,
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="start no round after that")
    parser.add_argument("--seed", type=int, default=1, help="draws the rounds")
    parser.add_argument("--steps", type=int, default=300, help="steps of each round")
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds without a step after which a round hangs")
    parser.add_argument("--round", action="append", default=[], help="play this one only")
    parser.add_argument("--times", type=int, default=1, help="how often to play each --round")
    parser.add_argument("--without", default="", help="names of steps to leave out")
    parser.add_argument("--only", default="", help="names of steps to take, beside the plainest")
    parser.add_argument("--keep", type=Path, help="keep logs of the last round in this folder")
    parser.add_argument("--sluice", default=str(TARGET / "release" / "sluice"))
    parser.add_argument("--limits", action="store_true", help="print what is left out, and why")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.limits:
        print(limits.explain())
        return 0
    if not Path(given.sluice).is_file():
        print(f"--sluice {given.sluice}: no such file; `make build` makes it", file=sys.stderr)
        return 2
    try:
        chosen = [Round.parse(text) for text in given.round for _ in range(given.times)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    # What a round has started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    tools = Tools(given.sluice, build(TARGET / "torture"), given.limit, given.without, given.only,
                  given.keep)
    until = time.monotonic() + given.minutes * 60
    played, failed = {}, 0
    for each in chosen or drawn(given.seed, given.steps):
        if not chosen and time.monotonic() > until and len(played) >= len(KINDS):
            break
        fault, seconds = play(each, tools)
        kind = f"{each.trap}, {each.place}"
        played[kind] = played.get(kind, 0) + 1
        if fault:
            failed += 1
            print(f"FAILED after {seconds:.1f} s: {fault}\n  again: {repeat(each, tools)}",
                  flush=True)
        elif given.round or sys.stdout.isatty():
            print(f"well in {seconds:.1f} s: {each}", flush=True)
    told = "; ".join(f"{kind}: {count}" for kind, count in played.items())
    print(f"{sum(played.values())} rounds ({told}), {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
