"""The table and the picture of docs/growth.md."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import fit
import matplotlib
from matplotlib.figure import Figure
from series import Series

from sluice.report import units
from sluice.reproduce.draw import log_scale

HEAD = """# How cost grows with the work

<!-- Made by scripts/growth (`make bench-growth`); do not edit. -->

{verdict}

Measured on {day} by `make bench-growth`, on {host}{note}.
Time is processor time of the command and of all that it starts, user and system: the median of
three runs, or one run where it takes more than {long:g} s. Memory is the peak of the largest
process. Both include what the command starts with.

![Time and memory against the work, on logarithmic axes](growth.svg)

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
        return [f"{self.series.name}: {name} grows by the power {one}"
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


def draw(measured: list[Measured], path: Path) -> None:
    """Time on the left, memory on the right: cost and work as multiples of their beginnings."""
    colours = matplotlib.colormaps["tab20"].colors  # type: ignore[attr-defined]
    marks = "os^vDP"
    with matplotlib.rc_context({"svg.hashsalt": "sluice", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 6.2), layout="constrained")
        sides = figure.subplots(1, 2, sharex=True)
        for axes, name in zip(sides, ("seconds", "kib"), strict=True):
            for index, one in enumerate(measured):
                work = one.work()
                values = [getattr(point, name) for point in one.points]
                scale = 1 if name == "seconds" else 1 / 1024
                axes.plot([at / work[0] for at in work], [value * scale for value in values],
                          marker=marks[index % len(marks)], markersize=3.5, linewidth=1.2,
                          color=colours[index % len(colours)], label=one.series.name)
            for axis in "xy":
                log_scale(axes, axis)
            # The slope of linear work, within the picture.
            (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
            axes.axline((left, low), (10 * left, 10 * low), color="grey", linewidth=1,
                        linestyle="dotted", label="slope of linear work")
            axes.set(xlim=(left, right), ylim=(low, high))
            axes.set(xlabel="work, as a multiple of the first point's")
            axes.grid(alpha=0.3)
        sides[0].set(ylabel="processor time, s")
        sides[1].set(ylabel="peak memory, MiB")
        entries, names = sides[0].get_legend_handles_labels()
        figure.legend(entries, names, loc="outside lower center", ncols=3, frameon=False,
                      fontsize=8)
        figure.savefig(path, format="svg", metadata={"Date": None})
