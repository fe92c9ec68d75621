//! The block door: NVMe-like reads, writes, TRIM and flushes of pages, on the device that serves
//! loads and stores (Cylon section 4.6).

use super::command::Refused;
use super::observer::Observer;
use super::pipeline::Pipeline;
use super::storage::Storage;
use crate::cache::Peek;
use crate::ftl::Placement;
use crate::nand::Origin;
use crate::request::Effects;
use sluice_units::{Lpn, Ps, Slot};

/// What a block request does with its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOp {
    /// Reads them. A page that is cached comes from there; others do not enter the cache.
    Read,
    /// Writes them whole. A cached copy ends, since block data is a stream that the cache would
    /// suffer from; a pinned one takes the new contents and stays. The device holds what its dies
    /// have places for (`nand.write_queue`).
    Write,
    /// Ends their contents.
    Trim,
    /// Programs what the cache has of them that was written. It stays cached. What waits in the
    /// write buffer is programmed too; what is in the write log stays there, as that is kept.
    Flush,
}

/// A request for a range of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Read, write, TRIM or flush.
    pub op: BlockOp,
    /// The first page.
    pub lpn: Lpn,
    /// How many pages.
    pub count: u64,
    /// Where a write should go, on a device with `ftl.placement = host` or `ftl.stream_by = host`.
    pub placement: Placement,
}

impl BlockRequest {
    /// A request that leaves the placement to the device.
    pub fn new(op: BlockOp, lpn: Lpn, count: u64) -> BlockRequest {
        BlockRequest {
            op,
            lpn,
            count,
            placement: Placement::default(),
        }
    }
}

/// The device's answer to a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCompletion {
    /// Read: when the last page is with the host. Write: when the device has a place for the last
    /// page, or has programmed it with `cache.store_done = programmed`. Flush: about when the last
    /// program has ended of all that was written before. Otherwise when the device has taken it
    /// over.
    pub done_at: Ps,
    /// Pages that were in the cache, or on their way there.
    pub cached: u64,
}

impl BlockCompletion {
    /// A page is done then. Says whether it is, or flash refuses it.
    fn lasts_until(&mut self, done_at: impl Into<Option<Ps>>) -> bool {
        let done_at = done_at.into();
        self.done_at = self.done_at.max(done_at.unwrap_or_default());
        done_at.is_some()
    }
}

/// Serves a block request at `now`.
pub(super) fn serve<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    now: Ps,
    request: BlockRequest,
    effects: &mut E,
) -> Result<BlockCompletion, Refused> {
    pipeline.advance(now, effects);
    pipeline.storage.commanded();
    if let Some(refused) = refusal(pipeline, &request) {
        pipeline.storage.stats.refused += 1;
        return Err(refused);
    }
    let storage = &mut pipeline.storage;
    let at = storage.now() + pipeline.front.parts().total();
    let mut is_taken = true;
    let mut completion = BlockCompletion {
        done_at: at + storage.dram.latency(),
        cached: 0,
    };
    // Both ends are on the device, so every page between them is.
    let first = request.lpn.0;
    let pages = (first..first + request.count as u32).map(Lpn);
    match request.op {
        BlockOp::Read => {
            for lpn in pages {
                completion.cached += u64::from(storage.cache.contains(lpn));
                completion.lasts_until(read(storage, at, lpn));
            }
        }
        BlockOp::Write => {
            for lpn in pages {
                completion.cached += u64::from(storage.cache.contains(lpn));
                let done_at = write(storage, at, lpn, request.placement, effects);
                is_taken &= completion.lasts_until(done_at);
            }
        }
        BlockOp::Trim => {
            for lpn in pages {
                completion.cached += u64::from(trim(storage, lpn, effects));
            }
        }
        BlockOp::Flush => is_taken = flush(storage, at, request, effects, &mut completion),
    }
    if !is_taken {
        // Flash has worn out under this request: some of its pages have no new contents.
        storage.stats.refused += 1;
        return Err(Refused::ReadOnly);
    }
    Ok(completion)
}

