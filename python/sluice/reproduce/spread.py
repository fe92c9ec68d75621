"""How far repeated measurements lie apart, and how well they know their mean."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def stddev(values: Sequence[float]) -> float:
    """Of a sample: divided by one less than their number; of one value there is none."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


def interval(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean, by Student's t; of one value there is
    none."""
    if len(values) < 2:
        return math.nan
    return _student(len(values) - 1) * stddev(values) / math.sqrt(len(values))


def _student(freedom: int) -> float:
    """The value that |t| exceeds once in twenty times, for so many degrees of freedom."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """How often t lies within ±√freedom·tan(angle): Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for step in range(odd, freedom - 1, 2):
        total += term
        term *= (step + 1) / (step + 2) * math.cos(angle) ** 2
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
