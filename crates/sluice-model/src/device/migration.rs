//! Page migration (SkyByte section III-C): pages that the host promotes into its own memory, and
//! demotes again.

use super::observer::Observer;
use super::pipeline::Pipeline;
use crate::cache::Fill;
use crate::config::StoreMiss;
use crate::request::{Completion, Effects, Hint, Op, ServedBy};
use sluice_units::{Lpn, PageLine, Ps};

/// What the device knew of a page when the host promoted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// Whether the cache or the write log held anything that flash does not have. If not, and if
    /// the host has not written it either, the page need not be demoted: flash is as new.
    pub dirty: bool,
}

/// Hands a page over to the host, and forgets what cache and log have of it.
pub(super) fn promote<O: Observer>(pipeline: &mut Pipeline<O>, now: Ps, lpn: Lpn) -> Promoted {
    let storage = pipeline.begin(now, lpn);
    let mut dirty = false;
    if let Some(found) = storage.cache.peek(lpn) {
        dirty = found.is_dirty;
        storage.dram.move_page(storage.now(), found.slot, Op::Read);
        storage.drop_cached(lpn);
    }
    let dropped = storage.stats.write_log.dropped;
    storage.drop_logged(lpn);
    dirty |= storage.stats.write_log.dropped > dropped;
    storage.stats.migration.promoted += 1;
    storage.stats.migration.promoted_dirty += u64::from(dirty);
    Promoted { dirty }
}

/// Takes a page from the host to where its stores would go.
pub(super) fn demote<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    now: Ps,
    lpn: Lpn,
    effects: &mut E,
) -> Completion {
    pipeline.advance(now, effects);
    pipeline.begin(now, lpn).stats.migration.demoted += 1;
    let now = pipeline.storage.now();
    let at = now + pipeline.front.parts_with_log().total();
    let (done_at, served_by) = if let Some(expander) = &mut pipeline.expander {
        let at = now + pipeline.front.parts_without_cache().total();
        (expander.write_page(at, lpn), ServedBy::CacheHit)
    } else if pipeline.front.demotes_lines()
        && let Some(done_at) = to_log(pipeline, at, lpn)
    {
        (done_at, ServedBy::WriteLog)
    } else {
        to_cache(pipeline, at, lpn, effects)
    };
    Completion {
        done_at,
        served_by,
        hint: Hint::None,
        was_prefetched: false,
    }
}

/// Takes a page from the host straight to flash.
pub(super) fn demote_to_flash<O: Observer>(pipeline: &mut Pipeline<O>, now: Ps, lpn: Lpn) {
    pipeline.begin(now, lpn).stats.migration.demoted += 1;
    let storage = &mut pipeline.storage;
    if let Some(expander) = &mut pipeline.expander {
        let at = storage.now() + pipeline.front.parts_without_cache().total();
        expander.write_page(at, lpn);
        return;
    }
    storage.back.observer().stored(lpn);
    storage.stats.migration.programs += 1;
    match storage.write(storage.now(), lpn) {
        true => _ = storage.drop_cached(lpn),
        // What was cached has the contents that flash refuses.
        false => _ = storage.cache.set_dirty(lpn, true),
    }
}

/// Appends every line of the page. A cached copy is updated beside it, as for any store. `None` if
/// the log takes no more, as flash is worn out.
fn to_log<O: Observer>(pipeline: &mut Pipeline<O>, at: Ps, lpn: Lpn) -> Option<Ps> {
    let lines = pipeline.front.lines_per_page();
    let storage = &mut pipeline.storage;
    storage.run_log(at);
    storage.drop_logged(lpn);
    // First, since a compaction that begins between two lines may take the cached copy.
    storage.cache.set_dirty(lpn, false);
    storage.back.observer().stored(lpn);
    if let Some(found) = storage.cache.peek(lpn) {
        storage.dram.move_page(at, found.slot, Op::Write);
    }
    let (mut last, mut done_at) = (at, at);
    for line in (0..lines).map(PageLine) {
        storage.run_log(last);
        let appended = storage.append(at, last, lpn, line)?;
        storage.stats.write_log.demoted += 1;
        last = appended.at;
        done_at = done_at.max(last + appended.dram);
    }
    Some(done_at)
}

/// Puts the page into the cache, or around it. What the log has of it is void.
fn to_cache<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    at: Ps,
    lpn: Lpn,
    effects: &mut E,
) -> (Ps, ServedBy) {
    pipeline.storage.run_log(at);
    let dram = pipeline.storage.dram.latency();
    let found = pipeline.storage.cache.peek(lpn);
    let place = match &found {
        Some(found) => Some((found.slot, found.ready_at)),
        None if pipeline.store_miss() == StoreMiss::Around => None,
        None => pipeline.wait_for_room(at, lpn, effects),
    };
    let Some((slot, from)) = place else {
        pipeline.storage.stats.migration.programs += 1;
        pipeline.storage.write(at, lpn);
        return (at + dram, ServedBy::Flash);
    };
    let lines = pipeline.front.lines_per_page();
    let storage = &mut pipeline.storage;
    storage.drop_logged(lpn);
    let done_at = match found {
        Some(_) => from.max(at + dram),
        None => {
            storage.install(slot, lpn, from + dram, Fill::Read);
            storage.stats.migration.fills += 1;
            from + dram
        }
    };
    storage.back.observer().stored(lpn);
    storage.dram.move_page(done_at, slot, Op::Write);
    for line in (0..lines).map(PageLine) {
        storage.cache.count_line(slot, line, true);
    }
    if storage.cache.writes_through() {
        storage.stats.migration.programs += 1;
        let is_taken = storage.write(done_at, lpn);
        storage.written_through(slot, lpn, is_taken);
    } else {
        storage.cache.set_dirty(lpn, true);
    }
    (done_at, ServedBy::CacheHit)
}
