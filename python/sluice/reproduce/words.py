"""Claims and verdicts in words, the same on the page and on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.reproduce.claims import (
    CONTRADICTS,
    DIFFERS,
    MATCH,
    TREND,
    UNCHECKED,
    Finding,
    Judged,
)
from sluice.reproduce.quantity import number

MARKS = {MATCH: "✓", TREND: "~", DIFFERS: "✗", CONTRADICTS: "!", UNCHECKED: "?"}
MEANINGS = {
    MATCH: "every counted claim holds within its tolerance",
    TREND: "every order, trend and direction holds; some values are outside their tolerance",
    DIFFERS: "an order, a trend or a value does not hold",
    CONTRADICTS: "the published claims cannot follow from the published set-up",
    UNCHECKED: "this host cannot show what the claims are about",
}


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
    left_out = f", {one.left_out} left out" if one.left_out else ""
    return f"{good} of {len(one.findings)}{left_out}; {worst_words}"


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
