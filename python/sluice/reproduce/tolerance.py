"""How far apart two numbers may be."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sluice.quantity import change, short

_SLACK = 1 + 1e-9


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be: ``25 %``, ``10 points``, ``factor 3``, ``by 0.5``."""

    text: str
    kind: str
    amount: float

    @classmethod
    def read(cls, text: str) -> Tolerance:
        """Raises ``ValueError`` that lists the forms."""
        for kind, form in _FORMS.items():
            match = re.fullmatch(form, text)
            if match and not (kind == "factor" and float(match[1]) < 1):
                return cls(text, kind, float(match[1]))
        raise ValueError(f"no tolerance: {text!r}; the forms are '25 %', '10 points', 'factor 3'"
                         " (from 1 on) and 'by 0.5'")

    def allows(self, published: float, ours: float) -> bool:
        """Whether ``ours`` is near enough; what is no number never is."""
        return self._within(published, ours, abs(published))

    def same(self, one: float, other: float) -> bool:
        """Whether two values are as good as equal, whichever is named first: a share is of the
        larger one."""
        return self._within(one, other, max(abs(one), abs(other)))

    def _within(self, one: float, other: float, scale: float) -> bool:
        if math.isnan(one) or math.isnan(other):
            return False
        if self.kind == "relative":
            return abs(other - one) <= scale * self.amount / 100 * _SLACK
        if self.kind == "factor":
            both = other > 0 and one > 0
            return both and max(other / one, one / other) <= self.amount * _SLACK
        limit = self.amount / 100 if self.kind == "points" else self.amount
        return abs(other - one) <= limit * _SLACK

    def distance(self, published: float, ours: float) -> str:
        """How far they are apart, in the tolerance's own measure."""
        if math.isnan(ours) or math.isnan(published):
            return "no number"
        if self.kind == "points":
            return f"{(ours - published) * 100:+.1f} points"
        if self.kind == "factor" and ours > 0 and published > 0:
            return f"× {short(ours / published)}"
        if self.kind == "relative" and published:
            return change(ours, published)
        return f"{short(ours - published, '+')}"

    def excess(self, published: float, ours: float) -> float:
        """Orders distances: larger is worse."""
        if math.isnan(ours) or math.isnan(published):
            return math.inf
        if self.kind == "factor" and ours > 0 and published > 0:
            return abs(math.log(ours / published))
        scale = abs(published) if self.kind == "relative" and published else 1.0
        return abs(ours - published) / scale


_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_FORMS = {"relative": rf"{_NUMBER} ?%", "points": rf"{_NUMBER} points?",
          "factor": rf"factor {_NUMBER}", "absolute": rf"by {_NUMBER}"}
