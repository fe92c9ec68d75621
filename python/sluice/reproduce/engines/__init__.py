"""What carries out runs: this machine's cores, or a cluster by way of Dask."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from sluice.arguments import count
from sluice.errors import ExperimentError
from sluice.reproduce.inputs import Digests, digest

Arguments = tuple[str, ...]
JOBS = len(os.sched_getaffinity(0)) + 1
"""Runs at a time, if nobody says how many: no core waits for the next one to start."""
QUEUES = {"slurm": "sbatch", "pbs": "qsub", "lsf": "bsub"}
"""Batch systems that `dask-jobqueue` submits to, each with the program that it does so by."""
_WANTED = f"local, dask://HOST:PORT, {', '.join(QUEUES)}"


@dataclass(frozen=True)
class Program:
    """The ``sluice`` that runs. Two with one version may differ: its bytes tell them apart."""

    path: Path

    @cached_property
    def version(self) -> str:
        """What ``--version`` prints. Raises ``ExperimentError`` for a program that is none."""
        done = subprocess.run([self.path, "--version"], capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0 or not done.stdout.strip():
            raise ExperimentError(f"{self.path}: `--version` prints none, status"
                                  f" {done.returncode}; --sluice names the program `sluice`")
        return done.stdout.strip()

    @cached_property
    def digest(self) -> str:
        """The hash of its file."""
        return digest(str(self.path))


@dataclass(frozen=True)
class Known:
    """A program of which only these are known: another machine has it."""

    version: str
    digest: str


@dataclass(frozen=True)
class Outcome:
    """What became of a run: the object that it printed, or what was wrong."""

    result: dict[str, Any] | None
    problem: str
    wall_s: float
    text: str = ""
    """The object as it was printed, on one line."""
    inputs: Digests = field(default_factory=dict)
    """The files that it read on another machine."""


class Engine(Protocol):
    """Something that runs argument lists of ``sluice``."""

    def outcomes(self, program: Program, todo: Mapping[Arguments, Digests], alone: bool
                 ) -> Generator[tuple[Arguments, Outcome], None, None]:
        """Each with its end, as they end, of runs with the files that they name; with ``alone`` one
        at a time, on this machine. Closing the iterator, or ``KeyboardInterrupt``, ends what is
        under way."""


def environment(program: Path) -> dict[str, str]:
    """A program that a run starts by the name `sluice` is the same one."""
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path}


def outcome(status: int, output: str, errors: str, wall_s: float) -> Outcome:
    """Of a run that has ended."""
    if status != 0:
        return Outcome(None, _problem(errors) or f"status {status}", wall_s)
    line = output.rstrip().rpartition("\n")[2]
    with suppress(ValueError):
        told = json.loads(line)
        if isinstance(told, dict):
            return Outcome(told, "", wall_s, line)
    return Outcome(None, "its last line is no JSON object", wall_s)


def _problem(errors: str) -> str:
    """The line that says what was wrong: that of a bad argument, that before the end of a guest's
    console, or the last one."""
    lines = errors.strip().splitlines()
    told = (line for line in lines if line.startswith(("error: ", "sluice: the guest failed: ")))
    return next(told, lines[-1] if lines else "")


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--jobs`` and ``--engine`` with what belongs to it."""
    parser.add_argument("--jobs", metavar="N", type=count, default=JOBS,
                        help="runs at a time on this machine (default: one more than there are"
                             " cores; what measures time always runs alone)")
    parser.add_argument("--engine", metavar="ENGINE", default="local",
                        help=f"where runs run: {_WANTED}. The last three submit workers of Dask by"
                             " dask-jobqueue (default: local)")
    parser.add_argument("--workers", metavar="N", type=count,
                        help="workers to submit, of one run at a time each (default: 1)")
    parser.add_argument("--worker-memory", metavar="SIZE", help="of each (default: 2GiB)")
    parser.add_argument("--worker-time", metavar="HH:MM:SS",
                        help="wall time of each (default: 01:00:00)")
    parser.add_argument("--queue", metavar="NAME", help="the batch system's queue or partition")


def _check_queue(queue: str, options: argparse.Namespace) -> None:
    """What dask-jobqueue would find out in a thread of its own, or never."""
    time, memory, submit = options.worker_time, options.worker_memory, QUEUES[queue]
    if time is not None and not re.fullmatch(r"\d+:\d\d:\d\d", time):
        raise ExperimentError(f"--worker-time {time}: expected HH:MM:SS, such as 01:00:00")
    if memory is not None and not re.fullmatch(r"\d+(\.\d+)? ?[kMGT]i?B", memory):
        raise ExperimentError(f"--worker-memory {memory}: expected a size such as 2GiB")
    if not shutil.which(submit):
        raise ExperimentError(f"--engine {queue}: no {submit} on the PATH, which submits its jobs;"
                              " run this where the batch system is")


def make(options: argparse.Namespace) -> Engine:
    """The engine that these options name. Raises ``ExperimentError`` if there is none, or the
    cluster cannot be reached."""
    queue = options.engine if options.engine in QUEUES else None
    of_queue = {"--workers": options.workers, "--worker-memory": options.worker_memory,
                "--worker-time": options.worker_time, "--queue": options.queue}
    for flag, value in of_queue.items():
        if value is not None and not queue:
            raise ExperimentError(f"{flag} {value}: only with --engine {', '.join(QUEUES)}, which"
                                  " submit workers")
    if options.engine == "local":
        from sluice.reproduce.engines.local import Local

        return Local(options.jobs)
    if not queue and not options.engine.startswith("dask://"):
        raise ExperimentError(f"--engine {options.engine}: no such engine; there are {_WANTED}")
    try:
        from sluice.reproduce.engines import cluster
    except ModuleNotFoundError as error:
        raise ExperimentError(f"--engine {options.engine} needs the Python package {error.name};"
                              " pip install 'sluice-cxl[cluster]'") from None
    if queue:
        _check_queue(queue, options)
        return cluster.submitted(queue, options.workers or 1, options.worker_memory or "2GiB",
                                 options.worker_time or "01:00:00", options.queue)
    return cluster.connected(options.engine)
