"""What each figure shows: series of numbers taken from runs, before any drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sluice.report import units
from sluice.report.folder import Program, Run, Table, Timeline
from sluice.report.histogram import Histogram

HIT_NS = 1000.0
MIB = float(1 << 20)
RATE_BINS_MAX = 240
# Sampled pages are few: wider bins make a steadier line.
SAMPLED_BINS = 40
# A CDF axis that reached the slowest of a million accesses would show nothing of the others.
CDF_EDGE_SHARE = 1e-4
# No latency of a run folder needs more, in nanoseconds.
DECADES = 32
DASHES = ("solid", "dashed", "dotted", "dashdot")


@dataclass(frozen=True)
class Key:
    """One entry of a legend; without a colour it stands for a way of drawing, in any colour."""

    name: str
    colour: int | None
    dash: str = "solid"
    band: bool = False


@dataclass(frozen=True)
class Series:
    """One line. ``colour`` is an index into the page's palette."""

    name: str
    colour: int
    xs: np.ndarray
    ys: np.ndarray
    dash: str = "solid"
    # A band is wide and pale, so that a line on top of it stays visible where both agree.
    band: bool = False
    # Where a step changes: "post" at its x, "pre" before it; "" joins the points.
    step: str = ""
    marker: bool = False


@dataclass(frozen=True)
class Image:
    """A picture of numbers: ``cells`` by row from the lowest y on, how their scale is named, and
    the x at which the last of a row ends, maybe behind the axis."""

    cells: np.ndarray
    scale: str
    until: float


@dataclass(frozen=True)
class Chart:
    """One figure: its words, its axes and its series."""

    slug: str
    title: str
    caption: str
    x_label: str
    y_label: str
    x_scale: str
    y_scale: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    series: list[Series]
    # Vertical lines (x, what it is) and a shaded range of x that stands for a cache hit.
    marks: list[tuple[float, str]] = field(default_factory=list)
    shade_below: float | None = None
    # What stands in the place of lines.
    image: Image | None = None
    # What the legend names; without it, every series.
    legend: list[Key] = field(default_factory=list)

    def keys(self) -> list[Key]:
        """The entries of the legend."""
        return self.legend or [Key(line.name, line.colour, line.dash, line.band)
                               for line in self.series]


def charts(runs: list[Run]) -> list[Chart]:
    """Every figure that these runs have numbers for."""
    made = [_miss_cdf(runs), _access_cdf(runs), _program_cdf(runs), _tail(runs), _passes(runs),
            _trap_rate(runs), _hit_ratio(runs), *_heat(runs)]
    return [chart for chart in made if chart is not None]


def _run_keys(runs: list[Run], *ways: Key) -> list[Key]:
    """Several runs: a colour for each, then what each way of drawing means. One run: nothing."""
    if len(runs) == 1:
        return []
    return [Key(run.label, index) for index, run in enumerate(runs)] + list(ways)


_MISS_WAYS = (Key("modelled", None, band=True), Key("achieved", None))


def _miss_curves(runs: list[Run]) -> list[tuple[str, int, bool, Histogram]]:
    curves = []
    for index, run in enumerate(runs):
        prefix = f"{run.label}: " if len(runs) > 1 else ""
        if run.modelled:
            curves.append((f"{prefix}modelled", index, True, run.modelled))
        if run.achieved:
            curves.append((f"{prefix}achieved", index, False, run.achieved))
    return curves


def _cdf_series(name: str, colour: int, histogram: Histogram, **style: Any) -> Series:
    """Starts on the axis: a CDF is zero before its first value."""
    xs = np.concatenate([histogram.values_ns[:1], histogram.values_ns])
    ys = np.concatenate([[0.0], histogram.shares()])
    return Series(name, colour, np.maximum(xs, 1.0), ys, step="post", **style)


