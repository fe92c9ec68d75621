//! The counters of a device, each declared once: name, meaning and, if it is none of events, unit.
//!
//! A counter that is declared here is a field of the model's `Stats`, if the model counts it, an
//! entry of the statistics block, a field of the results, and a row of their reference. What is
//! left to write is the line that counts it.
//!
//! Each macro has the rows of one part of the results. It hands them to the macro that is named to
//! it, after whatever was handed to itself, so that parts can be chained:
//! `cache_counters! { flash_counters define }` calls `define!` with both. A row is
//!
//! ```text
//! /// What it counts.
//! Variant: name as key;
//! ```
//!
//! for the [`Counter`](crate::Counter), its name in the block and in `Stats`, and its key in that
//! part of the results. The order of the rows is the order of the block.

/// What a device's cache did. The model counts these.
#[macro_export]
macro_rules! cache_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages that left the cache to make room.
        Evictions: evictions as evictions;
        /// Of the evictions, those of pages that had been written; each costs a NAND program.
        DirtyEvictions: dirty_evictions as dirty_evictions;
        /// Pages that the policy let go and that stayed, out of the program's sight; see
        /// `cache.inactive`.
        Deactivated: deactivated as deactivated;
        /// Inactive pages that were accessed before they left, so that the policy had them back.
        Reactivated: reactivated as reactivated;
        /// Pages that cost a NAND program when they left although nothing was written to them
        /// (`host.device_write_back = all`).
        CleanWriteBacks: clean_write_backs as clean_write_backs;
        /// Answers of a policy from outside that broke its contract. FIFO decided instead.
        PolicyRefused: policy_refused as policy_refused;
        /// Pages that a prefetcher from outside picked against its contract: the device does not
        /// have them, or they were too many. They were not brought in.
        PrefetchRefused: prefetch_refused as prefetch_refused;
        /// Pages that the prefetcher brought in, or an access ahead of others in order
        /// (`MADV_SEQUENTIAL`). Pages of commands and of `MADV_WILLNEED` are no prefetched ones.
        PrefetchIssued: prefetch_issued as prefetch_issued;
        /// Of the prefetched pages, those that a host mapped when they arrived, so that their
        /// accesses are not seen.
        PrefetchMapped: prefetch_mapped as prefetch_mapped;
        /// Prefetched pages that were accessed before they left. Of those mapped on arrival the
        /// device sees one in `prefetch.sample`, which stands for the others.
        PrefetchUsed: prefetch_used as prefetch_used;
        /// Of the prefetched pages that were used, those still on their way at the access.
        PrefetchLate: prefetch_late as prefetch_late;
        /// Prefetched pages that left without an access.
        PrefetchUnused: prefetch_unused as prefetch_unused;
        /// Prefetches given up because no MSHR entry was free or no page could leave.
        PrefetchDropped: prefetch_dropped as prefetch_dropped;
        /// Misses on a page that never missed before: no cache could have had it, and prefetching
        /// alone avoids them.
        FirstMisses: first_misses as first_misses;
    } };
}

/// What the flash behind the cache did. The model counts these.
#[macro_export]
macro_rules! flash_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// NAND pages read, those of garbage collection included.
        FlashReads: flash_reads as reads;
        /// NAND pages programmed, those of garbage collection included.
        FlashPrograms: flash_programs as programs;
        /// Blocks erased.
        Erases: erases as erases;
        /// Valid pages that garbage collection moved.
        GcMoves: gc_moves as gc_moves;
        /// Senses of NAND pages that were repeated because the data was not right.
        ReadRetries: read_retries as read_retries;
        /// Programs and erases that were suspended for a read, each time they were.
        Suspensions: suspensions as suspensions;
        /// Posted operations that went before later reads because the queue of their die was full.
        ForcedWrites: forced_writes as forced_writes;
        /// Pages that static wear levelling moved. They are also `gc_moves`.
        WearMoves: wear_moves as wear_moves;
        /// Blocks taken out of use after a failed program or erase.
        BadBlocks: bad_blocks as bad_blocks;
        /// Writes refused because the flash is worn out. A warning says so as well.
        WritesRefused: writes_refused as writes_refused;
        /// Reads of pages that were still in the write buffer (`ftl.write_buffer`): no flash read.
        WriteBufferReads: write_buffer_reads as write_buffer_reads;
        /// Reads of pages whose program had not ended, so that the controller still held their data
        /// (`nand.priority = read_first`): no flash read.
        HeldReads: held_reads as held_reads;
        /// Programs that the write buffer saved: pages there that were written again or discarded.
        WriteBufferSaved: write_buffer_saved as write_buffer_saved;
    } };
}

