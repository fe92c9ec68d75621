"""A program, or a guest, on the emulated device (`sluice run`, `sluice vm`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sluice.results.hints import Hints
from sluice.results.parts import (
    Cache,
    Counted,
    DeviceParts,
    Disk,
    Flash,
    Guest,
    HitTimes,
    NotApplied,
)
from sluice.results.profile import MissProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What commands of the control ring did."""
    answered: int
    """Commands of the control ring that were answered."""
    evicted: int
    """Pages that evict commands, or hints, took out of the cache."""
    flushed: int
    """NAND programs because of flush and evict commands, or of hints."""
    pinned: int
    """Pages that were pinned, each time one was, also because they were locked."""
    prefetched: int
    """Pages that prefetch commands brought in."""
    refused: int
    """Of the commands answered, those that were malformed or refused as a whole."""
    settings_changed: int
    """Times that parameters were changed. `config` has those of the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFigures:
    """What the host did for the program."""
    children_filtered: int
    """Children that a filter of system calls has ended (SIGSYS), by what the program learned when
    it waited for them. It may have been for a call of the runtime's."""
    entry_ns: int
    """Cost of a trap before the runtime sees it, ns, as the session's first process measured."""
    exit_ns: int
    """Cost from the runtime's last act to the program's next instruction, ns, likewise."""
    forks: int
    """Forks of the program."""
    forks_outside: int
    """Of their children, those that went on off the device, since they could not open what a
    device needs: after `setuid`, for example. What these start is not counted."""
    hit_ns: int
    """Time of a load of a mapped page that no processor's cache has, ns, likewise; 0 where that
    cannot be measured."""
    kernel_faults: int
    """System calls that met a missing page in signal mode and were tried again."""
    major_faults: int
    """Major faults of the process at its end: pages that the kernel read from disk, of files or
    of memory that it had swapped out, where they delay the program unseen."""
    programs_outside: int
    """Programs that were started, by whichever process, and that the preload library did not
    reach: statically linked, set-user-ID, of another machine or C library, or without
    `LD_PRELOAD`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Waits that the runtime could not end in time."""
    count: int
    """Waits for a page that was not there, also where a prefetch or another thread had sent for
    it, that ended over 1 µs after the moment that the model asked for."""
    ratio: float | None
    """`count` ÷ the waits that were timed, `latency_ns.achieved.count`: not ÷ `cache.misses`."""
    run_delay_ns: int
    """How much longer than a wake-up these traps waited, all together, ns."""
    run_delays: int
    """Traps of which it was measured how long their thread waited for a CPU once its page was
    there: a sample, and only in event mode."""
    run_delays_late: int
    """Of these, those that waited over 1 µs longer than a wake-up takes. No other latency or
    count has this time."""
    soft: int
    """Traps on a page that was in the cache, which ended so late: prefetched, sampled, or given
    back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveMigration:
    """Pages that moved to host memory and back."""
    demotions: int
    """Pages that moved back to the device, for others or because a hint or a command named
    them."""
    dirty_demotions: int
    """Of the demotions, those of pages that had been written."""
    no_room: int
    """Hot pages that stayed on the device, since no page of host memory could leave at once."""
    promotions: int
    """Pages that moved to host memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A program, or a guest, on the emulated device (`sluice run`, `sluice vm`). The figures are
    those of the program itself: of the process that was started, and of its last image if it
    called `exec`. Its children have their own lines in `processes`."""
    cache: Cache
    """What the device's cache did."""
    command: list[str]
    """The program and its arguments."""
    commands: Commands
    """What commands of the [control ring](../control-ring.md) did."""
    config: dict[str, str]
    """Every parameter of the device as resolved, by key, as text."""
    counted: Counted
    """The part of the run that these figures are of: all of it, but for `--count-after` and
    `sluice ctl reset`."""
    device: str
    """The device's preset or file, as named on the command line."""
    devices: list[OneOfSeveral] | None = None
    """All devices of a guest that has several (`--another`). The figures above are the first
    one's."""
    exit: dict[str, int]
    """How the program ended: `{"code": N}`, or `{"signal": N}`."""
    flash: Flash
    """What the flash did."""
    guest: Guest | None = None
    """What the guest said. Only with `sluice vm --demo`."""
    hints: Hints
    """What hints of the program did."""
    hit_times: HitTimes
    """What a hit takes, on the device and on this host."""
    hits_visible: str
    """What the device saw: only accesses that trap (`misses`)."""
    host: HostFigures
    """What the host did for the program."""
    kernel: str
    """Release of the kernel."""
    kind: str
    """Which kind of result this is."""
    late: Late
    """Waits that the runtime could not end in time."""
    latency_ns: MissLatency
    """Latencies of waits for pages that were not there, ns."""
    latency_parts_ns: DeviceParts
    """The modelled time of a trap, by cause, on average, ns."""
    live_config: dict[str, str]
    """What is set of the run beside the device (`host.on_long_delay` and others), by key."""
    memory: Memory
    """What the program did with device memory."""
    migration: LiveMigration
    """Pages that moved to host memory and back (`host.migration.policy`)."""
    not_applied: list[NotApplied]
    """Parameters that hits do not take, because they run at this host's speed."""
    other_processes: OtherProcesses | None
    """The others together. `null` if each has a line."""
    place: str
    """`heap` or `dax:PATH`; of a guest `guest:` and how the device is attached."""
    processes: list[ProcessResult]
    """Every process and every program image that has a line of its own, in order of start: the
    program itself, and of the others the 256 with the most traps."""
    profile: MissProfile | None = None
    """Which allocations and which threads the misses of the whole run belong to, of the processes
    with a line of their own. Only with `--profile`."""
    regions: list[Region]
    """The figures from each mark to the next (`sluice_mark`, `sluice ctl mark`). Empty without
    marks."""
    schema: str
    """Version of the fields."""
    seed: int
    """Seed of every random stream."""
    store: StoreFigures
    """Where the heap's evicted pages were (`--store`)."""
    trap_kinds: TrapKinds
    """Traps by kind."""
    trap_mode: str
    """`event` or `signal`."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""
    version: str
    """Version of Sluice."""
    vm: Machine | None = None
    """The guest's machine. Only of `sluice vm`."""
    wall_s: float
    """From the start of the program to its end, s."""
    workload: WorkloadFigures | None = None
    """The figures of the guest's command alone, without the boot. Only with `sluice vm
    --demo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine of a guest with an emulated device."""
    accelerator: str
    """`tcg` or `kvm`."""
    attach: str
    """How the device is attached: `numa`, `dax` or `cxl`."""
    cpus: int
    """CPUs that it may have at most."""
    direct: bool
    """Whether the guest's accesses reach a cached page without QEMU."""
    disk: Disk | None
    """What the device did as a disk. `null` if it was none."""
    emulated: bool
    """`false` with `--baseline`: there was no device, the fields of a live run are empty, and
    there is no `workload`."""
    hardware: bool
    """Whether the processor itself executes the guest: KVM, and one that does not interpret."""
    memory_bytes: int
    """The guest's memory besides the device, bytes."""
    qemu: str
    """Version of QEMU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the program did with device memory."""
    device_full: int
    """Mappings refused because the device was full."""
    file_bytes: int
    """Bytes of files that the program mapped and that were placed, all together."""
    files_other_bytes: int
    """Bytes of files that `--place files` names and that stay in DRAM for other reasons:
    executable, locked or reserved, at a fixed address, or of a file system in user space."""
    files_unleased_bytes: int
    """Bytes of files that `--place files` names and that stay in DRAM because others may change
    them: shared mappings for which there was no lease."""
    files_writable_bytes: int
    """Bytes of files that `--place files` names and the program mapped to be shared and written,
    which stay in DRAM."""
    host_pages: int
    """Pages that left the device because their protection was changed."""
    pinned: int
    """Evictions that the kernel refused because it had pinned the page."""
    pinned_errno: int
    """The kernel's error at the last such refusal; 0 when there was none."""
    placed_bytes: int
    """Bytes of device memory that the program had mapped, at its end."""
    private_dax: int
    """Private mappings of the DAX file, which stay outside the device."""
    reserved_bytes: int
    """Bytes of the device that the program held without access to them, at its end."""
    shared_bytes: int
    """Bytes of shared memory that the program mapped and that stay in DRAM, all together, in
    pieces of `--mmap-min` at least: anonymous, `memfd_create`, `shm_open`, tmpfs, `shmat`. With
    `--place shared` those that could not be placed."""
    trims: int
    """Pages that the program gave back (`munmap`, `MADV_DONTNEED`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissLatency:
    """Latencies of a program's waits for pages that were not there: of its misses, and of traps
    on a page for which a prefetch or another thread had sent. Each counts when it ends, and
    misses (`cache.misses`) when they begin."""
    achieved: SummaryOfUint64
    """What the program waited, ns: from the fault as the runtime sees it to the call that maps
    the page, plus `host.entry_ns` and `host.exit_ns`. The same waits as `modelled`."""
    modelled: SummaryOfUint64
    """What the model asked for, ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOfSeveral:
    """One of several devices of a guest. The output folder has a folder for each beside the
    first, with a whole result."""
    cache: Cache
    """What the device's cache did."""
    commands: Commands
    """What commands of the control ring did."""
    config: dict[str, str]
    """Every parameter of the device as resolved, by key, as text."""
    counted: Counted
    """The part of the run that these figures are of."""
    device: str
    """The device's preset or file, as named on the command line."""
    flash: Flash
    """What the flash did."""
    hit_times: HitTimes
    """What a hit takes, on the device and on this host."""
    late: Late
    """Waits that the runtime could not end in time."""
    latency_ns: MissLatency
    """Latencies of waits for pages that were not there, ns."""
    latency_parts_ns: DeviceParts
    """The modelled time of a trap, by cause, on average, ns."""
    live_config: dict[str, str]
    """What is set of the run beside the device, by key."""
    name: str
    """`first`, or the name in `--another NAME=DEVICE`."""
    node: int
    """The guest's NUMA node that is the device."""
    not_applied: list[NotApplied]
    """Parameters that hits do not take, because they run at this host's speed."""
    trap_kinds: TrapKinds
    """Traps by kind."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""
    workload: WorkloadFigures | None = None
    """The figures of the guest's command alone, without the boot. Only with `--demo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherProcesses:
    """Ended processes and program images of a run that have no line of their own, together: those
    with the fewest traps, where more than 256 have ended."""
    dirty_evictions: int
    """Of the evictions, those of pages that had been written."""
    ended: int
    """Processes and images that ran to their end."""
    evictions: int
    """Pages that left the cache to make room."""
    images: int
    """How many processes and program images these are."""
    late: int
    """Waits for a page that was not there, of misses and others, that ended over 1 µs after the
    moment that the model asked for."""
    latency_ns: MissLatency
    """Latencies of all their waits for pages that were not there, ns."""
    misses: int
    """Traps on a page that was not in the cache."""
    placed_bytes: int
    """Bytes of device memory that each had mapped at its end, together."""
    shared_bytes: int
    """Bytes of shared memory that they mapped and that stay in DRAM, all together."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """A process of a run, or one program image of it."""
    command: list[str]
    """Command line."""
    dirty_evictions: int
    """Of the evictions, those of pages that had been written."""
    ended: bool
    """It ran to its end. Otherwise it was killed, ended by `_exit`, or became another image."""
    evictions: int
    """Pages that left the cache to make room."""
    forked: bool
    """It came from a fork without `exec`."""
    image: int
    """0, and one more after each `exec`."""
    late: int
    """Waits for a page that was not there, of misses and others, that ended over 1 µs after the
    moment that the model asked for."""
    latency_ns: MissLatency
    """Latencies of its waits for pages that were not there, ns."""
    misses: int
    """Traps on a page that was not in the cache."""
    pid: int
    """Process id."""
    placed_bytes: int
    """Bytes of device memory that it had mapped, at its end."""
    shared_bytes: int
    """Bytes of shared memory that it mapped and that stay in DRAM, all together."""
    shared_memory: bool
    """It is no process: the device of memory that processes share (`--place shared`)."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The figures of a part of a run."""
    cache: Cache
    """What the device's cache did."""
    flash: Flash
    """What the flash did."""
    from_: str | None
    """The mark with which it begins. `null` for the start of the program."""
    from_s: float
    """Seconds from the start of the program until then."""
    late: Late
    """Waits that the runtime could not end in time."""
    latency_ns: MissLatency
    """Latencies of waits for pages that were not there, ns."""
    latency_parts_ns: DeviceParts
    """The modelled time of a trap, by cause, on average, ns."""
    trap_kinds: TrapKinds
    """Traps by kind."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""
    wall_s: float
    """How long it took, s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """Where the heap's evicted pages were, and what that took."""
    direct: int
    """1 if the file is read and written past the kernel's page cache (`O_DIRECT`)."""
    place: str
    """`dram`, or `file:FOLDER`."""
    queued: int
    """1 if requests are queued (io_uring); 0 if each is a call that waits for its answer."""
    reads: int
    """Pages read from the file."""
    wait_ns: int
    """How long these took together, ns."""
    waits: int
    """Times that a page was needed before the file had given it, or a buffer before the file had
    taken its page."""
    writes: int
    """Pages written to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOfUint64:
    """Figures of a distribution, ns: `null` of no values."""
    count: int
    """Values."""
    max: int | None
    """Largest value, exact."""
    mean: float | None
    """Mean. Live it is exact."""
    p50: int | None
    """Median, to within 0.4 % or 1 ns like the other percentiles."""
    p90: int | None
    """90th percentile."""
    p99: int | None
    """99th percentile."""
    p999: int | None
    """99.9th percentile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapKinds:
    """Traps by kind."""
    host: int
    """Traps on a page in host memory that had been unmapped to see whether it is used
    (`host.migration.policy`)."""
    miss: int
    """Traps on a page that was not in the cache."""
    soft: int
    """Traps on a page in the cache: prefetched, sampled, or in flight for another thread."""
    spurious: int
    """Faults on a page that was mapped by the time they were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFigures:
    """The figures of a guest's command."""
    cache: Cache
    """What the device's cache did."""
    flash: Flash
    """What the flash did."""
    late: Late
    """Waits that the runtime could not end in time."""
    latency_ns: MissLatency
    """Latencies of waits for pages that were not there, ns."""
    latency_parts_ns: DeviceParts
    """The modelled time of a trap, by cause, on average, ns."""
    trap_kinds: TrapKinds
    """Traps by kind."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped
    (`trap_kinds.spurious`)."""
    wall_s: float | None
    """How long the command took, on the host, s. `null` if it did not end."""
