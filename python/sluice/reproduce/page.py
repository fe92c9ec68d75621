"""Pages: one for each experiment, and an index."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from sluice.report import svg
from sluice.report.template import asset, environment
from sluice.reproduce import draw, words
from sluice.reproduce.claims import CONTRADICTS, UNCHECKED
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.figures import Figure
from sluice.reproduce.verdict import Counts


def render(one: Evaluated, version: str) -> str:
    """The page of one experiment. The same results give the same bytes."""
    slug = one.experiment.name.replace("/", "-")
    return _template("experiment.html").render(
        style=style(), one=one, experiment=one.experiment, words=words, version=version,
        unchecked=[judged for judged in one.judged
                   if judged.outcome == UNCHECKED and judged.claim.needs],
        counts=counted([one]),
        contradicted=[judged for judged in one.judged if judged.outcome == CONTRADICTS],
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
    """The same of what was evaluated."""
    return Counts.read(((judged.outcome, words.power(judged))
                        for one in every for judged in one.judged),
                       (judged.outcome for one in every for judged in one.consistency))


def _figure(one: Evaluated, figure: Figure, slug: str) -> dict[str, Any]:
    if figure.kind == "table":
        return {"figure": figure, "table": _table(one, figure), "drawn": None}
    return {"figure": figure, "table": None, "drawn": Markup(draw.draw(one, figure, slug))}


def _table(one: Evaluated, figure: Figure) -> dict[str, Any]:
    """Rows along x; a column for each part and label of the series, ours over published."""
    rows: dict[str, list[tuple[str, str]]] = {}
    heads: list[str] = []
    x_titles = one.experiment.titles(figure.x)
    series_titles = one.experiment.titles(figure.series)
    for part in figure.parts:
        ours = part.ours(one.known)
        published = part.published(one.known) if part.published else None
        for name in ours.axes.get(figure.series, ("",)):
            title = series_titles.get(name, name)
            heads.append(": ".join(word for word in (part.title, title) if word))
            for label in ours.axes[figure.x]:
                at = {figure.x: label, figure.series: name}
                mine = ours.cells.get(tuple(at[axis] for axis in ours.axes))
                theirs = published.cells.get(tuple(at[axis] for axis in published.axes)) \
                    if published else None
                row = rows.setdefault(x_titles.get(label, label), [])
                row.append((_form(mine, figure.form), _form(theirs, figure.form)))
    of = next((axis.title for axis in one.experiment.axes if axis.name == figure.x), "")
    return {"of": of, "heads": heads, "rows": rows,
            "published": any(theirs for row in rows.values() for _, theirs in row)}


def _form(value: Any, form: str) -> str:
    return "" if not isinstance(value, int | float) or value != value else format(value, form)


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
