"""Bandwidth against latency (`sluice curve`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import (
    Distribution,
    SummaryOfDouble,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLoad:
    """The threads at one pace."""
    accesses: int
    """Accesses of the threads."""
    bytes_per_s: float
    """Bytes that the threads loaded and stored in a second: 64 for each access, of a fabric
    `packet.payload`."""
    chase_latency_ns: SummaryOfDouble | None
    """Latencies of the dependent loads, ns. `null` without them."""
    hash: str | None
    """Of everything at this pace: equal runs have the same. `null` of what is measured."""
    hit_latency_ns: SummaryOfDouble | None
    """Latencies of the threads' accesses whose page was cached, ns. `null` where they are not
    timed one by one."""
    latency_ns: Distribution | None
    """Latencies of the threads' accesses, ns, those that found their page on its way among them.
    `null` where they are not timed one by one."""
    miss_latency_ns: SummaryOfDouble | None
    """Latencies of those that brought their page in, ns. `null` where they are not timed one by
    one."""
    misses: int | None
    """Of the device's accesses, those that brought their page in. `null` of the host, and of a
    fabric without devices."""
    pace_ns: float
    """From the beginning of a thread's access to that of its next, at least, ns."""
    time_s: float
    """From the first access to the end of the last thread's last one, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveResult:
    """Bandwidth against latency (`sluice curve`)."""
    config: dict[str, str] | None
    """Every parameter of the device, the system or the fabric, as resolved, by key, as text.
    `null` of the host."""
    device: str | None
    """The device's, the system's or the fabric's name or file, as on the command line. `null` of
    the host."""
    knee: int | None
    """The place in `loads` at which bandwidth by latency is largest. `null` without dependent
    loads beside the threads, or with a single pace."""
    loads: list[CurveLoad]
    """One for each pace, from the slowest to the fastest."""
    on: str
    """What was measured."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    traffic: CurveTraffic
    """What the threads did."""
    version: str
    """Version of Sluice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveTraffic:
    """What the threads of a curve do."""
    ahead_bytes: int
    """How far ahead of its thread a helper loads pages, bytes; 0: there are none."""
    chase_bytes: int
    """Bytes in which one more thread makes dependent loads; 0: there is none."""
    cores: int
    """Cores that the threads share; 0: one for each. Of a system all of its cores."""
    depth: int | None
    """Accesses of a thread under way at once. `null` where the processor decides, or the fabric's
    `requester.depth`."""
    numa_node: int | None
    """The NUMA node that the memory is bound to. `null`: it is not bound."""
    passes: int
    """Times that each thread goes through its region."""
    reads_percent: int
    """Loads of 100 accesses."""
    size_bytes: int
    """Bytes of a region."""
    start: str
    """`warm`: each page was loaded once before; `cold`: none was."""
    store: str
    """`cached`: through the host's caches; `nontemporal`: past them."""
    stride_bytes: int
    """Bytes from one place to the next."""
    threads: int
    """Threads, or requesters of a fabric, each in a region of its own."""
    walk: str
    """`order`: by address; `random`: each place drawn."""
