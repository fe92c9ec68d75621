#!/usr/bin/env python3
"""Writes docs/measurements.md from docs/measurements/*.csv (`make docs`), and adds measurements.

    scripts/measurements.py                 write the page
    scripts/measurements.py --check         say whether the page is that of the data
    scripts/measurements.py add GROUP FIGURE --command 'cargo bench ..' --unit µs 7.4 7.6 7.9

`runs.csv` has a line for each run of a benchmark: its command, host, rounds and date.
`figures.csv` has what the run measured: a median with its range over the rounds, a unit, and a
goal (`<= 1.02`, `>= 20`, `-2 to 2`) with the number of the promise that it belongs to. A later
run of the same figure takes the place of the earlier one on the page; the files keep both.
Whether a goal is kept is computed: from the median, or from the range where there is none.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import re
import statistics
import sys
from pathlib import Path

from pages import ROOT, publish, table

FOLDER = ROOT / "docs" / "measurements"
PAGE = ROOT / "docs" / "measurements.md"
RUNS = ["run", "group", "command", "host", "rounds", "date"]
FIGURES = ["run", "figure", "series", "median", "low", "high", "unit", "goal", "promise"]
NUMBER = r"-?\d+(?:\.\d+)?"
INTRO = """# Measurements

{kept} of {goals} goals are kept on the hosts below, {part} in part, and {missed} are not.
`scripts/measurements.py` writes this page (`make docs`) from
[the runs](measurements/runs.csv) and [their figures](measurements/figures.csv).

Each figure is the median of its rounds, with their range in brackets. *Kept* is computed from
median and goal; where a run has a range alone, both ends decide. A number before a goal is that of
its [promise](../SPECIFICATION.md). The date is that of the run, or the day on which the figure was
written down first. `RECORD=1 make bench` and `scripts/measurements.py add` add figures.
"""
Row = dict[str, str]


def read(name: str, keys: list[str]) -> list[Row]:
    path = FOLDER / name
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line, row in enumerate(rows, 2):
        if list(row) != keys or None in row.values():
            sys.exit(f"{path}:{line}: not the columns {', '.join(keys)}")
    return rows


def holds(value: float, goal: str) -> bool:
    """Whether a value is what the goal asks for."""
    if bound := re.fullmatch(rf"(<=|>=) ({NUMBER})", goal):
        least = float(bound[2])
        return value <= least if bound[1] == "<=" else value >= least
    if span := re.fullmatch(rf"({NUMBER}) to ({NUMBER})", goal):
        return float(span[1]) <= value <= float(span[2])
    sys.exit(f'{goal!r} is no goal: write "<= N", ">= N" or "N to M"')


def verdict(row: Row) -> str:
    """Whether the goal of a figure is kept: yes, no or in part; nothing without a goal."""
    if not row["goal"]:
        return ""
    values = [row["median"]] if row["median"] else [row[end] for end in ("low", "high")]
    kept = {holds(float(value), row["goal"]) for value in values if value}
    return {(True,): "yes", (False,): "**no**"}.get(tuple(kept), "in part")


def latest(runs: list[Row], figures: list[Row]) -> list[tuple[Row, list[Row]]]:
    """The runs, each with those of its figures that no later run of its group measured."""
    of = {run["run"]: run for run in runs}
    last = {(of[row["run"]]["group"], row["figure"], row["series"]): row for row in figures}
    kept = {id(row) for row in last.values()}
    mine = [(run, [row for row in figures if row["run"] == run["run"] and id(row) in kept])
            for run in runs]
    return [(run, rows) for run, rows in mine if rows]


def said(row: Row, unit: bool = True) -> str:
    """The value of a figure as it is printed."""
    spread = f"[{row['low']}, {row['high']}]" if row["low"] and row["high"] else ""
    if not row["median"] and row["low"] != row["high"]:
        spread = " to ".join(end for end in (row["low"], row["high"]) if end)
    return " ".join(part for part in (row["median"], spread, row["unit"] if unit else "") if part)


def of_run(rows: list[Row]) -> str:
    """A table of a run's figures; where they have series, a column for each."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    if series == [""]:
        goals = any(row["goal"] for row in rows)
        heads = ["figure", "measured", *(["goal", "kept"] if goals else [])]
        lines = []
        for row in rows:
            promise = f"{row['promise']}: " if row["promise"] else ""
            goal = [f"{promise}{row['goal']}" if row["goal"] else "", verdict(row)]
            lines.append([row["figure"], said(row), *(goal if goals else [])])
        return table(heads, lines)
    unit = {one: {row["unit"] for row in rows if row["series"] == one} for one in series}
    heads = ["", *(f"{one}, {next(iter(unit[one]))}".removesuffix(", ")
                   if len(unit[one]) == 1 else one for one in series)]
    lines = []
    for figure in dict.fromkeys(row["figure"] for row in rows):
        cells = {row["series"]: said(row, len(unit[row["series"]]) > 1)
                 for row in rows if row["figure"] == figure}
        lines.append([figure, *(cells.get(one, "") for one in series)])
    return table(heads, lines)


