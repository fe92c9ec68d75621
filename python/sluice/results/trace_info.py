"""What is in a trace (`sluice trace info`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuAccesses:
    """What a CPU did."""
    accesses: int
    """Accesses, of every kind."""
    instructions: int
    """Instructions executed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Which memory was accessed."""
    bytes_in_lines: int
    """All lines, bytes."""
    bytes_in_pages: int
    """All pages, bytes."""
    highest: int | None
    """The highest address. `null` without accesses."""
    line_bytes: int
    """Size of a line, bytes."""
    lines: int
    """Lines."""
    lines_per_page: float | None
    """Lines of a page that were accessed, on average."""
    lowest: int | None
    """The lowest address. `null` without accesses."""
    page_bytes: int
    """Size of a page, bytes."""
    pages: int
    """Pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """How a trace was made."""
    block_requests: bool | None = None
    """Whether it may have requests by the block door."""
    command: str
    """What was recorded: a command line, or the file that this one was converted from."""
    filter: str | None
    """What kept accesses out of the trace, such as a host cache; none: every access is in it."""
    granularity: int
    """Every address is a multiple of this power of two: 1 for bytes, 64 for lines."""
    made_by: str
    """The program that wrote it, with its version."""
    order: str
    """What the order between CPUs says."""
    space: str
    """Whose addresses they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LruSize:
    """What a cache with LRU would do."""
    miss_ratio: float | None
    """misses ÷ touches."""
    misses: int
    """Touches that miss."""
    pages: int
    """Pages that the cache holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """How soon pages were accessed again, and what that means for caches."""
    distances: list[ReuseDistance]
    """Touches by the number of other pages in between."""
    lru: list[LruSize]
    """What caches with LRU would do, by their size."""
    touches: int
    """Accesses to another page than the access before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseDistance:
    """Touches with about the same distance."""
    count: int
    """How many touches."""
    from_: int
    """Other pages in between, at least; at most twice as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceInfo:
    """What is in a trace (`sluice trace info`)."""
    accesses: int
    """Accesses, of every kind."""
    block_requests: int
    """Reads, writes, trims and flushes by the block door; a large request is several."""
    blocks: int
    """Blocks of the file."""
    bytes_per_access: float | None
    """Bytes of the file for an access."""
    cpus: list[CpuAccesses]
    """What each CPU did."""
    fetches: int
    """Fetches of instructions."""
    file: str
    """The file."""
    file_bytes: int
    """Bytes of the file."""
    footprint: Footprint
    """Which memory was accessed."""
    header: Header
    """How the trace was made."""
    instructions: int
    """Instructions of all CPUs."""
    instructions_per_access: float | None
    """Instructions for a load or store."""
    loaded_bytes: int
    """Bytes loaded."""
    loads: int
    """Loads."""
    reuse: Reuse | None
    """How soon pages were accessed again. `null` without `--reuse`."""
    schema: str
    """Version of the fields."""
    store_ratio: float | None
    """stores ÷ (loads + stores)."""
    stored_bytes: int
    """Bytes stored."""
    stores: int
    """Stores."""
    unfinished: str | None
    """What is left out, if the trace was not finished. `null` if it was."""
