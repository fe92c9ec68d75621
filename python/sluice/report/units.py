"""Numbers as a reader wants them: three significant digits and a unit."""

from __future__ import annotations

import math
import re

from sluice.quantity import number, short

ABSENT = "–"
_TIME_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def duration(ns: float | None) -> str:
    """Nanoseconds with the unit that keeps the number between 1 and 1000."""
    if ns is None:
        return ABSENT
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= scale * 0.9995:
            return f"{significant(ns / scale)} {unit}"
    return f"{significant(ns)} ns"


def short_duration(ns: float) -> str:
    """A time beside an axis: without needless zeros."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale * 0.999:
            return f"{short(ns / scale)} {unit}"
    return f"{short(ns)} ns" if ns else "0"


def significant(value: float) -> str:
    """Three significant digits, without an exponent and without needless zeros after 100."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    digits = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2
    return f"{value:.{digits}f}"


def count(value: float | None) -> str:
    """A whole number with thousands separated."""
    return ABSENT if value is None else f"{value:,.0f}"


def on_axis(value: float, most: float) -> str:
    """A number beside an axis that ends at ``most``: without an exponent, and short. From 100,000
    on, thousands have a letter (``10 k``, ``1 M``) all along the axis."""
    for letter, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= 1e5 and abs(value) >= scale:
            return f"{_plain(value / scale)} {letter}"
    return _plain(value)


def _plain(value: float) -> str:
    text = f"{value:,.10g}"
    return f"{value:.12f}".rstrip("0").rstrip(".") if "e-" in text else text


def percent(ratio: float | None) -> str:
    """A ratio as per cent; shares keep enough digits to differ from none and from all."""
    if ratio is None:
        return ABSENT
    share = ratio * 100
    if 0 < abs(share) < 0.005:
        return "< 0.01 %" if share > 0 else "> -0.01 %"
    if 99.95 <= share < 100:
        # Nearly all is not all.
        return f"{share:.2f} %" if share < 99.995 else "> 99.99 %"
    return f"{share:.2f} %" if abs(share) < 10 else f"{share:.1f} %"


def at_least(ratio: float) -> str:
    """A lower bound as per cent, rounded down so that it is one."""
    share = ratio * 100
    digits = 2 if share < 10 else 1
    # As it is written: 0.29 times 100 is a little less than 29.
    return f"≥ {math.floor(share * 10**digits + 1e-6) / 10**digits:.{digits}f} %"


def change(before: float | None, after: float | None) -> str:
    """How far ``after`` is from ``before``, signed."""
    if not before or after is None:
        return ABSENT
    return f"{(after - before) / before * 100:+.1f} %"


def ratio(value: float | None) -> str:
    """A factor such as write amplification."""
    return ABSENT if value is None else f"{value:.2f}"


def seconds(value: float | None) -> str:
    """A wall-clock time given in seconds."""
    return duration(None if value is None else value * 1e9)


def size(value: float) -> str:
    """Bytes with the binary unit that keeps the number between 1 and 1024."""
    for unit, scale in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= scale:
            return number(value / scale, unit)
    return number(value, "B")


def round_sizes(least: float, most: float, places: int) -> list[int]:
    """Multiples of a power of two, as sizes are, between the two; so many at most, beside the
    first."""
    step = 1
    while (most - least) / step > places:
        step *= 2
    return list(range(math.ceil(least / step) * step, int(most) + 1, step))


def parse_duration_ns(text: str | None) -> float | None:
    """The nanoseconds of a configuration value such as ``40us``; ``None`` if it is none."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-zµ]+)\s*", text or "")
    if not match or match[2] not in _TIME_NS:
        return None
    try:
        return float(match[1]) * _TIME_NS[match[2]]
    except ValueError:
        return None
