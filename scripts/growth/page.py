"""The table and the picture of docs/growth.md."""

from __future__ import annotations

import io
import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import fit
import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from series import Series

from sluice.report import units
from sluice.report.svg import for_both_schemes
from sluice.reproduce.draw import log_scale

HEAD = """# How cost grows with the work

<!-- Made by scripts/growth (`make bench-growth`); do not edit. -->

{verdict}

Measured on {day} by `make bench-growth`, on {host}{note}.
Time is processor time of the command and of all that it starts, user and system: the median of
three runs, or one run where it takes more than {long:g} s. Memory is the peak of the largest
process. Both include what the command starts with.

A line that is steeper than the dotted one grows faster than its work. [All points](growth.json).

![Time and memory against the work, a panel for each series](growth.svg)

| what grows | from | to | time grows by | at the end | memory grows by | at the end |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

**Exponents** are slopes of the logarithms by least squares, with 95 % intervals (Student's t on
what the points leave over). What the first point costs is subtracted before, from work and from
cost. So a start that always costs alike has no part, and a straight line has exactly 1. Left out
are the lower half of the decades, and points whose cost has risen by less than half, as long as
three are left. An exponent in brackets is of a cost that does not double over the whole series,
which is fitted as it is. `make bench-growth` fails if an exponent is above {limit:g}.

{bounds}
## Commands

`{{N}}` stands for what grows.

{commands}
"""

# What was found of a series that passes the limit, on 26 November 2026.
FOUND = {
    "lines kept coherent": """valgrind's callgrind counts 12,750 instructions a request between
5,000 and 20,000 requests and 12,860 between 20,000 and 80,000, so an instruction takes longer""",
    "cores of a host": """callgrind counts 8.4 million instructions for each further core up to 8,
7.5 million up to 32 and 7.6 million up to 64, with 20,000 simulated each, so an instruction takes
longer""",
}

BOUNDS = """Two costs have a bound of their own:

{}
"""

LINEAR = f"No cost grows faster than its work to the power {fit.LIMIT:g}."
FASTER = "{} of these exponents pass the limit of {:g}, which is linear work's:\n\n{}"


@dataclass(frozen=True)
class Point:
    """What one value took."""

    value: int
    seconds: float
    kib: float


@dataclass(frozen=True)
class Measured:
    """A series with what it took, and the exponents."""

    series: Series
    points: list[Point]

    def work(self) -> list[float]:
        """What each value is to do."""
        return [self.series.work(point.value) for point in self.points]

    def time(self) -> fit.Exponent:
        """Of processor time."""
        return fit.exponent(self.work(), [point.seconds for point in self.points])

    def memory(self) -> fit.Exponent:
        """Of peak memory."""
        return fit.exponent(self.work(), [point.kib for point in self.points])

    def above(self) -> list[str]:
        """What grows faster than its work."""
        kinds = {"time": self.time(), "memory": self.memory()}
        why = " ".join(FOUND.get(self.series.name, "").split())
        return [f"{self.series.name}: {name} grows by the power {one}{why and '; ' + why}"
                for name, one in kinds.items() if one.slope > fit.LIMIT]


@dataclass(frozen=True)
class Bound:
    """A cost that must not exceed a number."""

    what: str
    found: str
    holds: bool
    command: str


def write(out: Path, measured: list[Measured], bounds: list[Bound], long: float, note: str
          ) -> None:
    """The page and its picture, beside each other. ``note`` says how the command was built."""
    above = [line for one in measured for line in one.above()]
    found = listed([f"{one.what}: {one.found} (`{one.command}`)" for one in bounds])
    text = HEAD.format(
        verdict=FASTER.format(len(above), fit.LIMIT, listed(above)) if above else LINEAR,
        day=f"{date.today():%-d %B %Y}", host=host(), note=note and f", {note}", long=long,
        limit=fit.LIMIT, rows="\n".join(row(one) for one in measured),
        bounds=BOUNDS.format(found) if found else "",
        commands="\n".join(command(one.series) for one in measured))
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    draw(measured, out.with_suffix(".svg"))


def listed(items: list[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {item}" for item in items)


def host() -> str:
    """The processor, and the kernel."""
    cpus = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.split(":", 1)[1].strip() for line in cpus if line.startswith("model name")]
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{len(names)} CPUs ({names[0] if names else platform.machine()}), Linux {kernel}"


def row(one: Measured) -> str:
    """A row of the table."""
    first, last = one.points[0], one.points[-1]
    cells = [one.series.name, f"{first.value:,}", f"{last.value:,} {one.series.of}",
             shown(one.time()), units.seconds(last.seconds), shown(one.memory()),
             units.size(last.kib * 1024)]
    return f"| {' | '.join(cells)} |"


def shown(one: fit.Exponent) -> str:
    """In brackets if it is of a cost that does not double."""
    return f"({one})" if one.rise < 2 else str(one)


def command(one: Series) -> str:
    """A line of the list of commands."""
    work = f", against {one.work_is}" if one.work_is else ""
    return f"- {one.name}{work}: `{one.shown}`"


COLUMNS = 4
SIDES = {"seconds": ("processor time", "#1f77b4", "o"), "kib": ("peak memory", "#d95f02", "s")}


def draw(measured: list[Measured], path: Path) -> None:
    """A panel for each series, all of one scale: work, time and memory as multiples of the first
    point's, beside the slope of linear work."""
    rows = -(-(len(measured) + 1) // COLUMNS)
    with matplotlib.rc_context({"svg.hashsalt": "sluice", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 0.6 + 1.75 * rows), layout="constrained")
        grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, one in zip(grid, measured, strict=False):
            panel(axes, one)
        for axis in "xy":
            log_scale(grid[0], axis)
        for axes in grid[len(measured):]:
            axes.set_axis_off()
        # The panels above those that are left out have the axis' numbers.
        for axes in grid[max(len(measured) - COLUMNS, 0):len(measured)]:
            axes.tick_params(labelbottom=True)
        entries, names = grid[0].get_legend_handles_labels()
        grid[-1].legend(entries, names, loc="center", frameon=False, fontsize=9)
        figure.supxlabel("work, as a multiple of the first point's", fontsize=10)
        figure.supylabel("cost, as a multiple of the first point's", fontsize=10)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    path.write_text(for_both_schemes(out.getvalue()), encoding="utf-8")


def panel(axes: Axes, one: Measured) -> None:
    """One series, with what it costs at its end."""
    work = [at / one.work()[0] for at in one.work()]
    ends = {"seconds": units.seconds(one.points[-1].seconds),
            "kib": units.size(one.points[-1].kib * 1024)}
    for line, (name, (label, colour, mark)) in enumerate(SIDES.items()):
        costs = [getattr(point, name) for point in one.points]
        axes.plot(work, [cost / costs[0] for cost in costs], marker=mark, markersize=2.8,
                  linewidth=1.3, color=colour, label=label)
        axes.text(0.04, 0.96 - 0.14 * line, ends[name], transform=axes.transAxes, fontsize=8,
                  va="top", color=colour)
    axes.axline((1, 1), (10, 10), color="grey", linewidth=1, linestyle="dotted",
                label="linear work")
    axes.set_title(one.series.name, fontsize=8.5)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