/// What commands of the control ring, and hints of the program, made the device do. The model
/// counts these.
#[macro_export]
macro_rules! commanded_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages that evict commands, or hints, took out of the cache.
        CommandEvictions: command_evictions as evicted;
        /// NAND programs because of flush and evict commands, or of hints.
        Flushes: flushes as flushed;
        /// Pages that were pinned, each time one was, also because they were locked.
        Pins: pins as pinned;
    } };
}

/// What hints of the program, or of others by the control ring, did to the cache. The model counts
/// these.
#[macro_export]
macro_rules! hinted_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Cached pages that went cold: by a hint or command, or passed by accesses in order.
        Cooled: cooled as cooled;
        /// Of the evictions, those of cold pages, before any that the policy would have chosen.
        ColdEvictions: cold_evictions as cold_evicted;
        /// Pages sent for ahead of accesses to a range that is accessed in order. They are also
        /// `prefetch_issued`.
        SequentialPrefetches: sequential_prefetches as sequential_prefetched;
        /// Of the pages that went cold, those that accesses in order had passed.
        SequentialPassed: sequential_passed as sequential_passed;
        /// Accesses that the prefetcher was not shown, because their range is accessed in no order.
        RandomQuiet: random_quiet as random_quiet;
    } };
}

/// Counters of the model that no part of the results shows as they are.
#[macro_export]
macro_rules! other_device_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// NAND pages programmed because the host's writes asked for it.
        HostPrograms: host_programs as host_programs;
        /// Pages that the program gave back (`munmap`, `MADV_DONTNEED`) or discarded.
        Trims: trims as trims;
    } };
}

/// How the runtime met faults.
#[macro_export]
macro_rules! trap_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Traps on a page that was not in the cache.
        Misses: misses as miss;
        /// Traps on a page in the cache: prefetched, sampled, or in flight for another thread.
        SoftTraps: soft as soft;
        /// Faults on a page that was mapped by the time they were looked at.
        Spurious: spurious as spurious;
        /// Traps on a page in host memory that had been unmapped to see whether it is used
        /// (`host.migration.policy`).
        HostHits: host_hits as host;
    } };
}

/// How late the runtime was.
#[macro_export]
macro_rules! late_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Waits for a page that was not there, also where a prefetch or another thread had sent
        /// for it, that ended over 1 µs after the moment that the model asked for.
        Late: late as count;
        /// Traps on a page that was in the cache, which ended so late: prefetched, sampled, or
        /// given back.
        LateSoft: late_soft as soft;
        /// Traps of which it was measured how long their thread waited for a CPU once its page was
        /// there: a sample, and only in event mode.
        RunDelays: run_delays as run_delays;
        /// Of these, those that waited over 1 µs longer than a wake-up takes. No other latency or
        /// count has this time.
        RunDelaysLate: run_delays_late as run_delays_late;
        /// How much longer than a wake-up these traps waited, all together, ns.
        RunDelayNs: run_delay_ns as run_delay_ns;
    } };
}

/// What the server of the control ring did.
#[macro_export]
macro_rules! command_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Commands of the control ring that were answered.
        Commands: commands as answered;
        /// Of the commands answered, those that were malformed or refused as a whole.
        CommandsRefused: commands_refused as refused;
        /// Pages that prefetch commands brought in.
        CommandPrefetches: command_prefetches as prefetched;
        /// Times that parameters were changed. `config` has those of the start.
        Tunes: tunes as settings_changed;
    } };
}

