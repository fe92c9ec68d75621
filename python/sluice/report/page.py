"""The page: one HTML file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from sluice.report import content, profile, svg
from sluice.report.charts import Chart, charts
from sluice.report.folder import Run
from sluice.report.footnotes import NOTES
from sluice.report.template import asset, environment

# As many settings as a card can hold; the table below has them all.
CARD_SETTINGS_MAX = 6


def render(runs: list[Run], title: str | None = None) -> str:
    """The whole page for ``runs``, in their order. The same runs give the same bytes."""
    changed = content.changed_settings(runs)[:CARD_SETTINGS_MAX]
    cards = [content.card(run, index, changed) for index, run in enumerate(runs)]
    made = [content.latency_grid(runs), profile.site_grid(runs), profile.thread_grid(runs),
            content.program_grid(runs), content.counter_grid(runs), content.process_grid(runs),
            content.setting_grid(runs)]
    grids = [grid for grid in made if grid]
    notes = _notes(cards, grids)
    return environment().get_template("report/page.html").render(
        title=title or _title(runs),
        answers=[content.answer(run) for run in runs],
        subtitle=_subtitle(runs),
        style=Markup(asset("report/page.css")),
        cards=cards,
        figures=[_figure(chart) for chart in charts(runs)],
        grids=grids,
        notes={slug: NOTES[slug] for slug in notes},
        numbers={slug: number for number, slug in enumerate(notes, start=1)},
        palette=svg.PALETTE,
        points=svg.POINTS,
    )


def _notes(cards: Sequence[content.Card], grids: Sequence[content.Grid]) -> list[str]:
    """The notes that something on the page refers to, and that of the percentiles if it has any."""
    noted = {tile.note for card in cards for tile in card.tiles}
    noted |= {row.note for grid in grids for row in [*grid.rows, *grid.folded]}
    if any(grid.slug == "latency" for grid in grids):
        noted.add("histograms")
    return [slug for slug in NOTES if slug in noted]


def _title(runs: list[Run]) -> str:
    return f"Sluice: {runs[0].label}" if len(runs) == 1 else f"Sluice: {len(runs)} runs compared"


def _subtitle(runs: list[Run]) -> str:
    devices = sorted({run.stats.text("device") or "unnamed" for run in runs})
    live = sum(not run.simulated for run in runs)
    kinds = [f"{live} live" if live else "", f"{len(runs) - live} simulated"]
    parts = ", ".join(kind for kind in kinds if kind and not kind.startswith("0 "))
    noun = "run" if len(runs) == 1 else "runs"
    plural = "s" if len(devices) > 1 else ""
    return f"{parts} {noun} on emulated CXL-SSD{plural}: {', '.join(devices)}"


def _figure(chart: Chart) -> dict[str, object]:
    drawn = [Markup(svg.draw(chart, shape)) for shape in svg.SHAPES]
    return {"chart": chart, "drawn": drawn}
