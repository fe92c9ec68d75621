"""Parts of several kinds of results, and of one that is full.

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Amat:
    """Mean time of an access that left the processor and was not replayed later, ns. The parts
    add up."""
    accesses: int
    """How many accesses these are."""
    device_dram: float | None
    """In the device's DRAM."""
    flash: float | None
    """In flash, waiting for it included."""
    host_demand: float | None
    """Mean time of the accesses of host memory that somebody asked for, reads and stores that
    miss, without lines written back: SkyByte's AMAT of DRAM-Only. No part of the total."""
    host_dram: float | None
    """In host memory."""
    indexing: float | None
    """Finding out where the page is in the device."""
    protocol: float | None
    """On the link."""
    total: float | None
    """The whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Where the cores' time went, as shares of it."""
    compute: float | None
    """In cycles that issue an instruction other than a load or store (SkyByte section II-C)."""
    idle: float | None
    """Without a thread to run."""
    memory: float | None
    """In cycles in which nothing but memory instructions goes on."""
    switching: float | None
    """In context switches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """What a device's cache did."""
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
    hit_ratio: float | None
    """hits ÷ (hits + misses), of those that the device knows."""
    hits: int
    """Hits that the device knows of. `hits_are` says which these are. An access to a page on its
    way is one (`served.merge` of a simulation): it does not go to flash itself."""
    hits_are: str
    """Which hits the device knows of, in words."""
    misses: int
    """Accesses that went to flash."""
    optimum_misses: int | None
    """Misses of Belady's optimum on all accesses: no policy has fewer without prefetching. `null`
    without `sluice sim --bound`, which alone keeps every access, and of 2^32 accesses or more."""
    policy_refused: int
    """Answers of a policy from outside that broke its contract. FIFO decided instead."""
    prefetch_accuracy: float | None
    """prefetch_used ÷ prefetch_issued. `null` if more were used than issued, as right after a
    warm-up."""
    prefetch_coverage: float | None
    """prefetch_used ÷ (prefetch_used + misses): would-be misses that a prefetch took away."""
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
    prefetch_timeliness: float | None
    """(prefetch_used − prefetch_late) ÷ prefetch_used."""
    prefetch_unused: int
    """Prefetched pages that left without an access."""
    prefetch_used: int
    """Prefetched pages that were accessed before they left. Of those mapped on arrival the device
    sees one in `prefetch.sample`, which stands for the others."""
    reactivated: int
    """Inactive pages that were accessed before they left, so that the policy had them back."""
    reuse_hit_ratio: float | None
    """hits ÷ (hits + misses) without `first_misses`, which no larger cache and no other policy
    avoids."""
    sampled: Sampled | None
    """The hit ratio by sampling (`sluice run --sample-hits`). `null` without samples, and in a
    simulation, which has no need of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The part of a live run that its figures are of: `traps`, `trap_kinds`, `cache`,
    `latency_ns`, `latency_parts_ns`, `late` and `flash`."""
    from_: str | None
    """What was waited for (`--count-after`), or `reset`; `null` if all counts."""
    from_s: float | None
    """Seconds from the start of the program until then. `null` if that did not come: all
    counts."""
    wall_s: float
    """The time that counts, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceParts:
    """The modelled time of an access that the device saw, by cause, on average, ns. The parts add
    up to the whole. `null` where there was no access."""
    dram: float | None
    """In the device's DRAM (`cache.hit_latency`)."""
    flash_gc: float | None
    """Waiting behind garbage collection."""
    flash_queue: float | None
    """Waiting for a die or channel behind other work."""
    flash_service: float | None
    """Sensing and transfer in the flash array."""
    indexing: float | None
    """Finding out where the page is (`cache.index_latency`, `write_log.index_latency`)."""
    merge: float | None
    """Waiting for a page that was on its way already."""
    protocol: float | None
    """On the CXL link (`device.protocol_latency`)."""
    stall: float | None
    """Waiting to be taken in: for an MSHR entry, for a page of the set that can leave, for a free
    buffer of the write log, or in a memory expander for its turn (`memory.transfer`,
    `memory.banks`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What a device did as a disk of its guest."""
    answered_p50_ns: int
    """The guest was notified of half of them within this time, ns."""
    answered_p99_ns: int
    """The guest was notified of ninety-nine of a hundred within this time, ns."""
    device_p50_ns: int
    """Half of the reads and writes were done by the device within this time, from the guest's
    queue on, ns."""
    device_p99_ns: int
    """Ninety-nine of a hundred were, ns."""
    failed: int
    """Requests that ended with an error."""
    flushes: int
    """Requests to make durable what was written."""
    read_bytes: int
    """Bytes that were read."""
    reads: int
    """Requests that read."""
    trims: int
    """Requests that trimmed."""
    writes: int
    """Requests that wrote."""
    written_bytes: int
    """Bytes that were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A distribution with its histogram."""
    count: int
    """Values."""
    histogram: list[tuple[int, int]]
    """Pairs of nanoseconds (the middle of a bucket) and count, of each bucket that has any."""
    max: float | None
    """Largest value, exact."""
    mean: float | None
    """Mean. Live it is exact."""
    p50: float | None
    """Median, to within 0.4 % or 1 ns like the other percentiles."""
    p90: float | None
    """90th percentile."""
    p99: float | None
    """99th percentile."""
    p999: float | None
    """99.9th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flash:
    """What the flash behind the cache did."""
    bad_blocks: int
    """Blocks taken out of use after a failed program or erase."""
    erases: int
    """Blocks erased."""
    erases_of_a_line: LineErases | None
    """Erases of the lines (a block, or a superblock) of the host's data, of the device's whole
    life. Those of the map's lines (`ftl.mapping=dftl`) are in `erases` alone. `null` live, where
    the device keeps them to itself."""
    factory_bad_blocks: int
    """Blocks that were bad when the device was made and never used (`nand.bad_blocks`)."""
    forced_writes: int
    """Posted operations that went before later reads because the queue of their die was full."""
    gc_moves: int
    """Valid pages that garbage collection moved."""
    held_reads: int
    """Reads of pages whose program had not ended, so that the controller still held their data
    (`nand.priority = read_first`): no flash read."""
    programs: int
    """NAND pages programmed, those of garbage collection included."""
    read_only: bool | None
    """Whether the device has come to its end, and refuses writes. `null` live, where only
    `writes_refused` shows it."""
    read_retries: int
    """Senses of NAND pages that were repeated because the data was not right."""
    reads: int
    """NAND pages read, those of garbage collection included."""
    suspensions: int
    """Programs and erases that were suspended for a read, each time they were."""
    wear_moves: int
    """Pages that static wear levelling moved. They are also `gc_moves`."""
    write_amplification: float | None
    """Programs ÷ programs that the host's writes asked for."""
    write_buffer_reads: int
    """Reads of pages that were still in the write buffer (`ftl.write_buffer`): no flash read."""
    write_buffer_saved: int
    """Programs that the write buffer saved: pages there that were written again or discarded."""
    writes_refused: int
    """Writes refused because the flash is worn out. A warning says so as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """What a guest of `sluice vm --demo` said."""
    command: str
    """What it ran."""
    kernel: str | None
    """Release of the guest's kernel. `null` if it did not come up."""
    output: dict[str, Any] | None
    """The JSON object on the last line of what the command printed. `null` without one."""
    outputs: list[dict[str, Any]]
    """Every JSON object that it printed, a line each."""
    status: int | None
    """How the command ended. `null` if it did not."""
    topology: list[str]
    """Lines of `numactl -H`, `daxctl list` or `cxl list` in the guest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitTimes:
    """What a load takes that finds its page in the device's cache, and is in no processor's."""
    differ: bool | None
    """Whether they differ by more than a fifth of the device's time."""
    host_ns: int | None
    """On this host, where the program ran, ns. `null` where it could not be measured."""
    modelled_ns: float
    """On the device, by its parameters, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of caches."""
    hits: int
    """Look-ups that found their line."""
    merges: int
    """Of the hits, those to a line that was still on its way."""
    misses: int
    """Look-ups that did not find their line."""
    mpki: float | None
    """Misses in a thousand instructions."""
    mshr_wait_ns: float
    """Time that misses waited for an MSHR, ns. At the L3 the waits of all misses add up, at an L1
    those of the first in its queue."""
    write_backs: int
    """Lines written to the level below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Caches of all cores together."""
    l1: Level
    """The L1 caches."""
    l2: Level
    """The L2 caches."""
    l3: Level
    """The L3 cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineErases:
    """How evenly lines (a block, or a superblock) were erased."""
    least: int
    """Of the least worn line."""
    most: int
    """Of the most worn line."""
    total: int
    """Of all lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """How many of the 64-byte lines of pages were used."""
    touched_of_evicted: list[int]
    """Pages that left to make room, by the number of lines accessed."""
    written_of_programmed: list[int]
    """Programs of cached pages, by the number of lines stored to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a name means."""
    meaning: str
    """What it is."""
    name: str
    """The name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplied:
    """A parameter that a live run cannot apply to hits."""
    because: str
    """What comes of that."""
    key: str
    """The parameter."""
    value: str
    """Its value, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestShares:
    """Kinds of accesses that left the processor, as shares of all."""
    h_r: float | None
    """Reads of host memory."""
    h_w: float | None
    """Writes of host memory."""
    s_r_h: float | None
    """Reads that the device had in its DRAM."""
    s_r_m: float | None
    """Reads that had to wait for flash."""
    s_w: float | None
    """Writes to the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Accesses that left the processor, by the names of SkyByte's Figure 16."""
    h_r: int
    """Reads of host memory (H-R)."""
    h_w: int
    """Writes of host memory (H-W)."""
    s_r_h: int
    """Reads that the device had in its DRAM (S-R-H)."""
    s_r_m: int
    """Reads that had to wait for flash (S-R-M)."""
    s_w: int
    """Writes to the device (S-W)."""
    shares: RequestShares
    """The five as shares of the total."""
    total: int
    """All five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The hit ratio by sampling: of the distinct pages that a program uses within a window, the
    share that was in the cache."""
    cached_pages_used_per_window: float
    """Estimate of the cached pages used within a window: share touched × mapped pages, and the
    inactive pages that were used."""
    hit_ratio: float | None
    """Of the distinct pages used within a window, the share that was cached."""
    misses_per_window: float | None
    """Misses in as long a time as a window. `null` before the first trap."""
    pages: int
    """Cached pages that were taken away to see whether they are used."""
    reuse_hit_ratio: float | None
    """That share without first misses of a page."""
    touched: int
    """Of the pages taken away, those that were touched within their window."""
    window_s: float
    """Mean window, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Accesses that the device saw, each attributed once."""
    cache: int
    """In the cache."""
    flash: int
    """Behind the cache."""
    merge: int
    """On its way into the cache for an earlier access or a prefetch."""
    stalled: int
    """Of `cache`, `merge` and `flash`, those that had to wait to be taken in."""
    write_log: int
    """In the write log: every store, if there is one, and loads of a line in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOfDouble:
    """Figures of a distribution, ns: `null` of no values."""
    count: int
    """Values."""
    max: float | None
    """Largest value, exact."""
    mean: float | None
    """Mean. Live it is exact."""
    p50: float | None
    """Median, to within 0.4 % or 1 ns like the other percentiles."""
    p90: float | None
    """90th percentile."""
    p99: float | None
    """99th percentile."""
    p999: float | None
    """99.9th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLog:
    """What the write log did."""
    appends: int
    """Lines appended: every store, and every line of a page that the host demotes."""
    compaction_reads: int
    """Pages that compaction had to read first."""
    compactions: int
    """Buffers compacted."""
    dropped: int
    """Lines of pages that were discarded, promoted or written as a whole, and so left the log."""
    hits: int
    """Loads that found their line in the log."""
    index_bytes_max: int
    """The most memory that the log's index needed in the device's whole life, bytes: 16 for a
    page, 4 for a slot."""
    lines_flushed: int
    """Lines that the programmed pages carried."""
    pages_flushed: int
    """Pages that compaction programmed."""
    stall_ns: float
    """How long appends waited for a free buffer, all together, ns."""
    stalls: int
    """Appends that had to wait until a buffer was free."""
    superseded: int
    """Appends of a line that its buffer already had, so that the older copy is never flushed."""
