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
    outcomes, checked = ({one.outcome for one in every} for every in (judged, checks))
    if DIFFERS in outcomes or checked - {MATCH, UNCHECKED}:
        return DIFFERS
    of_checks = CONSISTENT if MATCH in checked else UNCHECKED if checked else DIFFERS
    return next((one for one in (CONTRADICTS, TREND, MATCH, UNCHECKED) if one in outcomes),
                of_checks)


# Of one claim, and of several.
_WORDS = {TREND: ("matches only in direction", "match only in direction"),
          CONTRADICTS: ("contradicts the paper's set-up", "contradict the paper's set-up"),
          DIFFERS: ("differs", "differ"),
          UNCHECKED: ("cannot be checked here", "cannot be checked here")}


@dataclass(frozen=True)
class Counts:
    """How many claims came out how, and how many checks of ours against ours."""

    of: Counter[str]
    strong: int
    """Claims that match and would not match by chance."""
    checks: Counter[str]

    @classmethod
    def read(cls, told: Iterable[tuple[str, str | None]], checks: Iterable[str] = ()) -> Counts:
        """From the outcome and power of each claim, and the outcome of each check."""
        pairs = list(told)
        return cls(Counter(outcome for outcome, _ in pairs),
                   sum(outcome == MATCH and power == STRONG for outcome, power in pairs),
                   Counter(checks))

    @property
    def all(self) -> int:
        """All claims."""
        return sum(self.of.values())

    @property
    def matching(self) -> str:
        """How many claims match; of what claims nothing, how many checks hold."""
        if not self.all and self.checks:
            return f"{self.checks[MATCH]} of {self.checks.total()} checks"
        return f"{self.of[MATCH]} of {self.all}"

    @property
    def sentence(self) -> str:
        """What a reader asks first, without what there is none of."""
        told = [f"{self.of[outcome]} {words[self.of[outcome] > 1]}"
                for outcome, words in _WORDS.items() if self.of[outcome]]
        parts = [f"{self.of[MATCH]} of {self.all} claims match", *told] if self.all else []
        if self.checks:
            parts.append(f"{self.checks[MATCH]} of {self.checks.total()} checks hold")
        return ", ".join(parts)

    def __str__(self) -> str:
        checks = f"{self.checks[MATCH]} of {self.checks.total()} checks hold"
        if not self.checks:
            return self._claims()
        return f"{self._claims()}; {checks}" if self.all else checks

    def _claims(self) -> str:
        direction = f"{self.of[TREND]} only in direction; " if self.of[TREND] else ""
        return (f"{self.of[MATCH]} of {self.all} claims match, of these {self.strong} strong;"
                f" {direction}{self.of[CONTRADICTS]} contradict; {self.of[DIFFERS]} differ;"
                f" {self.of[UNCHECKED]} unchecked")
