//! Commands: what the host asks of the cache beside its loads and stores (Cylon section 4.5).

use super::observer::Observer;
use super::pipeline::Pipeline;
use super::storage::Storage;
use crate::cache::Fill;
use crate::layout::PlaneAddress;
use crate::request::Effects;
use sluice_units::{Lpn, Ps};

/// A command for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Bring the page in if it is not cached, and keep it until it is unpinned or discarded.
    Pin(Lpn),
    /// Let the page leave again. It counts as one that just came in.
    Unpin(Lpn),
    /// Bring the page in if there is room at once, as a prefetcher would.
    Prefetch(Lpn),
    /// Take the page out, programming it if it was written.
    Evict(Lpn),
    /// Program the page if it was written. It stays cached.
    Flush(Lpn),
    /// Let the page be the next of its set to leave, behind pages that went cold before it,
    /// whatever the policy says. An access that is seen, or a pin, takes that back. A page on its
    /// way stays as it is.
    Cold(Lpn),
}

impl Command {
    /// The page it is about.
    pub fn lpn(&self) -> Lpn {
        let (Command::Pin(lpn)
        | Command::Unpin(lpn)
        | Command::Prefetch(lpn)
        | Command::Evict(lpn)
        | Command::Flush(lpn)
        | Command::Cold(lpn)) = *self;
        lpn
    }
}

/// A command that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When: for a page that is brought in, when it is there.
    pub at: Ps,
    /// Whether anything was to be done: `false` if the page was so already.
    pub changed: bool,
}

impl Done {
    fn at(at: Ps) -> Done {
        Done { at, changed: true }
    }

    fn already(at: Ps) -> Done {
        Done { at, changed: false }
    }
}

/// Why a command or a block request was not carried out. Each message is one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The device has no such page.
    #[error("page L{0} is not on the device; it has {1} pages")]
    NotOnDevice(u64, u64),
    /// More pages of one set would be pinned than `cache.pin_max` allows.
    #[error(
        "page {lpn} cannot be pinned: {limit} of the {ways} pages of its set are, the most that \
         cache.pin_max allows"
    )]
    SetPinned {
        /// The page that cannot be pinned.
        lpn: Lpn,
        /// Pages of a set that can be pinned.
        limit: u32,
        /// Pages of a set.
        ways: u32,
    },
    /// The device is a memory expander.
    #[error("the device is a memory expander (device.kind): it has no cache and no flash")]
    IsMemory,
    /// The page is not cached.
    #[error("page {0} is not cached")]
    NotCached(Lpn),
    /// The page is pinned, and must not leave.
    #[error("page {0} is pinned: unpin it first")]
    Pinned(Lpn),
    /// The page is not pinned.
    #[error("page {0} is not pinned")]
    NotPinned(Lpn),
    /// The page is on its way into the cache until the given time.
    #[error("page {0} is on its way into the cache until {1}")]
    InFlight(Lpn, Ps),
    /// A write named a plane, and the device places writes itself.
    #[error("the device places writes itself; ftl.placement = host lets a write name its plane")]
    DevicePlaces,
    /// A write named a plane that the flash array does not have.
    #[error(
        "there is no channel {}, chip {}, die {}, plane {} in the flash array",
        .0.channel, .0.chip, .0.die, .0.plane
    )]
    NoSuchPlace(PlaneAddress),
    /// Too many blocks failed.
    #[error("the device is read-only: too many blocks have failed")]
    ReadOnly,
    /// Every MSHR entry is taken, or every page of the set is on its way or pinned.
    #[error("page {0} cannot be brought in at once: no MSHR entry or no room in its set is free")]
    NoRoom(Lpn),
}

/// Carries a command out at `now`.
pub(super) fn carry_out<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    now: Ps,
    command: Command,
    effects: &mut E,
) -> Result<Done, Refused> {
    pipeline.advance(now, effects);
    pipeline.storage.commanded();
    let (lpn, pages) = (command.lpn(), pipeline.front.pages());
    let result = if !pipeline.front.is_known(lpn) {
        Err(Refused::NotOnDevice(lpn.into(), pages))
    } else if pipeline.expander.is_some() {
        Err(Refused::IsMemory)
    } else {
        match command {
            Command::Pin(_) => pin(pipeline, lpn, effects),
            Command::Unpin(_) => unpin(&mut pipeline.storage, lpn),
            Command::Prefetch(_) => prefetch(pipeline, lpn, effects),
            Command::Evict(_) => evict(&mut pipeline.storage, lpn, effects),
            Command::Flush(_) => flush(&mut pipeline.storage, lpn, effects),
            Command::Cold(_) => cold(&mut pipeline.storage, lpn),
        }
    };
    pipeline.storage.stats.refused += u64::from(result.is_err());
    result
}

