#!/usr/bin/env python3
"""What an event of a fabric costs, against events, ports and requesters: a table and a plot.

Times are CPU times of `sluice fabric run`, least of several, without those of a run of one request,
which are the making of the fabric. `make bench-fabric-cost` writes docs/fabric-cost.csv and .svg.
"""

import argparse
import csv
import io
import json
import resource
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "sluice", "svg.fonttype": "none"}
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import LogLocator, NullFormatter  # noqa: E402

from sluice.report.svg import for_both_schemes, numbers  # noqa: E402

ROUNDS = 3


def run(sluice: Path, settings: dict[str, str], requests: int) -> tuple[float, int]:
    """Least CPU seconds of a run, and its events."""
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    counts = ["--warmup", "0", "--requests", str(requests), "--json"]
    seconds, events = float("inf"), 0
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = subprocess.run(
            [sluice, "fabric", "run", "esf", *sets, *counts], check=True, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        seconds, events = min(seconds, spent), json.loads(out.stdout)["events"]
    return seconds, events


def cost(sluice: Path, settings: dict[str, str], requests: int) -> tuple[int, float]:
    """Events, and nanoseconds an event."""
    made, first = run(sluice, settings, 1)
    seconds, events = run(sluice, settings, requests)
    return events - first, (seconds - made) * 1e9 / (events - first)


def sweeps() -> dict[str, list[tuple[int, dict[str, str], int]]]:
    """What is varied: the abscissa, the settings, the requests."""
    leaves = {"topology.kind": "spine-leaf", "topology.per_switch": "16", "topology.spines": "8"}
    small = {"endpoint.capacity": "64MiB", "requester.depth": "64"}

    def nodes(requesters: int, endpoints: int) -> dict[str, str]:
        counts = {"requester.count": str(requesters), "endpoint.count": str(endpoints)}
        return leaves | small | counts

    return {
        "events": [(0, {}, requests) for requests in (125_000 << step for step in range(7))],
        "edge ports": [
            (ports, nodes(64, ports - 64), 1_000_000) for ports in (128, 256, 512, 1024, 2048, 4096)
        ],
        "requesters": [
            (requesters, nodes(requesters, 512), 1_000_000)
            for requesters in (1, 8, 64, 256, 1000, 2000)
        ],
    }


def draw(rows: list[tuple[str, int, int, float]], path: Path) -> None:
    """One plot for each thing that is varied."""
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    for axis, name in zip(axes, sweeps(), strict=True):
        line = [(value, ns) for varied, value, _, ns in rows if varied == name]
        axis.plot(*zip(*line, strict=True), marker="o")
        axis.set(xscale="log", xlabel=f"number of {name}")
        # Two labels at least, and so few that each has its room.
        values = [value for value, _ in line]
        is_short = max(values) / min(values) < 100
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,)))
        numbers(axis.xaxis)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    axes[0].set(ylabel="time of an event, ns", ylim=(0, None))
    out = io.StringIO()
    figure.savefig(out, metadata={"Date": None})
    path.write_text(for_both_schemes(out.getvalue()), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sluice", type=Path)
    parser.add_argument("out", type=Path, help="path of the files, without their suffix")
    options = parser.parse_args()
    rows = []
    for name, points in sweeps().items():
        for value, settings, requests in points:
            events, ns = cost(options.sluice, settings, requests)
            rows.append((name, value or events, events, round(ns, 1)))
            print(*rows[-1], sep="\t", flush=True)
    with options.out.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("varied", "value", "events", "ns_per_event"))
        writer.writerows(rows)
    draw(rows, options.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
