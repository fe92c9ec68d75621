"""Parquet files of runs: a row for each, with its resolved configuration, and units as metadata."""

from __future__ import annotations

import difflib
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path
from typing import Any

from sluice.errors import TableError
from sluice.frames import library
from sluice.paths import Name

SCHEMA = "sluice.runs/1"
KEY = b"sluice"
"""Of the schema's metadata; its value is a JSON object with ``schema`` and what made the file."""
CONFIG = "config."
ERROR = "error"
_UNIT = re.compile(r"(?:^|_)(bytes_per_s)$|_(per_s|ps|ns|us|ms|s|bytes|gb_s|mb_s|iops)$")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Labels that are numbers; ``007`` and ``1_0`` are names."""
_WORDS = {"gb_s": "GB/s", "mb_s": "MB/s", "bytes": "B", "bytes_per_s": "B/s", "per_s": "1/s"}
_NUMBERS = ("count",)
"""What stands beside the figures of a distribution, and is not in their unit."""


@dataclass(frozen=True)
class Column:
    """A column: its name, what it is (``axis``, ``measure``, ``config``, ``error``), its unit."""

    name: str
    kind: str
    values: Sequence[Any]
    unit: str = ""
    formula: str = ""


def unit(name: str) -> str:
    """Of a field of an output: a part of its name ends in it."""
    parts = name.split(".")
    for part in reversed(parts if parts[-1] not in _NUMBERS else []):
        found = _UNIT.search(part)
        if found:
            told = found[1] or found[2]
            return _WORDS.get(told, told)
    return ""


def without_unit(part: str) -> str:
    """A part of a field's name, without the unit that it ends in."""
    return _UNIT.sub("", part) or "bandwidth"


def axis(name: str, labels: Sequence[str]) -> Column:
    """Of the values of an axis: numbers if all of them are, and no two are the same number."""
    for kind, text in ((int, _WHOLE), (float, _NUMBER)):
        if all(text.fullmatch(label) for label in labels):
            numbers = [kind(label) for label in labels]
            is_held = kind is int or all(map(math.isfinite, numbers))
            if is_held and len(set(numbers)) == len(set(labels)):
                return Column(name, "axis", numbers)
    return Column(name, "axis", list(labels))


def configs(results: Sequence[Mapping[str, Any] | None]) -> Iterator[Column]:
    """The settings that each run resolved, as ``--set`` takes them."""
    found = [_by_key(result.get("config", {})) if result else {} for result in results]
    for key in sorted(set().union(*found)):
        yield Column(f"{CONFIG}{key}", "config", [one.get(key) for one in found])


def _by_key(config: Mapping[str, Any]) -> Mapping[str, str]:
    # Nearly all are so already, and of thousands of runs it takes a while to look at each value.
    is_flat = all(type(value) is str for value in config.values())
    return config if is_flat else dict(_settings(config))


def _settings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _settings(below, f"{path}.{key}" if path else key)
    elif value is not None:
        yield path, str(value)


def encode(columns: Iterable[Column], made: Mapping[str, Any]) -> bytes:
    """The file. The same columns give the same bytes."""
    import pyarrow
    from pyarrow import parquet

    fields, arrays = [], []
    for one in columns:
        about = {"kind": one.kind, "unit": one.unit, "formula": one.formula}
        kind = getattr(pyarrow, _kind(one))()
        arrays.append(_array(one.values, kind))
        fields.append(pyarrow.field(one.name, kind, metadata={
            key: value for key, value in about.items() if value}))
    about_all = {KEY: json.dumps({"schema": SCHEMA, **made}, sort_keys=True)}
    table = pyarrow.table(arrays, schema=pyarrow.schema(fields, metadata=about_all))
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _kind(column: Column) -> str:
    """The type of a column, by its name in Arrow."""
    values = column.values
    if column.kind in ("config", "error") or any(isinstance(value, str) for value in values):
        return "string"
    there = [value for value in values if value is not None]
    if not there or not all(type(value) is int for value in there):
        return "float64"
    # Seeds reach further than numbers with a sign.
    low, high = min(there), max(there)
    if -2**63 <= low and high < 2**63:
        return "int64"
    if 0 <= low and high < 2**64:
        return "uint64"
    return "string" if column.kind == "axis" else "float64"


