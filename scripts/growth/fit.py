"""The exponent of a series: by what power of the work a cost grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 1.1
"""An exponent above it is more than linear."""

LEAST = 3
"""Points that a slope with an interval needs; a series has one more."""

# A rise by less than this share of the first cost is not looked at.
HIDDEN = 0.5
# Two-sided 95 % quantiles of Student's t, from one degree of freedom on.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)


@dataclass(frozen=True)
class Exponent:
    """A slope of logarithms, and half of its 95 % interval."""

    slope: float
    half: float
    # From which work on.
    begins: float
    # The cost at the end, to that at the beginning.
    rise: float

    def __str__(self) -> str:
        return f"{self.slope:.2f} ± {self.half:.2f}"


def exponent(work: Sequence[float], cost: Sequence[float]) -> Exponent:
    """By least squares between the logarithms of what work and cost are above those of the first
    point: what a start costs has no part in it, and a straight line has exactly 1. Points of the
    lower half of the decades are left out, and those whose cost has not risen by half (a process
    that does not grow may hide one that does), as long as three are left. A cost that does not
    double is fitted as it is, over all of the series."""
    rise = cost[-1] / cost[0]
    above = [(w - work[0], c - cost[0], w) for w, c in zip(work[1:], cost[1:], strict=True)]
    middle = math.sqrt(work[0] * work[-1])
    hidden = [at < middle or more < HIDDEN * cost[0] for _, more, at in above]
    upper = above[min(sum(hidden), len(above) - LEAST):]
    if rise < 2 or any(c <= 0 for _, c, _ in upper):
        return Exponent(*_slope(list(zip(work, cost, strict=True))), work[0], rise)
    return Exponent(*_slope([(w, c) for w, c, _ in upper]), upper[0][2], rise)


def _slope(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of the logarithms, with half of its 95 % interval."""
    free = len(points) - 2
    xs, ys = ([math.log(value) for value in side] for side in zip(*points, strict=True))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((at - x) ** 2 for at in xs)
    slope = sum((at - x) * (value - y) for at, value in zip(xs, ys, strict=True)) / spread
    left = sum((value - y - slope * (at - x)) ** 2 for at, value in zip(xs, ys, strict=True))
    return slope, _T95[min(free, len(_T95)) - 1] * math.sqrt(left / free / spread)
