"""What the page says: cards, tables and footnotes, as formatted text, before any HTML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sluice.report import units
from sluice.report.charts import HIT_NS, requests_without_miss
from sluice.report.folder import Program, Run, Table
from sluice.report.histogram import Histogram

# Above this share of late misses, of so many at least, the run itself warns that the host was too
# slow.
LATE_RATIO_MAX, LATE_OF = 0.05, 100
# Few waits are far longer than all others: the run itself warns from so many on.
RUN_DELAYS_MIN = 20
LATENCY_COLUMNS = ("count", "mean", "p50", "p90", "p99", "p999", "max")


_SEEN: dict[str | None, str] = {"all": "hits and misses", "misses": "misses alone"}


@dataclass(frozen=True)
class Tile:
    """A headline figure. ``state`` is "", "good" or "bad"; ``note`` names a footnote.

    Lines break between the parts of ``detail``, not between a number and its unit.
    """

    metric: str
    label: str
    value: str
    detail: tuple[str, ...] = ()
    state: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One row of a table; ``metric`` names it to scripts.

    ``marked``: the runs differ here. ``total``: the sum of the rows before it.
    """

    metric: str
    head: list[str]
    cells: list[str]
    note: str = ""
    marked: bool = False
    total: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: ``heads`` and ``columns`` title the leading and the value columns."""

    slug: str
    title: str
    intro: str
    heads: list[str]
    columns: list[str]
    rows: list[Row]
    # The palette index of each value column that belongs to a run.
    colours: list[int] = field(default_factory=list)
    text: bool = False
    # Rows that a reader opens, below those that are in view, and what says so.
    folded: list[Row] = field(default_factory=list)
    fold: str = ""


@dataclass(frozen=True)
class Card:
    """The headline of one run."""

    label: str
    colour: int
    command: str
    facts: list[tuple[str, str]]
    tiles: list[Tile]
    notes: list[str]


def card(run: Run, index: int, changed: list[str]) -> Card:
    """The headline of ``run``; ``changed`` are the settings in which runs differ."""
    stats = run.stats
    facts = [
        ("device", stats.text("device")),
        ("the device sees", _SEEN.get(stats.text("hits_visible"), stats.text("hits_visible"))),
        ("traps by", stats.text("trap_mode")),
        ("placed", stats.text("place")),
        ("seed", _plain(stats.number("seed"))),
        ("wall time", units.seconds(stats.number("wall_s"))),
        ("Sluice", stats.text("version")),
    ]
    facts += [(key, run.config.get(key)) for key in changed]
    shown = [(name, value) for name, value in facts if value not in (None, units.ABSENT)]
    command = run.asked or stats.words("command") or (
        f"simulation of {stats.text('workload')}" if run.simulated else "command not recorded")
    return Card(run.label, index, command, shown, _tiles(run), run.notes)


def answer(run: Run) -> str:
    """What the run came to, in a sentence: how many misses in which time, how long they took, and
    whether that was in time."""
    stats = run.stats
    took, model = (_latency(stats, kind, "p50") for kind in ("achieved", "modelled"))
    late = stats.number("late", "ratio")
    if model is None:
        return ""
    wall = stats.number("wall_s")
    misses = f"{units.count(stats.number('cache', 'misses'))} misses"
    if wall is not None:
        misses += f" in {units.seconds(wall)}"
    if took is None or late is None:
        return f"{run.label}: {misses}; half of them took {units.duration(model)} or less."
    slow = ", so the host was too slow for this device" if _is_too_slow(stats) else ""
    return (f"{run.label}: {misses}; half of them took {units.duration(took)} or less, by the model"
            f" {units.duration(model)}, and {units.percent(late)} were late{slow}.")


def _is_too_slow(stats: Table) -> bool | None:
    """Whether the host was too slow for the device; of few misses one cannot say."""
    late, waits = stats.number("late", "ratio"), stats.number("latency_ns", "achieved", "count")
    return None if late is None or (waits or 0) < LATE_OF else late > LATE_RATIO_MAX


def _run_delay_tiles(stats: Table) -> list[Tile]:
    """How long threads waited for a CPU after a miss, where that is more than a little."""
    asked, waited = (stats.number("late", key) for key in ("run_delays", "run_delay_ns"))
    miss = _latency(stats, "achieved", "mean")
    if asked is None or asked < RUN_DELAYS_MIN or waited is None or miss is None:
        return []
    if waited / asked <= LATE_RATIO_MAX * miss:
        return []
    detail = ("after a miss, on average:", "in none of these latencies")
    return [Tile("run-delay", "wait for a CPU", units.duration(waited / asked), detail, "bad",
                 "delay")]


def _tiles(run: Run) -> list[Tile]:
    stats = run.stats
    traps, wall = stats.number("traps"), stats.number("wall_s")
    rate = (f"{units.count(traps / wall)} per second",) if traps and wall else ()
    tiles = [Tile("traps", "traps", units.count(traps), rate, note="traps")]
    if run.simulated:
        tiles = [Tile("misses", "misses", units.count(stats.number("cache", "misses")))]
    late = stats.number("late", "ratio")
    if late is not None:
        verdict, state = {False: ("in time for this device", "good"),
                          True: ("host too slow for this device", "bad"),
                          None: ("too few to judge the host", "")}[_is_too_slow(stats)]
        detail = (f"{units.count(stats.number('late', 'count'))} misses:", verdict)
        tiles.append(Tile("late", "late", units.percent(late), detail, state, "late"))
    tiles += _run_delay_tiles(stats)
    for name, label in (("p50", "median miss"), ("p99", "99th percentile")):
        tiles.append(_latency_tile(stats, name, label))
    tiles += _hit_tiles(run)
    if check := _check_tile(run):
        tiles.append(check)
    return tiles


def _latency_tile(stats: Table, name: str, label: str) -> Tile:
    modelled, achieved = (_latency(stats, kind, name) for kind in ("modelled", "achieved"))
    if achieved is None:
        return Tile(name, label, units.duration(modelled), ("modelled",), note="latency")
    detail: tuple[str, ...] = (f"modelled {units.duration(modelled)},",
                               units.change(modelled, achieved))
    return Tile(name, label, units.duration(achieved), detail, note="latency")


def _latency(stats: Table, kind: str, name: str) -> float | None:
    """A latency of misses; ``None`` where there was none."""
    counted = stats.number("latency_ns", kind, "count")
    return stats.number("latency_ns", kind, name) if counted else None


def _hit_tiles(run: Run) -> list[Tile]:
    tiles = []
    bound = requests_without_miss(run)
    if bound is not None:
        tiles.append(Tile("requests-without-miss", "requests without a miss",
                          units.at_least(bound), ("1 − misses ÷ requests,",
                          "whole run"), note="requests"))
    for program in run.programs:
        share = _share_below(program, program.histogram)
        if share is not None:
            tiles.append(Tile("below-1us", f"{program.name}: under 1 µs", units.percent(share),
                              ("of all accesses,", "by its own clock"), note="program"))
    sampled = run.stats.number("cache", "sampled", "hit_ratio")
    if sampled is not None:
        window = units.duration(1e9 * (run.stats.number("cache", "sampled", "window_s") or 0))
        tiles.append(Tile("hit-ratio-sampled", "hit ratio, sampled", units.percent(sampled),
                          ("of the distinct pages", f"used within {window}"), note="sampled"))
    known = run.stats.number("cache", "hit_ratio")
    if not tiles and known is not None:
        seen = ("of what the device saw",) if run.simulated else (
            "hits on mapped pages", "are not seen;", "--sample-hits estimates")
        label = "hit ratio" if run.simulated else "hits among traps"
        tiles.append(Tile("hit-ratio", label, units.percent(known), seen, note="hits"))
    return tiles


def _check_tile(run: Run) -> Tile | None:
    """Whether the programs found their data as they had left it."""
    found = [(program.table.number("mismatches"), program.table.number("errors"))
             for program in run.programs]
    checked = [(wrong or 0) + (errors or 0) for wrong, errors in found
               if (wrong, errors) != (None, None)]
    if not checked:
        return None
    bad = sum(checked)
    told = f"{units.count(bad)} wrong" if bad else "all right"
    return Tile("data-check", "data check", told, ("mismatches and errors", "the program found"),
                "bad" if bad else "good", "program")


def latency_grid(runs: list[Run]) -> Grid | None:
    """Percentiles, a row for what was modelled and one for what was achieved."""
    rows = []
    for run in runs:
        for kind in ("modelled", "achieved"):
            if run.stats.number("latency_ns", kind, "count"):
                rows.append(Row(f"{kind}", [run.label, kind],
                                _latency_cells(run.stats, "latency_ns", kind)))
    if not rows:
        return None
    intro = "From access to data, as the model says" + (
        "." if all(run.simulated for run in runs) else ", and below it what the program got.")
    return Grid("latency", "Latency of misses", intro, ["run", ""], _latency_heads("misses"), rows)


def _latency_heads(counted: str) -> list[str]:
    return [counted, "mean", "p50", "p90", "p99", "p99.9", "max"]


def _latency_cells(table: Table, *path: str) -> list[str]:
    return [(units.count if name == "count" else units.duration)(table.number(*path, name))
            for name in LATENCY_COLUMNS]


def program_grid(runs: list[Run]) -> Grid | None:
    """What programs measured themselves, by pass and in total."""
    rows = []
    for run in runs:
        for program in run.programs:
            head = f"{run.label}: {program.name}" if len(runs) > 1 else program.name
            rows += _program_rows(head, program)
    if not rows:
        return None
    return Grid("program", "What the program measured", "Timed by the program itself, which knows"
                " nothing of Sluice. Every access or request counts, hits too.",
                ["program", "part"],
                [*_latency_heads("accesses"), "under 1 µs", "wrong or failed"], rows)


def _program_rows(head: str, program: Program) -> list[Row]:
    rows = []
    if len(program.passes) > 1:
        for order, one in enumerate(program.passes, start=1):
            number = _plain(one.number("pass") or order)
            share = _share_below(program, one.histogram("histogram"))
            rows.append(Row(f"pass-{number}", [head, one.text("phase") or f"pass {number}"],
                            [*_program_cells(one), units.percent(share), ""]))
    share = _share_below(program, program.histogram)
    wrong = [program.table.number(name) for name in ("mismatches", "errors")]
    told = None if wrong == [None, None] else sum(number or 0 for number in wrong)
    only = len(program.passes) == 1
    total = _program_cells(program.passes[0]) if only else _total_cells(program)
    rows.append(Row("all", [head, "all"], [*total, units.percent(share), units.count(told)],
                    total=len(rows) > 0))
    return rows


def _program_cells(one: Table) -> list[str]:
    """Passes that timed no single access still have their number and their mean."""
    cells = _latency_cells(one, "latency_ns")
    if one.number("latency_ns", "count") is None:
        cells[:2] = [units.count(one.number("accesses")),
                     units.duration(one.number("ns_per_access"))]
    return cells


def _total_cells(program: Program) -> list[str]:
    """Of all passes together, which only they know if single accesses were not timed."""
    cells = _latency_cells(program.table, "latency_ns")
    if program.table.number("latency_ns", "count") is None:
        counts = [one.number("accesses") for one in program.passes]
        means = [one.number("ns_per_access") for one in program.passes]
        known = [count for count in counts if count is not None]
        all_ns = [count * mean for count, mean in zip(counts, means, strict=True)
                  if count is not None and mean is not None]
        total = sum(known) if known and len(known) == len(counts) else None
        mean = sum(all_ns) / total if total and len(all_ns) == len(counts) else None
        cells[:2] = [units.count(total), units.duration(mean)]
    return cells


def _share_below(program: Program, histogram: Histogram | None) -> float | None:
    """A request over a socket takes longer than 1 µs with or without a miss: no share for it."""
    if histogram is None or program.requests is not None:
        return None
    return histogram.share_below(HIT_NS)


# Metric, label, where it stands in stats.json, how to write it, footnote.
_COUNTERS: list[tuple[str, str, tuple[str, ...], Callable[[float | None], str], str]] = [
    ("traps", "traps", ("traps",), units.count, "traps"),
    ("trap-miss", "of these: misses", ("trap_kinds", "miss"), units.count, "traps"),
    ("trap-soft", "of these: soft", ("trap_kinds", "soft"), units.count, "traps"),
    ("trap-host", "of these: on pages in host memory", ("trap_kinds", "host"), units.count,
     "traps"),
    ("trap-spurious", "of these: spurious", ("trap_kinds", "spurious"), units.count, "traps"),
    ("late-count", "late misses", ("late", "count"), units.count, "late"),
    ("late-ratio", "late share", ("late", "ratio"), units.percent, "late"),
    ("hits", "cache hits the device knows", ("cache", "hits"), units.count, "hits"),
    ("misses", "cache misses", ("cache", "misses"), units.count, ""),
    ("hit-ratio-sampled", "hit ratio by sampling", ("cache", "sampled", "hit_ratio"),
     units.percent, "sampled"),
    ("hit-ratio", "hit ratio the device knows", ("cache", "hit_ratio"), units.percent, "hits"),
    ("first-misses", "of the misses: first of their page", ("cache", "first_misses"), units.count,
     ""),
    ("reuse-hit-ratio", "hit ratio without first misses", ("cache", "reuse_hit_ratio"),
     units.percent, "hits"),
    ("reuse-hit-ratio-sampled", "hit ratio by sampling, without first misses",
     ("cache", "sampled", "reuse_hit_ratio"), units.percent, "sampled"),
    ("evictions", "evictions", ("cache", "evictions"), units.count, ""),
    ("dirty-evictions", "of these: dirty", ("cache", "dirty_evictions"), units.count, "flash"),
    ("prefetch-issued", "pages prefetched", ("cache", "prefetch_issued"), units.count, ""),
    ("prefetch-used", "of these: used", ("cache", "prefetch_used"), units.count, ""),
    ("flash-reads", "flash reads", ("flash", "reads"), units.count, "flash"),
    ("flash-programs", "flash programs", ("flash", "programs"), units.count, "flash"),
    ("flash-erases", "flash erases", ("flash", "erases"), units.count, ""),
    ("gc-moves", "pages moved by garbage collection", ("flash", "gc_moves"), units.count, ""),
    ("write-amplification", "write amplification", ("flash", "write_amplification"), units.ratio,
     "flash"),
    ("wall", "wall time", ("wall_s",), units.seconds, ""),
]


def counter_grid(runs: list[Run]) -> Grid:
    """Every counter, a column for each run."""
    rows = []
    for metric, label, path, write, note in _COUNTERS:
        # A simulation has no traps: it counts its misses there.
        values = [None if run.simulated and metric == "traps" else run.stats.number(*path)
                  for run in runs]
        if any(value is not None for value in values):
            rows.append(Row(metric, [label], [write(value) for value in values], note))
    return Grid("counters", "Counters", "", [""], [run.label for run in runs], rows,
                list(range(len(runs))))


def setting_grid(runs: list[Run]) -> Grid | None:
    """Every setting as resolved, a column for each run; those that differ are in view, for all are
    some hundred and fifty."""
    keys = sorted({key for run in runs for key in run.config})
    if not keys:
        return None
    differing = changed_settings(runs)
    rows = [Row(key, [key], [run.config.get(key, units.ABSENT) for run in runs],
                marked=key in differing) for key in keys]
    intro = "As resolved from device, file and command line."
    if len(runs) > 1:
        intro += (" Marked ≠: the runs differ." if differing else
                  " All runs have the same settings.")
    marked, alike = ([row for row in rows if row.marked is wanted] for wanted in (True, False))
    fold = f"The other {len(alike)}" if marked else f"All {len(alike)}"
    return Grid("settings", "Settings", intro, ["key"], [run.label for run in runs], marked,
                list(range(len(runs))), text=True, folded=alike, fold=fold)


def changed_settings(runs: list[Run]) -> list[str]:
    """The keys whose values are not the same in every run."""
    keys = sorted({key for run in runs for key in run.config})
    return [key for key in keys if len({run.config.get(key) for run in runs}) > 1]


def process_grid(runs: list[Run]) -> Grid | None:
    """The processes that ran on each device."""
    rows, extra = [], []
    processes = [(run, one) for run in runs for one in run.stats.tables("processes")]
    for name in ("misses", "late"):
        if any(one.number(name) is not None for _, one in processes):
            extra.append(name)
    for run, one in processes:
        cells = [units.count(one.number("traps"))]
        cells += [units.count(one.number(name)) for name in extra]
        rows.append(Row("process", [run.label, _plain(one.number("pid")), one.words("command")],
                        cells))
    for run in runs:
        images = run.stats.number("other_processes", "images")
        if images is not None:
            cells = [units.count(run.stats.number("other_processes", name))
                     for name in ("traps", *extra)]
            rows.append(Row("process", [run.label, units.ABSENT, f"{images:,.0f} others"], cells))
    if not rows:
        return None
    return Grid("processes", "Processes", "", ["run", "pid", "command"], ["traps", *extra], rows)


def _plain(value: float | None) -> str:
    return units.ABSENT if value is None else f"{value:g}" if value % 1 else f"{value:.0f}"
