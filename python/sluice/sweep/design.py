"""Points of a sweep that are drawn: at random, or as a Latin hypercube."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from typing import Any

from sluice.quantity import written

METHODS = ("random", "latin-hypercube")
SCALES = ("linear", "log")
_DIGITS = 20
_QUANTITY = re.compile(r"(-?\d+(?:\.(\d+))?)\s*([A-Za-z%]*)")


@dataclass(frozen=True)
class Range:
    """Values from ``first`` to ``last`` in steps of the last digit that either is written with."""

    first: Decimal
    last: Decimal
    step: Decimal
    unit: str
    log: bool

    def value(self, share: float) -> str:
        """The value at this share of the way, which is from 0 up to but not 1."""
        if not self.log:
            steps = int((self.last - self.first) / self.step) + 1
            return self._text(self.first + int(share * steps) * self.step)
        ratio = math.log(self.last) - math.log(self.first)
        at = Decimal(math.exp(math.log(self.first) + share * ratio))
        rounded = (at / self.step).to_integral_value() * self.step
        return self._text(min(max(rounded, self.first), self.last))

    def _text(self, value: Decimal) -> str:
        return f"{value.quantize(self.step)}{self.unit}"


@dataclass(frozen=True)
class Choice:
    """One of some values, each as likely."""

    values: tuple[str, ...]

    def value(self, share: float) -> str:
        """The value at this share of the list."""
        return self.values[int(share * len(self.values))]


def read_range(first: Any, last: Any, scale: str) -> Range:
    """From its ends as they are written. Raises ``ValueError`` that says what is wrong."""
    ends = []
    for end in (first, last):
        is_plain = isinstance(end, str | int | float) and not isinstance(end, bool)
        match = _QUANTITY.fullmatch(written(end).strip()) if is_plain else None
        # No parameter has more digits, and an exact number only so many.
        if not match or len(match[1]) > _DIGITS:
            raise ValueError(f"{end!r} is no number with a unit, such as 40us, 64MiB or 0.5")
        ends.append((Decimal(match[1]), len(match[2] or ""), match[3]))
    (low, digits, unit), (high, more, other) = ends
    if unit != other:
        raise ValueError(f"{first} and {last} have two units; write both in the same")
    if not low < high:
        raise ValueError(f"it goes up, and {first} is not below {last}")
    whole = max(low.adjusted(), high.adjusted(), 0) + 1 + max(digits, more)
    if whole > getcontext().prec:
        raise ValueError(f"{first} to {last} takes numbers of {whole} digits; {getcontext().prec}"
                         " are the most")
    if scale == "log" and low <= 0:
        raise ValueError(f"on a logarithmic scale it begins above 0, not at {first}")
    return Range(low, high, Decimal(1).scaleb(-max(digits, more)), unit, scale == "log")


def draw(method: str, count: int, seed: int, over: Mapping[str, Range | Choice]
         ) -> list[dict[str, str]]:
    """``count`` points. Each parameter has a random stream of its own, so that another parameter
    changes none of its values."""
    shares = {key: _shares(method, count, random.Random(f"{seed}/{key}")) for key in over}
    return [{key: how.value(shares[key][index]) for key, how in over.items()}
            for index in range(count)]


def _shares(method: str, count: int, stream: random.Random) -> Sequence[float]:
    """Of a Latin hypercube each of ``count`` equal parts has one (McKay, Beckman and Conover,
    Technometrics 21, 1979)."""
    shares = [stream.random() for _ in range(count)]
    if method == "random":
        return shares
    keys = [stream.random() for _ in range(count)]
    parts = sorted(range(count), key=keys.__getitem__)
    # The last part's end is 1, which rounding may reach.
    return [min((part + share) / count, math.nextafter(1, 0))
            for part, share in zip(parts, shares, strict=True)]
