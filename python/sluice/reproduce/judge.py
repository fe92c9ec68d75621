"""Whether a claim holds. No outcome is typed: each is computed here.

What a kind of claim has was checked when it was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import accumulate, combinations, product

from sluice.errors import ExperimentError
from sluice.quantity import number, row, short
from sluice.reproduce.claims import (
    CONTRADICTS,
    DIFFERS,
    MATCH,
    TREND,
    UNCHECKED,
    Claim,
    Finding,
    Judged,
)
from sluice.reproduce.grid import Grid
from sluice.reproduce.tolerance import Tolerance

Pairs = dict[tuple[str, str], int]
"""Which of two labels has the larger value: 1 the first one, 0 neither."""


def judge(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    """Whether the claim holds, computed from the measured and the published quantities."""
    try:
        judged = _JUDGES[claim.kind](claim, known)
        if claim.needs and not claim.needs(known).truth:
            return replace(judged, outcome=UNCHECKED)
        return judged
    except ExperimentError as error:
        raise ExperimentError(f"{claim.section}: {error}", key=claim.section) from None


def _values(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    allowed = claim.tolerance
    assert claim.ours and claim.published and allowed
    ours, published = claim.ours.numbers(known), claim.published.numbers(known)
    findings = []
    both = _compared(published, ours).map(lambda pair: (float(pair[0]), float(pair[1])))
    for cell, (theirs, mine) in both.rows():
        far = allowed.distance(theirs, mine)
        if allowed.kind == "absolute" and claim.unit != "fraction":
            far = f"{far} {claim.unit}".strip()
        findings.append(Finding(cell, theirs, mine, far,
                                allowed.allows(theirs, mine), allowed.excess(theirs, mine)))
    if not findings:
        raise ExperimentError("nothing is both published and measured")
    if all(one.good for one in findings):
        return Judged(claim, MATCH, findings)
    # A ratio has a direction besides its value: above or below one.
    same_side = all((one.published - 1) * (one.ours - 1) > 0 for one in findings)
    return Judged(claim, TREND if claim.kind == "ratio" and same_side else DIFFERS, findings)


def _compared(published: Grid, ours: Grid) -> Grid:
    """Both values wherever one was published. Raises ``ExperimentError`` where nobody measured
    what was published: such a place must not pass as one that is good."""
    for axis in published.axes.keys() & ours.axes.keys():
        # What was measured and not published has nothing to stand beside.
        theirs = published.axes[axis]
        ours = ours.pick(axis, [label for label in ours.axes[axis] if label in theirs])
    both = published.with_(ours, lambda theirs, mine: (theirs, mine))
    index = [list(both.axes).index(axis) for axis in published.axes]
    there = {tuple(cell[at] for at in index) for cell in both.cells}
    missing = [cell for cell, _ in published.rows() if cell not in there]
    if missing:
        raise ExperimentError(f"published and not measured: {published.label(missing[0])}"
                              + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""))
    return both


def _orders(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    tie = claim.tolerance
    assert claim.ours and tie
    lines = claim.ours.numbers(known).reduce(claim.axis, dict)
    if claim.published:
        # Published numbers may have gaps: a series without a number has no place in the order.
        theirs = claim.published.numbers(known).thin().reduce(claim.axis, dict)
        pairs = _compared(theirs.map(lambda line: _ranks(line, tie)), lines)
    else:
        pairs = lines.map(lambda mine: (_given_ranks(claim.order), mine))
    findings = []
    for cell, (wanted, mine) in pairs.rows():
        missing = {name for pair in wanted for name in pair} - set(mine)
        if missing:
            raise ExperimentError(f"{claim.axis} has no {', '.join(sorted(missing))}")
        findings += [_pair(cell, first, second, sign, mine, tie)
                     for (first, second), sign in wanted.items()]
    if not claim.published:
        findings += _emptied("an order", lines)
    if not findings:
        raise ExperimentError("nothing to bring into an order")
    good = all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings)


def _emptied(says: str, lines: Grid) -> list[Finding]:
    """Where a condition has left nothing of a line, nothing moves and nothing is larger."""
    return [Finding(cell, says, "no number", "", False, math.inf)
            for cell in product(*lines.axes.values()) if cell not in lines.cells]


def _ranks(line: Mapping[str, float], tie: Tolerance) -> Pairs:
    """Pairs with the larger first; pairs that are as good as equal say nothing."""
    found: Pairs = {}
    for first, second in combinations(line, 2):
        a, b = line[first], line[second]
        if not (math.isnan(a) or math.isnan(b) or tie.same(a, b)):
            found[(first, second) if a > b else (second, first)] = 1
    return found


def _given_ranks(order: tuple[tuple[str, ...], ...]) -> Pairs:
    found: Pairs = {}
    for kind, *group in order:
        found |= {pair: 0 for pair in combinations(group, 2) if kind == "="}
    for (_, *higher), (_, *lower) in combinations(order, 2):
        found |= {(first, second): 1 for first in higher for second in lower}
    return found


def _pair(cell: tuple[str, ...], first: str, second: str, sign: int, mine: Mapping[str, float],
          tie: Tolerance) -> Finding:
    a, b = mine[first], mine[second]
    equal = tie.same(a, b)
    # As good as equal is not larger.
    good = a > b and not equal if sign else equal
    says = f"{first} {'>' if sign else '='} {second}"
    ours = f"{first} {'=' if equal else '>' if a > b else '<' if a < b else '?'} {second}"
    # Of pairs in the right order the closest is the worst, of the others the farthest.
    gap = tie.excess(b, a)
    return Finding(cell, says, ours, tie.distance(b, a), good, -gap if good and sign else gap)


def _trends(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    slack = claim.tolerance
    assert claim.ours and slack
    lines = claim.ours.numbers(known).reduce(claim.axis, dict)
    findings = []
    for cell, line in lines.rows():
        values = [float(value) for value in line.values()]
        good = len(values) > 1 and _moves(claim.trend, values, slack)
        excess = math.inf if any(map(math.isnan, values)) else 0.0
        findings.append(Finding(cell, claim.trend, row(values, claim.unit), "", good, excess))
    findings += _emptied(claim.trend, lines)
    good = bool(findings) and all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings)


def _moves(trend: str, values: list[float], slack: Tolerance) -> bool:
    """Whether the values move so; what goes back by no more than the slack does not count."""
    if any(math.isnan(value) for value in values):
        return False
    # Each against the extreme before it: many small steps back would add up to any fall.
    highs, lows = accumulate(values, max), accumulate(values, min)
    up = all(b > a or slack.same(a, b) for a, b in zip(highs, values[1:], strict=False))
    down = all(b < a or slack.same(a, b) for a, b in zip(lows, values[1:], strict=False))
    if trend == "flat":
        return slack.same(max(values), min(values))
    if trend in ("rises", "falls"):
        steps, ends = (up, values[-1] > values[0]) if trend == "rises" else \
            (down, values[-1] < values[0])
        return steps and ends and not slack.same(values[0], values[-1])
    turn = values.index(min(values) if trend == "valley" else max(values))
    before, after = values[:turn + 1], values[turn:]
    first, second = ("falls", "rises") if trend == "valley" else ("rises", "falls")
    return 0 < turn < len(values) - 1 and _moves(first, before, slack) \
        and _moves(second, after, slack)


def _ranges(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    assert claim.ours
    low = claim.low.number(known) if claim.low else -math.inf
    high = claim.high.number(known) if claim.high else math.inf
    least, most = (number(bound, claim.unit) for bound in (low, high))
    both = f"{least if claim.unit == 'fraction' else number(low)} to {most}"
    bounds = both if claim.low and claim.high else \
        f"at least {least}" if claim.low else f"at most {most}"
    findings = []
    for cell, value in claim.ours.numbers(known).rows():
        compares = not any(map(math.isnan, (low, value, high)))
        off = max(low - value, value - high, 0.0) if compares else math.inf
        far = f"{short(off * 100)} points" if claim.unit == "fraction" else number(off, claim.unit)
        where = f"{far} {'below' if value < low else 'above'}" if off else "within"
        findings.append(Finding(cell, bounds, float(value), where if compares else "no number",
                                low <= value <= high, off))
    good = bool(findings) and all(one.good for one in findings)
    return Judged(claim, MATCH if good else DIFFERS, findings)


def _contradicted(claim: Claim, known: Mapping[str, Grid]) -> Judged:
    assert claim.holds
    compared = _values(claim, known) if claim.published else _ranges(claim, known)
    reasons = [(says, formula.number(known), unit) for says, formula, unit in claim.because]
    # What was measured as published contradicts nothing, whatever the formula says; neither does
    # what is no number.
    numbers = not any(math.isinf(one.excess) for one in compared.findings)
    outcome = MATCH if compared.outcome == MATCH else \
        CONTRADICTS if claim.holds(known).truth and numbers else DIFFERS
    return Judged(claim, outcome, compared.findings, reasons)


def _unchecked(claim: Claim, _known: Mapping[str, Grid]) -> Judged:
    return Judged(claim, UNCHECKED)


_JUDGES: dict[str, Callable[[Claim, Mapping[str, Grid]], Judged]] = {
    "value": _values, "ratio": _values, "order": _orders, "trend": _trends, "range": _ranges,
    "contradiction": _contradicted, "unchecked": _unchecked}
