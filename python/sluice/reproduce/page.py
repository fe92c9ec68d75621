"""Pages: one for each experiment, and an index."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape

from sluice.report import svg
from sluice.report.template import asset, environment
from sluice.reproduce import draw, words
from sluice.reproduce.claims import CONTRADICTS, DIFFERS, MATCH, UNCHECKED, Judged
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.figures import Figure, Part
from sluice.reproduce.verdict import Counts


def render(one: Evaluated, version: str) -> str:
    """The page of one experiment. The same results give the same bytes."""
    slug = one.experiment.name.replace("/", "-")
    judged, checks = ([_titled(one, claim) for claim in claims]
                      for claims in (one.judged, one.consistency))
    return _template("experiment.html").render(
        style=style(), one=one, experiment=one.experiment, words=words, version=version,
        judged=judged, checks=checks,
        unchecked=[claim for claim in judged if claim.outcome == UNCHECKED and claim.claim.needs],
        counts=counted([one]),
        first=next((claim for claim in [*judged, *checks] if _is_of_numbers(claim)), None),
        failing=[claim for claim in judged if claim.outcome == DIFFERS]
        + [check for check in checks if check.outcome != MATCH],
        contradicted=[claim for claim in judged if claim.outcome == CONTRADICTS],
        figures=[_figure(one, figure, f"{slug}-{index}")
                 for index, figure in enumerate(one.experiment.figures, start=1)],
        palette=svg.PALETTE, back="../../index.html")


def render_index(results: Sequence[Mapping[str, Any]], failures: Sequence[tuple[str, str]],
                 version: str) -> str:
    """The list of all experiments with their verdicts, from their result objects."""
    return _template("index.html").render(
        style=style(), failures=failures, words=words, version=version,
        results=[(one, counts([one])) for one in results], all=counts(results))


def counts(results: Sequence[Mapping[str, Any]]) -> Counts:
    """How the claims and checks of results came out."""
    return Counts.read(((claim["outcome"], (claim["power"] or {}).get("word"))
                        for one in results for claim in one["claims"]),
                       (check["outcome"] for one in results for check in one["consistency"]))


def counted(every: Sequence[Evaluated]) -> Counts:
    """The counts of what was evaluated."""
    return Counts.read(((judged.outcome, words.power(judged))
                        for one in every for judged in one.judged),
                       (judged.outcome for one in every for judged in one.consistency))


def _is_of_numbers(judged: Judged) -> bool:
    """Whether it compares two numbers, and no more, and counts."""
    return judged.outcome != UNCHECKED and len(judged.findings) == 1 and all(
        isinstance(number, int | float) and not math.isnan(number)
        for number in (judged.findings[0].published, judged.findings[0].ours))


def _titled(one: Evaluated, judged: Judged) -> Judged:
    """With the titles of labels, which are words of the experiment's file, in their place."""
    every = [one.experiment.titles(axis.name) for axis in one.experiment.axes]
    known = {label for titles in every for label in titles}
    named = {label: {titles.get(label, label) for titles in every if label in titles}
             for label in known}
    # What two axes call differently stays as it is.
    titles = {label: names.pop() for label, names in named.items() if len(names) == 1}

    def pair(told: Any) -> Any:
        of = one.experiment.titles(judged.claim.axis)
        return "".join(of.get(word, word) for word in re.split("( [<=>?] )", told)) \
            if isinstance(told, str) else told

    return replace(judged, findings=[
        replace(found, where=tuple(titles.get(label, label) for label in found.where),
                published=pair(found.published), ours=pair(found.ours))
        for found in judged.findings])


def _figure(one: Evaluated, figure: Figure, slug: str) -> dict[str, Any]:
    if figure.kind == "table":
        return {"figure": figure, "tables": _tables(one, figure), "drawn": None}
    return {"figure": figure, "tables": [], "drawn": Markup(draw.draw(one, figure, slug))}


def _tables(one: Evaluated, figure: Figure) -> list[dict[str, Any]]:
    """A table for each part, where a part has a column for each label of the series: all of them
    beside each other were wider than a screen. Else one, with a column for each part."""
    if not figure.series:
        return [_table(one, figure, figure.parts, "")]
    return [_table(one, figure, [part], part.title) for part in figure.parts]


def _table(one: Evaluated, figure: Figure, parts: Sequence[Part], title: str) -> dict[str, Any]:
    """Rows along x, and in a cell ours over published."""
    rows: dict[str, list[tuple[str, str]]] = {}
    heads: list[str] = []
    x_titles = one.experiment.titles(figure.x)
    series_titles = one.experiment.titles(figure.series)
    for part in parts:
        ours = part.ours(one.known)
        published = part.published(one.known) if part.published else None
        for name in ours.axes.get(figure.series, ("",)):
            heads.append(series_titles.get(name, name) if figure.series else part.title)
            for label in ours.axes[figure.x]:
                at = {figure.x: label, figure.series: name}
                mine = ours.cells.get(tuple(at[axis] for axis in ours.axes))
                theirs = published.cells.get(tuple(at[axis] for axis in published.axes)) \
                    if published else None
                row = rows.setdefault(x_titles.get(label, label), [])
                row.append((_form(mine, figure.form), _form(theirs, figure.form)))
    named = {axis.name: axis.title for axis in one.experiment.axes}
    return {"title": title, "of": named.get(figure.x, ""), "over": named.get(figure.series, ""),
            "heads": heads, "rows": rows,
            "published": any(theirs for row in rows.values() for _, theirs in row)}


def _form(value: Any, form: str) -> str:
    """A number in a format of the experiment's, and without the exponent that ``g`` may write."""
    if not isinstance(value, int | float) or value != value:
        return ""
    told = format(value, form)
    return f"{Decimal(told):,f}" if "e" in told else told


def _code(text: str) -> Markup:
    """What stands between backticks, as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _template(name: str) -> Any:
    made = environment()
    made.filters["code"] = _code
    return made.get_template(f"reproduce/{name}")


def pictures(one: Evaluated) -> dict[str, str]:
    """Each figure that is drawn as a file of its own, which follows light and dark as a page does:
    ``figure-1.svg`` is the first."""
    sheet = asset("report/page.css")
    colours = sheet[:sheet.index("\n*")]
    ground = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    made = {}
    for index, figure in enumerate(one.experiment.figures, start=1):
        if figure.kind != "table":
            drawn = draw.draw(one, figure, f"{one.experiment.name.replace('/', '-')}-{index}")
            begin = drawn.index(">") + 1
            made[f"figure-{index}.svg"] = (
                f"{drawn[:begin]}<style>{colours}</style>{ground}{drawn[begin:]}\n")
    return made


def style() -> Markup:
    """The report's style, and what only these pages have."""
    return Markup(asset("report/page.css") + asset("reproduce/page.css"))
