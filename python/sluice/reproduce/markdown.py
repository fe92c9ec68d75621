"""The verdicts as a table for documents, from the result objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluice.quantity import number
from sluice.reproduce import page
from sluice.reproduce.claims import CONTRADICTS, DIFFERS, TREND, UNCHECKED

_MOST = 8


def render(results: Sequence[Mapping[str, Any]], failures: Sequence[tuple[str, str]],
           version: str) -> str:
    """One row for each experiment. The same results give the same bytes."""
    lines = [
        f"# {_title(results)}",
        "",
        f"Written by `sluice reproduce` ({version}), as `results.md` of its folder. A row has an"
        " experiment's verdict, and how many of its claims match, how many of these strongly, how"
        " many contradict, differ (or match only in direction) and are unchecked. Last is the first"
        " claim with numbers: ours, and in brackets the published one.",
        "",
        f"{page.counts(results)}.",
        "",
        "| experiment | what | verdict | match | strong | contradict | differ | unchecked"
        " | first claim |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    failed = [_cells([name, problem, "failed", *[""] * 6]) for name, problem in failures]
    return "\n".join([*lines, *map(_row, results), *failed]) + "\n"


def _title(results: Sequence[Mapping[str, Any]]) -> str:
    papers = {one["paper"] for one in results}
    return f"Results: {papers.pop()}" if len(papers) == 1 else "Results"


def _row(one: Mapping[str, Any]) -> str:
    counts = page.counts([one])
    quick = " (quick)" if one["quick"] else ""
    told = next((_claim(claim) for claim in one["claims"] if _numbers(claim)), "")
    differ = counts.of[DIFFERS] + counts.of[TREND]
    return _cells([f"{one['experiment']}{quick}", one["title"], one["verdict"],
                   counts.matching, *(str(number) if counts.all else "–" for number in (
                       counts.strong, counts.of[CONTRADICTS], differ, counts.of[UNCHECKED])),
                   told])


def _cells(cells: Sequence[str]) -> str:
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
    pairs = [f"{' '.join(finding['where'])} {_whole(finding['ours'], claim)}"
             f" ({_whole(finding['published'], claim)})".strip() for finding in found]
    return f"{claim['says']}: {', '.join(pairs)}"


def _whole(value: Any, claim: Mapping[str, Any]) -> str:
    """A number that no line parts from its unit."""
    return number(value, claim["unit"]).replace(" ", "\N{NO-BREAK SPACE}")
