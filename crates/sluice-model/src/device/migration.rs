//! Page migration (SkyByte section III-C): pages that the host promotes into its own memory, and
//! demotes again.

use super::engine::Engine;
use super::observer::Observer;
use super::tiers::Tiers;
use crate::cache::Fill;
use crate::config::StoreMiss;
use crate::request::{Completion, Effects, Hint, Op, ServedBy};
use sluice_units::{Lpn, Ps};

/// What the device knew of a page when the host promoted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Whether the cache or the write log held anything that flash does not have. If not, and if
    /// the host has not written it either, the page need not be demoted: flash is as new.
    pub dirty: bool,
}

/// Hands a page over to the host, and forgets what cache and log have of it.
pub(super) fn promote<O: Observer>(engine: &mut Engine<O>, now: Ps, lpn: Lpn) -> Promoted {
    let tiers = engine.begin(now, lpn);
    let mut dirty = false;
    if let Some(found) = tiers.cache.peek(lpn) {
        dirty = found.is_dirty;
        tiers.dram.move_page(tiers.now(), found.slot, Op::Read);
        tiers.drop_cached(lpn);
    }
    let dropped = tiers.stats.write_log.dropped;
    tiers.drop_logged(lpn);
    dirty |= tiers.stats.write_log.dropped > dropped;
    tiers.stats.migration.promoted += 1;
    tiers.stats.migration.promoted_dirty += u64::from(dirty);
    Promoted { dirty }
}

/// Takes a page from the host to where its stores would go.
pub(super) fn demote<O: Observer, E: Effects>(
    engine: &mut Engine<O>,
    now: Ps,
    lpn: Lpn,
    effects: &mut E,
) -> Completion {
    engine.begin(now, lpn).stats.migration.demoted += 1;
    let now = engine.tiers.now();
    let at = now + engine.front.parts_with_log().total();
    let (done_at, served_by) = if let Some(expander) = &mut engine.expander {
        let at = now + engine.front.parts_without_cache().total();
        (expander.write_page(at, lpn), ServedBy::CacheHit)
    } else if engine.tiers.has_log() {
        let lines = engine.front.lines_per_page();
        (
            to_log(&mut engine.tiers, at, lpn, lines),
            ServedBy::WriteLog,
        )
    } else {
        to_cache(engine, at, lpn, effects)
    };
    Completion {
        done_at,
        served_by,
        hint: Hint::None,
        was_prefetched: false,
    }
}

/// Takes a page from the host straight to flash.
pub(super) fn demote_to_flash<O: Observer>(engine: &mut Engine<O>, now: Ps, lpn: Lpn) {
    engine.begin(now, lpn).stats.migration.demoted += 1;
    let tiers = &mut engine.tiers;
    if let Some(expander) = &mut engine.expander {
        let at = tiers.now() + engine.front.parts_without_cache().total();
        expander.write_page(at, lpn);
        return;
    }
    tiers.drop_cached(lpn);
    tiers.stats.migration.programs += 1;
    tiers.write(tiers.now(), lpn);
}

/// Appends every line of the page. A cached copy is updated beside it, as for any store.
fn to_log<O: Observer>(tiers: &mut Tiers<O>, at: Ps, lpn: Lpn, lines: u32) -> Ps {
    tiers.run_log(at);
    tiers.drop_logged(lpn);
    // First, since a compaction that begins between two lines may take the cached copy.
    tiers.cache.mark_clean(lpn);
    tiers.back.observer().stored(lpn);
    if let Some(found) = tiers.cache.peek(lpn) {
        tiers.dram.move_page(at, found.slot, Op::Write);
    }
    let (mut last, mut done_at) = (at, at);
    for line in 0..lines {
        tiers.run_log(last);
        let Some(appended) = tiers.append(at, last, lpn, line) else {
            break;
        };
        tiers.stats.write_log.demoted += 1;
        last = appended.at;
        done_at = done_at.max(last + appended.dram);
    }
    done_at
}

/// Puts the page into the cache, or around it.
fn to_cache<O: Observer, E: Effects>(
    engine: &mut Engine<O>,
    at: Ps,
    lpn: Lpn,
    effects: &mut E,
) -> (Ps, ServedBy) {
    let dram = engine.tiers.dram.latency();
    let found = engine.tiers.cache.peek(lpn);
    if found.is_none() && engine.store_miss() == StoreMiss::Around {
        engine.tiers.stats.migration.programs += 1;
        engine.tiers.write(at, lpn);
        return (at + dram, ServedBy::Flash);
    }
    let (slot, done_at) = match found {
        Some(found) => (found.slot, found.ready_at.max(at + dram)),
        None => {
            let (slot, start) = engine.wait_for_room(at, lpn, effects);
            let done_at = start + dram;
            engine.tiers.install(slot, lpn, done_at, Fill::Read);
            engine.tiers.stats.migration.fills += 1;
            (slot, done_at)
        }
    };
    let lines = engine.front.lines_per_page();
    let tiers = &mut engine.tiers;
    tiers.back.observer().stored(lpn);
    tiers.dram.move_page(done_at, slot, Op::Write);
    (0..lines).for_each(|line| tiers.cache.count_line(slot, line, true));
    if tiers.cache.writes_through() {
        tiers.cache.mark_clean(lpn);
        tiers.stats.migration.programs += 1;
        tiers.cache.count_program(slot);
        tiers.write(done_at, lpn);
    } else {
        tiers.cache.mark_dirty(lpn);
    }
    (done_at, ServedBy::CacheHit)
}
