//! The block door: NVMe-like reads, writes and TRIM of pages, on the device that serves loads and
//! stores (Cylon section 4.6).

use super::{Device, Refused};
use crate::ftl::Placement;
use crate::parts::Parts;
use crate::request::Effects;
use sluice_units::{Lpn, Ps};

/// What a block request does with its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOp {
    /// Reads them. A page that is cached comes from there; others do not enter the cache.
    Read,
    /// Writes them whole. A cached copy ends, since block data is a stream that the cache would
    /// suffer from; a pinned one takes the new contents and stays.
    Write,
    /// Ends their contents.
    Trim,
}

/// A request for a range of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Read, write or TRIM.
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
    /// Read: when the last page is with the host. Otherwise when the device has taken it over.
    pub done_at: Ps,
    /// Pages that were in the cache, or on their way there.
    pub cached: u64,
}

impl Device {
    /// Serves a block request at `now`.
    ///
    /// All pages are asked for at once. Each spends `device.protocol_latency`,
    /// `cache.index_latency` and `cache.hit_latency` besides its time in flash. A write is done
    /// when the data is in the device's DRAM; its programs follow. The host loses its mapping of
    /// pages that are written or trimmed, so that its next load sees what the door did.
    ///
    /// A write that names a plane goes there as long as the plane has room
    /// ([`Stats::placements_missed`](crate::Stats::placements_missed) counts the others).
    ///
    /// # Errors
    /// [`Refused::NotOnDevice`], [`Refused::IsMemory`], [`Refused::ReadOnly`],
    /// [`Refused::DevicePlaces`] and [`Refused::NoSuchPlace`]. Nothing is changed then.
    pub fn block<E: Effects>(
        &mut self,
        now: Ps,
        request: BlockRequest,
        effects: &mut E,
    ) -> Result<BlockCompletion, Refused> {
        self.catch_up(now);
        if let Some(refused) = self.refusal(&request) {
            self.stats.refused += 1;
            return Err(refused);
        }
        let at = self.now + self.front_parts().total();
        let mut completion = BlockCompletion {
            done_at: at + self.config.cache.hit_latency,
            cached: 0,
        };
        let end = u64::from(request.lpn) + request.count;
        for lpn in request.lpn.0..end as u32 {
            let cached = self.cache.contains(lpn);
            completion.cached += u64::from(cached);
            match request.op {
                BlockOp::Read => {
                    let done_at = self.block_read(at, lpn);
                    completion.done_at = completion.done_at.max(done_at);
                }
                BlockOp::Write => self.block_write(at, lpn, request.placement, effects),
                BlockOp::Trim => {
                    self.stats.block_trims += 1;
                    if self.drop_cached(lpn) {
                        effects.unmap(Lpn(lpn));
                    }
                    self.trim_behind(lpn);
                }
            }
        }
        Ok(completion)
    }

    /// Why the request cannot be served, if it cannot.
    fn refusal(&self, request: &BlockRequest) -> Option<Refused> {
        let first = u64::from(request.lpn);
        let end = first.checked_add(request.count);
        if end.is_none_or(|end| end > self.pages()) {
            let before_last = request.count.saturating_sub(1);
            let last = first.saturating_add(before_last);
            return Some(Refused::NotOnDevice(last, self.pages()));
        }
        if self.memory.is_some() {
            return Some(Refused::IsMemory);
        }
        match request.placement.place {
            _ if request.op != BlockOp::Write => None,
            _ if self.back.is_read_only() => Some(Refused::ReadOnly),
            Some(_) if !self.config.ftl.placement_by_host => Some(Refused::DevicePlaces),
            Some(place) if !self.back.has_place(place) => Some(Refused::NoSuchPlace(place)),
            _ => None,
        }
    }

    fn block_read(&mut self, at: Ps, lpn: u32) -> Ps {
        self.stats.block_reads += 1;
        let dram = self.config.cache.hit_latency;
        match self.cache.peek(lpn) {
            Some(found) => {
                self.stats.block_cache_hits += 1;
                found.ready_at.max(at + dram)
            }
            None => {
                let mut unseen = Parts::default();
                self.back.read(at, lpn, &mut unseen, &mut self.stats) + dram
            }
        }
    }

    fn block_write<E: Effects>(&mut self, at: Ps, lpn: u32, placement: Placement, effects: &mut E) {
        self.stats.block_writes += 1;
        let found = self.cache.peek(lpn);
        if found.is_some() {
            // What the host wrote before is overwritten: its answer does not matter.
            effects.unmap(Lpn(lpn));
        }
        match found {
            Some(pinned) if pinned.is_pinned => {
                self.back.contents.store(lpn);
                self.cache.set_dirty(lpn, false);
            }
            Some(_) => {
                self.drop_cached(lpn);
            }
            None => {}
        }
        self.drop_logged(lpn);
        self.back.write_to(at, lpn, placement, &mut self.stats);
    }
}
