"""A program on a simulated host with its device (`sluice sim --system`, `sluice run
    --simulate`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.parts import (
    Amat,
    Bound,
    Cache,
    DeviceParts,
    Distribution,
    Flash,
    Guest,
    Levels,
    Lines,
    Requests,
    Served,
    WriteLog,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A program that QEMU executed (`sluice run --simulate`, `sluice vm --simulate`)."""
    accesses: int
    """Loads and stores that QEMU reported."""
    device_bytes: int
    """Of the pages touched, those on the device, in bytes."""
    footprint_bytes: int
    """The pages that it has touched, in bytes."""
    instructions: list[int]
    """Instructions that QEMU has executed, by CPU."""
    threads: int
    """CPUs of QEMU's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashCounts:
    """Counters of the flash."""
    bad_blocks: int
    """Blocks taken out of use after a failed program or erase."""
    erases: int
    """Blocks erased."""
    forced_writes: int
    """Posted operations that went before later reads because the queue of their die was full."""
    gc_moves: int
    """Valid pages that garbage collection moved."""
    held_reads: int
    """Reads of pages whose program had not ended, so that the controller still held their data
    (`nand.priority = read_first`): no flash read."""
    programs: int
    """NAND pages programmed, those of garbage collection included."""
    read_retries: int
    """Senses of NAND pages that were repeated because the data was not right."""
    reads: int
    """NAND pages read, those of garbage collection included."""
    suspensions: int
    """Programs and erases that were suspended for a read, each time they were."""
    wear_moves: int
    """Pages that static wear levelling moved. They are also `gc_moves`."""
    write_buffer_reads: int
    """Reads of pages that were still in the write buffer (`ftl.write_buffer`): no flash read."""
    write_buffer_saved: int
    """Programs that the write buffer saved: pages there that were written again or discarded."""
    writes_refused: int
    """Writes refused because the flash is worn out. A warning says so as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProgram:
    """A kernel of Sluice's."""
    checked: bool
    """Whether the last round was compared with a plain computation (`--check`). A difference is
    an error."""
    footprint_bytes: int
    """Its memory, bytes."""
    kernel: str
    """Its name."""
    parameters: dict[str, str]
    """The kernel's own parameters, by key, as text."""
    rounds: int
    """Rounds that all threads have finished, warm-up included."""
    seed: int
    """The seed of its data."""
    threads: int
    """Its threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What went over the link to the device."""
    bytes_from_device: int
    """Bytes of lines from the device."""
    bytes_to_device: int
    """Bytes of lines to the device."""
    gb_s_from_device: float | None
    """Bytes from the device in a second, in 10^9."""
    gb_s_to_device: float | None
    """Bytes to the device in a second, in 10^9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """Pages that moved between host memory and device."""
    buffer_device: int
    """Accesses to a page under way whose line was still in the device."""
    buffer_full: int
    """Promotions given up for want of an entry of the look-aside buffer."""
    buffer_host: int
    """Accesses to a page under way whose line had already moved."""
    demotions: int
    """Pages moved back."""
    device: MigrationCounts
    """The device's side."""
    dirty_demotions: int
    """Of the demotions, those that had to be written."""
    no_room: int
    """Promotions given up for want of host memory."""
    promotions: int
    """Pages moved to host memory."""
    samples: int
    """Faults taken for sampling (`migration.policy = tpp`)."""
    shootdowns: int
    """TLB shootdowns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationCounts:
    """What the device gave and got."""
    fills: int
    """Of the pages demoted, those that came into the device's cache and were not there."""
    given: int
    """Pages that the host demoted to the device."""
    programs: int
    """Of the pages demoted, those that were programmed at once: written through, or around the
    cache."""
    taken: int
    """Pages that the host promoted into its own memory."""
    taken_dirty: int
    """Of the pages promoted, those of which flash had an older copy or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A stretch of a run."""
    accesses: int
    """Accesses that left the processor."""
    flash: int
    """Accesses that waited for flash."""
    instructions: int
    """Instructions retired."""
    programs: int
    """NAND programs."""
    promotions: int
    """Pages promoted."""
    switches: int
    """Context switches."""
    t_s: float
    """When it ended, from the beginning of the measured part, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A phase that a kernel names."""
    cache_hit_ratio: float | None
    """cache_hits ÷ (cache_hits + cache_misses)."""
    cache_hits: int
    """Accesses that the device's cache had."""
    cache_misses: int
    """Accesses that the device's cache did not have, pages on their way included, which `cache`
    counts as hits."""
    instructions: int
    """Instructions of all times."""
    requests: Requests
    """Accesses that left the processor."""
    shortest_s: float
    """Simulated time of the shortest, s."""
    time_s: float
    """Simulated time of all of them, s."""
    times: int
    """How often it ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMachine:
    """The machine of a guest whose device is simulated."""
    accelerator: str
    """`tcg`."""
    cpus: int
    """CPUs that it may have at most."""
    memory_bytes: int
    """The guest's memory besides the device, bytes."""
    node_bytes: int
    """The device's size, bytes."""
    qemu: str
    """Version of QEMU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCounted:
    """The part of what QEMU executed that the figures are of, where it is not all."""
    from_: str | None
    """The mark with which it begins (`--from`, `--count-after`), or `reset`. `null` for the
    start."""
    from_s: float | None
    """Simulated time from the start until then, s. `null` if a mark did not come: all counts."""
    to: str | None
    """The mark with which it ends (`--to`). `null` for the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRegion:
    """A part of what QEMU executed, between two marks of the program or guest."""
    amat_ns: Amat
    """Mean time of an access that left the processor and was not replayed later, ns (SkyByte
    Figure 17)."""
    bound: Bound
    """Where the cores' time went."""
    cache: Cache
    """What the device's cache did."""
    flash: FlashCounts
    """What the flash did meanwhile."""
    flash_read_ns: Distribution
    """NAND reads that loads waited for, ns (SkyByte Table III)."""
    from_: str | None
    """The mark with which it begins. `null` for the start."""
    from_s: float
    """Simulated time from the start until then, s."""
    instructions: int
    """Instructions retired."""
    ipc: float | None
    """Instructions in a cycle of one core."""
    latency_ns: Distribution
    """Times of the accesses of `amat_ns`, ns (SkyByte Figure 3)."""
    latency_parts_ns: DeviceParts
    """The modelled time of an access that the device saw, by cause, on average, ns."""
    levels: Levels
    """Caches of all cores together."""
    link: Link
    """What went over the link to the device."""
    loads: int
    """Loads retired."""
    long_delays: int
    """Reads answered with a long-delay message."""
    migration: Migration
    """Pages that moved between host memory and device."""
    requests: Requests
    """Accesses that left the processor."""
    served: Served
    """Where accesses that the device saw were served."""
    squashed: int
    """Instructions given up at a switch, to be executed again."""
    stores: int
    """Stores retired."""
    switches: int
    """Context switches."""
    time_s: float
    """Simulated time, s."""
    tlb: Tlb
    """The TLBs of all cores together."""
    write_ratio: float | None
    """stores ÷ (loads + stores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """A program on a simulated host with its device (`sluice sim --system`, `sluice run
    --simulate`). Counts are of the measured part, without the warm-up and without what marks
    leave out. Only `lines`, `flash.read_only`, `flash.erases_of_a_line` and
    `write_log.index_bytes_max` are of the device's whole life, and `program` and `hash` of the
    whole run."""
    amat_ns: Amat
    """Mean time of an access that left the processor and was not replayed later, ns (SkyByte
    Figure 17)."""
    bound: Bound
    """Where the cores' time went."""
    cache: Cache
    """What the device's cache did."""
    command: list[str] | None = None
    """The program that QEMU executed, and its arguments. Only of a program that QEMU executed."""
    config: dict[str, str]
    """Every parameter of the host and its device, by key, as text, at the sizes that were
    simulated: divided by `scale`."""
    counted: SystemCounted | None = None
    """The part that counts. Only where marks say so."""
    exit: dict[str, int] | None = None
    """How the program ended: `{"code": N}`, or `{"signal": N}`. Only of one that QEMU
    executed."""
    flash: Flash
    """What the flash did."""
    flash_read_ns: Distribution
    """NAND reads that loads waited for, ns (SkyByte Table III)."""
    guest: Guest | None = None
    """What the guest said. Only with `sluice vm --simulate --demo`."""
    hash: str
    """A hash of the whole run: two runs with the same input have the same one."""
    instructions: int
    """Instructions retired."""
    ipc: float | None
    """Instructions in a cycle of one core."""
    kind: str
    """Which kind of result this is."""
    latency_ns: Distribution
    """Times of the accesses of `amat_ns`, ns (SkyByte Figure 3)."""
    latency_parts_ns: DeviceParts
    """The modelled time of an access that the device saw, by cause, on average, ns."""
    levels: Levels
    """Caches of all cores together."""
    lines: Lines | None
    """Lines of the pages that left. `null` without `cache.track_lines = yes`."""
    link: Link
    """What went over the link to the device."""
    loads: int
    """Loads retired."""
    long_delays: int
    """Reads answered with a long-delay message."""
    migration: Migration
    """Pages that moved between host memory and device."""
    phases: dict[str, Phase]
    """By name, what went on between the barriers of each phase that the kernel names. One under
    way when counting began or ended is left out."""
    program: KernelProgram | TraceProgram | Executed
    """What ran."""
    regions: list[SystemRegion] | None = None
    """From each mark of a program or guest to the next. Only of one that QEMU executed, and that
    set marks."""
    requests: Requests
    """Accesses that left the processor."""
    scale: int
    """What the program's memory and the capacities were divided by."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream but the program's."""
    served: Served
    """Where accesses that the device saw were served."""
    squashed: int
    """Instructions given up at a switch, to be executed again."""
    start: str
    """Where the program's pages are before it begins. `empty`: all in flash. `full`: in host
    memory and device cache as far as those have room. `others`: in flash, while host memory and
    cache are full of other pages (`host.start`). `host`: all in host memory. A trace and `run
    --simulate` begin `empty` unless `--set host.start` says otherwise, kernels as their system
    does."""
    stores: int
    """Stores retired."""
    switches: int
    """Context switches."""
    system: str
    """Name or file of the system, as named on the command line."""
    time_s: float
    """Simulated time, s."""
    timeline: list[Moment]
    """With `--timeline`, a row for each stretch that is over; otherwise empty."""
    tlb: Tlb
    """The TLBs of all cores together."""
    version: str
    """Version of Sluice."""
    vm: SimulatedMachine | None = None
    """The guest's machine. Only with `sluice vm --simulate`."""
    warmup_instructions: int
    """Instructions before counting began, as asked for."""
    workload: str
    """The kernel, as named on the command line, or `trace:` and the file, or a command line."""
    write_log: WriteLog | None
    """What the write log did. `null` without one."""
    write_ratio: float | None
    """stores ÷ (loads + stores)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tlb:
    """The TLBs of all cores together."""
    misses: int
    """Accesses to a page that the TLB did not have."""
    mpki: float | None
    """Misses in a thousand instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceProgram:
    """A recorded trace (`sluice sim --system --trace`)."""
    command: str
    """What was recorded."""
    filter: str | None
    """What kept accesses out of the trace. `null` if nothing did."""
    footprint_bytes: int
    """Its memory, bytes."""
    threads: int
    """CPUs that make accesses."""
    trace: str
    """`trace:` and the file."""
