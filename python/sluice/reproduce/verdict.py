"""What the claims of an experiment, or of several, come to together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.reproduce.claims import (
    CONSISTENT,
    CONTRADICTS,
    DIFFERS,
    MATCH,
    STRONG,
    TREND,
    UNCHECKED,
    Judged,
)


def verdict(judged: Sequence[Judged], checks: Sequence[Judged] = ()) -> str:
    """Of a whole experiment: its worst claim decides.

    What this host cannot show is not counted; with nothing else, that is the verdict. An experiment
    that is not consistent with itself shows nothing, so a check that fails makes it differ; one
    without a claim can be no more than consistent.
    """
    outcomes = {one.outcome for one in judged}
    if DIFFERS in outcomes or any(one.outcome != MATCH for one in checks):
        return DIFFERS
    return next((one for one in (CONTRADICTS, TREND, MATCH, UNCHECKED) if one in outcomes),
                CONSISTENT if checks else DIFFERS)


@dataclass(frozen=True)
class Counts:
    """How many claims came out how."""

    of: Counter[str]
    strong: int
    """Of those that match, those that would not match by chance."""

    @classmethod
    def read(cls, told: Iterable[tuple[str, str | None]]) -> Counts:
        """From the outcome and power of each."""
        pairs = list(told)
        return cls(Counter(outcome for outcome, _ in pairs),
                   sum(outcome == MATCH and power == STRONG for outcome, power in pairs))

    @property
    def all(self) -> int:
        """All claims."""
        return sum(self.of.values())

    def __str__(self) -> str:
        direction = f"{self.of[TREND]} only in direction; " if self.of[TREND] else ""
        return (f"{self.of[MATCH]} of {self.all} claims match, of these {self.strong} strong;"
                f" {direction}{self.of[CONTRADICTS]} contradict; {self.of[DIFFERS]} differ;"
                f" {self.of[UNCHECKED]} unchecked")
