"""Simulations, whose results have attributes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from sluice import _core
from sluice import progress as bars
from sluice.errors import WorkloadError
from sluice.overrides import given
from sluice.paths import Name, text
from sluice.policy import Policy, PolicySpace, Prefetcher, PrefetchSpace, named
from sluice.result import Result
from sluice.seeds import checked, whole


def simulate(device: Name, overrides: Mapping[str, object] | None = None,
             workload: str | bytes = "chase", hits: str = "all", seed: int = 1, bound: bool = False,
             policy: Callable[[PolicySpace], Policy] | None = None, warmup: int = 0,
             prefetcher: Callable[[PrefetchSpace], Prefetcher] | None = None, *,
             progress: bool | None = None) -> Result:
    """An access pattern, or a trace as ``trace:PATH``, on a device, in virtual time: what ``sluice
    sim --json`` prints.

    ``overrides`` are values by key, ``hits`` is ``"all"`` or ``"misses"``, ``bound`` also counts
    the misses of Belady's optimum, ``warmup`` accesses are not counted. ``policy`` and
    ``prefetcher`` make a :class:`sluice.Policy` and a :class:`sluice.Prefetcher` written in Python,
    which ``config`` names as ``python:CLASS``.
    ``progress`` shows a bar (default: in a notebook, if it takes longer than a second); others run
    meanwhile, and Ctrl-C ends it. Fields that end in ``_ns`` are nanoseconds, in ``_s`` seconds.
    Raises :class:`sluice.ConfigError`, :class:`sluice.WorkloadError`, :class:`sluice.TraceError`
    and :class:`sluice.PolicyError`.

    >>> import sluice
    >>> result = sluice.simulate("cxl-ssd", {"cache.capacity": "1MiB", "device.capacity": "64MiB"},
    ...                          workload="chase:size=2MiB,stride=4096,passes=2")
    >>> result.cache.misses                     # 512 pages, made and walked twice; 256 are cached
    1536
    """
    with _bar(progress, "accesses") as told:
        found = Result(named(_core.simulate(
            text(device), given(overrides), os.fsdecode(workload), hits, checked(seed), bound,
            policy, whole("warmup", warmup), prefetcher, told), policy, prefetcher))
    if not found["accesses"] and found["warmup_accesses"]:
        raise _took_all(warmup, "more accesses in the workload than that")
    return found


def simulate_system(system: Name, workload: str | bytes,
                    overrides: Mapping[str, object] | None = None, scale: int | None = None,
                    warmup: int | None = None, instructions: int | None = None,
                    timeline: str | None = None, seed: int = 1, check: bool = False, *,
                    progress: bool | None = None) -> Result:
    """A kernel, or a trace as ``trace:PATH``, on a simulated host with its device: what ``sluice
    sim --system --json`` prints.

    ``scale``, ``warmup``, ``instructions``, ``timeline`` (a time such as ``"100us"``) and ``check``
    are those of the command; ``progress`` as of :func:`sluice.simulate`. Raises
    :class:`sluice.ConfigError`, :class:`sluice.WorkloadError` and :class:`sluice.TraceError`.

    >>> import sluice
    >>> result = sluice.simulate_system("skybyte-full", "srad", scale=64, warmup=0,
    ...                                 instructions=100_000)
    >>> result.instructions >= 100_000 and 0 < result.ipc
    True
    """
    warmup = None if warmup is None else whole("warmup", warmup)
    if instructions is not None:
        instructions = whole("instructions", instructions)
    if scale is not None:
        scale = whole("scale", scale, 2**32 - 1)
    with _bar(progress, "instructions") as told:
        found = Result(_core.simulate_system(text(system), os.fsdecode(workload),
                                             given(overrides), scale, warmup, instructions,
                                             timeline, checked(seed), check, told))
    if not found["instructions"] and found["warmup_instructions"]:
        raise _took_all(found["warmup_instructions"], "more instructions in the program than that")
    return found


def simulate_fabric(fabric: Name, overrides: Mapping[str, object] | None = None,
                    warmup: int = 100_000, requests: int = 256_000, seed: int = 1, *,
                    progress: bool | None = None) -> Result:
    """Requesters and memories on switches: what ``sluice fabric run --json`` prints.

    ``requests`` are counted after ``warmup`` of them; ``progress`` as of :func:`sluice.simulate`.
    Raises :class:`sluice.ConfigError`.

    >>> import sluice
    >>> result = sluice.simulate_fabric("esf", {"topology.kind": "ring"}, 1_000, 5_000)
    >>> result.bandwidth_mb_s > 0
    True
    """
    with _bar(progress, "requests") as told:
        return Result(_core.simulate_fabric(text(fabric), given(overrides), whole("warmup", warmup),
                                            whole("requests", requests, least=1), checked(seed),
                                            told))


def _took_all(warmup: int, what: str) -> WorkloadError:
    return WorkloadError(f"bad value for `warmup`: {warmup}; expected {what}", key="warmup",
                         value=str(warmup), expected=what)


def _bar(wanted: bool | None, what: str) -> bars.Bar:
    return bars.Bar(bars.of(wanted, what))
