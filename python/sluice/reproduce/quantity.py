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
