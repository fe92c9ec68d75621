"""The page of ``sluice size``: hit ratios over the size of the cache, with the knee marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from sluice.report import svg, units
from sluice.report.content import Grid, Row
from sluice.report.folder import Table, labels_of, read_object
from sluice.report.template import asset, environment

SIZE_SCHEMA = "sluice.size/1"
# Width of a number of the x axis with the room beside it.
_PLACE = 70
# Marks that are nearer, as a share of the axis, have their words above each other.
_BESIDE = 0.45
_BYTES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def render(folders: list[Path], title: str | None) -> str:
    """The whole page. The same folders give the same bytes."""
    results = [read_object(folder / "stats.json", SIZE_SCHEMA) for folder in folders]
    labels = labels_of(folders)
    pictures = []
    for label, result in zip(labels, results, strict=True):
        drawn = [("Hit ratio by size of the cache", _caption, _hit_ratios)]
        if any(point.number("run_time_s") is not None for point in result.tables("sizes")):
            drawn.append(("Run time by size of the cache", _run_time_caption, _run_times))
        whose = f"{label}: " if len(results) > 1 else ""
        pictures += [(f"{whose}{name}", caption(result), _drawings(result, name, paint))
                     for name, caption, paint in drawn]
    return environment().get_template("report/sizes.html").render(
        title=title or "Sluice: how large a cache", style=Markup(asset("report/page.css")),
        sentences=[(label, result.text("workload"), _sentence(result))
                   for label, result in zip(labels, results, strict=True)],
        pictures=pictures,
        grids=[_grid(label, result) for label, result in zip(labels, results, strict=True)])


def size(count: float | None) -> str:
    """Bytes with the unit that keeps the number between 1 and 1024."""
    if count is None:
        return units.ABSENT
    for unit, scale in _BYTES:
        if count >= scale:
            return f"{count / scale:.3g} {unit}" if count < 999.5 * scale else \
                f"{count / scale:.0f} {unit}"
    return f"{count:.0f} B"


def _answer(result: Table) -> Table | None:
    """Of the first policy that was asked for."""
    return next(iter(_asked(result)), None)


def _asked(result: Table) -> list[Table]:
    """The answers that were asked for: LRU is always there besides."""
    return [one for one in result.tables("answers") if one.truth("asked")]


def _sentence(result: Table) -> str:
    answer, target = _answer(result), units.percent(result.number("target_hit_ratio"))
    if len(asked := _asked(result)) > 1:
        needs = [f"{_needed(one)} ({one.text('policy')})" for one in asked]
        return f"{target} of accesses hit with {', '.join(needs)}."
    if answer is None or answer.number("cache_bytes") is None:
        return f"No cache has {target} hits."
    return (f"{target} of accesses hit with {size(answer.number('cache_bytes'))}"
            f" ({answer.text('policy')}), {units.percent(answer.number('twice_adds'))} more with"
            " twice that.")


def _needed(answer: Table) -> str:
    bytes_needed = answer.number("cache_bytes")
    return "no cache" if bytes_needed is None else size(bytes_needed)


def _run_time_caption(result: Table) -> str:
    policy = result.text("config", "cache.policy")
    return f"With {policy}, the policy of the device. {_caption(result)}"


def _caption(result: Table) -> str:
    first = units.count(result.number("first_accesses"))
    return f"Without {first} first accesses, which miss in any cache. Accesses are" \
        f" {result.text('accesses_are')}."


def _drawings(result: Table, name: str, paint: Callable[[Axes, Table], None]) -> list[Markup]:
    def on(figure: Figure, places: int) -> None:
        axes = figure.add_subplot()
        axes.grid(visible=True, which="major")
        axes.set_axisbelow(True)
        axes.set_xlabel("size of the cache")
        most = (result.number("footprint_bytes") or 1) * 1.02
        axes.set_xlim(0, most)
        axes.xaxis.set_major_locator(FixedLocator(units.round_sizes(0, most, places)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size(x) if x else "0"))
        # The lowest word of the y axis and the first of the x axis share a corner.
        axes.tick_params(axis="x", pad=9)
        paint(axes, result)
    slug = name.split(" ", maxsplit=1)[0].lower()
    return [Markup(svg.element(f"{slug}-{shape.name}", name, (shape.width, shape.height),
                               partial(on, places=shape.width // _PLACE)))
            for shape in svg.SHAPES]


def _hit_ratios(axes: Axes, result: Table) -> None:
    curve = result.tables("curve")
    at = np.array([[point.number("cache_bytes"), point.number("hit_ratio")] for point in curve],
                  float)
    axes.set_ylabel("hits, % of accesses")
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y * 100:.0f} %"))
    if len(at):
        axes.plot(at[:, 0], at[:, 1], color=svg.colour(0), linewidth=svg.LINE_WIDTH, label="lru")
    points = result.tables("sizes")
    names = sorted({name for point in points for name in point.mapping("policies")} - {"lru"})
    for index, name in enumerate(names, start=1):
        drawn = [(point.number("cache_bytes"), point.number("policies", name, "hit_ratio"))
                 for point in points]
        known = np.array([pair for pair in drawn if pair[1] is not None], float).reshape(-1, 2)
        axes.plot(known[:, 0], known[:, 1], color=svg.colour(index), marker=svg.marker(index),
                  linestyle="", label=name)
    if (knee := result.number("knee", "cache_bytes")) is not None:
        _mark(axes, knee, f"knee {size(knee)}")
    answer = _answer(result)
    if answer is not None and (needed := answer.number("cache_bytes")) is not None:
        target = units.percent(result.number("target_hit_ratio"))
        is_near = knee is not None and abs(needed - knee) < axes.get_xlim()[1] * _BESIDE
        _mark(axes, needed, f"{target}: {size(needed)}", row=int(is_near))
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Above the picture: within it a key would pass for a value."""
    figure = axes.get_figure()
    assert figure is not None
    keys, names = axes.get_legend_handles_labels()
    figure.legend(keys, names, loc="outside upper center", ncols=len(names), frameon=False)