fn pin<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    lpn: Lpn,
    effects: &mut E,
) -> Result<Done, Refused> {
    let now = pipeline.storage.now();
    let found = pipeline.storage.cache.peek(lpn);
    if found.as_ref().is_some_and(|found| found.is_pinned) {
        return Ok(Done::already(now));
    }
    if let Err((limit, ways)) = pipeline.storage.cache.can_pin(lpn) {
        return Err(Refused::SetPinned { lpn, limit, ways });
    }
    let at = match found {
        Some(found) => found.ready_at.max(now),
        None => {
            let from = pipeline.front.fill_starts(now);
            let room = pipeline.make_room(now, from, lpn, effects);
            let (slot, start) = room.ok_or(Refused::ReadOnly)?;
            pipeline.storage.stats.pin_fills += 1;
            effects.cached(lpn);
            let (ready_at, _) = pipeline.fill(slot, start, lpn, Fill::Read);
            ready_at
        }
    };
    pipeline.storage.cache.pin(lpn);
    pipeline.storage.stats.pins += 1;
    Ok(Done::at(at))
}

fn unpin<O: Observer>(storage: &mut Storage<O>, lpn: Lpn) -> Result<Done, Refused> {
    match storage.cache.peek(lpn) {
        Some(found) if found.is_pinned => {
            storage.cache.unpin(lpn);
            storage.stats.unpins += 1;
            Ok(Done::at(storage.now()))
        }
        _ => Err(Refused::NotPinned(lpn)),
    }
}

fn prefetch<O: Observer, E: Effects>(
    pipeline: &mut Pipeline<O>,
    lpn: Lpn,
    effects: &mut E,
) -> Result<Done, Refused> {
    let now = pipeline.storage.now();
    if let Some(found) = pipeline.storage.cache.peek(lpn) {
        return Ok(Done::already(found.ready_at.max(now)));
    }
    if !pipeline.prefetch_one(now, lpn, None, effects) {
        return Err(Refused::NoRoom(lpn));
    }
    let found = pipeline.storage.cache.peek(lpn);
    Ok(Done::at(found.map_or(now, |found| found.ready_at)))
}

fn evict<O: Observer, E: Effects>(
    storage: &mut Storage<O>,
    lpn: Lpn,
    effects: &mut E,
) -> Result<Done, Refused> {
    let now = storage.now();
    match storage.cache.peek(lpn) {
        None => return Err(Refused::NotCached(lpn)),
        Some(found) if found.is_pinned => return Err(Refused::Pinned(lpn)),
        Some(found) if found.ready_at > now => {
            return Err(Refused::InFlight(lpn, found.ready_at));
        }
        Some(_) => {}
    }
    let left = storage.cache.take_out(lpn).ok_or(Refused::NotCached(lpn))?;
    let was_written = storage.leave(now, &left, effects);
    storage.stats.flushes += u64::from(was_written.ok_or(Refused::ReadOnly)?);
    storage.stats.command_evictions += 1;
    Ok(Done::at(now))
}

fn cold<O: Observer>(storage: &mut Storage<O>, lpn: Lpn) -> Result<Done, Refused> {
    let now = storage.now();
    match storage.cache.peek(lpn) {
        None => Err(Refused::NotCached(lpn)),
        Some(found) if found.is_pinned => Err(Refused::Pinned(lpn)),
        Some(found) if found.ready_at > now => Err(Refused::InFlight(lpn, found.ready_at)),
        Some(_) if storage.cool(lpn) => Ok(Done::at(now)),
        Some(_) => Ok(Done::already(now)),
    }
}

/// The host loses its mapping, as with an eviction, so that it sees the next store.
fn flush<O: Observer, E: Effects>(
    storage: &mut Storage<O>,
    lpn: Lpn,
    effects: &mut E,
) -> Result<Done, Refused> {
    let now = storage.now();
    let found = storage.cache.peek(lpn).ok_or(Refused::NotCached(lpn))?;
    if storage.back.is_read_only() {
        return Err(Refused::ReadOnly);
    }
    let written = effects.unmap(lpn);
    if !(found.is_dirty || written) {
        // Clean, but its newest contents may wait in the write buffer.
        let changed = storage.flush_buffered(now, lpn).ok_or(Refused::ReadOnly)?;
        return Ok(Done { at: now, changed });
    }
    // What was stored to a page on its way can be programmed once the rest is there.
    match storage.flush(now.max(found.ready_at), found.slot, lpn) {
        Some(_) => Ok(Done::at(now)),
        None => Err(Refused::ReadOnly),
    }
}
