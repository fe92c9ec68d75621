"""A workload on a simulated device (`sluice sim`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import (
    Cache,
    DeviceParts,
    Distribution,
    Flash,
    Lines,
    Served,
    SummaryOfDouble,
    WriteLog,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLatency:
    """Latencies of the accesses of a simulation."""
    accesses: SummaryOfDouble
    """Every access, hits too, ns."""
    histogram: list[tuple[int, int]] | None = None
    """Pairs of nanoseconds (the middle of a bucket) and count of the accesses, of each bucket
    that has any. Only with `--histogram`."""
    modelled: SummaryOfDouble
    """What the model asked for, ns: of misses, and of accesses to a page on its way for an
    earlier miss or a prefetch. With `--hits misses`, of all accesses that trap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDoor:
    """What came by the block door: requests for whole pages, which are no accesses."""
    cache_hits: int
    """Pages read that came from the cache."""
    flushes: int
    """Flushes."""
    latency_ns: Distribution
    """Latencies of requests, ns."""
    pages_flushed: int
    """Cached pages that flushes programmed. What they program of the write buffer
    (`ftl.write_buffer`) is in `programs` alone."""
    pages_read: int
    """Pages read."""
    pages_trimmed: int
    """Pages trimmed."""
    pages_written: int
    """Pages written."""
    refused: int
    """Requests that the device refused."""
    requests: int
    """Requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimResult:
    """A workload on a simulated device (`sluice sim`)."""
    accesses: int
    """Accesses issued."""
    block: BlockDoor | None = None
    """What the block door did. Absent if nobody asked there."""
    cache: Cache
    """What the device's cache did."""
    config: dict[str, str]
    """Every parameter of the device as resolved, by key, as text."""
    device: str
    """The device's preset or file, as named on the command line."""
    flash: Flash
    """What the flash did."""
    hash: str
    """Of the whole run: two with the same input have the same, and two with other warm-ups
    others."""
    hits_visible: str
    """What the device saw: `all` accesses, or only those that trap (`misses`)."""
    kind: str
    """Which kind of result this is."""
    latency_ns: AccessLatency
    """Latencies, ns."""
    latency_parts_ns: DeviceParts
    """The modelled time of an access that the device saw, by cause, on average, ns."""
    lines: Lines | None
    """Lines of the pages that left. `null` without `cache.track_lines = yes`."""
    mapped_hits: int
    """Accesses to mapped pages, which the device did not see."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    served: Served
    """Where accesses were served."""
    sim_time_s: float
    """Simulated time, s."""
    traps: int
    """Accesses to pages that were not mapped."""
    version: str
    """Version of Sluice."""
    warmup_accesses: int
    """Accesses before counting began, to warm the device. No other figure has them but `hash`,
    and what counts from the device's beginning: `lines`, `write_log.index_bytes_max`, and
    wear."""
    workload: str
    """The access pattern, or `trace:` and the file."""
    write_log: WriteLog | None
    """What the write log did. `null` without one."""