def _miss_cdf(runs: list[Run]) -> Chart | None:
    curves = _miss_curves(runs)
    if not curves:
        return None
    series = [_cdf_series(name, colour, histogram, band=band)
              for name, colour, band, histogram in curves]
    return Chart(
        "miss-cdf", "Latency of misses: model against reality",
        "Every access that missed. The pale band is what the device model asked for, the thin"
        " line what the program waited. Where the line leaves the band to the right, the host was"
        " late. The axis ends at the 99.99th percentile; the figure of the slowest"
        " misses shows the rest.",
        "latency of a miss", "share of misses no slower", "log", "linear",
        _cdf_range([histogram for *_, histogram in curves]), (0.0, 1.0), series,
        _nand_marks(runs), legend=_run_keys(runs, *_MISS_WAYS))


def _access_cdf(runs: list[Run]) -> Chart | None:
    """Of simulations that counted them (`--histogram`)."""
    counted = [(index, run, run.stats.histogram("latency_ns", "histogram"))
               for index, run in enumerate(runs) if run.simulated]
    known = [(index, run, histogram) for index, run, histogram in counted if histogram]
    if not known:
        return None
    return Chart(
        "access-cdf", "Latency of accesses, as simulated",
        "Every access, in virtual time: the first step is the hits, what is to the right of it the"
        " misses.",
        "latency of an access", "share of accesses no slower", "log", "linear",
        _cdf_range([histogram for *_, histogram in known]), (0.0, 1.0),
        [_cdf_series(run.label if len(runs) > 1 else "accesses", index, histogram)
         for index, run, histogram in known], _nand_marks(runs))


def _tail(runs: list[Run]) -> Chart | None:
    curves = _miss_curves(runs)
    if not curves:
        return None
    series, floor, right, left = [], 0.1, 0.0, np.inf
    for name, colour, band, histogram in curves:
        slower = np.concatenate([[1.0], 1.0 - histogram.shares()[:-1]])
        series.append(Series(name, colour, np.maximum(histogram.values_ns, 1.0), slower,
                             band=band, step="pre"))
        floor = min(floor, float(slower[-1]))
        left = min(left, float(histogram.values_ns[0]))
        right = max(right, float(histogram.values_ns[-1]))
    return Chart(
        "miss-tail", "The slowest misses",
        "The same latencies, read from the other end: how many misses took at least this long,"
        " down to the single slowest.",
        "latency of a miss", "share of misses at least as slow", "log", "log",
        _round_out(left, right), (10 ** np.floor(np.log10(floor)), 1.0), series,
        _nand_marks(runs), legend=_run_keys(runs, *_MISS_WAYS))


def _program_curves(runs: list[Run]) -> list[tuple[str, int, str, Program]]:
    curves = []
    for index, run in enumerate(runs):
        timed = [program for program in run.programs if program.histogram]
        for order, program in enumerate(timed):
            name = f"{run.label}: {program.name}" if len(runs) > 1 else program.name
            # One run has the palette to itself; several share it, and dashes distinguish programs.
            colour = order if len(runs) == 1 else index
            dash = "solid" if len(runs) == 1 else DASHES[order % len(DASHES)]
            curves.append((name, colour, dash, program))
    return curves


def _program_cdf(runs: list[Run]) -> Chart | None:
    curves = _program_curves(runs)
    if not curves:
        return None
    series = [_cdf_series(name, colour, program.histogram, dash=dash)
              for name, colour, dash, program in curves if program.histogram]
    left, right = _cdf_range([program.histogram for *_, program in curves if program.histogram])
    plain = any(program.requests is None for *_, program in curves)
    requests = any(program.requests is not None for *_, program in curves)
    caption = "Timed by the program itself, which knows nothing of Sluice."
    if plain:
        caption += (" Accesses: hits in the cache on the left (shaded: under 1 µs), misses at the"
                    " latency of the flash on the right.")
    if requests:
        caption += (" A request costs more than its memory: whatever computes, copies or carries"
                    " it counts too, and it may meet several misses.")
    what = " or ".join(["access"] * plain + ["request"] * requests)
    return Chart(
        "program-cdf", "Latency as the program measured it", caption,
        f"latency of one {what}", "share no slower", "log", "linear",
        (left, right), (0.0, 1.0), series, _nand_marks(runs), HIT_NS if plain else None)


