"""Claims of a paper, and whether they hold. No verdict is typed: each is computed here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid
from sluice.reproduce.quantity import number
from sluice.reproduce.section import Section

KINDS = ("value", "ratio", "order", "trend", "range", "contradiction")
TRENDS = ("rises", "falls", "flat", "valley", "peak")
MATCH, TREND, DIFFERS, CONTRADICTS = "match", "trend only", "differs", "contradicts its set-up"
UNCHECKED = "unchecked here"


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
            if match:
                return cls(text, kind, float(match[1]))
        raise ValueError(f"no tolerance: {text!r}; the forms are '25 %', '10 points', 'factor 3'"
                         " and 'by 0.5'")

    def allows(self, published: float, ours: float) -> bool:
        """Whether ``ours`` is near enough; what is no number never is."""
        if math.isnan(ours) or math.isnan(published):
            return False
        slack = 1 + 1e-9
        if self.kind == "relative":
            return abs(ours - published) <= abs(published) * self.amount / 100 * slack
        if self.kind == "factor":
            both = ours > 0 and published > 0
            return both and max(ours / published, published / ours) <= self.amount * slack
        limit = self.amount / 100 if self.kind == "points" else self.amount
        return abs(ours - published) <= limit * slack

    def distance(self, published: float, ours: float) -> str:
        """How far they are apart, in the tolerance's own measure."""
        if math.isnan(ours) or math.isnan(published):
            return "no number"
        if self.kind == "points":
            return f"{(ours - published) * 100:+.1f} points"
        if self.kind == "factor" and ours > 0 and published > 0:
            return f"× {ours / published:.3g}"
        if self.kind == "relative" and published:
            return f"{(ours / published - 1) * 100:+.1f} %"
        return f"{ours - published:+.3g}"

    def excess(self, published: float, ours: float) -> float:
        """Orders distances: larger is worse."""
        if math.isnan(ours) or math.isnan(published):
            return math.inf
        if self.kind == "factor" and ours > 0 and published > 0:
            return abs(math.log(ours / published))
        scale = abs(published) if self.kind == "relative" and published else 1.0
        return abs(ours - published) / scale


_NUMBER = r"([0-9.]+)"
_FORMS = {"relative": rf"{_NUMBER} ?%", "points": rf"{_NUMBER} points?",
          "factor": rf"factor {_NUMBER}", "absolute": rf"by {_NUMBER}"}


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
    also: tuple[Formula, ...] = ()
    """Other values that were published of the same, each for some of the places."""
    axis: str = ""
    order: tuple[tuple[str, ...], ...] = ()
    trend: str = ""
    low: Formula | None = None
    high: Formula | None = None
    because: tuple[tuple[str, Formula, str], ...] = ()
    holds: Formula | None = None
    needs: Formula | None = None
    """True on hosts that can show it; on others the claim is not counted."""
    lacks: str = ""
    """What a host needs to show it."""

    def formulas(self) -> dict[str, Formula]:
        """Its formulas, by key."""
        named = {"published": self.published, "ours": self.ours, "from": self.low,
                 "to": self.high, "holds": self.holds, "needs": self.needs}
        named |= {f"because[{index}].value": formula
                  for index, (_, formula, _) in enumerate(self.because, start=1)}
        named |= {f"also[{index}]": formula for index, formula in enumerate(self.also, start=1)}
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


@dataclass(frozen=True)
class Judged:
    """A claim with its outcome and the comparisons it was computed from."""

    claim: Claim
    outcome: str
    findings: list[Finding] = field(default_factory=list)
    reasons: list[tuple[str, float, str]] = field(default_factory=list)
    left_out: int = 0
    """Comparisons of which the published values say one thing and another."""

    def worst(self) -> Finding | None:
        """The comparison that is farthest off; a bad one before a good one."""
        return max(self.findings, key=lambda one: (not one.good, one.excess), default=None)


def read_claim(one: Section) -> Claim:
    """Reads one claim; each kind has its own keys."""
    kind = one.choice("kind", KINDS)
    common = {"section": one.name, "kind": kind, "says": one.text("says"),
              "place": one.text("place"), "unit": one.text("unit", ""),
              "note": one.text("note", "")}
    if one.has("needs"):
        common |= {"needs": _formula(one, "needs"), "lacks": one.text("lacks")}
    own: dict[str, Any] = {"why": "", "tolerance": None}
    if kind == "contradiction":
        own |= _contradiction(one)
    else:
        own |= {"ours": _formula(one, "ours"), "why": one.text("why")}
    if kind in ("value", "ratio"):
        own |= {"published": _formula(one, "published"), "tolerance": _tolerance(one)}
    elif kind == "range":
        own |= {key: _formula(one, name) for key, name in (("low", "from"), ("high", "to"))
                if one.has(name)}
    elif kind in ("order", "trend"):
        own |= {"axis": one.text("axis"), "tolerance": _tolerance(one)}
        if kind == "trend":
            own["trend"] = one.choice("trend", TRENDS)
        elif one.has("order"):
            own["order"] = _order(one.text("order"))
        else:
            own["published"] = _formula(one, "published")
            own["also"] = tuple(_read(one, "also", text) for text in one.texts("also", []))
    one.done()
    return Claim(**common, **own)


