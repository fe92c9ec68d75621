"""Numbers with their units, as they are shown."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any, unit: str = "") -> str:
    """A number with four significant digits and its unit."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if unit == "fraction":
        return f"{value * 100:.4g} %"
    magnitude = abs(value)
    text = f"{value:,.0f}" if magnitude >= 10_000 else f"{value:.4g}"
    return f"{text} {unit}".strip()


def spread(mean: float | None, half: float | None) -> str:
    """A mean with half of its interval: two digits of that, and the mean to the same place."""
    if not mean or not half or not math.isfinite(mean) or not math.isfinite(half):
        return f"{number(mean)} ± {number(half)}"
    # As it is written, for 0.0996 has its second digit where 0.10 has it.
    place = 1 - int(f"{half:.1e}".partition("e")[2])
    return f"{round(mean, place):,.{max(place, 0)}f} ± {round(half, place):,.{max(place, 0)}f}"
