"""Run folders: what ``sluice run --out DIR`` leaves behind, read and checked."""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sluice.errors import ResultError, RunFolderError
from sluice.paths import shown
from sluice.report.histogram import Histogram
from sluice.results import KINDS, SCHEMAS, field_kinds, read_as

RUN_SCHEMA = "sluice.run/1"
PROGRAM_SCHEMA = "sluice.workload/1"
COMMAND_SCHEMA = "sluice.command/1"
# What the object of a schema can be.
_KINDS: dict[str, tuple[Any, ...]] = {
    RUN_SCHEMA: (SCHEMAS["run"], SCHEMAS["sim"]),
    PROGRAM_SCHEMA: get_args(SCHEMAS["workload"]),
    COMMAND_SCHEMA: (SCHEMAS["command"],),
    "sluice.curve/1": (SCHEMAS["curve"],),
    "sluice.size/1": (SCHEMAS["size"],),
}
# What a report draws besides runs.
_DRAWN = ("sluice.size/1", "sluice.curve/1")
_NAMES = {RUN_SCHEMA: "a run", "sluice.size/1": "an answer of `sluice size`",
          "sluice.curve/1": "a curve", PROGRAM_SCHEMA: "a program's result"}
_WORKLOADS = {kind.__name__.removeprefix("Workload").lower(): kind
              for kind in _KINDS[PROGRAM_SCHEMA]}
# No run counts so far. Larger numbers are damage, and some cannot be computed with.
LARGEST = 1e30
MAX_DIGITS = 32
TIMELINE_REQUIRED = ("t_s", "traps", "misses", "soft")
# What a time in the file is rounded to.
HEAT_STEP_S = 0.001
HEAT_REQUIRED = ("from_s", "to_s", "first_page", "pages", "misses")
# A picture of more cells cannot be seen. A file has 256 rows and columns at most.
HEAT_SIDE = 512
PAGE_BYTES = 4096
LAST_PAGE = 2**52


class Table:
    """A JSON object whose fields are checked as they are read; absent fields are ``None``.

    ``kinds`` are the classes of :mod:`sluice.results` that it can be. A field that none of them has
    is a mistake in the code that asks: a ``KeyError``. Without any, every name can be asked for.
    """

    def __init__(self, where: str, fields: dict[str, Any], kinds: tuple[Any, ...] = ()) -> None:
        self.where = where
        self.fields = fields
        self.kinds = kinds

    def number(self, *path: str) -> float | None:
        """The number at ``path``; integers stay integers."""
        value = self._at(path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(path, value, "a number")
        return value

    def truth(self, *path: str) -> bool:
        """Whether there is ``true`` at ``path``."""
        return self._at(path) is True

    def text(self, *path: str) -> str | None:
        """The string at ``path``."""
        value = self._at(path)
        if value is not None and not isinstance(value, str):
            raise self._wrong(path, value, "a string")
        return value

    def mapping(self, *path: str) -> dict[str, Any]:
        """The object at ``path``; empty when absent."""
        value = self._at(path)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(path, value, "an object")
        return value or {}

    def tables(self, *path: str) -> list[Table]:
        """The array of objects at ``path``; empty when absent."""
        items = []
        for index, item in enumerate(self._array(path)):
            if not isinstance(item, dict):
                raise self._wrong((*path, str(index)), item, "an object")
            items.append(Table(f"{self.where}: {'.'.join(path)}.{index}", item, self._kinds(path)))
        return items

    def words(self, *path: str) -> str:
        """An array of strings (or one string) at ``path``, quoted as a shell wants it."""
        value = self._at(path)
        if isinstance(value, str):
            return value
        for item in self._array(path):
            if not isinstance(item, str):
                raise self._wrong(path, item, "an array of strings")
        return shlex.join(value or [])

    def histogram(self, *path: str) -> Histogram | None:
        """Pairs of (nanoseconds, count) at ``path``."""
        pairs = self._array(path)
        for pair in pairs:
            good = isinstance(pair, list) and len(pair) == 2
            if not good or not all(_is_count(number) for number in pair):
                raise self._wrong(path, pair, "pairs of latency in ns and count")
        histogram = Histogram.from_pairs(pairs)
        return histogram if histogram.total else None

    def _array(self, path: tuple[str, ...]) -> list[Any]:
        value = self._at(path)
        if value is not None and not isinstance(value, list):
            raise self._wrong(path, value, "an array")
        return value or []

    def _kinds(self, path: tuple[str, ...]) -> tuple[Any, ...]:
        """What can stand at ``path``; of an array, what can be in it."""
        kinds = self.kinds
        for name in path:
            if kinds and not (kinds := field_kinds(kinds, name)):
                raise KeyError(f"no result has a field {'.'.join(path)}")
        return kinds

    def _at(self, path: tuple[str, ...]) -> Any:
        self._kinds(path)
        here: Any = self.fields
        for depth, name in enumerate(path):
            if here is None:
                return None
            if not isinstance(here, dict):
                raise self._wrong(path[:depth], here, "an object")
            here = here.get(name)
        return here

    def _wrong(self, path: tuple[str, ...], value: Any, expected: str) -> RunFolderError:
        shown = json.dumps(value)[:40]
        return RunFolderError(f"{self.where}: {'.'.join(path)} is {shown}, expected {expected}")


@dataclass(frozen=True)
class Program:
    """What a program under test measured about itself."""

    name: str
    table: Table
    histogram: Histogram | None
    passes: list[Table] = field(default_factory=list)

    @property
    def requests(self) -> float | None:
        """How many requests it served, where it counts them."""
        return self.table.number("requests")


@dataclass(frozen=True)
class Timeline:
    """Cumulative counters over the seconds since the start, one array per column."""

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["t_s"])

    def get(self, name: str) -> np.ndarray:
        """A column; zeros when the run did not record it."""
        return self.columns.get(name, np.zeros(len(self)))


