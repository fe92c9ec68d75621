"""Claims and verdicts in words, the same on the page and on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

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
from sluice.reproduce.quantity import number

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
    STRONG: "spoilt measurements do not fulfil it: under 10 % of the permutations of labels do, and"
            " equal values do not",
    MEDIUM: "in between",
    WEAK: "spoilt measurements mostly fulfil it: most permutations do, and most noise of 30 % or"
          " equal values",
    NOTHING: "spoilt measurements always fulfil it, or the set-up was fitted to it",
}


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
    equal = {True: "fulfil", False: "do not fulfil", None: ""}[one.power.no_effect]
    parts = [f"{labels[0]} of {labels[1]} permutations" if labels[1] else "no permutation",
             f"{noise[0]} of {noise[1]} with noise"]
    return "; ".join(parts + ([f"equal values {equal} it"] if equal else []))


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
    place = " ".join(worst.where)
    worst_words = f"worst {place} {worst.distance}".strip() if worst.distance else place
    return f"{good} of {len(one.findings)}; {worst_words}"


def where(finding: Finding) -> str:
    """The labels of a comparison."""
    return ", ".join(finding.where)


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
