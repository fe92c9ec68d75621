"""Traces of memory accesses, as NumPy arrays."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluice._core import TraceReader
from sluice.paths import Name

LOAD, STORE, FETCH = 0, 1, 2
BLOCK_READ, BLOCK_WRITE, BLOCK_TRIM, BLOCK_FLUSH = 3, 4, 5, 6
"""Values of the field ``kind``."""

ACCESS = np.dtype(
    {
        "names": ["address", "instructions", "cpu", "size", "kind"],
        "formats": ["u8", "u8", "u4", "u2", "u1"],
        "offsets": [0, 8, 16, 20, 22],
        "itemsize": 24,
    }
)
"""An access: its byte address, the instructions that its CPU had executed before the one that made
it, the CPU, how many bytes it takes, and its kind."""


class Trace:
    """A trace file. ``len`` is its number of accesses; slices are arrays of :data:`ACCESS`.

    Nothing is kept in memory but what was asked for: ``trace[:]`` is all of it at once,
    :meth:`chunks` one part after the other.

    >>> import os, subprocess, tempfile, sluice
    >>> from sluice.reproduce import program
    >>> path = os.path.join(tempfile.mkdtemp(), "x.trace")
    >>> _ = subprocess.run([program.find(None), "trace", "convert", "--from", "lackey", "-", path],
    ...                    input=b" L 1000,8\\n S 2000,4\\n", check=True, capture_output=True)
    >>> trace = sluice.Trace(path)
    >>> len(trace), trace[:]["address"].tolist(), int(trace[1]["size"])     # in bytes
    (2, [4096, 8192], 4)
    """

    def __init__(self, path: Name) -> None:
        self._reader = TraceReader(os.fsdecode(path))
        self.header: dict[str, Any] = json.loads(self._reader.header)
        """How the trace was made."""
        self.cpus: list[int] = self._reader.cpus
        """Instructions that each CPU executed."""
        self.unfinished: str | None = self._reader.unfinished
        """What is left out, if the trace was not finished; otherwise ``None``."""

    def __len__(self) -> int:
        return self._reader.accesses

    def __getitem__(self, where: slice | int) -> Any:
        if not isinstance(where, slice):
            number = range(len(self))[operator.index(where)]
            return self._read(number, number + 1)[0]
        start, stop, step = where.indices(len(self))
        if step < 0:
            raise ValueError(f"a trace is read forwards: step {step}; expected 1 or more")
        return self._read(start, stop)[::step]

    def chunks(self, accesses: int = 1 << 20) -> Iterator[NDArray[np.void]]:
        """The whole trace, so many accesses at a time."""
        if accesses < 1:
            raise ValueError(f"chunks of {accesses} accesses; expected 1 or more")
        for start in range(0, len(self), accesses):
            yield self[start : start + accesses]

    def _read(self, start: int, stop: int) -> NDArray[np.void]:
        count = max(stop - start, 0)
        return np.frombuffer(self._reader.read(start, count) if count else b"", dtype=ACCESS)


def read_trace(path: Name) -> Trace:
    """Opens a trace that ``sluice trace`` made.

    Raises :class:`sluice.TraceError` if it cannot be read, is no trace, or is damaged.

    >>> import sluice
    >>> sluice.read_trace("missing.trace")
    Traceback (most recent call last):
        ...
    sluice.errors.TraceError: missing.trace: No such file or directory (os error 2)
    """
    return Trace(path)