def _mark(axes: Axes, at: float, words: str, row: int = 0) -> None:
    axes.axvline(at, color=svg.INK, linewidth=1, linestyle="--", zorder=1)
    # Above the plot, where no curve runs.
    axes.annotate(words, (at, axes.get_ylim()[1]), xytext=(0, 3 + 14 * row),
                  textcoords="offset points", ha="center", va="bottom", fontsize=12,
                  color=svg.INK, annotation_clip=False)


def _run_times(axes: Axes, result: Table) -> None:
    pairs = [(point.number("cache_bytes"), point.number("run_time_s"))
             for point in result.tables("sizes")]
    known = np.array([pair for pair in pairs if pair[1] is not None], float).reshape(-1, 2)
    axes.set_ylabel("predicted run time")
    axes.set_ylim(0, float(known[:, 1].max()) * 1.1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: units.short_duration(y * 1e9)))
    axes.plot(known[:, 0], known[:, 1], color=svg.colour(0), marker="o")


def _apart(sizes: Sequence[float]) -> list[str]:
    """Sizes in short; those that would read the same have more digits."""
    short = [size(one) for one in sizes]
    return [f"{one / 1024:,.0f} KiB" if short.count(words) > 1 else words
            for one, words in zip(sizes, short, strict=True)]


def _grid(label: str, result: Table) -> Grid:
    points = result.tables("sizes")
    names = sorted({name for point in points for name in point.mapping("policies")})
    rows = []
    for point, its in zip(points, _apart([point.number("cache_bytes") or 0 for point in points]),
                          strict=True):
        cells = [units.percent(point.number("policies", name, "hit_ratio")) for name in names]
        cells += [units.count(point.number("policies", name, "misses")) for name in names]
        cells.append(units.seconds(point.number("run_time_s")))
        rows.append(Row("size", [its], cells))
    heads = [f"{name} hits" for name in names] + [f"{name} misses" for name in names]
    return Grid("sizes", label, "", ["cache"], [*heads, "run time"], rows)
