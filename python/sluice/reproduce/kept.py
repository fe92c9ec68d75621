"""Runs that have ended, in one file with a line for each.

Where thousands of runs are short, making a file for each would be a tenth of their work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_BEGIN = b'{"key": "'
_KEY = slice(len(_BEGIN), len(_BEGIN) + 24)


class Kept:
    """Lines by key. What is added is there for the next process too, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, tuple[int, int]] = {}
        self._is_torn = False
        try:
            with open(path, "rb") as file:
                at = 0
                for line in file:
                    if line.startswith(_BEGIN):
                        self._lines[line[_KEY].decode(errors="replace")] = (at, len(line))
                    at += len(line)
                    self._is_torn = not line.endswith(b"\n")
        except FileNotFoundError:
            pass

    def __len__(self) -> int:
        return len(self._lines)

    def run(self, key: str) -> dict[str, Any] | None:
        """What the run was, and in ``result`` what it printed; ``None`` if it is not there, or its
        line was never finished."""
        try:
            run: dict[str, Any] = json.loads(self.line(key))
        except (KeyError, ValueError):
            return None
        return run if "result" in run else None

    def runs(self) -> Iterator[dict[str, Any]]:
        """All that are there."""
        return filter(None, map(self.run, self._lines))

    def has(self, key: str, line: bytes) -> bool:
        """Whether this is the line that stands there."""
        return key in self._lines and self.line(key) == line

    def line(self, key: str) -> bytes:
        """The line of a key; raises ``KeyError``."""
        at, length = self._lines[key]
        with open(self._path, "rb") as file:
            file.seek(at)
            return file.read(length)

    def add(self, key: str, about: Mapping[str, Any], text: str) -> None:
        """A run whose result is ``text``, as it was printed: to write that anew would take as long
        as everything else."""
        told = json.dumps({"key": key, **about})
        self.append(f'{told[:-1]}, "result": {text}}}\n'.encode())

    def append(self, line: bytes) -> None:
        """A line of another such file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "ab", buffering=0) as file:
            # Behind one that a crash or a full disk has cut off.
            left = memoryview(b"\n" + line if self._is_torn else line)
            self._is_torn = True
            try:
                while left:
                    left = left[os.write(file.fileno(), left):]
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self._path)) from None
            self._is_torn = False
            self._lines[line[_KEY].decode()] = (file.tell() - len(line), len(line))
