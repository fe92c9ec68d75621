"""Claims and verdicts in words, the same on the page and on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sluice.quantity import number
from sluice.reproduce.claims import (
    CONSISTENT,
    CONTRADICTS,
    DIFFERS,
    MATCH,
    MEDIUM,
    NOTHING,
    STRONG,
    TREND,
    UNCHECKED,
    WEAK,
    Finding,
    Judged,
)

MARKS = {MATCH: "✓", TREND: "~", DIFFERS: "✗", CONTRADICTS: "!", UNCHECKED: "?",
         CONSISTENT: "="}
MEANINGS = {
    MATCH: "every claim holds within its tolerance",
    TREND: "every claim holds, some ratios only in their direction",
    DIFFERS: "an order, a trend, a range or a value does not hold",
    CONTRADICTS: "our measurements show that what was published cannot follow from the published"
                 " set-up; every other claim holds",
    UNCHECKED: "this host cannot show what the claims are about",
    CONSISTENT: "no claim of a paper; all our own checks hold",
}
POWERS = {
    STRONG: "it holds with under 10 % of the permutations and of the shuffles, and not with equal"
            " values",
    MEDIUM: "in between",
    WEAK: "it holds with most permutations, and with most noise or equal values",
    NOTHING: "it holds however the measurements are spoilt, or the set-up was fitted to it",
}
SPOILT = "Power says how well an outcome tells right from wrong. Each claim is judged again on" \
         " measurements that we spoil on purpose: with labels permuted, with all values shuffled," \
         " with noise of 30 %, and with the mean in place of every value."


def power(one: Judged) -> str:
    """How much the outcome says."""
    return one.power.word if one.power else ""


def tried(one: Judged) -> str:
    """What the power was computed from."""
    if not one.power:
        return ""
    if one.claim.fitted:
        return f"fitted: {one.claim.fitted}"
    labels, noise = one.power.permuted, one.power.noise
    cells = one.power.shuffled
    equal = {True: "yes", False: "no", None: "no test"}[one.power.no_effect]
    parts = [f"permuted: {labels[0]} of {labels[1]}" if labels[1] else "",
             f"shuffled: {cells[0]} of {cells[1]}" if cells[1] else "",
             f"noise: {noise[0]} of {noise[1]}", f"equal values: {equal}"]
    return "still holds, " + "; ".join(part for part in parts if part)


def published(one: Judged) -> str:
    """What was published, of the comparison that is farthest off."""
    worst = one.worst()
    return number(worst.published, one.claim.unit) if worst else "–"


def ours(one: Judged) -> str:
    """What is ours, of the same comparison."""
    worst = one.worst()
    return number(worst.ours, one.claim.unit) if worst else "–"


def distance(one: Judged) -> str:
    """How far off, and of how many comparisons how many will do."""
    worst = one.worst()
    if worst is None:
        return ""
    if len(one.findings) == 1:
        return worst.distance
    good = sum(finding.good for finding in one.findings)
    counts = f"{good} of {len(one.findings)}"
    told = ": ".join(word for word in (where(worst), worst.distance) if word)
    # Where all are alike none is the worst.
    return counts if not told or worst.good and not worst.excess else f"{counts}; worst {told}"


def where(finding: Finding) -> str:
    """The labels of a comparison."""
    return " · ".join(finding.where)


def tolerance(one: Judged) -> str:
    """How far off ours may be, with its unit where it is no share."""
    allowed = one.claim.tolerance
    if allowed is None:
        return ""
    if allowed.kind == "absolute" and one.claim.unit != "fraction":
        return f"± {number(allowed.amount, one.claim.unit)}"
    return allowed.text


def place(text: str) -> str:
    """Where a paper has something; a number alone is that of a section."""
    return re.sub(r"^(?=([0-9]+(\.[0-9]+)*|[IVX]+(-[A-Z])?)([,:;]|$))", "section ", text)


def columns(rows: Sequence[Sequence[str]], widths_max: Sequence[int]) -> list[str]:
    """Rows as aligned text; a cell that is too wide goes on in the lines below."""
    wrapped = [[_wrap(cell, limit) for cell, limit in zip(row, widths_max, strict=True)]
               for row in rows]
    widths = [max(len(line) for row in wrapped for line in row[index])
              for index in range(len(widths_max))]
    lines = []
    for row in wrapped:
        for number_ in range(max(len(cell) for cell in row)):
            cells = [cell[number_] if number_ < len(cell) else "" for cell in row]
            lines.append("  ".join(cell.ljust(width) for cell, width
                                   in zip(cells, widths, strict=True)).rstrip())
    return lines


def _wrap(text: str, limit: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > limit:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
