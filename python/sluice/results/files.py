"""Threads that reach their data as a file (`sluice files`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Counters of a device's cache."""
    clean_write_backs: int
    """Pages that cost a NAND program when they left although nothing was written to them
    (`host.device_write_back = all`)."""
    deactivated: int
    """Pages that the policy let go and that stayed, out of the program's sight; see
    `cache.inactive`."""
    dirty_evictions: int
    """Of the evictions, those of pages that had been written; each costs a NAND program."""
    evictions: int
    """Pages that left the cache to make room."""
    first_misses: int
    """Misses on a page that never missed before: no cache could have had it, and prefetching
    alone avoids them."""
    policy_refused: int
    """Answers of a policy from outside that broke its contract. FIFO decided instead."""
    prefetch_dropped: int
    """Prefetches given up because no MSHR entry was free or no page could leave."""
    prefetch_issued: int
    """Pages that the prefetcher brought in, or an access ahead of others in order
    (`MADV_SEQUENTIAL`). Pages of commands and of `MADV_WILLNEED` are no prefetched ones."""
    prefetch_late: int
    """Of the prefetched pages that were used, those still on their way at the access."""
    prefetch_mapped: int
    """Of the prefetched pages, those that a host mapped when they arrived, so that their accesses
    are not seen."""
    prefetch_refused: int
    """Pages that a prefetcher from outside picked against its contract: the device does not have
    them, or they were too many. They were not brought in."""
    prefetch_unused: int
    """Prefetched pages that left without an access."""
    prefetch_used: int
    """Prefetched pages that were accessed before they left. Of those mapped on arrival the device
    sees one in `prefetch.sample`, which stands for the others."""
    reactivated: int
    """Inactive pages that were accessed before they left, so that the policy had them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesResult:
    """Threads that reach their data as a file (`sluice files`)."""
    block_reads: int
    """Pages that the SSD was asked to read."""
    block_writes: int
    """Pages that the SSD was asked to write."""
    bytes_per_s: float
    """Bytes read or written in a second, in the last pass, like all that follows."""
    cache: CacheCounts
    """What the device's cache did."""
    config: dict[str, str]
    """Every parameter of the device as resolved, by key, as text."""
    device: str
    """The device's preset or file, as named on the command line."""
    files: FilesTraffic
    """What the threads did."""
    hash: str
    """Of the whole result: equal runs have the same."""
    latency_ns: Distribution
    """Latencies of requests, ns."""
    misses: int
    """Misses of the device's cache by loads and stores."""
    requests: int
    """Requests; through `mmap`, pages."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    time_s: float
    """From the first request to the end of the last one, s."""
    version: str
    """Version of Sluice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTraffic:
    """What the threads do."""
    advice: str
    """The program's advice to the page cache: `normal`, `sequential` or `random`."""
    copy_ns: float
    """A page of host memory read or copied, ns."""
    cores: int
    """Cores that they share."""
    depth: int
    """Lines that a core has under way when it copies from or to the device."""
    host_cache_bytes: int
    """Bytes of the cache of blocks."""
    io_bytes: int
    """Bytes of a request."""
    lookup_ns: float
    """Looking up a page in the cache of blocks, ns."""
    minor_fault_ns: float
    """A fault on a page that the page cache has, ns."""
    passes: int
    """Times through the file."""
    random: bool
    """Whether requests come in the order of a permutation, the same in each pass."""
    readahead_bytes: int
    """The most bytes that the page cache reads ahead."""
    request_ns: float
    """Software of a request, or of a fault that has to read, ns."""
    size_bytes: int
    """Bytes of a part."""
    switch_ns: float
    """From one thread to another on a core, ns."""
    threads: int
    """Threads, each with a part of the file."""
    through: str
    """`mmap`, `read`, `direct`, `block-cache` or `file`."""
    write: bool
    """Whether requests write."""
