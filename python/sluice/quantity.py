"""Numbers with their units, as they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

# From so many times on a distance is a factor: nobody reads 24,993.8 %.
_FACTOR = 10


def number(value: Any, unit: str = "") -> str:
    """A number with four significant digits and its unit."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if unit == "fraction":
        value, unit = value * 100, "%"
    return f"{_whole(value) if abs(value) >= 9_999.5 else f'{value:.4g}'} {unit}".strip()


def _whole(value: float) -> str:
    # Large whole numbers have digits that a float would change.
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"


def written(value: Any) -> str:
    """A value as a parameter takes it: no number has an exponent there.

    >>> written(1e-05), written("4us")
    ('0.00001', '4us')
    """
    # A whole number has no exponent, and may be one that no float can hold.
    if isinstance(value, str | int) or not math.isfinite(value):
        return str(value)
    return f"{Decimal(str(value)):f}"


def short(value: float, sign: str = "") -> str:
    """Three significant digits, or whole, so that no large number has an exponent."""
    return f"{value:{sign},.0f}" if abs(value) >= 999.5 else f"{value:{sign}.3g}"


def row(values: Sequence[float], unit: str = "") -> str:
    """Numbers one after the other, with three digits or whole, and their unit at the end."""
    scale, unit = (100.0, "%") if unit == "fraction" else (1.0, unit)
    texts = [short(value * scale) for value in values]
    return f"{' → '.join(texts)} {unit}".strip()


def change(ours: float, published: float) -> str:
    """How far ours is off: as a share, and beyond ten times as a factor."""
    ratio = ours / published
    if ratio < _FACTOR:
        return f"{(ratio - 1) * 100:+.1f} %"
    return f"× {short(ratio)}"


def spread(mean: float | None, half: float | None) -> str:
    """A mean with half of its interval: two digits of that, and the mean to the same place."""
    if not mean or not half or not math.isfinite(mean) or not math.isfinite(half):
        return f"{number(mean)} ± {number(half)}"
    # As it is written, for 0.0996 has its second digit where 0.10 has it.
    place = 1 - int(f"{half:.1e}".partition("e")[2])
    return f"{round(mean, place):,.{max(place, 0)}f} ± {round(half, place):,.{max(place, 0)}f}"
