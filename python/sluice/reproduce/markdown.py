"""The verdicts as a table for documents, from the result objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.reproduce.claims import MATCH, is_counted
from sluice.reproduce.quantity import number

_MOST = 8


def render(results: Sequence[Mapping[str, Any]], version: str) -> str:
    """One row for each experiment. The same results give the same bytes."""
    lines = [
        "# Results",
        "",
        f"Written by `sluice reproduce` ({version}) as `results.md` of its folder: the verdict of"
        " each experiment, how many of its counted claims hold, and its first claim with numbers,"
        " ours and in brackets the published one.",
        "",
        "| experiment | what | verdict | claims | first claim |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join(lines + [_row(one) for one in results]) + "\n"


def _row(one: Mapping[str, Any]) -> str:
    counted = [claim for claim in one["claims"] if is_counted(claim["outcome"])]
    good = sum(claim["outcome"] == MATCH for claim in counted)
    quick = " (quick)" if one["quick"] else ""
    told = next((_claim(claim) for claim in counted if _numbers(claim)), "")
    cells = [f"{one['experiment']}{quick}", one["title"], one["verdict"],
             f"{good} of {len(counted)}", told]
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _numbers(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The comparisons of a claim that are of two numbers."""
    return [finding for finding in claim["findings"]
            if all(isinstance(finding[side], int | float) for side in ("published", "ours"))]


def _claim(claim: Mapping[str, Any]) -> str:
    found = _numbers(claim)
    if len(found) > _MOST:
        good = sum(finding["good"] for finding in found)
        return f"{claim['says']}: {good} of {len(found)} within {claim['tolerance']}"
    unit = claim["unit"]
    pairs = [f"{' '.join(finding['where'])} {number(finding['ours'], unit)}"
             f" ({number(finding['published'], unit)})".strip() for finding in found]
    return f"{claim['says']}: {', '.join(pairs)}"
