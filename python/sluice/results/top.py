"""What the devices on this host are doing (`sluice top --json`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HotRange:
    """A range of device memory, and the misses in it."""
    address: int
    """Address of its first byte in the process; on the device, where that has no addresses of the
    process (shared memory, a guest)."""
    bytes: int
    """Its length, B."""
    misses_per_s: float
    """Misses in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """What the devices on this host are doing (`sluice top --json`)."""
    processes: list[TopRow]
    """Processes on a device, those with most misses first."""
    schema: str
    """Version of the fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopLatency:
    """Percentiles of what a program waited, µs."""
    p50: float
    """Median."""
    p99: float
    """99th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRow:
    """What a process did in a while, and what it is now."""
    cached_pages: int
    """Pages in the cache or on their way there."""
    command: str
    """Its command line."""
    device: str | None = None
    """The name of its device, if that is one beside its first (`sluice vm --another`)."""
    evictions_per_s: float
    """Evictions in a second."""
    flash_programs_per_s: float
    """NAND programs in a second."""
    flash_reads_per_s: float
    """NAND reads in a second."""
    gc_moves_per_s: float
    """Pages moved by garbage collection in a second."""
    hit_ratio: float | None
    """Traps on a page in the cache ÷ traps, of the interval."""
    hottest: list[HotRange]
    """The ranges of its memory with most misses in the interval, the hottest first; five at
    most."""
    late_ratio: float | None
    """Share of the timed misses that were late, of the interval."""
    latency_us: TopLatency
    """What the program waited for its misses, since its start."""
    misses_per_s: float
    """Misses in a second."""
    pid: int
    """Process id."""
    pinned_pages: int
    """Pages that are pinned."""
    traps_per_s: float
    """Traps in a second."""
