//! Counters that must agree, and the state for the message of a failed test.

use super::observer::Observer;
use super::storage::Storage;
use crate::stats::Stats;

/// Two counts that must be equal and are not: a mistake of the model's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{one} {is} != {other} {due}; {stats:?}")]
pub struct Imbalance {
    one: &'static str,
    other: &'static str,
    is: u64,
    due: u64,
    stats: Box<Stats>,
}

/// Checks that everything was counted once: accesses, their time, programs, and pages.
///
/// # Errors
/// The first equation that does not hold, with its numbers.
pub(super) fn balance<O: Observer>(storage: &Storage<O>) -> Result<(), Imbalance> {
    let (s, cache) = (&storage.stats, &storage.cache);
    let buffered = storage.back.buffered();
    let served = s.hits + s.mshr_merges + s.misses + s.write_log.served();
    let written = s.dirty_evictions + s.late_write_backs + s.flushes + s.write_log.pages_flushed;
    let written = written + s.write_throughs + s.write_arounds + s.block_writes;
    let written = written + s.migration.programs + s.clean_write_backs + s.writes_kept;
    let gone = s.evictions + s.command_evictions + s.drops;
    let brought = s.misses - s.write_arounds - s.read_arounds + s.prefetch_issued + s.pin_fills;
    let brought = brought + s.command_fills + s.migration.fills;
    let left = s.prefetch_used + s.prefetch_unused;
    // A program that failed was asked for again; only those of collection count as moves.
    let asked = s.host_programs + s.translation_programs + s.gc_moves;
    let programs = s.flash_programs.clamp(asked, asked + s.program_failures);
    let equations = [
        ("accesses", "attributed", s.accesses(), served),
        ("latency", "its parts", s.latency.0, s.parts.total().0),
        (
            "host programs",
            "their reasons",
            s.host_programs + s.writes_refused + s.write_buffer_saved + buffered,
            written,
        ),
        (
            "programs",
            "host, map and collection",
            s.flash_programs,
            programs,
        ),
        ("fills", "their reasons", s.fills, brought),
        ("fills", "cached and gone", s.fills, cache.len() + gone),
        (
            "pins",
            "pinned and not",
            s.pins,
            cache.pins() + s.unpins + s.pins_dropped,
        ),
        (
            "prefetches",
            "at least used and unused",
            s.prefetch_issued.max(left),
            s.prefetch_issued,
        ),
    ];
    match equations.into_iter().find(|(_, _, a, b)| a != b) {
        Some((one, other, is, due)) => Err(Imbalance {
            one,
            other,
            is,
            due,
            stats: Box::new(*s),
        }),
        None => Ok(()),
    }
}
