"""Every counter of a process, by its name in the statistics block (`counters` of `sluice ctl
    stats --json`, and `sluice_ctl_counter`).

Made by `make docs` from the schemas of docs/reference/schema; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterValues:
    """Every counter of a process, by its name in the statistics block (`counters` of `sluice ctl
    stats --json`, and `sluice_ctl_counter`)."""
    bad_blocks: int
    """Blocks taken out of use after a failed program or erase."""
    cached_pages: int
    """Pages in the cache or on their way there."""
    children_filtered: int
    """Children that a filter of system calls has ended (SIGSYS), by what the program learned when
    it waited for them. It may have been for a call of the runtime's."""
    clean_write_backs: int
    """Pages that cost a NAND program when they left although nothing was written to them
    (`host.device_write_back = all`)."""
    cold_evictions: int
    """Of the evictions, those of cold pages, before any that the policy would have chosen."""
    command_evictions: int
    """Pages that evict commands, or hints, took out of the cache."""
    command_prefetches: int
    """Pages that prefetch commands brought in."""
    commands: int
    """Commands of the control ring that were answered."""
    commands_refused: int
    """Of the commands answered, those that were malformed or refused as a whole."""
    cooled: int
    """Cached pages that went cold: by a hint or command, or passed by accesses in order."""
    deactivated: int
    """Pages that the policy let go and that stayed, out of the program's sight; see
    `cache.inactive`."""
    demotions: int
    """Pages that moved back to the device, for others or because a hint or a command named
    them."""
    device_full: int
    """Mappings refused because the device was full."""
    dirty_demotions: int
    """Of the demotions, those of pages that had been written."""
    dirty_evictions: int
    """Of the evictions, those of pages that had been written; each costs a NAND program."""
    entry_ns: int
    """Cost of a trap before the runtime sees it, ns, as the session's first process measured."""
    erases: int
    """Blocks erased."""
    evictions: int
    """Pages that left the cache to make room."""
    exit_ns: int
    """Cost from the runtime's last act to the program's next instruction, ns, likewise."""
    file_bytes: int
    """Bytes of files that the program mapped and that were placed, all together."""
    files_other: int
    """Bytes of files that `--place files` names and that stay in DRAM for other reasons:
    executable, locked or reserved, at a fixed address, or of a file system in user space."""
    files_unleased: int
    """Bytes of files that `--place files` names and that stay in DRAM because others may change
    them: shared mappings for which there was no lease."""
    files_writable: int
    """Bytes of files that `--place files` names and the program mapped to be shared and written,
    which stay in DRAM."""
    first_misses: int
    """Misses on a page that never missed before: no cache could have had it, and prefetching
    alone avoids them."""
    flash_programs: int
    """NAND pages programmed, those of garbage collection included."""
    flash_reads: int
    """NAND pages read, those of garbage collection included."""
    flushes: int
    """NAND programs because of flush and evict commands, or of hints."""
    forced_writes: int
    """Posted operations that went before later reads because the queue of their die was full."""
    forks: int
    """Forks of the program."""
    forks_outside: int
    """Of their children, those that went on off the device, since they could not open what a
    device needs: after `setuid`, for example. What these start is not counted."""
    gc_moves: int
    """Valid pages that garbage collection moved."""
    held_reads: int
    """Reads of pages whose program had not ended, so that the controller still held their data
    (`nand.priority = read_first`): no flash read."""
    hints_cold: int
    """Cached pages that `MADV_COLD` made the next to leave."""
    hints_dontneed: int
    """Pages whose contents went by `MADV_DONTNEED` or `MADV_DONTNEED_LOCKED`."""
    hints_free: int
    """Pages whose contents went by `MADV_FREE`."""
    hints_ignored: int
    """Calls whose advice means nothing here: `MADV_HUGEPAGE` and `MADV_NOHUGEPAGE`."""
    hints_lock_refused: int
    """Locked pages that came without being pinned, since as many of their set are as
    `cache.pin_max` allows."""
    hints_locked: int
    """Pages that were pinned because they were locked (`mlock`, `mlock2`, `mlockall`)."""
    hints_normal: int
    """Pages of which `MADV_NORMAL` was said."""
    hints_pageout: int
    """Pages that `MADV_PAGEOUT` took out of the cache."""
    hints_random: int
    """Pages of which `MADV_RANDOM` was said."""
    hints_sequential: int
    """Pages of which `MADV_SEQUENTIAL` was said."""
    hints_unlocked: int
    """Pages that were locked no longer (`munlock`, `munlockall`, `munmap`)."""
    hints_willneed: int
    """Pages that `MADV_WILLNEED` sent for."""
    hit_ns: int
    """Time of a load of a mapped page that no processor's cache has, ns, likewise; 0 where that
    cannot be measured."""
    host_hits: int
    """Traps on a page in host memory that had been unmapped to see whether it is used
    (`host.migration.policy`)."""
    host_pages: int
    """Pages that left the device because their protection was changed."""
    host_programs: int
    """NAND pages programmed because the host's writes asked for it."""
    kernel_faults: int
    """System calls that met a missing page in signal mode and were tried again."""
    last_trap_ns: int
    """Nanoseconds since the start of the runtime at the last trap."""
    late: int
    """Waits for a page that was not there, also where a prefetch or another thread had sent for
    it, that ended over 1 µs after the moment that the model asked for."""
    late_soft: int
    """Traps on a page that was in the cache, which ended so late: prefetched, sampled, or given
    back."""
    major_faults: int
    """Major faults of the process at its end: pages that the kernel read from disk, of files or
    of memory that it had swapped out, where they delay the program unseen."""
    misses: int
    """Traps on a page that was not in the cache."""
    no_room: int
    """Hot pages that stayed on the device, since no page of host memory could leave at once."""
    parts_dram_ps: int
    """In the device's DRAM (`cache.hit_latency`)."""
    parts_flash_gc_ps: int
    """Waiting behind garbage collection."""
    parts_flash_queue_ps: int
    """Waiting for a die or channel behind other work."""
    parts_flash_service_ps: int
    """Sensing and transfer in the flash array."""
    parts_indexing_ps: int
    """Finding out where the page is (`cache.index_latency`, `write_log.index_latency`)."""
    parts_merge_ps: int
    """Waiting for a page that was on its way already."""
    parts_protocol_ps: int
    """On the CXL link (`device.protocol_latency`)."""
    parts_stall_ps: int
    """Waiting to be taken in: for an MSHR entry, for a page of the set that can leave, for a free
    buffer of the write log, or in a memory expander for its turn (`memory.transfer`,
    `memory.banks`)."""
    pinned: int
    """Evictions that the kernel refused because it had pinned the page."""
    pinned_errno: int
    """The kernel's error at the last such refusal; 0 when there was none."""
    pinned_pages: int
    """Pages that are pinned."""
    pins: int
    """Pages that were pinned, each time one was, also because they were locked."""
    placed_bytes: int
    """Bytes of device memory that the program had mapped, at its end."""
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
    private_dax: int
    """Private mappings of the DAX file, which stay outside the device."""
    promotions: int
    """Pages that moved to host memory."""
    random_quiet: int
    """Accesses that the prefetcher was not shown, because their range is accessed in no order."""
    reactivated: int
    """Inactive pages that were accessed before they left, so that the policy had them back."""
    read_retries: int
    """Senses of NAND pages that were repeated because the data was not right."""
    reserved_bytes: int
    """Bytes of the device that the program held without access to them, at its end."""
    run_delay_ns: int
    """How much longer than a wake-up these traps waited, all together, ns."""
    run_delays: int
    """Traps of which it was measured how long their thread waited for a CPU once its page was
    there: a sample, and only in event mode."""
    run_delays_late: int
    """Of these, those that waited over 1 µs longer than a wake-up takes. No other latency or
    count has this time."""
    sampled_mapped: int
    """Sum of the pages that were mapped or taken away at the end of each window."""
    sampled_pages: int
    """Sampled pages whose window is over."""
    sampled_touched: int
    """Sampled pages that the program touched within their window."""
    sampled_window_ns: int
    """Sum of the windows of sampled pages, ns."""
    sequential_passed: int
    """Of the pages that went cold, those that accesses in order had passed."""
    sequential_prefetches: int
    """Pages sent for ahead of accesses to a range that is accessed in order. They are also
    `prefetch_issued`."""
    shared_bytes: int
    """Bytes of shared memory that the program mapped and that stay in DRAM, all together, in
    pieces of `--mmap-min` at least: anonymous, `memfd_create`, `shm_open`, tmpfs, `shmat`. With
    `--place shared` those that could not be placed."""
    soft: int
    """Traps on a page in the cache: prefetched, sampled, or in flight for another thread."""
    spurious: int
    """Faults on a page that was mapped by the time they were looked at."""
    store_direct: int
    """1 if the file is read and written past the kernel's page cache (`O_DIRECT`)."""
    store_queued: int
    """1 if requests are queued (io_uring); 0 if each is a call that waits for its answer."""
    store_reads: int
    """Pages read from the file."""
    store_wait_ns: int
    """How long these took together, ns."""
    store_waits: int
    """Times that a page was needed before the file had given it, or a buffer before the file had
    taken its page."""
    store_writes: int
    """Pages written to it."""
    suspensions: int
    """Programs and erases that were suspended for a read, each time they were."""
    traps: int
    """Faults on pages of the device, but for those that found it mapped (`spurious`)."""
    trims: int
    """Pages that the program gave back (`munmap`, `MADV_DONTNEED`) or discarded."""
    tunes: int
    """Times that parameters were changed. `config` has those of the start."""
    wear_moves: int
    """Pages that static wear levelling moved. They are also `gc_moves`."""
    write_buffer_reads: int
    """Reads of pages that were still in the write buffer (`ftl.write_buffer`): no flash read."""
    write_buffer_saved: int
    """Programs that the write buffer saved: pages there that were written again or discarded."""
    writes_refused: int
    """Writes refused because the flash is worn out. A warning says so as well."""
