//! Counters.
//!
//! What the results show is declared where all counters of a device are, in `sluice-abi`, or here
//! as rows that the results take as well. [`Stats`] has a field of each.

use crate::parts::Parts;
use sluice_units::{Ps, Ratio};

/// A struct of counters, and their difference between two readings. It has fields of its own, of
/// counters (`fields`) and of other types with their own difference (`others`), and one for each
/// row that follows.
macro_rules! counters {
    ([] {
        $(#[$meta:meta])* $type:ident
        fields { $($(#[$doc:meta])* $field:ident,)* }
        others { $($(#[$other_doc:meta])* $other:ident: $kind:ty = $since:expr,)* }
    } $($(#[$row_doc:meta])* $variant:ident: $name:ident as $key:ident;)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            $($(#[$doc])* pub $field: u64,)*
            $($(#[$row_doc])* pub $name: u64,)*
            $($(#[$other_doc])* pub $other: $kind,)*
        }

        impl $type {
            /// What was counted after an earlier reading of the same counters.
            pub fn since(&self, before: &$type) -> $type {
                $type {
                    $($field: self.$field - before.$field,)*
                    $($name: self.$name - before.$name,)*
                    $($other: $since(&self.$other, &before.$other),)*
                }
            }
        }
    };
}

/// What the write log did, in the results too. Used as the macros of `sluice-abi`'s counters are,
/// but with `Simulated` for an entry of the statistics block: live devices have no write log.
#[macro_export]
macro_rules! write_log_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Lines appended: every store, and every line of a page that the host demotes.
        Simulated: appends as appends;
        /// Appends of a line that its buffer already had, so that the older copy is never flushed.
        Simulated: superseded as superseded;
        /// Loads that found their line in the log.
        Simulated: hits as hits;
        /// Appends that had to wait until a buffer was free.
        Simulated: stalls as stalls;
        /// Buffers compacted.
        Simulated: compactions as compactions;
        /// Pages that compaction programmed.
        Simulated: pages_flushed as pages_flushed;
        /// Lines that the programmed pages carried.
        Simulated: lines_flushed as lines_flushed;
        /// Pages that compaction had to read first.
        Simulated: compaction_reads as compaction_reads;
        /// Lines of pages that were discarded, promoted or written as a whole, and so
        /// left the log.
        Simulated: dropped as dropped;
    } };
}

/// What the host promoted and demoted, in the results too.
#[macro_export]
macro_rules! migration_counters {
    ([$then:path $(, $rest:path)*] $($with:tt)*) => { $then! { [$($rest),*] $($with)*
        /// Pages that the host promoted into its own memory.
        Simulated: promoted as taken;
        /// Of the pages promoted, those of which flash had an older copy or none.
        Simulated: promoted_dirty as taken_dirty;
        /// Pages that the host demoted to the device.
        Simulated: demoted as given;
        /// Of the pages demoted, those that came into the device's cache and were not there.
        Simulated: fills as fills;
        /// Of the pages demoted, those that were programmed at once: written through, or around
        /// the cache.
        Simulated: programs as programs;
    } };
}

migration_counters! { [counters] {
    /// What the host promoted into its own memory, and demoted (SkyByte section III-C).
    MigrationStats fields {} others {}
} }

write_log_counters! { [counters] {
    /// What the write log has done.
    ///
    /// `lines_flushed / pages_flushed` is how many stores a program of compaction carries, and
    /// `appends - superseded - lines_flushed - dropped` lines are still in the log.
    WriteLogStats
    fields {
        /// Lines appended for a page that the host demoted; they are also `appends`.
        demoted,
        /// How long appends waited for a free buffer, all together, in picoseconds.
        stall_ps,
    }
    others {
        /// The most memory that the index needed, as SkyByte section III-B counts it.
        index_bytes_max: u64 = |after: &u64, _: &u64| *after,
    }
} }

sluice_abi::device_counters! { [counters] {
    /// What a device has done since it was made.
    ///
    /// An access is attributed once: `hits + mshr_merges + misses + write_log.served()` is
    /// `loads + stores`.
    Stats
    fields {
        /// Loads.
        loads,
        /// Stores.
        stores,
        /// Accesses that found their page in the cache.
        hits,
        /// Accesses that had to wait for their page to come from behind the cache.
        misses,
        /// Accesses to a page that was already on its way, for an earlier access or a prefetch.
        mshr_merges,
        /// Accesses that had to wait to be taken in: for an MSHR entry, a way, or another access.
        mshr_stalls,
        /// Pages brought into the cache.
        fills,
        /// Cached pages whose contents ended here: discarded, taken by the host, or written or
        /// trimmed
        /// by the block door.
        drops,
        /// Programs because of a store that was written through.
        write_throughs,
        /// Stores that went around the cache, a program each.
        write_arounds,
        /// Loads that went around the cache.
        read_arounds,
        /// Times that the throttle made the prefetcher more eager.
        prefetch_raised,
        /// Times that the throttle made the prefetcher less eager.
        prefetch_lowered,
        /// Writes that the host reported after the page had left the cache.
        late_write_backs,
        /// Of the writes refused, those of pages that the device has somewhere else and keeps
        /// there: in the cache, the write buffer or the write log.
        writes_kept,
        /// Writes of the host that found no room in the plane it named and went elsewhere.
        placements_missed,
        /// Look-ups that found their part of the map in memory (`ftl.mapping = dftl`).
        translation_hits,
        /// Look-ups that did not.
        translation_misses,
        /// NAND reads of translation pages; they are also `flash_reads`.
        translation_reads,
        /// Translation pages written back; they are also `flash_programs`.
        translation_programs,
        /// Programs that failed.
        program_failures,
        /// Erases that failed.
        erase_failures,
        /// Commands carried out: pages unpinned.
        unpins,
        /// Pages whose pin ended with their contents.
        pins_dropped,
        /// Pages brought in by a pin command.
        pin_fills,
        /// Pages brought in by a prefetch command or `MADV_WILLNEED`.
        command_fills,
        /// Commands and block requests that were refused.
        refused,
        /// Pages read by the block door.
        block_reads,
        /// Pages read by the block door that came from the cache.
        block_cache_hits,
        /// Pages written by the block door.
        block_writes,
        /// Pages trimmed by the block door.
        block_trims,
        /// Flushes by the block door; what they programmed is in `flushes`.
        block_flushes,
    }
    others {
        /// The time of all accesses together, each from the moment at which the device took it.
        latency: Ps = |after: &Ps, before: &Ps| *after - *before,
        /// The time of all accesses by cause.
        parts: Parts = |after: &Parts, before: &Parts| *after - *before,
        /// What the write log did.
        write_log: WriteLogStats = WriteLogStats::since,
        /// What page migration did.
        migration: MigrationStats = MigrationStats::since,
    }
} }

impl WriteLogStats {
    /// Accesses that the log served.
    pub fn served(&self) -> u64 {
        self.appends - self.demoted + self.hits
    }
}

impl Stats {
    /// Every access the device has seen.
    pub fn accesses(&self) -> u64 {
        self.loads + self.stores
    }

    /// Used of issued prefetches, or `None` before the first one.
    pub fn prefetch_accuracy(&self) -> Option<Ratio> {
        Ratio::new(self.prefetch_used, self.prefetch_issued)
    }

    /// The share of would-be misses that a prefetch took away: used of used and missed.
    pub fn prefetch_coverage(&self) -> Option<Ratio> {
        Ratio::new(self.prefetch_used, self.prefetch_used + self.misses)
    }

    /// Used prefetches that were there in time, of all used, or `None` before the first one.
    pub fn prefetch_timeliness(&self) -> Option<Ratio> {
        Ratio::new(self.prefetch_used - self.prefetch_late, self.prefetch_used)
    }

    /// NAND programs per program that the host asked for, or `None` before the first one.
    pub fn write_amplification(&self) -> Option<Ratio> {
        Ratio::new(self.flash_programs, self.host_programs)
    }
}