def _pass_share_below(one: Table) -> float | None:
    histogram = one.histogram("histogram")
    return histogram.share_below(HIT_NS) if histogram else None


def _passes(runs: list[Run]) -> Chart | None:
    series = []
    for name, colour, dash, program in _program_curves(runs):
        shares = [_pass_share_below(table) for table in program.passes]
        phases = any(table.text("phase") for table in program.passes)
        if program.requests is None and not phases and len(shares) > 1 and None not in shares:
            numbers = [table.number("pass") or order
                       for order, table in enumerate(program.passes, start=1)]
            series.append(Series(name, colour, np.array(numbers, float), np.array(shares, float),
                                 dash=dash, marker=True))
    if not series:
        return None
    last = max(line.xs[-1] for line in series)
    first = min(line.xs[0] for line in series)
    return Chart(
        "passes", "Hit ratio, pass by pass",
        "The share of accesses that the program itself saw return in under 1 µs. This counts every"
        " hit, also those that the device never sees.",
        "pass", "accesses under 1 µs", "linear", "linear",
        (first - 0.25, last + 0.25), (0.0, 1.0), series)


def rates(timeline: Timeline, *names: str, bins: int = RATE_BINS_MAX
          ) -> tuple[np.ndarray, np.ndarray]:
    """Middles of intervals, and per interval how much each named counter grew (one row each)."""
    times = timeline.columns["t_s"]
    edges = np.linspace(times[0], times[-1], min(len(times), bins + 1))
    counters = np.array([np.interp(edges, times, timeline.get(name)) for name in names])
    return edges, np.diff(counters, axis=1)


def _trap_rate(runs: list[Run]) -> Chart | None:
    series = []
    for index, run in enumerate(runs):
        if run.timeline is None:
            continue
        kinds = ("traps", "misses", "late") if len(runs) == 1 else ("traps",)
        edges, growth = rates(run.timeline, *kinds)
        width = np.maximum(np.diff(edges), 1e-9)
        for order, (kind, grown) in enumerate(zip(kinds, growth, strict=True)):
            name = run.label if len(runs) > 1 else "all traps" if kind == "traps" else kind
            series.append(Series(name, index or order, edges, _close(grown / width),
                                 step="post", band=len(runs) == 1 and kind == "traps"))
    if not series:
        return None
    top = max(float(line.ys.max()) for line in series)
    return Chart(
        "trap-rate", "Traps per second over time",
        "How often the program left its own code for the device.",
        "time since the start", "traps per second", "time", "rate",
        _time_range(series), (0.0, top * 1.08 or 1.0), series)


def _heat(runs: list[Run]) -> list[Chart]:
    """Where in the device's memory misses are, and when: a figure for each run."""
    made = []
    for index, run in enumerate(runs):
        if run.heat is None:
            continue
        heat = run.heat
        whose = f": {run.label}" if len(runs) > 1 else ""
        mebibytes = heat.rows[1] / MIB
        made.append(Chart(
            f"heat-{index}", f"Where the misses are, over time{whose}",
            f"Each cell is {units.size(heat.row_bytes)} of the program's device memory for"
            f" {units.duration(heat.column_s * 1e9)}; the stronger its colour, the more misses a"
            " second. Without colour there were none: the pages were not used, or were hits.",
            "time since the start", "place in device memory", "time", "mebibytes",
            heat.times, (heat.rows[0] / MIB, mebibytes), [],
            image=Image(heat.cells, "misses a second", heat.until)))
    return made


_KNOWN, _SAMPLED = "hits the device can know", "sampled"
_HIT_WORDS = {
    _SAMPLED: "Sampled: of the distinct pages that the program used within a window, the share that"
              " was in the cache.",
    _KNOWN: "Hits the device can know: those among the traps alone; a page that was mapped costs no"
            " trap, so the true hit ratio is higher.",
}


