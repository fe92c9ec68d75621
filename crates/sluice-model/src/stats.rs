//! Counters.

use crate::parts::Parts;
use sluice_units::{Ps, Ratio};

/// What a device has done since it was made.
///
/// An access is attributed once: `hits + mshr_merges + misses + write_log.served()` is
/// `loads + stores`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Accesses that found their page in the cache.
    pub hits: u64,
    /// Accesses that had to wait for their page to come from behind the cache.
    pub misses: u64,
    /// Accesses to a page that was already on its way, for an earlier access or a prefetch.
    pub mshr_merges: u64,
    /// Accesses that had to wait to be taken in: for an MSHR entry, a way, or another access.
    pub mshr_stalls: u64,
    /// Pages brought into the cache.
    pub fills: u64,
    /// Pages that left the cache to make room.
    pub evictions: u64,
    /// Evictions of a page that had been written.
    pub dirty_evictions: u64,
    /// Answers of a policy from outside that broke its contract: FIFO decided instead.
    pub policy_refused: u64,
    /// Pages that an evict command took out of the cache.
    pub command_evictions: u64,
    /// Cached pages whose contents ended here: discarded, taken by the host, or written or trimmed
    /// by the block door.
    pub drops: u64,
    /// Programs because of a flush or evict command.
    pub flushes: u64,
    /// Programs because of a store that was written through.
    pub write_throughs: u64,
    /// Stores that went around the cache, a program each.
    pub write_arounds: u64,
    /// Loads that went around the cache.
    pub read_arounds: u64,
    /// Pages that a prefetch brought in.
    pub prefetch_issued: u64,
    /// Prefetched pages that were accessed before they left.
    pub prefetch_used: u64,
    /// Of those used, the ones that were still on their way when they were asked for.
    pub prefetch_late: u64,
    /// Prefetched pages that left without an access.
    pub prefetch_unused: u64,
    /// Prefetches given up because nothing could make room for them.
    pub prefetch_dropped: u64,
    /// Times that the throttle made the prefetcher more eager.
    pub prefetch_raised: u64,
    /// Times that the throttle made the prefetcher less eager.
    pub prefetch_lowered: u64,
    /// Writes that the host reported after the page had left the cache.
    pub late_write_backs: u64,
    /// Programs of pages that left the cache although they were not written.
    pub clean_write_backs: u64,
    /// NAND reads, those of garbage collection included.
    pub flash_reads: u64,
    /// NAND programs, those of garbage collection included.
    pub flash_programs: u64,
    /// NAND programs that the host's writes asked for.
    pub host_programs: u64,
    /// Senses of NAND reads again because the data was not right.
    pub read_retries: u64,
    /// Programs and erases that were suspended, each time they were.
    pub suspensions: u64,
    /// Posted NAND operations that went before later reads because their die's queue was full.
    pub forced_writes: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Valid pages that garbage collection moved.
    pub gc_moves: u64,
    /// Pages that static wear levelling had moved; they are also `gc_moves`.
    pub wear_moves: u64,
    /// Writes of the host that found no room in the plane it named and went elsewhere.
    pub placements_missed: u64,
    /// Look-ups that found their part of the map in memory (`ftl.mapping = dftl`).
    pub translation_hits: u64,
    /// Look-ups that did not.
    pub translation_misses: u64,
    /// NAND reads of translation pages; they are also `flash_reads`.
    pub translation_reads: u64,
    /// Translation pages written back; they are also `flash_programs`.
    pub translation_programs: u64,
    /// Programs that failed.
    pub program_failures: u64,
    /// Erases that failed.
    pub erase_failures: u64,
    /// Blocks taken out of use after a failure.
    pub bad_blocks: u64,
    /// Writes refused because too many blocks had failed: the device is read-only.
    pub writes_refused: u64,
    /// Pages discarded by the host.
    pub trims: u64,
    /// Commands carried out: pages pinned.
    pub pins: u64,
    /// Commands carried out: pages unpinned.
    pub unpins: u64,
    /// Pages whose pin ended with their contents.
    pub pins_dropped: u64,
    /// Pages brought in by a pin command.
    pub pin_fills: u64,
    /// Commands and block requests that were refused.
    pub refused: u64,
    /// Pages read by the block door.
    pub block_reads: u64,
    /// Those of them that came from the cache.
    pub block_cache_hits: u64,
    /// Pages written by the block door.
    pub block_writes: u64,
    /// Pages trimmed by the block door.
    pub block_trims: u64,
    /// The time of all accesses together, each from the moment at which the device took it.
    pub latency: Ps,
    /// The same by cause.
    pub parts: Parts,
    /// The write log's own.
    pub write_log: WriteLogStats,
    /// Those of page migration.
    pub migration: MigrationStats,
}