@dataclass(frozen=True)
class Heat:
    """Misses a second by place and time: ``cells`` has a row for each place from the lowest on."""

    cells: np.ndarray
    # From when to when, s; where the last column would end if it were whole; and from which byte
    # of device memory to which.
    times: tuple[float, float]
    until: float
    rows: tuple[float, float]
    row_bytes: float
    column_s: float

    @classmethod
    def of(cls, columns: dict[str, np.ndarray], widths: np.ndarray) -> Heat:
        """From the cells of a file, whose last column may be shorter than the others."""
        row_bytes = float(columns["pages"][0] * PAGE_BYTES)
        rows = (columns["first_page"] // columns["pages"]).astype(np.int64)
        lowest, count = int(rows.min()), int(rows.max() - rows.min()) + 1
        begin = float(columns["from_s"].min())
        end = max(float(columns["to_s"].max()), begin + HEAT_STEP_S)
        column_s = max(float(np.median(widths)), (end - begin) / HEAT_SIDE)
        columns_there = max(math.ceil((end - begin) / column_s - 1e-6), 1)
        edges = begin + column_s * np.arange(columns_there + 1)
        cells = np.zeros((min(count, HEAT_SIDE), len(edges) - 1))
        shares: dict[tuple[float, float], np.ndarray] = {}
        for row, start, stop, misses in zip(
                rows - lowest, columns["from_s"], columns["to_s"], columns["misses"], strict=True):
            if (start, stop) not in shares:
                shares[start, stop] = _shares(edges, start, stop)
            cells[row * len(cells) // count] += misses * shares[start, stop]
        # The last column may end earlier than its cells.
        cells /= np.minimum(edges[1:], end) - edges[:-1]
        return cls(cells, (begin, end), float(edges[-1]),
                   (lowest * row_bytes, (lowest + count) * row_bytes), row_bytes, column_s)


def _shares(edges: np.ndarray, start: float, stop: float) -> np.ndarray:
    """How much of a time lies between each edge and the next; one that takes none is where it
    begins."""
    inside = np.clip(np.minimum(stop, edges[1:]) - np.maximum(start, edges[:-1]), 0.0, None)
    if not inside.any():
        inside[min(np.searchsorted(edges, start, "right") - 1, len(inside) - 1)] = 1.0
    return inside / inside.sum()


@dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path
    label: str
    stats: Table
    config: dict[str, str]
    modelled: Histogram | None
    achieved: Histogram | None
    timeline: Timeline | None
    heat: Heat | None
    programs: list[Program]
    notes: list[str]
    # What the user asked for, where the program is another's.
    asked: str | None = None

    @property
    def simulated(self) -> bool:
        """True for a folder that ``sluice sim`` wrote."""
        return self.stats.text("kind") == "sim"


def load_runs(folders: list[Path]) -> list[Run]:
    """Reads every folder; labels are the shortest ends of their paths that tell them apart."""
    return [load_run(path, label) for path, label in zip(folders, labels_of(folders), strict=True)]


def load_run(path: Path, label: str) -> Run:
    """Reads one folder. Raises :class:`RunFolderError`; what is merely absent becomes a note."""
    # Of a name that is too long `Path` would not say that it is not there.
    if not os.path.isdir(path):
        problem = "is not a folder" if os.path.exists(path) else "does not exist"
        expected = "expected the --out folder of a sluice run"
        if os.path.exists(path.parent / "stats.json") and os.path.isfile(path):
            expected = f"give its folder, {path.parent}"
        raise RunFolderError(f"{path} {problem}; {expected}")
    stats = read_object(path / "stats.json", RUN_SCHEMA)
    modelled, achieved = _read_latency(path / "latency.csv")
    timeline = _read_timeline(path / "timeline.csv")
    heat = _read_heat(path / "heat.csv")
    programs = [_read_program(file) for file in sorted(path.glob("program*.json"))]
    timed = modelled is not None or achieved is not None
    notes = _notes(stats, timed, timeline is not None)
    return Run(path, label, stats, _config(stats), modelled, achieved, timeline, heat,
               programs, notes, _asked(path, stats))


def _asked(path: Path, stats: Table) -> str | None:
    """The command line of a guest's run: the program of its result is QEMU, with all arguments."""
    command = path / "command.json"
    if stats.text("kind") != "vm" or not command.exists():
        return None
    return f"sluice {read_object(command, COMMAND_SCHEMA).words('arguments')}"


def _notes(stats: Table, timed: bool, sampled: bool) -> list[str]:
    """What a reader of the page must know about a run that is not whole."""
    notes = []
    if stats.mapping("vm").get("emulated") is False:
        notes.append("The same machine without the device (--baseline): nothing was trapped.")
    elif not timed and stats.text("kind") != "sim":
        notes.append("No miss was timed: the figures of misses leave this run out.")
    if not sampled and stats.text("kind") != "sim":
        notes.append("No timeline was recorded: the run was cut short. The figures over time leave"
                     " it out.")
    if code := stats.number("exit", "code"):
        notes.append(f"The program ended with exit code {code}.")
    if (signal := stats.number("exit", "signal")) is not None:
        notes.append(f"The program was killed by signal {signal}.")
    return notes


def labels_of(folders: list[Path]) -> list[str]:
    """The shortest ends of paths that tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        labels = ["/".join(part[-depth:]) for part in parts]
        if len(set(labels)) == len(labels):
            return [*map(shown, labels)]
    raise RunFolderError(f"{folders[0]} is given twice; each run folder may be named once")


def _config(stats: Table) -> dict[str, str]:
    config = stats.mapping("config")
    return {key: value if isinstance(value, str) else json.dumps(value)
            for key, value in config.items()}


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        expected = "expected the --out folder of a sluice run"
        if (path.parent / "index.html").is_file():
            expected = f"open the page that is there, {path.parent / 'index.html'}"
        raise RunFolderError(f"{path} does not exist; {expected}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from error


def read_object(path: Path, schema: str) -> Table:
    """The JSON object of a file, which must be of this schema."""
    text = _read_text(path)
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_read_int,
                           parse_float=_read_float)
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{path} is cut off or damaged, and not valid JSON: {error}; run the"
                             " command again") from error
    if not isinstance(value, dict):
        raise RunFolderError(f"{path} holds no JSON object")
    found = value.get("schema")
    if found != schema:
        # A run is what a report expects unless it knows better.
        drawn = [schema, *(name for name in _DRAWN if schema == RUN_SCHEMA)]
        if found in (RUN_SCHEMA, *_DRAWN):
            raise RunFolderError(f"{path}: {_NAMES[found]}, beside {_NAMES[schema]}; a report is of"
                                 " one kind: give each kind a report of its own")
        expected = " or ".join(f'"{name}"' for name in drawn)
        name = str(found).partition("/")[0]
        # What is drawn, of another version, is no other result.
        if name.startswith("sluice.") and name not in [one.partition("/")[0] for one in drawn]:
            raise RunFolderError(_not_drawn(path, f"with schema {json.dumps(found)}"))
        raise RunFolderError(f"{path}: not the result of a Sluice command: its schema is"
                             f" {json.dumps(found)}, expected {expected}; name a folder that --out"
                             " made")
    kinds = _KINDS.get(schema, ())
    if kinds:
        _check(path, value, kinds)
    return Table(str(path), value, kinds)


def _not_drawn(path: Path, what: str) -> str:
    known = ", ".join(name for name, one in KINDS.items() if one in _KINDS[RUN_SCHEMA])
    return (f"{path}: a report draws no result {what}, only {known}, size and curve; its figures"
            " are in this file, and `sluice sweep` draws those of several")


def _check(path: Path, value: dict[str, Any], kinds: tuple[Any, ...]) -> None:
    """Every field that a result of this schema has must be there. Programs that are not ours say of
    themselves what they like."""
    try:
        if value["schema"] == PROGRAM_SCHEMA:
            if ours := _WORKLOADS.get(str(value.get("workload"))):
                read_as(ours, value)
            return
        of = KINDS.get(str(value.get("kind")), kinds[0])
        if of not in kinds:
            raise RunFolderError(_not_drawn(path, f"of kind \"{value['kind']}\""))
        read_as(of, value)
    except ResultError as error:
        raise RunFolderError(f"{path}: {error}; it is of another version of Sluice, or was changed:"
                             f" `sluice again {path.parent}` makes one of this version") from error


def schema_of(folder: Path) -> str | None:
    """The schema of a folder's result, if it has one."""
    try:
        value = json.loads((folder / "stats.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value.get("schema") if isinstance(value, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _read_int(text: str) -> int:
    if len(text) > MAX_DIGITS or abs(int(text)) > LARGEST:
        raise _too_large(text)
    return int(text)


def _read_float(text: str) -> float:
    value = float(text)
    if abs(value) > LARGEST:
        raise _too_large(text)
    return value


def _too_large(text: str) -> ValueError:
    shown = text if len(text) <= 20 else f"{text[:20]}.. ({len(text)} characters)"
    return ValueError(f"the number {shown} is too large, expected at most {LARGEST:g}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _read_program(path: Path) -> Program:
    table = read_object(path, PROGRAM_SCHEMA)
    suffix = path.stem.removeprefix("program").strip("-_.")
    name = " ".join(filter(None, [table.text("workload") or "program", suffix]))
    return Program(name, table, table.histogram("histogram"), table.tables("passes"))


def _read_latency(path: Path) -> tuple[Histogram | None, Histogram | None]:
    """Modelled and achieved; ``None`` where nothing was counted."""
    if not path.exists():
        return None, None
    columns = _read_columns(path, ("latency_ns", "modelled", "achieved"))
    pair = []
    for name in ("modelled", "achieved"):
        histogram = Histogram.from_pairs(np.column_stack([columns["latency_ns"], columns[name]]))
        pair.append(histogram if histogram.total else None)
    return pair[0], pair[1]


def _read_timeline(path: Path) -> Timeline | None:
    """The samples, from the start of the run on; ``None`` where there is none."""
    if not path.exists():
        return None
    columns = _read_columns(path, TIMELINE_REQUIRED)
    times = columns["t_s"]
    if np.any(np.diff(times) < 0):
        raise RunFolderError(f"{path}: t_s goes backwards; its rows must be in order of time")
    if len(times) and times[0] > 0:
        # The first sample is taken a while after the start, when nothing had been counted.
        columns = {name: np.append(0.0, values) for name, values in columns.items()}
    # A rate needs two.
    return Timeline(columns) if len(columns["t_s"]) > 1 else None


def _read_heat(path: Path) -> Heat | None:
    """The cells; ``None`` where there are none."""
    if not path.exists():
        return None
    columns = _read_columns(path, HEAT_REQUIRED)
    if not columns["misses"].any():
        return None
    widths = columns["to_s"] - columns["from_s"]
    pages = columns["pages"]
    if np.any(widths < 0) or np.any(pages <= 0) or np.any(pages != pages[0]):
        raise RunFolderError(f"{path}: its cells must end after they begin, and have "
                             "equally many pages")
    if np.any(columns["first_page"] > LAST_PAGE):
        raise RunFolderError(f"{path}: a first_page is beyond {LAST_PAGE}, which no device has")
    return Heat.of(columns, widths)


def _read_columns(path: Path, required: tuple[str, ...]) -> dict[str, np.ndarray]:
    try:
        rows = list(csv.reader(_read_text(path).splitlines()))
    except csv.Error as error:
        raise RunFolderError(f"{path} is no table of numbers: {error}") from error
    header = rows[0] if rows else list(required)
    missing = [name for name in required if name not in header]
    if missing:
        raise RunFolderError(f"{path}:1: no column {', '.join(missing)} in its header")
    numbers = np.array(list(_number_rows(path, rows[1:], len(header))), dtype=float)
    return dict(zip(header, numbers.reshape(-1, len(header)).T, strict=True))


def _number_rows(path: Path, rows: list[list[str]], width: int) -> Iterator[list[float]]:
    for line, row in enumerate(rows, start=2):
        try:
            numbers = [float(cell) for cell in row]
        except ValueError:
            numbers = []
        if len(numbers) != width or not all(0 <= number <= LARGEST for number in numbers):
            shown = ",".join(row)[:40]
            raise RunFolderError(f"{path}:{line}: \"{shown}\" is not a row of {width} numbers")
        yield numbers