def _hit_ratio(runs: list[Run]) -> Chart | None:
    series, dotted, ways, told = [], [], {}, {}
    for index, run in enumerate(runs):
        if run.timeline is None:
            continue
        prefix = f"{run.label}: " if len(runs) > 1 else ""
        name, dash, edges, ratio = _hits_over_time(run.timeline)
        ways[name] = Key(name, None, dash)
        told[name] = _HIT_WORDS[name]
        series.append(Series(f"{prefix}{name}", index, edges, _close(ratio), step="post",
                             dash=dash))
        bound = requests_without_miss(run)
        if bound is not None:
            name = "requests without a miss, whole run, at least"
            ways[name] = Key(name, None, "dotted")
            dotted.append(Series(f"{prefix}{name}", index, edges[[0, -1]],
                                 np.array([bound, bound]), dash="dotted"))
    # A device that sees no hit has nothing to draw: a line at 0 would pass for a measurement.
    is_seen = any(np.nanmax(line.ys, initial=0.0) > 0 for line in series)
    if not series or not (is_seen or dotted):
        return None
    return Chart(
        "hit-ratio", "Hit ratio over time",
        f"{' '.join(told.values())} Gaps: no trap at all.",
        "time since the start", "hits ÷ (hits + misses)", "time", "linear",
        _time_range(series), (0.0, 1.0), series + dotted, legend=_run_keys(runs, *ways.values()))


def _hits_over_time(timeline: Timeline) -> tuple[str, str, np.ndarray, np.ndarray]:
    """Name, dash, bin edges and ratio per bin: by sampling where the run sampled."""
    if timeline.get("sampled_pages")[-1] == 0:
        edges, (soft, misses) = rates(timeline, "soft", "misses")
        return _KNOWN, "dashed", edges, _part(soft, soft + misses)
    edges, (pages, touched, window_ns, mapped, misses, reactivated) = rates(
        timeline, "sampled_pages", "sampled_touched", "sampled_window_ns", "sampled_mapped",
        "misses", "reactivated", bins=SAMPLED_BINS)
    windows = _part(1e9 * np.maximum(np.diff(edges), 1e-9), _part(window_ns, pages))
    # Inactive pages are not mapped, so that none is a sample; each of their uses is seen.
    used = _part(touched, pages) * _part(mapped, pages) + reactivated / windows
    missed = misses / windows
    return _SAMPLED, "solid", edges, _part(used, used + missed)


def _part(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Part of the whole; a gap where there is no whole."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), np.nan)


def requests_without_miss(run: Run) -> float | None:
    """A lower bound: a request may meet several misses, and some misses serve no request."""
    requests = sum(program.requests or 0 for program in run.programs)
    misses = run.stats.number("cache", "misses")
    if not requests or misses is None or misses > requests:
        return None
    return 1.0 - misses / requests


def _close(values: np.ndarray) -> np.ndarray:
    """A step needs its last value once more, at the right end of the last interval."""
    return np.concatenate([values, values[-1:]])


def _time_range(series: list[Series]) -> tuple[float, float]:
    return 0.0, max(float(line.xs[-1]) for line in series) or 1.0


def _nand_marks(runs: list[Run]) -> list[tuple[float, str]]:
    reads = {run.config.get("nand.read") for run in runs}
    marks = []
    for text in sorted(filter(None, reads)):
        read_ns = units.parse_duration_ns(text)
        if read_ns:
            marks.append((read_ns, f"NAND read {units.duration(read_ns)}"))
    return marks if len(marks) <= 2 else []


def _cdf_range(histograms: list[Histogram]) -> tuple[float, float]:
    left = min(histogram.quantile(CDF_EDGE_SHARE) for histogram in histograms)
    right = max(histogram.quantile(1 - CDF_EDGE_SHARE) for histogram in histograms)
    return _round_out(left, right)


def _round_out(left: float, right: float) -> tuple[float, float]:
    """Outwards to 1, 2 or 5 times a power of ten, and at least a decade wide."""
    low, high = max(left, 1.0) / 1.25, max(right, 1.0) * 1.25
    if high / low < 10:
        middle = np.sqrt(low * high)
        low, high = middle / np.sqrt(10), middle * np.sqrt(10)
    steps = np.array([m * 10.0**k for k in range(-1, DECADES) for m in (1, 2, 5)])
    return float(steps[steps <= low * 1.0001][-1]), float(steps[steps >= high * 0.9999][0])