/// What the host took into its own memory, and gave back (SkyByte section III-C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MigrationStats {
    /// Pages that the host took.
    pub taken: u64,
    /// Those of them that flash did not have as the device did.
    pub taken_dirty: u64,
    /// Pages that the host gave back.
    pub given: u64,
    /// Those of them that came into the cache, and were not there.
    pub fills: u64,
    /// Those of them that were programmed at once: written through, or around the cache.
    pub programs: u64,
}

/// What the write log has done.
///
/// `lines_flushed / pages_flushed` is how many stores a program of compaction carries, and
/// `appends - superseded - lines_flushed - dropped` lines are still in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteLogStats {
    /// Lines appended: every store, and every line of a page that the host gives back.
    pub appends: u64,
    /// Lines appended for a page that the host gave back; they are also `appends`.
    pub given: u64,
    /// Appends of a line that its buffer already had, so that the older copy is never flushed.
    pub superseded: u64,
    /// Loads that found their line in the log.
    pub hits: u64,
    /// Appends that had to wait until a buffer was free.
    pub stalls: u64,
    /// How long they waited, all together, in picoseconds.
    pub stall_ps: u64,
    /// Buffers compacted.
    pub compactions: u64,
    /// Pages that compaction programmed.
    pub pages_flushed: u64,
    /// Lines that they carried.
    pub lines_flushed: u64,
    /// Pages that compaction had to read first.
    pub compaction_reads: u64,
    /// Lines of pages that were discarded, taken by the host or written as a whole, and so left
    /// the log.
    pub dropped: u64,
    /// The most memory that the index needed, as SkyByte section III-B counts it.
    pub index_bytes_max: u64,
}

impl WriteLogStats {
    /// Accesses that the log served.
    pub fn served(&self) -> u64 {
        self.appends - self.given + self.hits
    }
}

impl Stats {
    /// Every access the device has seen.
    pub fn accesses(&self) -> u64 {
        self.loads + self.stores
    }

    /// The share of accesses that did not go behind the cache, or `None` before the first one.
    pub fn hit_ratio(&self) -> Option<Ratio> {
        Ratio::new(self.accesses() - self.misses, self.accesses())
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

/// What was counted between two readings of the same counters, field by field: the compiler
/// misses any that is left out.
macro_rules! between {
    ($type:ident, $after:expr, $before:expr; $($field:ident),+; $($own:ident: $value:expr),*) =>
    {
        $type {
            $($field: $after.$field - $before.$field,)+
            $($own: $value,)*
        }
    };
}

impl WriteLogStats {
    fn since(&self, before: &WriteLogStats) -> WriteLogStats {
        between!(WriteLogStats, self, before;
            appends, given, superseded, hits, stalls, stall_ps, compactions, pages_flushed,
            lines_flushed, compaction_reads, dropped;
            // A maximum has no difference.
            index_bytes_max: self.index_bytes_max)
    }
}

impl MigrationStats {
    fn since(&self, before: &MigrationStats) -> MigrationStats {
        between!(MigrationStats, self, before; taken, taken_dirty, given, fills, programs;)
    }
}

impl Stats {
    /// What was counted after an earlier reading of the same device's counters.
    pub fn since(&self, before: &Stats) -> Stats {
        between!(Stats, self, before;
            loads, stores, hits, misses, mshr_merges, mshr_stalls, fills, evictions,
            dirty_evictions, policy_refused, command_evictions, drops, flushes, write_throughs,
            write_arounds, read_arounds, prefetch_issued, prefetch_used, prefetch_late,
            prefetch_unused, prefetch_dropped, prefetch_raised, prefetch_lowered,
            late_write_backs, clean_write_backs, flash_reads, flash_programs, host_programs,
            read_retries, suspensions, forced_writes, erases,
            gc_moves, wear_moves, placements_missed, translation_hits, translation_misses,
            translation_reads, translation_programs, program_failures, erase_failures,
            bad_blocks, writes_refused, trims, pins, unpins, pins_dropped, pin_fills, refused,
            block_reads, block_cache_hits, block_writes, block_trims;
            latency: self.latency - before.latency,
            parts: self.parts - before.parts,
            write_log: self.write_log.since(&before.write_log),
            migration: self.migration.since(&before.migration))
    }
}