def page(runs: list[Row], figures: list[Row]) -> str:
    shown = latest(runs, figures)
    verdicts = [verdict(row) for _, rows in shown for row in rows if row["goal"]]
    counts = {"kept": "yes", "missed": "**no**", "part": "in part"}
    text = INTRO.format(goals=len(verdicts),
                        **{name: verdicts.count(word) for name, word in counts.items()})
    for group in dict.fromkeys(run["group"] for run, _ in shown):
        text += f"\n## {group}\n"
        for run, rows in shown:
            if run["group"] == group:
                rounds = f", {run['rounds']} rounds" if run["rounds"] else ""
                rounds = rounds.replace("1 rounds", "one run") if run["rounds"] == "1" else rounds
                text += (f"\n`{run['command']}` ({run['host']}; {run['date']}{rounds})\n\n"
                         f"{of_run(rows)}")
    return text


def this_host() -> str:
    """What this host is, in a few words."""
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    virtual = "virtual machine, " if "hypervisor" in Path("/proc/cpuinfo").read_text() else ""
    system = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} CPUs ({virtual}{model[1] if model else '?'}), Linux {system}"


def add(group: str, figure: str, values: list[float], *, command: str, unit: str = "",
        goal: str = "", promise: str = "", series: str = "") -> None:
    """Adds a figure, the median of `values` and their range, to the run of this day."""
    if goal:
        holds(0, goal)
    runs = read("runs.csv", RUNS)
    run = {"group": group, "command": command, "host": this_host(), "rounds": str(len(values)),
           "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat()}
    same = [one["run"] for one in runs if run.items() <= one.items()]
    number = same[-1] if same else str(len(runs) + 1)
    if not same:
        append("runs.csv", RUNS, run | {"run": number})
    low, high = (short(end) if len(values) > 1 else "" for end in (min(values), max(values)))
    append("figures.csv", FIGURES, {
        "run": number, "figure": figure, "series": series, "low": low, "high": high,
        "median": short(statistics.median(values)), "unit": unit, "goal": goal,
        "promise": promise})


def short(value: float) -> str:
    """Four significant digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def record(group: str, figure: str, values: list[float], command: str, **more: str) -> None:
    """Adds a figure of a benchmark that runs with the variable RECORD; without it, nothing."""
    if os.environ.get("RECORD"):
        add(group, figure, values, command=command, **more)


def append(name: str, keys: list[str], row: Row) -> None:
    with (FOLDER / name).open("a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, keys, lineterminator="\n").writerow(row)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    adding = parser.add_subparsers(dest="what").add_parser("add", help="add a figure to the data")
    for name in ("group", "figure"):
        adding.add_argument(name)
    adding.add_argument("values", nargs="+", type=float, help="one for each round")
    adding.add_argument("--command", required=True)
    for name in ("unit", "goal", "promise", "series"):
        adding.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    if options.what:
        add(options.group, options.figure, options.values, command=options.command,
            unit=options.unit, goal=options.goal, promise=options.promise, series=options.series)
        return 0
    text = page(read("runs.csv", RUNS), read("figures.csv", FIGURES))
    return publish({PAGE: text}, options.check)


if __name__ == "__main__":
    sys.exit(main())
