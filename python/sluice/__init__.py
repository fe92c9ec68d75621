"""Sluice: real programs on an emulated CXL-SSD, from Python.

``sluice.report`` writes pages about runs. The functions here speak to the device model itself,
the one that live runs and the simulator use.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Before the first line of `python -m sluice.sweep` runs, its package is imported for a tenth of a
# second.
if sys.orig_argv[1:2] == ["-m"] and sys.argv[:1] == ["-m"]:
    from sluice import commands

    commands.begin(sys.orig_argv[2])

# Tools know the name; `typing` itself would be imported before a command can take Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Names are imported when they are first used: NumPy and what reads results take longer to import
# than most commands need to begin. Typing tools and this module read the same list of them.
with open(f"{__file__.rpartition('.')[0]}.pyi", encoding="utf-8") as _list:
    _FROM = {words[3]: words[1] for words in map(str.split, _list)
             if words[:1] == ["from"] and words[1] != __name__}

__all__ = sorted(_FROM)


def __getattr__(name: str) -> Any:
    if f"{__name__}.{name}" in _FROM.values():
        # As `sluice.trace.STORE`, which needs no import of its own.
        return import_module(f"{__name__}.{name}")
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_FROM[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
