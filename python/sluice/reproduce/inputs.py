"""The files that the arguments of a run name: with other contents it is another run."""

from __future__ import annotations

import hashlib
import os
import re
import time
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice.errors import ExperimentError

Digests = Mapping[str, str]
"""Files by their names, as they are found from the current folder, with the hash of their bytes."""
_READERS = ("sim", "fabric", "files", "curve")
"""Commands that start no program: nothing of theirs changes a file that they name."""
_OF_DEVICE = (".toml", ".so")
"""What Sluice reads itself for any command, unless its program is given it."""
_WRITTEN = ("--metrics", "--record", "--output", "-o")
"""Options whose file a run writes."""
_SETTLED_NS = 10**9
"""Later than this after the last change of a file, another one shows in the file's times."""


class Inputs:
    """The files that runs of one session name. Each is read once, as long as it stays the same."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[str, ...]] = {}
        self._below: dict[tuple[str, str], tuple[str, ...]] = {}
        self._first: dict[str, str] = {}

    def of(self, arguments: Sequence[str]) -> Digests:
        """The files of a run, and those that they name in turn. Raises ``ExperimentError`` for one
        that has changed since a run of this session named it, unless a program may change it."""
        found: dict[str, str] = {}
        left = [name for before, word in zip(("", *arguments), arguments, strict=False)
                if before not in _WRITTEN and word.split("=")[0] not in _WRITTEN
                for name in self._of_word(word)]
        while left:
            name = left.pop()
            read = None if name in found else _read(name)
            if read:
                found[name] = read.digest
                left += self._of_file(name, read)
        for name in steady(arguments, found):
            if self._first.setdefault(name, found[name]) != found[name]:
                raise other(name)
        return found

    def left(self, arguments: Sequence[str]) -> Digests:
        """The same of a run that has ended, whose program may have made some of them."""
        if arguments[0] not in _READERS:
            for word in arguments:
                self._named.pop(word, None)
        return self.of(arguments)

    def _of_word(self, word: str) -> tuple[str, ...]:
        if word not in self._named:
            self._named[word] = tuple(filter(os.path.isfile, dict.fromkeys(_names(word))))
        return self._named[word]

    def _of_file(self, name: str, read: _Read) -> tuple[str, ...]:
        """A device is beside the file that names it, and a policy in the current folder."""
        key = name, read.digest
        if key not in self._below:
            folder = os.path.dirname(name)
            names = [os.path.join(place, one) for text in read.texts for one in _names(text)
                     for place in dict.fromkeys((folder, ""))]
            self._below[key] = tuple(filter(os.path.isfile, dict.fromkeys(names)))
        return self._below[key]


def other(name: str) -> ExperimentError:
    """The error for a file that was another one for some runs of a session than for others."""
    return ExperimentError(f"{name} changed during the runs; give the same command again, and those"
                           " that have read it run anew")


def steady(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """Those of the names whose files no run changes: a program may write what it is given."""
    if arguments[0] in _READERS:
        return list(names)
    if "--" not in arguments:
        return []
    program = {name for word in arguments[arguments.index("--"):] for name in _names(word)}
    return [name for name in names if name.endswith(_OF_DEVICE) and name not in program]


def digest(name: str) -> str:
    """The hash of a file's bytes; empty if there is no such file."""
    read = _read(name)
    return read.digest if read else ""


def _names(text: str) -> Iterator[str]:
    """What may be a file's name in a word such as ``FILE``, ``KEY=FILE`` or ``KIND:FILE,KEY=1``."""
    yield text
    for sign in re.finditer("[=:,]", text):
        rest = text[sign.end():]
        yield rest
        yield re.split("[:,]", rest, maxsplit=1)[0]


@dataclass(frozen=True)
class _Read:
    """A file as it was read."""

    stamp: tuple[int, ...]
    digest: str
    texts: tuple[str, ...]
    """The texts in a file of TOML, which may name others."""


_READ: dict[str, _Read] = {}


def _read(name: str) -> _Read | None:
    """Reads a file, unless it is the same one as before: its times change with its contents, and
    those of a change cannot be set."""
    try:
        status = os.stat(name)
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns,
                 status.st_ctime_ns)
        known = _READ.get(name)
        if known and known.stamp == stamp:
            return known
        with open(name, "rb") as file:
            if name.endswith(".toml"):
                whole = file.read()
                read = _Read(stamp, hashlib.sha256(whole).hexdigest(), tuple(_texts(whole)))
            else:
                read = _Read(stamp, hashlib.file_digest(file, "sha256").hexdigest(), ())
    except OSError:
        return None
    if time.time_ns() - status.st_ctime_ns > _SETTLED_NS:
        _READ[name] = read
    return read


def _texts(whole: bytes) -> Iterator[str]:
    try:
        left: list[Any] = [tomllib.loads(whole.decode())]
    except ValueError:
        return
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
