"""Claims of a paper as an experiment's file has them, and what judging one comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.formula import Formula
from sluice.reproduce.section import Section
from sluice.reproduce.tolerance import Tolerance

KINDS = ("value", "ratio", "order", "trend", "range", "contradiction", "unchecked")
TRENDS = ("rises", "falls", "flat", "valley", "peak")
MATCH, TREND, DIFFERS, CONTRADICTS = "match", "trend only", "differs", "contradicts its set-up"
UNCHECKED = "unchecked here"
CONSISTENT = "consistent"
Reasons = tuple[tuple[str, Formula, str], ...]
"""What shows something, each with its value and unit."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, how to compute ours, and how near is near enough and why."""

    section: str
    kind: str
    says: str
    place: str
    unit: str
    note: str
    why: str
    tolerance: Tolerance | None
    published: Formula | None = None
    ours: Formula | None = None
    axis: str = ""
    order: tuple[tuple[str, ...], ...] = ()
    trend: str = ""
    low: Formula | None = None
    high: Formula | None = None
    because: Reasons = ()
    holds: Formula | None = None
    needs: Formula | None = None
    """True on hosts that can show it; on others the claim is not counted."""
    lacks: str = ""
    """What a host needs to show it; of an ``unchecked`` claim what any run here lacks."""
    fitted: str = ""
    """What of the set-up was chosen so that it holds."""

    def formulas(self) -> dict[str, Formula]:
        """Its formulas, by key."""
        named = {"published": self.published, "ours": self.ours, "from": self.low,
                 "to": self.high, "holds": self.holds, "needs": self.needs}
        named |= {f"because[{index}].value": formula
                  for index, (_, formula, _) in enumerate(self.because, start=1)}
        return {key: formula for key, formula in named.items() if formula}


@dataclass(frozen=True)
class Finding:
    """One comparison: where, what was published, what is ours, and whether that will do."""

    where: tuple[str, ...]
    published: Any
    ours: Any
    distance: str
    good: bool
    excess: float = 0.0


STRONG, MEDIUM, WEAK, NOTHING = "strong", "medium", "weak", "says nothing"
POWERS = (STRONG, MEDIUM, WEAK, NOTHING)


@dataclass(frozen=True)
class Power:
    """How a claim fares on measurements that were spoilt on purpose."""

    word: str
    permuted: tuple[int, int]
    """Of how many permutations of labels that change what is compared how many still match:
    matches, permutations."""
    noise: tuple[int, int]
    """How many still match with noise on each measurement: matches, tries."""
    no_effect: bool | None
    """Whether it matches where each metric has its mean everywhere; ``None`` where that is no test:
    each has one value only, or what is compared has none then (0 / 0)."""
    shuffled: tuple[int, int] = (0, 0)
    """How many still match with all values of each metric dealt out anew: matches, tries."""


@dataclass(frozen=True)
class Judged:
    """A claim with its outcome and the comparisons it was computed from."""

    claim: Claim
    outcome: str
    findings: list[Finding] = field(default_factory=list)
    reasons: list[tuple[str, float, str]] = field(default_factory=list)
    power: Power | None = None
    """Whether it could have come out otherwise; of what this host cannot show nobody knows."""

    def worst(self) -> Finding | None:
        """The comparison that is farthest off; a bad one before a good one."""
        return max(self.findings, key=lambda one: (not one.good, one.excess), default=None)


