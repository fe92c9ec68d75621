"""The page of ``sluice curve``: latency over bandwidth, with the knees marked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sluice.quantity import short
from sluice.report import svg, units
from sluice.report.content import Grid, Row
from sluice.report.folder import Table, labels_of, read_object
from sluice.report.template import asset, environment

CURVE_SCHEMA = "sluice.curve/1"
_NAME = "Latency by bandwidth"
_GB = 1e9


def render(folders: list[Path], title: str | None) -> str:
    """The whole page: all curves in one picture. The same folders give the same bytes."""
    results = [read_object(folder / "stats.json", CURVE_SCHEMA) for folder in folders]
    labels = labels_of(folders)
    named = list(zip(labels, results, strict=True))
    drawn = [Markup(svg.element(f"curve-{shape.name}", _NAME, (shape.width, shape.height),
                                lambda figure: _draw(figure, named)))
             for shape in svg.SHAPES]
    caption = "Median latency of dependent loads beside threads that load and store, faster from" \
        " one point to the next. The larger points are knees: there bandwidth ÷ latency is" \
        " greatest."
    return environment().get_template("report/sizes.html").render(
        title=title or "Sluice: bandwidth against latency", style=Markup(asset("report/page.css")),
        sentences=[(label, _of(result), _sentence(result)) for label, result in named],
        pictures=[(_NAME, caption, drawn)], grids=[_grid(label, result) for label, result in named])


def _of(result: Table) -> str:
    name, on, node = result.text("device"), result.text("on"), result.number("traffic", "numa_node")
    of = {"host": "this host's memory" + ("" if node is None else f", of node {node}"),
          "system": f"{name}, a simulated host",
          "fabric": f"{name}, a simulated fabric"}.get(on or "", f"{name}, {on}")
    threads = result.number("traffic", "threads")
    return f"{of}: {units.count(threads)} {'thread' if threads == 1 else 'threads'}"


def _sentence(result: Table) -> str:
    if (knee := _knee(result)) is None:
        return "One pace, or no dependent loads: there is no knee."
    rate, latency = knee
    return f"The knee is at {short(rate)} GB/s, where a load takes {latency:.0f} ns."


def _knee(result: Table) -> tuple[float, float] | None:
    """Bandwidth in GB/s and latency in ns, of a load whose both are known."""
    number, loads = result.number("knee"), result.tables("loads")
    if number is None or not 0 <= number < len(loads):
        return None
    return _point(loads[int(number)])


def _point(load: Table) -> tuple[float, float] | None:
    rate, latency = load.number("bytes_per_s"), load.number("chase_latency_ns", "p50")
    return None if rate is None or latency is None else (rate / _GB, latency)


def _draw(figure: Figure, named: list[tuple[str, Table]]) -> None:
    axes: Axes = figure.add_subplot()
    axes.grid(visible=True, which="major")
    axes.set_axisbelow(True)
    axes.set_xlabel("bandwidth of all threads, GB/s")
    axes.set_ylabel("latency of a dependent load, ns")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    svg.numbers(axes.yaxis)
    lines = []
    for index, (_, result) in enumerate(named):
        points = [_point(load) for load in result.tables("loads")]
        known = np.array([point for point in points if point], float).reshape(-1, 2)
        colour, marker = svg.colour(index), svg.marker(index)
        lines += axes.plot(known[:, 0], known[:, 1], color=colour, marker=marker, markersize=4,
                           linewidth=svg.LINE_WIDTH)
        if knee := _knee(result):
            axes.plot(*knee, color=colour, marker=marker, markersize=11)
    axes.set_xlim(left=0)
    if len(named) > 1:
        svg.legend(axes, lines, [label for label, _ in named])


def _grid(label: str, result: Table) -> Grid:
    rows = []
    loads = result.tables("loads")
    # Only of a device they are known.
    misses = ["misses"] if any(load.number("misses") is not None for load in loads) else []
    for load in loads:
        latency = [units.count(load.number("chase_latency_ns", name))
                   for name in ("p50", "p99")]
        rate = f"{(load.number('bytes_per_s') or 0) / _GB:.3f}"
        counts = [units.count(load.number(name)) for name in misses]
        pace = f"{load.number('pace_ns') or 0:,.10g}"
        rows.append(Row("pace", [pace], [rate, *counts, *latency]))
    heads = ["bandwidth, GB/s", *misses, "latency p50, ns", "latency p99, ns"]
    return Grid("curve", label, "", ["pace, ns"], heads, rows)
