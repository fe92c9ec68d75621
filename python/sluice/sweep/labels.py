"""What stands at an axis of a sweep's pictures: a name that a person would use, and a unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from sluice import parquet

_LONGEST = 48
"""Letters of a parameter's meaning that have room at an axis."""
_TIMES = {"time_s": "time", "sim_time_s": "simulated time", "wall_s": "elapsed time",
          "cpu_s": "processor time"}
_FIRST = {"latency": "latency", "amat": "average memory access time", "time": "time"}
_OF = {"accesses": "of an access", "misses": "of a miss", "hits": "of a hit", "reads": "of a read",
       "writes": "of a write", "requests": "of a request"}
_STATISTIC = {"mean": "mean", "p50": "median", "min": "least", "max": "greatest",
              "std": "standard deviation"}
_WORDS = {"ipc": "instructions per cycle", "mpki": "misses for each 1,000 instructions"}


def of_measure(name: str, text: str, values: Sequence[Any]) -> str:
    """Of a measure: its own name, if it has one; of a field what the field is, and its unit."""
    if name != text or not re.fullmatch(r"\w+(\.\w+)*", text):
        return name
    unit = parquet.unit(text)
    words = _words(text)
    if text.endswith("_ratio"):
        unit = "0 to 1"
    elif not unit and all(isinstance(value, int | float) and value == int(value)
                          for value in values if value == value):
        unit = "number"
    return f"{words}, {unit}" if unit and words not in _WORDS.values() else words


def of_axis(name: str) -> str:
    """Of a parameter: the first words of its meaning, and its key."""
    meaning = re.split(r"[,;:(]", _meanings().get(name, ""))[0].strip()
    return f"{meaning} ({name})" if 0 < len(meaning) <= _LONGEST else name


@cache
def _meanings() -> dict[str, str]:
    from sluice import model

    every = [*model.fabric_params(), *model.host_params(), *model.params()]
    return {param["key"]: param["meaning"] for param in every}


def _statistic(part: str) -> str:
    """In words, where a part of a field's name is one: ``p999`` is the 99.9th percentile."""
    found = re.fullmatch(r"p(\d\d)(\d*)", part)
    if found:
        return f"{'.'.join(filter(None, found.groups()))}th percentile"
    return _STATISTIC.get(part, "")


def _words(text: str) -> str:
    """The parts of a field as words, from the whole to the part; a statistic comes last."""
    if text in _TIMES:
        return _TIMES[text]
    parts = [parquet.without_unit(part) for part in text.split(".")]
    last = _statistic(parts[-1])
    parts = parts[:-1] if last else parts
    if parts[0] in _FIRST:
        of = [_OF.get(part, part.replace("_", " ")) for part in parts[1:]]
        words = " ".join([_FIRST[parts[0]], *of])
    else:
        words = " ".join(_WORDS.get(part, part.replace("_", " ")) for part in parts)
    return f"{words}, {last}" if last else words