def read_claim(one: Section) -> Claim:
    """Reads one claim; each kind has its own keys."""
    kind = one.choice("kind", KINDS)
    common: dict[str, Any] = {"section": one.name, "kind": kind, "says": one.text("says"),
              "place": one.text("place"), "unit": one.text("unit", ""),
              "note": one.text("note", ""), "fitted": one.text("fitted", "")}
    if one.has("needs"):
        common |= {"needs": _formula(one, "needs"), "lacks": one.text("lacks")}
    own: dict[str, Any] = {"why": "", "tolerance": None}
    if kind == "contradiction":
        own |= _contradiction(one)
    elif kind == "unchecked":
        if one.has("needs"):
            raise one.error("needs", "a claim of the kind unchecked is so on every host")
        common["lacks"] = one.text("lacks")
    else:
        own |= {"ours": _formula(one, "ours"), "why": one.text("why")}
    if kind in ("value", "ratio"):
        own |= {"published": _formula(one, "published"), "tolerance": _tolerance(one)}
        if kind == "ratio" and common["unit"].split(" ")[0] not in ("", "x"):
            raise one.error("unit", f"{common['unit']!r} is the unit of a value; a ratio has none,"
                                    " or is so many x of something")
    elif kind == "range":
        own |= _bounds(one)
    elif kind in ("order", "trend"):
        own |= {"axis": one.text("axis"), "tolerance": _tolerance(one)}
        if kind == "trend":
            own["trend"] = one.choice("trend", TRENDS)
        elif one.has("order"):
            own["order"] = _order(one.text("order"))
        else:
            own["published"] = _formula(one, "published")
    one.done()
    return Claim(**common, **own)


@dataclass(frozen=True)
class Remark:
    """What the published numbers say of each other, whatever is measured."""

    section: str
    says: str
    place: str
    note: str
    holds: Formula
    because: Reasons

    def formulas(self) -> dict[str, Formula]:
        """Its formulas, by key."""
        named = {f"because[{index}].value": formula
                 for index, (_, formula, _) in enumerate(self.because, start=1)}
        return {"holds": self.holds, **named}


def read_remark(one: Section) -> Remark:
    """Reads one remark."""
    found = Remark(one.name, one.text("says"), one.text("place"), one.text("note", ""),
                   _formula(one, "holds"), _because(one))
    one.done()
    return found


def _because(one: Section) -> Reasons:
    because = []
    for reason in one.tables("because"):
        because.append((reason.text("says"), _formula(reason, "value"), reason.text("unit", "")))
        reason.done()
    return tuple(because)


def _contradiction(one: Section) -> dict[str, Any]:
    found: dict[str, Any] = {"because": _because(one), "holds": _formula(one, "holds")}
    if not found["because"]:
        raise one.error("because", "a contradiction has a reason at least, such as"
                                   " { says = \"...\", value = \"FORMULA\" }")
    found |= {"ours": _formula(one, "ours"), "why": one.text("why")}
    # The engine compares ours with it: what matches is no contradiction.
    if one.has("published"):
        return found | {"published": _formula(one, "published"), "tolerance": _tolerance(one)}
    return found | _bounds(one)


def _bounds(one: Section) -> dict[str, Any]:
    found: dict[str, Any] = {key: _formula(one, name) for key, name in
                             (("low", "from"), ("high", "to")) if one.has(name)}
    if not found:
        raise one.error("from", "a contradiction compares ours with published and its tolerance, or"
                        " with from, to or both" if one.text("kind") == "contradiction"
                        else "a range has from, to or both")
    return found


def _tolerance(one: Section) -> Tolerance:
    try:
        return Tolerance.read(one.text("tolerance"))
    except ValueError as error:
        raise one.error("tolerance", str(error)) from None


def _formula(one: Section, key: str) -> Formula:
    """A formula, or a plain number."""
    value = one.raw(key, None)
    return _read(one, key, str(value) if isinstance(value, int | float) else one.text(key))


def _read(one: Section, key: str, text: str) -> Formula:
    try:
        return Formula(text)
    except ExperimentError as error:
        if error.key:
            raise
        raise one.error(key, str(error)) from None


def _order(text: str) -> tuple[tuple[str, ...], ...]:
    """``a > b = c > d, e``: largest first; ``=`` are equals, commas say nothing of each other.

    Each group starts with its sign.
    """
    groups = []
    for group in text.split(">"):
        names = [name.strip() for name in group.replace(",", "=").split("=")]
        groups.append(("=" if "=" in group else ",", *names))
    return tuple(groups)