/// Why the request cannot be served, if it cannot.
fn refusal<O: Observer>(pipeline: &Pipeline<O>, request: &BlockRequest) -> Option<Refused> {
    let pages = pipeline.front.pages();
    let end = u64::from(request.lpn).checked_add(request.count);
    if end.is_none_or(|end| end > pages) {
        let before_last = request.count.saturating_sub(1);
        let last = u64::from(request.lpn).saturating_add(before_last);
        return Some(Refused::NotOnDevice(last, pages));
    }
    if pipeline.expander.is_some() {
        return Some(Refused::IsMemory);
    }
    let back = &pipeline.storage.back;
    match (request.op, request.placement.place) {
        (BlockOp::Read | BlockOp::Trim, _) => None,
        (BlockOp::Flush, _) if back.is_read_only() => Some(Refused::ReadOnly),
        (BlockOp::Flush, _) => None,
        (BlockOp::Write, _) if back.is_read_only() => Some(Refused::ReadOnly),
        (BlockOp::Write, Some(_)) if !back.takes_placement() => Some(Refused::DevicePlaces),
        (BlockOp::Write, Some(place)) if !back.has_place(place) => {
            Some(Refused::NoSuchPlace(place))
        }
        (BlockOp::Write, _) => None,
    }
}

fn read<O: Observer>(storage: &mut Storage<O>, at: Ps, lpn: Lpn) -> Ps {
    storage.stats.block_reads += 1;
    let dram = storage.dram.latency();
    match storage.cache.peek(lpn) {
        Some(found) => {
            storage.stats.block_cache_hits += 1;
            found.ready_at.max(at + dram)
        }
        // As compaction, which needs nothing from flash then.
        None if storage.is_wholly_logged(lpn) => at + dram,
        None => {
            let served = storage.back.read(at, lpn, Origin::Host, &mut storage.stats);
            served.done_at + dram
        }
    }
}

/// `None` if flash refuses the page: a cached copy stays, and what was written to it counts.
fn write<O: Observer, E: Effects>(
    storage: &mut Storage<O>,
    at: Ps,
    lpn: Lpn,
    placement: Placement,
    effects: &mut E,
) -> Option<Ps> {
    storage.stats.block_writes += 1;
    let found = storage.cache.peek(lpn);
    if found.is_some() && effects.unmap(lpn) {
        storage.cache.set_dirty(lpn, true);
    }
    storage.back.observer().stored(lpn);
    let done_at = storage.write_to(at, lpn, placement)?;
    match found {
        Some(found) if found.is_pinned => _ = storage.cache.set_dirty(lpn, false),
        Some(_) => _ = storage.drop_cached(lpn),
        None => {}
    }
    Some(done_at)
}

/// Says whether the page was cached.
fn trim<O: Observer, E: Effects>(storage: &mut Storage<O>, lpn: Lpn, effects: &mut E) -> bool {
    storage.stats.block_trims += 1;
    let was_cached = storage.drop_cached(lpn);
    if was_cached {
        effects.unmap(lpn);
    }
    storage.trim(lpn);
    was_cached
}

/// Programs the cached pages of a range that were written: those of a range no longer than the
/// cache by page, else all by their places in the cache. Says whether flash takes them, and what
/// waits in the write buffer.
fn flush<O: Observer, E: Effects>(
    storage: &mut Storage<O>,
    at: Ps,
    request: BlockRequest,
    effects: &mut E,
    completion: &mut BlockCompletion,
) -> bool {
    storage.stats.block_flushes += 1;
    let mut is_taken = true;
    let first = u64::from(request.lpn);
    let range = first..first + request.count;
    let cached = storage.cache.len();
    if request.count <= cached {
        for lpn in range.map(|lpn| Lpn(lpn as u32)) {
            if let Some(found) = storage.cache.peek(lpn) {
                is_taken &= flush_page(storage, at, lpn, found, effects, completion);
            }
        }
    } else {
        let mut left = cached;
        for slot in (0..).map(Slot) {
            let last = storage.cache.last_in(slot).filter(|_| left > 0);
            let Some(lpn) = last else { break };
            let found = storage.cache.peek(lpn).filter(|found| found.slot == slot);
            let Some(found) = found else { continue };
            left -= 1;
            if range.contains(&u64::from(lpn)) {
                is_taken &= flush_page(storage, at, lpn, found, effects, completion);
            }
        }
    }
    let done_at = storage.flush_buffer(at);
    completion.lasts_until(done_at) && is_taken
}

/// Programs a cached page if it was written. Says whether flash takes it.
fn flush_page<O: Observer, E: Effects>(
    storage: &mut Storage<O>,
    at: Ps,
    lpn: Lpn,
    found: Peek,
    effects: &mut E,
    completion: &mut BlockCompletion,
) -> bool {
    completion.cached += 1;
    // The host loses its mapping, so that it sees the next store.
    if !(effects.unmap(lpn) || found.is_dirty) {
        return true;
    }
    let done_at = storage.flush(at.max(found.ready_at), found.slot, lpn);
    completion.lasts_until(done_at)
}