def _contradiction(one: Section) -> dict[str, Any]:
    because = []
    for reason in one.tables("because"):
        because.append((reason.text("says"), _formula(reason, "value"), reason.text("unit", "")))
        reason.done()
    found: dict[str, Any] = {"because": tuple(because), "holds": _formula(one, "holds")}
    found |= {key: _formula(one, key) for key in ("published", "ours") if one.has(key)}
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


def judge(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    """Whether the claim holds, computed from the measured and the published quantities."""
    try:
        judged = _JUDGES[claim.kind](claim, known)
        if claim.needs and not claim.needs(known).only:
            return replace(judged, outcome=UNCHECKED)
        return judged
    except ExperimentError as error:
        raise ExperimentError(f"{claim.section}: {error}", key=claim.section) from None


def _values(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    ours, published = claim.ours(known), claim.published(known)
    allowed = claim.tolerance
    findings = []
    both = published.with_(ours, lambda a, b: (float(a), float(b)))
    for cell, (theirs, mine) in both.rows():
        findings.append(Finding(cell, theirs, mine, allowed.distance(theirs, mine),
                                allowed.allows(theirs, mine), allowed.excess(theirs, mine)))
    if not findings:
        raise ExperimentError("nothing is both published and measured")
    if all(one.good for one in findings):
        return Judged(claim, MATCH, findings)
    # A ratio has a direction besides its value: above or below one.
    same_side = all((one.published - 1) * (one.ours - 1) > 0 for one in findings)
    return Judged(claim, TREND if claim.kind == "ratio" and same_side else DIFFERS, findings)


def _orders(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    lines = claim.ours(known).reduce(claim.axis, dict)
    if claim.published:
        both = _versions(claim, known).reduce(claim.axis, dict)
        pairs = both.with_(lines, lambda theirs, mine: (_ranks(theirs, claim.tolerance), mine))
    else:
        pairs = lines.map(lambda mine: (_given_ranks(claim.order), mine))
    findings = []
    left_out = 0
    for cell, (wanted, mine) in pairs.rows():
        missing = {name for pair in wanted for name in pair} - set(mine)
        if missing and not claim.published:
            raise ExperimentError(f"{claim.axis} has no {', '.join(sorted(missing))}")
        for (first, second), sign in wanted.items():
            if first in mine and second in mine:
                if sign is None:
                    left_out += 1
                else:
                    findings.append(_pair(cell, first, second, sign, mine, claim.tolerance))
    if not findings:
        raise ExperimentError("nothing to bring into an order")
    good = all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings, left_out=left_out)


def _versions(claim: Claim, known: Mapping[str, Grid]) -> Grid:
    """All that was published of each place: first the value itself."""
    base = claim.published(known)
    found = base.map(lambda value: (value,))
    for formula in claim.also:
        other = formula(known)
        if set(other.axes) != set(base.axes):
            raise ExperimentError(f"{formula.text!r} has other axes than {claim.published.text!r}")
        where = {tuple(dict(zip(other.axes, cell, strict=True))[axis] for axis in base.axes): value
                 for cell, value in other.cells.items()}
        found = Grid(base.axes, {cell: (*values, where[cell]) if cell in where else values
                                 for cell, values in found.cells.items()})
    return found


def _ranks(line: Mapping[str, tuple[float, ...]], tie: Tolerance
           ) -> dict[tuple[str, str], int | None]:
    """Pairs with the larger first; pairs that are as good as equal say nothing.

    Where the values of a pair are in order, and other published ones say otherwise, the pair has
    no order (``None``).
    """
    found: dict[tuple[str, str], int | None] = {}
    for first, second in combinations(line, 2):
        orders = [_larger(a, b, tie) for a, b in product(line[first], line[second])]
        if orders[0]:
            pair = (first, second) if orders[0] > 0 else (second, first)
            found[pair] = 1 if len(set(orders)) == 1 else None
    return found


def _larger(a: float, b: float, tie: Tolerance) -> int:
    """Of two values 1 if the first is larger, -1 if the second is, 0 if that cannot be told."""
    if math.isnan(a) or math.isnan(b) or tie.allows(a, b):
        return 0
    return 1 if a > b else -1


def _given_ranks(order: tuple[tuple[str, ...], ...]) -> dict[tuple[str, str], int | None]:
    found: dict[tuple[str, str], int | None] = {}
    for kind, *group in order:
        found |= {pair: 0 for pair in combinations(group, 2) if kind == "="}
    for (_, *higher), (_, *lower) in combinations(order, 2):
        found |= {(first, second): 1 for first in higher for second in lower}
    return found


def _pair(cell: tuple[str, ...], first: str, second: str, sign: int, mine: Mapping[str, float],
          tie: Tolerance) -> Finding:
    a, b = mine[first], mine[second]
    good = a > b if sign else tie.allows(a, b)
    says = f"{first} {'>' if sign else '='} {second}"
    ours = f"{first} {'>' if a > b else '<' if a < b else '='} {second}"
    # Of pairs in the right order the closest is the worst, of the others the farthest.
    gap = tie.excess(b, a)
    return Finding(cell, says, ours, tie.distance(b, a), good, -gap if good and sign else gap)


def _trends(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    lines = claim.ours(known).reduce(claim.axis, dict)
    findings = []
    for cell, line in lines.rows():
        values = [float(value) for value in line.values()]
        good = len(values) > 1 and _moves(claim.trend, values, claim.tolerance)
        shown = " → ".join(f"{value:.3g}" for value in values)
        findings.append(Finding(cell, claim.trend, shown, "", good))
    good = bool(findings) and all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings)


def _moves(trend: str, values: list[float], slack: Tolerance) -> bool:
    """Whether the values move so; steps against it within the slack do not count."""
    if any(math.isnan(value) for value in values):
        return False
    up = all(b > a or slack.allows(a, b) for a, b in zip(values, values[1:], strict=False))
    down = all(b < a or slack.allows(a, b) for a, b in zip(values, values[1:], strict=False))
    if trend == "flat":
        return slack.allows(max(values), min(values))
    if trend in ("rises", "falls"):
        steps, ends = (up, values[-1] > values[0]) if trend == "rises" else \
            (down, values[-1] < values[0])
        return steps and ends and not slack.allows(values[0], values[-1])
    turn = values.index(min(values) if trend == "valley" else max(values))
    before, after = values[:turn + 1], values[turn:]
    first, second = ("falls", "rises") if trend == "valley" else ("rises", "falls")
    return 0 < turn < len(values) - 1 and _moves(first, before, slack) \
        and _moves(second, after, slack)


def _ranges(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    low = claim.low(known).only if claim.low else -math.inf
    high = claim.high(known).only if claim.high else math.inf
    least, most = (number(bound, claim.unit) for bound in (low, high))
    bounds = f"{least} to {most}" if claim.low and claim.high else \
        f"at least {least}" if claim.low else f"at most {most}"
    findings = []
    for cell, value in claim.ours(known).rows():
        off = max(low - value, value - high, 0.0)
        far = f"{off * 100:.3g} points" if claim.unit == "fraction" else number(off, claim.unit)
        where = f"{far} {'below' if value < low else 'above'}" if off else "within"
        findings.append(Finding(cell, bounds, float(value), where, low <= value <= high, off))
    good = bool(findings) and all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings)


def _contradicted(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    reasons = [(says, float(formula(known).only), unit) for says, formula, unit in claim.because]
    findings = []
    if claim.published:
        mine = claim.ours(known).only if claim.ours else math.nan
        theirs = claim.published(known).only
        distance = f"{(mine / theirs - 1) * 100:+.1f} %" if claim.ours and theirs else ""
        findings = [Finding((), theirs, mine, distance, True)]
    holds = bool(claim.holds(known).only)
    return Judged(claim, CONTRADICTS if holds else DIFFERS, findings, reasons)


_JUDGES = {"value": _values, "ratio": _values, "order": _orders, "trend": _trends,
           "range": _ranges, "contradiction": _contradicted}


def is_counted(outcome: str) -> bool:
    """Whether the verdict depends on a claim with this outcome."""
    return outcome not in (CONTRADICTS, UNCHECKED)


def verdict(judged: list[Judged]) -> str:
    """Of a whole experiment: *match*, *trend only* or *differs*.

    A claim that contradicts its own set-up is not counted, as long as the computed reason holds,
    nor is one that this host cannot show; with nothing else to count, that is the verdict.
    """
    counted = [one for one in judged if is_counted(one.outcome)]
    if not counted:
        is_open = any(one.outcome == UNCHECKED for one in judged)
        return UNCHECKED if is_open else CONTRADICTS if judged else DIFFERS
    if all(one.outcome == MATCH for one in counted):
        return MATCH
    shape = [one for one in counted if one.claim.kind in ("order", "trend", "ratio")]
    held = all(one.outcome in (MATCH, TREND) for one in shape)
    broken = any(one.outcome == DIFFERS and one.claim.kind == "contradiction" for one in counted)
    return TREND if shape and held and not broken else DIFFERS
