//! Commands: what the host asks of the cache beside its loads and stores (Cylon section 4.5).

use super::Device;
use crate::cache::Fill;
use crate::layout::Place;
use crate::parts::Parts;
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
}

impl Command {
    /// The page it is about.
    pub fn lpn(&self) -> Lpn {
        let (Command::Pin(lpn)
        | Command::Unpin(lpn)
        | Command::Prefetch(lpn)
        | Command::Evict(lpn)
        | Command::Flush(lpn)) = *self;
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
        /// The page.
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
    NoSuchPlace(Place),
    /// Too many blocks failed.
    #[error("the device is read-only: too many blocks have failed")]
    ReadOnly,
    /// Every MSHR entry is taken, or every page of the set is on its way or pinned.
    #[error("page {0} cannot be brought in at once: no MSHR entry or no room in its set is free")]
    NoRoom(Lpn),
}

impl Device {
    /// Carries a command out at `now`.
    ///
    /// # Errors
    /// Why not. Nothing is changed then.
    pub fn command<E: Effects>(
        &mut self,
        now: Ps,
        command: Command,
        effects: &mut E,
    ) -> Result<Done, Refused> {
        self.catch_up(now);
        let lpn = command.lpn();
        let result = match (lpn.0 < self.config.pages, command) {
            (false, _) => Err(Refused::NotOnDevice(lpn.into(), self.pages())),
            _ if self.memory.is_some() => Err(Refused::IsMemory),
            (true, Command::Pin(_)) => self.pin(lpn, effects),
            (true, Command::Unpin(_)) => self.unpin(lpn),
            (true, Command::Prefetch(_)) => self.bring(lpn, effects),
            (true, Command::Evict(_)) => self.evict(lpn, effects),
            (true, Command::Flush(_)) => self.flush(lpn, effects),
        };
        self.stats.refused += u64::from(result.is_err());
        result
    }

    fn done(&self, changed: bool) -> Result<Done, Refused> {
        Ok(Done {
            at: self.now,
            changed,
        })
    }

    fn pin<E: Effects>(&mut self, lpn: Lpn, effects: &mut E) -> Result<Done, Refused> {
        let page = lpn.0;
        let found = self.cache.peek(page);
        if found.as_ref().is_some_and(|found| found.is_pinned) {
            return self.done(false);
        }
        if !self.cache.can_pin(page) {
            let (limit, ways) = (self.config.cache.pins_per_set, self.config.cache.ways);
            return Err(Refused::SetPinned { lpn, limit, ways });
        }
        let at = match found {
            Some(found) => found.ready_at.max(self.now),
            None => {
                let (slot, start) = self.make_room(self.now, self.now, page, effects);
                self.stats.pin_fills += 1;
                effects.cached(lpn);
                self.fill(slot, start, page, Fill::Read, &mut Parts::default())
            }
        };
        self.cache.pin(page);
        self.stats.pins += 1;
        Ok(Done { at, changed: true })
    }

    fn unpin(&mut self, lpn: Lpn) -> Result<Done, Refused> {
        let page = lpn.0;
        match self.cache.peek(page) {
            Some(found) if found.is_pinned => {
                self.cache.unpin(page);
                self.stats.unpins += 1;
                self.done(true)
            }
            _ => Err(Refused::NotPinned(lpn)),
        }
    }

    fn bring<E: Effects>(&mut self, lpn: Lpn, effects: &mut E) -> Result<Done, Refused> {
        let page = lpn.0;
        if let Some(found) = self.cache.peek(page) {
            return Ok(Done {
                at: found.ready_at.max(self.now),
                changed: false,
            });
        }
        if !self.prefetch_one(self.now, page, None, effects) {
            return Err(Refused::NoRoom(lpn));
        }
        let found = self.cache.peek(page);
        Ok(Done {
            at: found.map_or(self.now, |found| found.ready_at),
            changed: true,
        })
    }

    fn evict<E: Effects>(&mut self, lpn: Lpn, effects: &mut E) -> Result<Done, Refused> {
        let page = lpn.0;
        match self.cache.peek(page) {
            None => return Err(Refused::NotCached(lpn)),
            Some(found) if found.is_pinned => return Err(Refused::Pinned(lpn)),
            Some(found) if found.ready_at > self.now => {
                return Err(Refused::InFlight(lpn, found.ready_at));
            }
            Some(_) => {}
        }
        let left = self.cache.take_out(page).ok_or(Refused::NotCached(lpn))?;
        self.stats.command_evictions += 1;
        self.stats.flushes += u64::from(self.let_go(self.now, &left, effects));
        self.done(true)
    }

    /// The host loses its mapping, as with an eviction, so that it sees the next store.
    fn flush<E: Effects>(&mut self, lpn: Lpn, effects: &mut E) -> Result<Done, Refused> {
        let page = lpn.0;
        let found = self.cache.peek(page).ok_or(Refused::NotCached(lpn))?;
        let written = effects.unmap(lpn);
        if !(found.is_dirty || written) {
            return self.done(false);
        }
        self.cache.set_dirty(page, false);
        if let Some(lines) = &mut self.lines {
            lines.program(found.slot);
        }
        self.stats.flushes += 1;
        // What was stored to a page on its way can be programmed once the rest is there.
        let at = self.now.max(found.ready_at);
        self.write_behind(at, page);
        self.done(true)
    }
}
