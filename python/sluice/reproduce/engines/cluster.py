"""Runs on a cluster. Dask gives them to workers, and to others when a worker is lost."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import platform
import queue
import subprocess
import time
from collections.abc import Generator, Mapping
from pathlib import Path

import distributed

from sluice.errors import ExperimentError
from sluice.reproduce.engines import Arguments, Outcome, Program, environment, outcome
from sluice.reproduce.inputs import Digests, Inputs, digest

REACH_S = 20
"""How long a scheduler may take to answer."""
LOST_S = 60
"""How long there may be no worker, where nobody submits one."""
_LOOK_S = 2.0
_NO_END = ("lost", "pending")
"""What a run is whose outcome is not there, or not there any more."""
_DEATHS = 3
"""Workers that may be lost during one and the same run."""
# Of a scheduler that is lost it prints pages; here it is a line.
logging.getLogger("distributed.client").setLevel(logging.CRITICAL)


def connected(engine: str) -> Cluster:
    """A scheduler that is there already: ``dask://HOST:PORT``. Raises ``ExperimentError`` if it
    does not answer."""
    address = engine.removeprefix("dask://")
    try:
        client = distributed.Client(f"tcp://{address}", timeout=REACH_S, name="sluice")
    except (OSError, TimeoutError, ValueError) as error:
        raise ExperimentError(f"--engine {engine}: no scheduler of Dask answers at {address}"
                              f" ({type(error).__name__}); `dask scheduler` starts one") from None
    return Cluster(client, engine, LOST_S)


def submitted(batch: str, workers: int, memory: str, wall_time: str, name: str | None) -> Cluster:
    """Workers of a batch system. Raises ``ExperimentError`` if it takes none."""
    cluster = jobs(batch, memory, wall_time, name)
    try:
        cluster.scale(workers)
        client = distributed.Client(cluster, timeout=REACH_S, name="sluice")
    except (OSError, RuntimeError, ValueError) as error:
        raise ExperimentError(f"--engine {batch}: {error}") from None
    return Cluster(client, batch, None)


def jobs(batch: str, memory: str, wall_time: str, name: str | None
         ) -> distributed.deploy.SpecCluster:
    """A cluster of jobs that have one worker each, none of them submitted yet."""
    import dask_jobqueue

    kinds = {"slurm": dask_jobqueue.SLURMCluster, "pbs": dask_jobqueue.PBSCluster,
             "lsf": dask_jobqueue.LSFCluster}
    try:
        return kinds[batch](cores=1, processes=1, memory=memory, walltime=wall_time, queue=name,
                            job_name="sluice")
    except (OSError, RuntimeError, ValueError) as error:
        raise ExperimentError(f"--engine {batch}: {error}") from None


class Cluster:
    """Workers behind a scheduler. They need this Python package, and the same ``sluice``."""

    def __init__(self, client: distributed.Client, name: str, lost_s: float | None) -> None:
        self._client = client
        self._name = name
        self._lost_s = lost_s

    def outcomes(self, program: Program, todo: Mapping[Arguments, Digests], alone: bool
                 ) -> Generator[tuple[Arguments, Outcome], None, None]:
        """See :class:`sluice.reproduce.engines.Engine`."""
        if alone:
            raise ExperimentError(f"--engine {self._name}: these runs measure time, one after"
                                  " another on this machine; --engine local does that")
        ended: queue.SimpleQueue[distributed.Future] = queue.SimpleQueue()
        futures = {}
        for arguments, inputs in todo.items():
            # A run's key does not depend on the coordinator: two of them share what is under way.
            future = self._client.submit(execute, str(program.path), program.digest, arguments,
                                         inputs, key=f"sluice-{_name(program, arguments, inputs)}",
                                         retries=0, allow_other_workers=False, pure=False)
            futures[future.key] = future, arguments
            future.add_done_callback(ended.put)
        try:
            while futures:
                done = self._next(ended)
                if done.key not in futures:
                    continue
                future, arguments = futures[done.key]
                if future.status == "cancelled":
                    # Nobody cancels a run of ours: the client does, of all, without a scheduler.
                    raise self._without_scheduler()
                if future.status in _NO_END:
                    # It had ended, and the worker that had its outcome is lost: it runs again.
                    future.add_done_callback(ended.put)
                    continue
                del futures[done.key]
                yield arguments, _outcome(future)
        finally:
            if self._client.status == "running":
                self._client.cancel([future for future, _ in futures.values()])

    def _next(self, ended: queue.SimpleQueue[distributed.Future]) -> distributed.Future:
        """The next that ends. Raises ``ExperimentError`` if nobody is left to carry it out."""
        alive = time.monotonic()
        while True:
            try:
                return ended.get(timeout=_LOOK_S)
            except queue.Empty:
                pass
            if self._client.status != "running":
                raise self._without_scheduler()
            if self._client.scheduler_info(n_workers=1)["n_workers"]:
                alive = time.monotonic()
            elif self._lost_s is not None and time.monotonic() - alive > self._lost_s:
                raise ExperimentError(f"--engine {self._name}: no worker for {self._lost_s:.0f} s;"
                                      " `dask worker` starts one, and the same command goes on"
                                      " from what has ended")

    def _without_scheduler(self) -> ExperimentError:
        return ExperimentError(f"--engine {self._name}: the scheduler is lost; what has ended is"
                               " kept, and the same command goes on from there")


def _name(program: Program, arguments: Arguments, inputs: Digests) -> str:
    whole = json.dumps([program.digest, arguments, sorted(inputs.items())])
    return hashlib.sha256(whole.encode()).hexdigest()[:24]


def _outcome(future: distributed.Future) -> Outcome:
    if future.status == "finished":
        return future.result()
    error = future.exception()
    if isinstance(error, distributed.KilledWorker):
        return Outcome(None, f"its worker was lost {_DEATHS + 1} times", 0.0)
    return Outcome(None, f"on its worker: {type(error).__name__}: {error}", 0.0)


def execute(path: str, program: str, arguments: Arguments, inputs: Digests) -> Outcome:
    """On a worker: one run of the ``sluice`` that is there, with the files that are there."""
    files = Inputs()
    here = files.of(arguments)
    for name, wanted in {path: program, **inputs}.items():
        if here.get(name, digest(name)) != wanted:
            return Outcome(None, f"{platform.node()} has no {name}, or another one than the"
                                 " coordinator's", 0.0)
    started = time.monotonic()
    done = subprocess.run([path, *arguments], capture_output=True, text=True,
                          errors="replace", check=False,
                          stdin=subprocess.DEVNULL, env=environment(Path(path)))
    ended = outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - started)
    files.of(arguments)
    return dataclasses.replace(ended, inputs=here)
