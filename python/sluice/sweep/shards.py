"""A sweep in parts: each by a call of its own, on any machine, and one call that puts them
together."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sluice.errors import ExperimentError
from sluice.reproduce import program
from sluice.reproduce.engines import Arguments
from sluice.reproduce.inputs import steady
from sluice.reproduce.kept import Kept
from sluice.reproduce.matrix import Run
from sluice.reproduce.runner import put
from sluice.reproduce.section import Section
from sluice.sweep import file, pareto
from sluice.sweep.pareto import Pareto
from sluice.sweep.plan import NOTHING, Plan, plan

FILE = "shard.json"
SCHEMA = "sluice.sweep-shard/1"
MAX = 100_000
"""Shards of a sweep, at most."""


@dataclass(frozen=True)
class Wanted:
    """What a call asks for: enough to plan the same runs elsewhere."""

    over: tuple[str, ...]
    measures: tuple[str, ...]
    command: tuple[str, ...]
    mean: str | None
    file: Mapping[str, Any] | None
    """The values of ``--file``."""
    pareto: Pareto | None = None

    def plan(self) -> Plan:
        """The plan. Raises ``ExperimentError`` that names what is wrong."""
        read = NOTHING if self.file is None else file.of(
            Section(Path("--file"), "", self.file), self.command)
        return plan(self.over, self.measures, self.command, self.mean, read)


@dataclass(frozen=True)
class Shard:
    """Part ``number`` of ``count``: every ``count``-th run, so that all take about as long."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """The runs of the part."""
        return tuple(runs[self.number - 1::self.count])


def parse(text: str) -> Shard:
    """``2/4`` is the second of four parts."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.count <= MAX:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no part of a sweep; I/N is part I of N, such as 2/4")
    return shard


@dataclass(frozen=True)
class Part:
    """What a folder says of its shard."""

    folder: Path
    wanted: Wanted
    shard: Shard
    version: str
    program: str
    failures: Mapping[Arguments, str]

    @property
    def sweep(self) -> str:
        """A digest that all parts of a sweep share, and no others."""
        whole = json.dumps([asdict(self.wanted), self.shard.count, self.version, self.program],
                           sort_keys=True, default=str)
        return hashlib.sha256(whole.encode()).hexdigest()


def write(part: Part) -> None:
    """Says in the folder what part it has."""
    document = {"schema": SCHEMA, "sweep": part.sweep, "wanted": asdict(part.wanted),
                "shard": [part.shard.number, part.shard.count], "version": part.version,
                "program": part.program,
                "failures": [{"arguments": arguments, "problem": problem}
                             for arguments, problem in part.failures.items()]}
    put(part.folder / FILE, (json.dumps(document, indent=1, default=str) + "\n").encode())


def read(folder: Path) -> Part:
    """Raises ``ExperimentError`` if the folder has none."""
    path = folder / FILE
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        wanted = known["wanted"]
        if known["schema"] != SCHEMA:
            raise ExperimentError(f"{path}: its schema is {known['schema']}, not {SCHEMA}")
        texts = {key: tuple(wanted[key]) for key in ("over", "measures", "command")}
        return Part(folder, Wanted(**texts, mean=wanted["mean"], file=wanted["file"],
                                   pareto=pareto.read(wanted["pareto"])),
                    Shard(*known["shard"]), known["version"], known["program"],
                    {tuple(one["arguments"]): one["problem"] for one in known["failures"]})
    except ExperimentError:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise ExperimentError(f"{folder}: no shard of a sweep; `sluice sweep --shard I/N --out"
                              f" {folder}` makes one") from None
    except (ValueError, KeyError, TypeError):
        raise ExperimentError(f"{path}: damaged; run the shard again") from None


def together(folders: Sequence[Path]) -> list[Part]:
    """The parts, in order. Raises ``ExperimentError`` if they are not the whole of one sweep."""
    parts = [read(folder) for folder in folders]
    first = parts[0]
    by_number: dict[int, Part] = {}
    for part in parts:
        if part.sweep != first.sweep:
            raise ExperimentError(f"{part.folder} has a shard of another sweep than"
                                  f" {first.folder}: {_difference(first, part)}")
        other = by_number.setdefault(part.shard.number, part)
        if other is not part:
            raise ExperimentError(f"{part.folder} and {other.folder} both have shard {part.shard}")
    missing = [number for number in range(1, first.shard.count + 1) if number not in by_number]
    if missing:
        raise ExperimentError(f"shard {missing[0]}/{first.shard.count} is missing; --merge names"
                              " the folders of all of them")
    return [by_number[number] for number in sorted(by_number)]


def _difference(one: Part, other: Part) -> str:
    if one.shard.count != other.shard.count:
        return f"it is one of {other.shard.count}, not of {one.shard.count}"
    for key in ("command", "over", "measures", "mean", "file", "pareto"):
        ours, theirs = getattr(one.wanted, key), getattr(other.wanted, key)
        if ours != theirs:
            return f"its {key} is {theirs!r}, not {ours!r}"
    return f"another {one.version} ran it" if one.version == other.version else (
        f"{other.version} ran it, not {one.version}")


def gather(parts: Sequence[Part], runs: Sequence[Run], key: Callable[[Arguments], str],
           out: Kept) -> None:
    """Copies what the parts have run. Raises ``ExperimentError`` if a run is missing, or parts have
    read different files of one name."""
    lines: dict[str, bytes] = {}
    read: dict[str, tuple[str, Path]] = {}
    for part in parts:
        own, kept = part.shard.of(runs), Kept(part.folder / program.RUNS)
        todo = [run.arguments for run in own if run.arguments not in part.failures]
        there = {one: run for one in todo if (run := kept.run(key(one)))}
        if len(there) < len(todo):
            raise ExperimentError(f"{part.folder}: {len(todo) - len(there)} of {len(own)} runs of"
                                  f" shard {part.shard} are missing; the same command goes on"
                                  " there")
        for arguments, run in there.items():
            lines[key(arguments)] = kept.line(key(arguments))
            inputs = run.get("inputs", {})
            for name in steady(arguments, inputs):
                digest, other = read.setdefault(name, (inputs[name], part.folder))
                if digest != inputs[name]:
                    raise ExperimentError(f"{part.folder}: its runs have read another {name} than"
                                          f" those of {other}; run one of the shards again with"
                                          " the other's file")
    for one, line in lines.items():
        if not out.has(one, line):
            out.append(line)