/// What hints of the program did (`madvise`, `mlock` and their like). Pages, each time one was
/// concerned.
#[macro_export]
macro_rules! hint_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages that `MADV_WILLNEED` sent for.
        HintsWillneed: hints_willneed as willneed;
        /// Cached pages that `MADV_COLD` made the next to leave.
        HintsCold: hints_cold as cold;
        /// Pages that `MADV_PAGEOUT` took out of the cache.
        HintsPageout: hints_pageout as pageout;
        /// Pages whose contents went by `MADV_FREE`.
        HintsFree: hints_free as free;
        /// Pages whose contents went by `MADV_DONTNEED` or `MADV_DONTNEED_LOCKED`.
        HintsDontneed: hints_dontneed as dontneed;
        /// Pages of which `MADV_SEQUENTIAL` was said.
        HintsSequential: hints_sequential as sequential;
        /// Pages of which `MADV_RANDOM` was said.
        HintsRandom: hints_random as random;
        /// Pages of which `MADV_NORMAL` was said.
        HintsNormal: hints_normal as normal;
        /// Pages that were pinned because they were locked (`mlock`, `mlock2`, `mlockall`).
        HintsLocked: hints_locked as mlock;
        /// Locked pages that came without being pinned, since as many of their set are as
        /// `cache.pin_max` allows.
        HintsLockRefused: hints_lock_refused as mlock_refused;
        /// Pages that were locked no longer (`munlock`, `munlockall`, `munmap`).
        HintsUnlocked: hints_unlocked as munlock;
        /// Calls whose advice means nothing here: `MADV_HUGEPAGE` and `MADV_NOHUGEPAGE`.
        HintsIgnored: hints_ignored as ignored;
    } };
}

/// What the program did with device memory.
#[macro_export]
macro_rules! memory_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Bytes of device memory that the program had mapped, at its end.
        PlacedBytes: placed_bytes as placed_bytes;
        /// Bytes of the device that the program held without access to them, at its end.
        ReservedBytes: reserved_bytes as reserved_bytes;
        /// Bytes of shared memory that the program mapped and that stay in DRAM, all together, in
        /// pieces of `--mmap-min` at least: anonymous, `memfd_create`, `shm_open`, tmpfs, `shmat`.
        /// With `--place shared` those that could not be placed.
        SharedBytes: shared_bytes as shared_bytes;
        /// Bytes of files that the program mapped and that were placed, all together.
        FileBytes: file_bytes as file_bytes;
        /// Bytes of files that `--place files` names and the program mapped to be shared and
        /// written, which stay in DRAM.
        FilesWritable: files_writable as files_writable_bytes;
        /// Bytes of files that `--place files` names and that stay in DRAM because others may
        /// change them: shared mappings for which there was no lease.
        FilesUnleased: files_unleased as files_unleased_bytes;
        /// Bytes of files that `--place files` names and that stay in DRAM for other reasons:
        /// executable, locked or reserved, at a fixed address, or of a file system in user space.
        FilesOther: files_other as files_other_bytes;
        /// Evictions that the kernel refused because it had pinned the page.
        Pinned: pinned as pinned;
        /// The kernel's error at the last such refusal; 0 when there was none.
        PinnedErrno: pinned_errno as pinned_errno;
        /// Pages that left the device because their protection was changed.
        HostPages: host_pages as host_pages;
        /// Mappings refused because the device was full.
        DeviceFull: device_full as device_full;
        /// Private mappings of the DAX file, which stay outside the device.
        PrivateDax: private_dax as private_dax;
    } };
}

/// What the file did that has evicted pages (`--store file:`).
#[macro_export]
macro_rules! store_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages read from the file.
        StoreReads: store_reads as reads;
        /// Pages written to it.
        StoreWrites: store_writes as writes;
        /// Times that a page was needed before the file had given it, or a buffer before the file
        /// had taken its page.
        StoreWaits: store_waits as waits;
        /// How long these took together, ns.
        StoreWaitNs: store_wait_ns as wait_ns;
        /// 1 if requests are queued (io_uring); 0 if each is a call that waits for its answer.
        StoreQueued: store_queued as queued;
        /// 1 if the file is read and written past the kernel's page cache (`O_DIRECT`).
        StoreDirect: store_direct as direct;
    } };
}

/// Pages that moved between the device and host memory (`host.migration.policy`).
#[macro_export]
macro_rules! migration_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages that moved to host memory.
        Promotions: promotions as promotions;
        /// Pages that moved back to the device, for others or because a hint or a command named
        /// them.
        Demotions: demotions as demotions;
        /// Of the demotions, those of pages that had been written.
        DirtyDemotions: dirty_demotions as dirty_demotions;
        /// Hot pages that stayed on the device, since no page of host memory could leave at once.
        NoRoom: no_room as no_room;
    } };
}

