"""The points that were measured, beside the page: a series can be measured again without the
others."""

from __future__ import annotations

import json
from pathlib import Path

from page import Bound, Measured, Point
from series import Series


def read(path: Path, known: list[Series]) -> tuple[list[Measured], list[Bound]]:
    """What is kept of the series that there still are, if anything is."""
    if not path.exists():
        return [], []
    kept = json.loads(path.read_text(encoding="utf-8"))
    measured = [Measured(one, [Point(*point) for point in kept["series"][one.name]])
                for one in known if one.name in kept["series"]]
    return measured, [Bound(**bound) for bound in kept["bounds"]]


def write(path: Path, measured: list[Measured], bounds: list[Bound]) -> None:
    """A line for each series: value, seconds, KiB of each point."""
    lines = [f"  {json.dumps(one.series.name)}: "
             + json.dumps([[point.value, round(point.seconds, 4), round(point.kib)]
                           for point in one.points]) for one in measured]
    found = json.dumps([vars(bound) for bound in bounds], indent=1)
    series = ",\n".join(lines)
    text = f'{{"series": {{\n{series}\n}},\n"bounds": {found}}}\n'
    path.write_text(text, encoding="utf-8")


def merged(new: list[Measured], old: list[Measured], known: list[Series]) -> list[Measured]:
    """The new ones in the place of the old ones, in the order of the series."""
    found = {one.series.name: one for one in [*old, *new]}
    return [found[one.name] for one in known if one.name in found]