def _array(values: Sequence[Any], kind: Any) -> Any:
    """An array of Arrow, laid out here: its own conversion imports pandas, which takes longer than
    all the rest."""
    import numpy as np
    import pyarrow

    if kind == pyarrow.string():
        # Of a setting there are few values among thousands of runs.
        # Names of files need not be text.
        texts = {value: b"" if value is None else str(value).encode(errors="replace")
                 for value in set(values)}
        known = [value is not None for value in values]
        rows = [texts[value] for value in values]
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        if ends[-1] > np.iinfo(np.int32).max:
            raise TableError(f"a column of {ends[-1]} bytes of text; Parquet takes 2 GiB")
        data = [ends.astype(np.int32), b"".join(rows)]
    else:
        whole = kind in (pyarrow.int64(), pyarrow.uint64())
        numbers = values if whole else [_number(value) for value in values]
        known = [number is not None for number in numbers]
        data = [np.array([number or 0 for number in numbers], kind.to_pandas_dtype())]
    there = np.packbits(known, bitorder="little")
    buffers = [pyarrow.py_buffer(part) for part in (there, *data)]
    return pyarrow.Array.from_buffers(kind, len(values), buffers)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class Runs:
    """The runs of a file: ``.columns``, ``.units`` by column, and ``.made``: what made it.

    >>> import io, pyarrow.parquet
    >>> from sluice.parquet import Column, Runs, encode
    >>> file = encode([Column("time_s", "measure", [0.5, None], "s")], {"version": "1"})
    >>> runs = Runs(pyarrow.parquet.read_table(io.BytesIO(file)))
    >>> len(runs), runs.units, runs["time_s"].tolist()
    (2, {'time_s': 's'}, [0.5, nan])
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self.made: dict[str, Any] = json.loads(table.schema.metadata[KEY])
        self.columns: list[str] = table.column_names
        self.units = {field.name: (field.metadata or {}).get(b"unit", b"").decode()
                      for field in table.schema}

    def __len__(self) -> int:
        return self._table.num_rows

    def __getitem__(self, column: str) -> Any:
        """A column as an array of NumPy. Raises ``KeyError`` that names the nearest ones."""
        if column not in self.columns:
            own = [name for name in self.columns if not name.startswith(CONFIG)]
            near = difflib.get_close_matches(column, self.columns, 4, 0.4) or own
            raise KeyError(f"no column {column!r}; near are {', '.join(near)}")
        return self._table[column].to_numpy()

    def to_arrow(self) -> Any:
        """As a table of Arrow."""
        return self._table

    def to_polars(self) -> Any:
        """As a frame of Polars, which must be installed."""
        return library("polars").from_arrow(self._table)

    def to_pandas(self) -> Any:
        """As a frame of pandas, which must be installed."""
        library("pandas")
        return self._table.to_pandas()


def read_runs(path: Name) -> Runs:
    """The runs that ``sluice sweep`` or ``sluice reproduce`` wrote as Parquet.

    Raises ``sluice.TableError`` for what is not there, no Parquet, or of another schema.

    >>> import sluice
    >>> sluice.read_runs("missing.parquet")
    Traceback (most recent call last):
        ...
    sluice.errors.TableError: missing.parquet: No such file or directory
    """
    import pyarrow
    from pyarrow import parquet

    path = fsdecode(path)
    try:
        with Path(path).open("rb") as file:
            table = parquet.read_table(file)
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    except pyarrow.ArrowInvalid:
        raise TableError(f"{path}: no file in Parquet's format") from None
    except ValueError as error:
        raise TableError(f"{path!r}: {error}") from None
    found = (table.schema.metadata or {}).get(KEY)
    try:
        about = json.loads(found) if found else {}
        schema = about.get("schema") if isinstance(about, dict) else about
        if schema == SCHEMA:
            return Runs(table)
    except ValueError:
        raise TableError(f"{path}: what it says of itself is damaged") from None
    what = f"its schema is {schema}" if schema else "Sluice has not made it"
    raise TableError(f"{path}: {what}; {SCHEMA} was needed, as `sluice sweep` writes it")
