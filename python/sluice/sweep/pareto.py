"""``--pareto cost,time``: what the memory of each run costs, and which runs are best for it.

Only what differs with the memory has a price: flash, the DRAM of the device, and the host memory
that its pages take. SkyByte VI-B argues so, with the first two prices of :data:`PRICES`; its 15.9
is their ratio, without the device's DRAM and the host memory that are counted here.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce.evaluate import Evaluated
from sluice.reproduce.formula import Formula
from sluice.reproduce.grid import Cell
from sluice.sweep import cells
from sluice.sweep.means import Means

COST, TIME = "cost", "time"
TIMES = ("time_s", "sim_time_s", "wall_s")
"""What ``time`` stands for: the first that the output has."""
_GIB = 1 << 30
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True)
class Prices:
    """Of a GiB, in any currency. By default US dollars of summer 2024, of DDR5 and an SSD of low
    latency (SkyByte VI-B; its GB is taken as a GiB)."""

    dram: float = 4.28
    host: float = 4.28
    flash: float = 0.27

    def of(self, config: Mapping[str, str]) -> float:
        """What the memory of a run with these settings costs. Raises ``ExperimentError`` if they
        are none of a device."""
        if "device.capacity" not in config:
            raise ExperimentError(f"--pareto {COST}: the output has no config with"
                                  " device.capacity, whose memory has a price; sim and run have")
        capacity = _bytes(config, "device.capacity")
        policy = config.get("migration.policy", "none")
        if policy == "host":
            # All pages are in host memory, and there is no device.
            return float(capacity * Decimal(self.host) / _GIB)
        host = Decimal(0)
        if policy != "none":
            host = _bytes(config, "migration.capacity")
            host += _bytes(config, "migration.remote_capacity")
        dram, flash = capacity, Decimal(0)
        if config["device.kind"] != "memory":
            dram = _bytes(config, "cache.capacity", capacity) + _bytes(config, "write_log.capacity")
            flash = capacity
        whole = dram * Decimal(self.dram) + host * Decimal(self.host) + flash * Decimal(self.flash)
        return float(whole / _GIB)


PRICES = Prices()


@dataclass(frozen=True)
class Pareto:
    """Two measures, the less of each the better, and the prices behind :data:`COST`."""

    x: str
    y: str
    prices: Prices = PRICES


@dataclass(frozen=True)
class Point:
    """A run, or repeats of one, by its place and its two numbers."""

    cell: Cell
    x: float
    y: float


@dataclass(frozen=True)
class Frontier:
    """All points, and those that no other one beats in one measure and equals in the other."""

    asked: Pareto
    points: tuple[Point, ...]
    best: tuple[Point, ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--pareto`` and the prices."""
    parser.add_argument("--pareto", metavar="X,Y",
                        help="draw the runs that are best in two measures of which less is better,"
                             " such as cost,time: what the memory costs, and the time that the"
                             " output reports")
    for what, of in (("dram", "DRAM on the device"), ("host", "host memory for its pages"),
                     ("flash", "flash")):
        parser.add_argument(f"--price-{what}", metavar="PRICE", type=_price,
                            help=f"of a GiB of {of} (default: {getattr(PRICES, what)}, of SkyByte"
                                 " VI-B in US dollars)")


def asked(options: argparse.Namespace) -> Pareto | None:
    """What the options ask for. Raises ``ExperimentError`` that names the option."""
    given = {what: getattr(options, f"price_{what}") for what in asdict(PRICES)}
    known = {what: price for what, price in given.items() if price is not None}
    if not options.pareto:
        if known:
            raise ExperimentError(f"--price-{next(iter(known))}: only with --pareto cost,MEASURE")
        return None
    names = [name.strip() for name in options.pareto.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise ExperimentError(f"bad --pareto {options.pareto!r}; it is two measures, such as"
                              f" {COST},{TIME}")
    if known and COST not in names:
        raise ExperimentError(f"--price-{next(iter(known))}: --pareto {options.pareto} has no"
                              f" {COST}")
    return Pareto(names[0], names[1], Prices(**{**asdict(PRICES), **known}))


def read(known: Mapping[str, Any] | None) -> Pareto | None:
    """From what :func:`dataclasses.asdict` made of it."""
    return None if known is None else Pareto(known["x"], known["y"], Prices(**known["prices"]))


def add(given: Pareto, derived: dict[str, Formula], there: Mapping[str, Any]) -> None:
    """Adds the two measures to those of a sweep whose output has these numbers."""
    for name in (given.x, given.y):
        if name == TIME and TIME not in derived:
            name = next((known for known in TIMES if known in there), TIMES[0])
        derived.setdefault(name, Formula(name))


def named(given: Pareto, derived: Mapping[str, Formula]) -> Pareto:
    """With the measure that ``time`` stands for."""
    if TIME in derived or TIME not in (given.x, given.y):
        return given
    time = next(known for known in TIMES if known in derived)
    return replace(given, x=time if given.x == TIME else given.x,
                   y=time if given.y == TIME else given.y)


def frontier(given: Pareto, one: Evaluated, means: Means | None) -> Frontier:
    """Of what was measured. Runs that failed, or have no number there, are no points."""
    points = []
    for cell, values in _values(given, one, means):
        x, y = values
        if x is not None and y is not None:
            points.append(Point(cell, x, y))
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, point.y)):
        is_equal = best and (point.x, point.y) == (best[-1].x, best[-1].y)
        if not best or point.y < best[-1].y or is_equal:
            best.append(point)
    return Frontier(given, tuple(points), tuple(best))


def _values(given: Pareto, one: Evaluated, means: Means | None
            ) -> Sequence[tuple[Cell, list[float | None]]]:
    if means:
        return [(cell, [by[name]["mean"] for name in (given.x, given.y)])
                for cell, by in means.rows]
    names = [axis.name for axis in one.experiment.axes]
    places = [(run.cell, dict(zip(names, run.cell, strict=True))) for run in one.runs]
    return [(cell, [cells.at(one.known[name], place) for name in (given.x, given.y)])
            for cell, place in places]


def document(found: Frontier, axes: Sequence[str]) -> dict[str, Any]:
    """The frontier as an object, from the cheapest on."""
    return {**asdict(found.asked), "points": len(found.points),
            "frontier": [{"at": dict(zip(axes, point.cell, strict=True)), "x": point.x,
                          "y": point.y} for point in found.best]}


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not (price >= 0 and math.isfinite(price)):
        raise argparse.ArgumentTypeError(f"{text!r} is no price; 0 or more was needed")
    return price


def _bytes(config: Mapping[str, str], key: str, whole: Decimal = Decimal(0)) -> Decimal:
    """A size as settings have it; a percentage or a fraction is one of ``whole``."""
    text = config.get(key, "none")
    if text == "none":
        return Decimal(0)
    if found := re.fullmatch(r"(\d+)/(\d+)", text):
        return whole * Decimal(found[1]) / Decimal(found[2])
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*|%)", text)
    if found and found[2] == "%":
        return whole * Decimal(found[1]) / 100
    if not found or found[2] not in _UNITS:
        raise ExperimentError(f"--pareto {COST}: {key} = {text!r} is no size")
    return Decimal(found[1]) * _UNITS[found[2]]