/// What the host did for the program.
#[macro_export]
macro_rules! host_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Cost of a trap before the runtime sees it, ns, as the session's first process measured.
        EntryNs: entry_ns as entry_ns;
        /// Cost from the runtime's last act to the program's next instruction, ns, likewise.
        ExitNs: exit_ns as exit_ns;
        /// Time of a load of a mapped page that no processor's cache has, ns, likewise; 0 where
        /// that cannot be measured.
        HitNs: hit_ns as hit_ns;
        /// Major faults of the process at its end: pages that the kernel read from disk, of files
        /// or of memory that it had swapped out, where they delay the program unseen.
        MajorFaults: major_faults as major_faults;
        /// Forks of the program.
        Forks: forks as forks;
        /// Of their children, those that went on off the device, since they could not open what a
        /// device needs: after `setuid`, for example. What these start is not counted.
        ForksOutside: forks_outside as forks_outside;
        /// Children that a filter of system calls has ended (SIGSYS), by what the program learned
        /// when it waited for them. It may have been for a call of the runtime's.
        ChildrenFiltered: children_filtered as children_filtered;
        /// System calls that met a missing page in signal mode and were tried again.
        KernelFaults: kernel_faults as kernel_faults;
    } };
}

/// Counters of the runtime that no part of the results shows as they are.
#[macro_export]
macro_rules! other_run_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Faults on pages of the device, but for those that found it mapped (`spurious`).
        Traps: traps as traps;
        /// Sampled pages whose window is over.
        SampledPages: sampled_pages as sampled_pages;
        /// Sampled pages that the program touched within their window.
        SampledTouched: sampled_touched as sampled_touched;
        /// Sum of the windows of sampled pages, ns.
        SampledWindowNs: sampled_window_ns as sampled_window_ns;
        /// Sum of the pages that were mapped or taken away at the end of each window.
        SampledMapped: sampled_mapped as sampled_mapped;
        /// Nanoseconds since the start of the runtime at the last trap.
        LastTrapNs: last_trap_ns as last_trap_ns;
        /// Pages that are pinned.
        PinnedPages: pinned_pages as pinned_pages;
        /// Pages in the cache or on their way there.
        CachedPages: cached_pages as cached_pages;
    } };
}

/// Where the modelled time of traps went, ps.
#[macro_export]
macro_rules! part_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// On the CXL link (`device.protocol_latency`).
        PartsProtocol: parts_protocol_ps as protocol;
        /// Finding out where the page is (`cache.index_latency`, `write_log.index_latency`).
        PartsIndexing: parts_indexing_ps as indexing;
        /// In the device's DRAM (`cache.hit_latency`).
        PartsDram: parts_dram_ps as dram;
        /// Waiting to be taken in: for an MSHR entry, for a page of the set that can leave, for a
        /// free buffer of the write log, or in a memory expander for its turn (`memory.transfer`,
        /// `memory.banks`).
        PartsStall: parts_stall_ps as stall;
        /// Waiting for a page that was on its way already.
        PartsMerge: parts_merge_ps as merge;
        /// Waiting for a die or channel behind other work.
        PartsFlashQueue: parts_flash_queue_ps as flash_queue;
        /// Waiting behind garbage collection.
        PartsFlashGc: parts_flash_gc_ps as flash_gc;
        /// Sensing and transfer in the flash array.
        PartsFlashService: parts_flash_service_ps as flash_service;
    } };
}

/// What the model counts and the runtime copies into the block.
#[macro_export]
macro_rules! device_counters {
    ([$($then:path),+] $($with:tt)*) => {
        $crate::cache_counters! {
            [$crate::flash_counters, $crate::commanded_counters, $crate::hinted_counters,
             $crate::other_device_counters, $($then),+] $($with)*
        }
    };
}

/// What the runtime counts itself.
#[macro_export]
macro_rules! run_counters {
    ([$($then:path),+] $($with:tt)*) => {
        $crate::trap_counters! {
            [$crate::late_counters, $crate::command_counters, $crate::hint_counters,
             $crate::memory_counters, $crate::store_counters, $crate::migration_counters,
             $crate::host_counters,
             $crate::other_run_counters, $($then),+] $($with)*
        }
    };
}
