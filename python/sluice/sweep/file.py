"""``--file sweep.toml``: the parts of a sweep that do not fit on a line."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sluice
from sluice.quantity import written
from sluice.reproduce import section
from sluice.reproduce.section import Section
from sluice.sweep import design

POINTS_MAX = 1_000_000
"""Points of a sample, at most."""
SIMULATED = ("sim", "fabric", "files")
"""Commands whose parameters are all known here; others have some of a live run, too."""


@dataclass(frozen=True)
class Points:
    """An axis of points that give several parameters their values at once."""

    name: str
    values: tuple[dict[str, str], ...]
    seed: int | None = None
    method: str = "list"


@dataclass(frozen=True)
class File:
    """What the file says."""

    command: tuple[str, ...]
    grid: Mapping[str, tuple[str, ...]]
    points: tuple[Points, ...]
    measures: tuple[str, ...]
    mean: str | None


def read(path: Path, behind: Sequence[str] = ()) -> File:
    """The file, for the command ``behind`` it, if it has none of its own. Raises
    ``ExperimentError`` that names the key."""
    return of(section.read(path), behind)


def of(table: Section, behind: Sequence[str] = ()) -> File:
    """The file of these values."""
    command: Any = table.raw("command", [])
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise table.error("command", f"{error}: {command}") from None
    elif command:
        command = table.texts("command")
    of_command = (*command, *behind)[:1]
    points = [*_listed(table, of_command), *_drawn(table, of_command)]
    measures = tuple(table.texts("measures", []))
    found = File(tuple(command), _grid(table, of_command), tuple(points), measures,
                 table.text("mean", "") or None)
    table.done()
    return found


def _grid(table: Section, command: Sequence[str]) -> dict[str, tuple[str, ...]]:
    grid, axes = table.table("grid"), {}
    for key, value in _leaves(grid):
        _check(grid, key, command)
        axes[key] = _texts(grid, key, value if isinstance(value, list) else [value])
    return axes


def _listed(table: Section, command: Sequence[str]) -> Iterator[Points]:
    points: list[dict[str, str]] = []
    for one in table.tables("points"):
        point = {}
        for key, value in _leaves(one):
            _check(one, key, command)
            [point[key]] = _texts(one, key, [value])
        odd = sorted(point.keys() ^ points[0].keys()) if points else []
        if odd:
            raise one.error(odd[0], "is not in every point; each has the same keys")
        points.append(point)
    if points:
        yield Points("point", tuple(points))


def _drawn(table: Section, command: Sequence[str]) -> Iterator[Points]:
    if not table.has("sample"):
        return
    sample = table.table("sample")
    method = sample.choice("method", design.METHODS)
    count = _whole(sample, "count", 1, POINTS_MAX)
    seed = _whole(sample, "seed", 0, 2**63)
    below = sample.table("over")
    leaves = dict(_leaves(below))
    for key in leaves:
        _check(below, key, command)
    over = {key: _how(below, key, value) for key, value in leaves.items()}
    if not over:
        raise sample.error("over", "names no parameter, such as \"cache.capacity\" ="
                                   " { from = \"16MiB\", to = \"256MiB\", scale = \"log\" }")
    sample.done()
    yield Points("sample", tuple(design.draw(method, count, seed, over)), seed, method)


def _texts(table: Section, key: str, values: list[Any]) -> tuple[str, ...]:
    # A date is a text only in quotes.
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise table.error(key, f"plain values were needed, not {values!r}")
    return tuple(_text(one) for one in values)


def _how(table: Section, key: str, value: Any) -> design.Range | design.Choice:
    if isinstance(value, list):
        return design.Choice(_texts(table, key, value))
    if not isinstance(value, dict):
        raise table.error(key, f"a list, or from and to, were needed, not {value!r}")
    ends = Section(table.path, table.full(key), value)
    first, last = ends.raw("from", None), ends.raw("to", None)
    scale = ends.choice("scale", design.SCALES, "linear")
    ends.done()
    try:
        return design.read_range(first, last, scale)
    except ValueError as error:
        raise table.error(key, str(error)) from None


def _leaves(table: Section) -> Iterator[tuple[str, Any]]:
    """Values by their full key: ``cache.policy`` and ``"cache.policy"`` are the same."""
    seen = set()
    for name in table.keys():
        for key, value in _below(name, table.raw(name, None)):
            if key in seen:
                raise table.error(key, "is there twice, with dots and as a table; give it all its"
                                       " values at once")
            seen.add(key)
            yield key, value


def _below(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and not {"from", "to"} & value.keys():
        for name, one in value.items():
            yield from _below(f"{key}.{name}", one)
    else:
        yield key, value


def _whole(table: Section, key: str, least: int, most: int) -> int:
    value = table.raw(key, None)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise table.error(key, f"a whole number from {least} to {most} was needed, not {value!r}")
    return value


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else written(value)


def _check(table: Section, key: str, command: Sequence[str]) -> None:
    """Raises ``ExperimentError`` for a setting that no device, host or fabric has. A key
    without a dot is an option, or stands in the command. A live run refuses unknown keys itself."""
    if not re.fullmatch(r"[a-z][a-z0-9_.-]*", key):
        raise table.error(key, "is no name of a parameter or an option")
    if command and command[0] not in SIMULATED:
        return
    known = [str(one["key"]) for params in (sluice.params, sluice.host_params, sluice.fabric_params)
             for one in params()]
    # The device of a fabric's group has the group's name before its settings.
    if "." in key and key not in known and key.split(".", 1)[1] not in known:
        near = difflib.get_close_matches(key, known, 3, 0.5) or sorted(known)[:3]
        raise table.error(key, f"no such parameter; near are {', '.join(near)}")
