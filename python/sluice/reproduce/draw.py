"""Drawing: a figure of an experiment becomes SVG, in the form that the paper used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullFormatter

from sluice.report import svg
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.figures import Figure
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Grid, numbers_of

# Colours of the page's palette; where there are more series than colours, hatches tell them apart.
_HATCHES = ("", "///", "...", "xxx")
_PANELS_A_ROW = 4
# Words along an axis, at most; letters that a line of them has room for.
_WORDS = 50
_ALONG = 100
# Bars whose highest is less than so many times the lowest need no logarithmic axis.
_PLAIN = 10
# Numbers along a logarithmic axis of a panel, at most: they are long.
_DECADES = 5
# Bars that a picture has room for at least.
_SLOTS = 4
# Letters of a panel's title, at most.
_TITLE = 34
# To what a picture grows in a wide window.
_LARGEST = 1.2
_MEAN = {"geomean": "geo. mean", "mean": "mean"}
# Letters that an upright axis has room for: of one picture, and of one of several panels.
_LETTERS = (45, 30)
# Words below bars: their size in points, and of that the width of a letter.
_UPRIGHT = 11
_LETTER = 0.58
# What a legend calls the paper's numbers; it stands last.
PUBLISHED = "published"


def draw(one: Evaluated, figure: Figure, slug: str) -> str:
    """One ``<svg>`` element: ours in colour, published beside it or on it."""
    panels = _panels(one, figure)
    rows, columns = _rows_and_columns(len(panels))
    words = _upright(one, figure)
    size = (860, 400 + words) if len(panels) == 1 else \
        (max(860, 270 * columns), 60 + (270 + words) * rows)

    def paint(canvas: Canvas) -> None:
        grid = canvas.subplots(rows, columns, squeeze=False, sharey=len(panels) > 1)
        for axes in grid.flat[len(panels):]:
            axes.set_axis_off()
        if rows > 1:
            # Else the title of a panel would belong to the axis above it.
            canvas.set_layout_engine("constrained", h_pad=8 / 72)
        names = _panel_titles(one, figure, panels)
        entries: dict[str, Any] = {}
        for index, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            axes.grid(visible=True, axis="y" if figure.kind in ("bars", "stacked") else "both")
            axes.set_axisbelow(True)
            _scales(axes, figure)
            entries |= _PAINTERS[figure.kind](axes, one, figure, panel)
            axes.set_title(names[index], fontsize=12)
            # Groups stand below their bars, and what they are below them.
            for below in axes.child_axes or [axes]:
                below.set_xlabel(figure.x_label or _title(one, figure.x))
            if index % columns == 0:
                axes.set_ylabel(fill(figure.y_label, _LETTERS[len(panels) > 1]))
        if figure.kind == "lines" and not figure.log_y:
            # Panels share the axis: only with all of them drawn are its ends known.
            _from_nothing([*grid.flat])
        if figure.kind == "bars" and figure.log_y:
            _feet([*grid.flat])
        if len(entries) > 1:
            names = _by_rows([*(name for name in entries if name != PUBLISHED),
                              *(name for name in entries if name == PUBLISHED)])
            # On the left: on a phone the right of a picture is not in view.
            across = _columns(len(entries))
            told = _legend_names(names, across, _ALONG * size[0] // 860)
            canvas.legend([entries[name] for name in names], told, loc="outside upper left",
                          ncols=across, frameon=False, fontsize=11,
                          handlelength=1.6, columnspacing=1.2, alignment="left",
                          title=_legend_title(one, figure, names), title_fontsize=11)

    drawn = svg.element(f"{slug}-plot", figure.title, size, paint)
    # Smaller its words would not be legible, and larger it would not fit a window.
    bounds = f"min-width:{size[0]}px;max-width:{round(size[0] * _LARGEST)}px"
    return drawn.replace("<svg ", f'<svg style="{bounds}" ', 1)


def _rows_and_columns(panels: int) -> tuple[int, int]:
    """Rows as long as each other: five panels are three and two, and not four and one."""
    rows = math.ceil(panels / _PANELS_A_ROW)
    return rows, math.ceil(panels / rows)


def _by_rows(names: Sequence[str]) -> list[str]:
    """Names in the order that reads along the rows of a legend, which is filled by columns."""
    columns = _columns(len(names))
    return [name for column in range(columns) for name in names[column::columns]]


def _legend_names(names: Sequence[str], columns: int, room: int) -> Sequence[str]:
    """The names of a legend, cut where its columns together have more letters than there is room
    for."""
    widths = [max(map(len, column)) for column in np.array_split(names, columns)]
    return names if sum(widths) <= room else [svg.brief(name, room // columns) for name in names]


def _legend_title(one: Evaluated, figure: Figure, names: Sequence[str]) -> str | None:
    """What the numbers of a legend are of; words speak for themselves."""
    labels = [name for name in names if name != PUBLISHED]
    are_numbers = not any(map(math.isnan, numbers_of(labels)))
    return _title(one, figure.series) or None if are_numbers else None


def _upright(one: Evaluated, figure: Figure) -> int:
    """How long the longest word below a bar is that stands upright."""
    if figure.kind != "stacked" or not figure.series:
        return 0
    titles = one.experiment.titles(figure.series)
    series = figure.parts[0].ours(one.known).axes.get(figure.series, ())
    return _length(titles.get(name, name) for name in series)


def _length(words: Iterable[str]) -> int:
    """About how long the longest of some words is, in points."""
    return round(_LETTER * _UPRIGHT * max(map(len, words), default=0))


def _title(one: Evaluated, axis: str) -> str:
    return next((known.title for known in one.experiment.axes if known.name == axis), "")


def _panel_titles(one: Evaluated, figure: Figure, panels: Sequence[dict[str, str]]) -> list[str]:
    """The label of each panel, and what it is of where there is room for that."""
    titles, of = one.experiment.titles(figure.panel), _title(one, figure.panel)
    labels = [titles.get(panel.get(figure.panel, ""), panel.get(figure.panel, ""))
              for panel in panels]
    # "round: first round" says it twice.
    whole = [label if of in label else f"{of}: {label}" for label in labels]
    has_room = bool(of) and max(map(len, whole)) <= _TITLE
    return whole if has_room else [svg.brief(label, _TITLE) for label in labels]


def _from_nothing(panels: Sequence[Axes]) -> None:
    """The axis begins at nothing, unless values lie below it, and has room above them however
    close together they lie."""
    least = min(axes.dataLim.y0 for axes in panels)
    most = max(axes.dataLim.y1 for axes in panels)
    bottom, top = panels[0].get_ylim()
    panels[0].set_ylim(bottom=min(0.0, bottom) if least < 0 else 0.0, top=max(top, most * 1.05))


def _feet(panels: Sequence[Axes]) -> None:
    """Bars stand on nothing where that shows all of them. On a logarithmic axis, which has no
    nothing, the shortest has a foot: without one its neighbours seemed many times as high."""
    heights = [bar.get_height() for axes in panels for bar in axes.patches
               if isinstance(bar, Rectangle)]
    # What was published, and how far off ours may be, is seen too.
    heights += [y for axes in panels for lines in axes.collections
                if isinstance(lines, LineCollection)
                for line in lines.get_segments() for _, y in line]
    heights = [height for height in heights if height > 0]
    if not heights:
        return
    least, most = min(heights), max(heights)
    if most < least * _PLAIN:
        for axes in panels:
            axes.set_yscale("linear")
            svg.numbers(axes.yaxis)
        panels[0].set_ylim(bottom=0.0, top=most * 1.05)
    else:
        panels[0].set_ylim(bottom=least / 2)


def _columns(entries: int) -> int:
    """Columns of a legend, five at most, in rows of equal length."""
    rows = math.ceil(entries / 5)
    return math.ceil(entries / rows)


def _panels(one: Evaluated, figure: Figure) -> list[dict[str, str]]:
    if not figure.panel:
        return [{}]
    grid = figure.parts[0].ours(one.known)
    return [{figure.panel: label} for label in grid.axes.get(figure.panel, ())]


def _scales(axes: Axes, figure: Figure) -> None:
    for name, wanted in (("x", figure.log_x), ("y", figure.log_y)):
        if wanted:
            log_scale(axes, name, _DECADES if figure.panel else None)
        else:
            svg.numbers(getattr(axes, f"{name}axis"))


def log_scale(axes: Axes, name: str, most: int | None = None) -> None:
    """A logarithmic axis ``x`` or ``y`` with plain numbers, along ``x`` so many at most."""
    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    svg.numbers(axis)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)) if name == "y"
                           else LogLocator(numticks=most))
    axis.set_minor_formatter(NullFormatter())


def _of(formula: Formula | None, one: Evaluated, panel: dict[str, str]) -> Grid | None:
    if formula is None:
        return None
    grid = formula(one.known)
    known = {axis: label for axis, label in panel.items() if label in grid.axes.get(axis, ())}
    return grid.at(known)


def _line(grid: Grid | None, axis: str, labels: Sequence[str], at: dict[str, str]) -> np.ndarray:
    """The values along an axis; no number where there is none."""
    if grid is None:
        return np.full(len(labels), math.nan)
    values = []
    for label in labels:
        where = {**at, axis: label} if axis else at
        cell = tuple(where.get(name, "") for name in grid.axes)
        value = grid.cells.get(cell, math.nan)
        values.append(float(value) if isinstance(value, int | float) else math.nan)
    return np.array(values)


def _meaned(values: np.ndarray, mean: str) -> np.ndarray:
    """With the mean behind the others."""
    if not mean:
        return values
    known = values[~np.isnan(values)]
    if len(known) < len(values):
        return np.append(values, math.nan)
    return np.append(values, np.exp(np.log(known).mean()) if mean == "geomean" else known.mean())


def _bars(axes: Axes, one: Evaluated, figure: Figure, panel: dict[str, str]) -> dict[str, Any]:
    part = figure.parts[0]
    ours, published = _of(part.ours, one, panel), _of(part.published, one, panel)
    errors = _of(part.error, one, panel)
    assert ours is not None
    series = ours.axes.get(figure.series, ("",))
    labels = _known((ours, published), figure, series)
    titles = one.experiment.titles(figure.series)
    places = np.arange(len(labels) + bool(figure.mean))
    width = 0.84 / len(series)
    entries: dict[str, Any] = {}
    marked = False
    for index, name in enumerate(series):
        at = {figure.series: name} if figure.series else {}
        left = places - 0.42 + width * (index + 0.5)
        values = _meaned(_line(ours, figure.x, labels, at), figure.mean)
        entries[titles.get(name, name) or "ours"] = axes.bar(
            left, values, width * 0.9, color=svg.colour(index),
            hatch=_HATCHES[index // svg.PALETTE % len(_HATCHES)])
        if errors is not None:
            _errors(axes, left, values, _line(errors, figure.x, labels, at))
        told = _meaned(_line(published, figure.x, labels, at), figure.mean)
        if not np.isnan(told).all():
            marked = True
            axes.hlines(told, left - width * 0.5, left + width * 0.5, color=svg.INK, linewidth=2.2)
    if marked:
        entries[PUBLISHED] = axes.plot([], [], color=svg.INK, linewidth=2.2)[0]
    if len(series) == 1 and not marked:
        entries = {}
    words = _words(one, figure, labels)
    _places(axes, places, [*words, *([_MEAN[figure.mean]] if figure.mean else [])])
    leave_room(axes, places, len(series))
    return entries


def leave_room(axes: Axes, places: np.ndarray, series: int) -> None:
    """One bar alone is no wall, and many have all the room of the picture."""
    spare = max(0.0, (_SLOTS - len(places) * series) / 2)
    axes.set_xlim(-0.5 - spare, len(places) - 0.5 + spare)


def _errors(axes: Axes, places: np.ndarray, values: np.ndarray, errors: np.ndarray) -> None:
    """A bar from end to end of what a value may be."""
    known = ~(np.isnan(values) | np.isnan(errors))
    axes.errorbar(places[known], values[known], yerr=errors[known], fmt="none", ecolor=svg.INK,
                  elinewidth=1.4, capsize=4)


def _known(grids: Sequence[Grid | None], figure: Figure, series: Sequence[str]) -> list[str]:
    """Labels along x at which there is a value, ours or published."""
    assert grids[0] is not None
    labels = grids[0].axes[figure.x]
    lines = [_line(grid, figure.x, labels, {figure.series: name} if name else {})
             for grid in grids for name in series]
    return [label for index, label in enumerate(labels)
            if not all(np.isnan(line[index]) for line in lines)]


def _words(one: Evaluated, figure: Figure, labels: Sequence[str]) -> list[str]:
    titles = one.experiment.titles(figure.x)
    return [titles.get(label, label) for label in labels]


def _places(axes: Axes, places: np.ndarray, words: Sequence[str]) -> None:
    """Words below their places; of very many some, evenly, for all would lie on each other."""
    every = math.ceil(len(words) / _WORDS) or 1
    words = [svg.brief(word, _ALONG // 2) for word in words[::every]]
    turn = sum(len(word) for word in words) > 90
    spec = axes.get_subplotspec()
    room = _ALONG // (spec.get_gridspec().ncols if spec else 1) // max(1, len(words))
    if turn and all(len(part) <= room for word in words for part in word.split()):
        # A few long words have lines below each other: turned they would take the picture.
        words, turn = [fill(word, room) for word in words], False
    axes.set_xticks(places[::every], words, rotation=30 if turn else 0,
                    ha="right" if turn else "center")
    axes.tick_params(axis="x", length=0)


def _stacked(axes: Axes, one: Evaluated, figure: Figure, panel: dict[str, str]) -> dict[str, Any]:
    """Groups along x; in each, a stack for each label of the series, ours and then published."""
    first = _of(figure.parts[0].ours, one, panel)
    assert first is not None
    labels, series = first.axes[figure.x], first.axes.get(figure.series, ("",))
    width = 0.86 / len(series)
    titles = one.experiment.titles(figure.series)
    has_published = any(part.published for part in figure.parts)
    half = width * (0.44 if has_published else 0.86)
    entries: dict[str, Any] = {}
    ticks: list[tuple[float, str]] = []
    for index, name in enumerate(series):
        left = np.arange(len(labels)) - 0.43 + width * (index + 0.5)
        at = {figure.series: name} if figure.series else {}
        ticks += [(place, titles.get(name, name)) for place in left if name]
        for shift, published in ((-half / 2 if has_published else 0.0, False), (half / 2, True)):
            bottom = np.zeros(len(labels))
            for number, part in enumerate(figure.parts):
                grid = _of(part.published if published else part.ours, one, panel)
                if grid is None:
                    continue
                values = np.nan_to_num(_line(grid, figure.x, labels, at))
                style = {"color": svg.colour(number)} if not published else {
                    "facecolor": "none", "edgecolor": svg.colour(number), "hatch": "//////",
                    "linewidth": 0.6}
                bars = axes.bar(left + shift, values, half * 0.94, bottom=bottom, **style)
                if number > 0:
                    _rest_on_others(bars)
                bottom += values
                if not published:
                    entries[part.title] = bars
    if has_published:
        entries[PUBLISHED] = Patch(facecolor="none", edgecolor=svg.INK, hatch="//////")
    words = _words(one, figure, labels)
    _groups(axes, ticks, words)
    return entries


def _rest_on_others(bars: BarContainer) -> None:
    """An axis ends where a bar begins. One that begins at the top of a stack would end it there."""
    for bar in bars:
        bar.sticky_edges.y.clear()


def _groups(axes: Axes, ticks: list[tuple[float, str]], words: Sequence[str]) -> None:
    """Series under each bar, upright, and groups below them."""
    if not ticks:
        _places(axes, np.arange(len(words)), words)
        return
    axes.set_xticks([place for place, _ in ticks], [word for _, word in ticks], rotation=90,
                    fontsize=_UPRIGHT)
    axes.tick_params(axis="x", length=0)
    below = axes.secondary_xaxis(location=0)
    below.set_xticks(range(len(words)), words)
    below.tick_params(length=0, pad=12 + _length(word for _, word in ticks))
    below.spines["bottom"].set_visible(False)


def _lines(axes: Axes, one: Evaluated, figure: Figure, panel: dict[str, str]) -> dict[str, Any]:
    part = figure.parts[0]
    ours, published = _of(part.ours, one, panel), _of(part.published, one, panel)
    errors = _of(part.error, one, panel)
    assert ours is not None
    labels = ours.axes[figure.x]
    numbers = np.array(numbers_of(labels))
    are_numbers = not np.isnan(numbers).any()
    # Very many are a scale, and a curve without points.
    is_dense = are_numbers and len(labels) > _WORDS
    places = numbers if are_numbers and (figure.log_x or is_dense) else np.arange(len(labels))
    series = ours.axes.get(figure.series, ("",))
    titles = one.experiment.titles(figure.series)
    entries: dict[str, Any] = {}
    for index, name in enumerate(series):
        at = {figure.series: name} if figure.series else {}
        values = _line(ours, figure.x, labels, at)
        # A line goes along the axis, in whatever order its values were given.
        along = np.argsort(places, kind="stable")
        entries[titles.get(name, name) or "ours"] = axes.plot(
            places[along], values[along], color=svg.colour(index), marker="" if is_dense else "o",
            linewidth=svg.LINE_WIDTH, markersize=5)[0]
        if errors is not None:
            _errors(axes, places, values, _line(errors, figure.x, labels, at))
        told = _line(published, figure.x, labels, at)
        if not np.isnan(told).all():
            marks: dict[str, Any] = {"marker": "_", "markersize": 14, "markeredgewidth": 2.2,
                                     "linestyle": "none"}
            # Each in the colour of its line, or nobody could say whose it is.
            axes.plot(places, told, color=svg.colour(index), **marks)
            entries[PUBLISHED] = axes.plot([], [], color=svg.INK, **marks)[0]
    if not is_dense:
        _places(axes, places, _words(one, figure, labels))
    # Room for the outermost labels, which else touch those of the next panel.
    axes.margins(x=0.02 if is_dense else 0.12)
    axes.minorticks_off()
    return entries


def _cdf(axes: Axes, one: Evaluated, figure: Figure, panel: dict[str, str]) -> dict[str, Any]:
    ours = _of(figure.parts[0].ours, one, panel)
    assert ours is not None
    entries: dict[str, Any] = {}
    titles = one.experiment.titles(figure.series)
    for index, name in enumerate(ours.axes.get(figure.series, ("",))):
        pairs = sorted(ours.cells.get((name,) if figure.series else (), []))
        total = sum(count for _, count in pairs)
        if not total:
            continue
        values = np.array([value for value, _ in pairs], float)
        shares = np.cumsum([count for _, count in pairs]) / total
        xs, ys = np.append(values[:1], values), np.append([0.0], shares)
        drawn = axes.step(ys, xs, where="pre") if figure.swap else axes.step(xs, ys, where="post")
        drawn[0].set(color=svg.colour(index), linewidth=svg.LINE_WIDTH)
        entries[titles.get(name, name)] = drawn[0]
    (axes.set_xlim if figure.swap else axes.set_ylim)(-0.02, 1.02)
    return entries


def _scatter(axes: Axes, one: Evaluated, figure: Figure, panel: dict[str, str]) -> dict[str, Any]:
    """Points, each a pair of numbers."""
    ours = _of(figure.parts[0].ours, one, panel)
    assert ours is not None
    entries: dict[str, Any] = {}
    titles = one.experiment.titles(figure.series)
    for index, name in enumerate(ours.axes.get(figure.series, ("",))):
        points = ours.cells.get((name,) if figure.series else (), [])
        if points:
            xs, ys = zip(*points, strict=True)
            entries[titles.get(name, name)] = axes.scatter(
                xs, ys, s=14, alpha=0.5, color=svg.colour(index), linewidths=0)
    return entries


_PAINTERS: dict[str, Callable[[Axes, Evaluated, Figure, dict[str, str]], dict[str, Any]]] = {
    "bars": _bars, "stacked": _stacked, "lines": _lines, "cdf": _cdf,
    "scatter": _scatter}
