//! A map that is itself in flash: translation pages, and a cache of some of them.
//!
//! After DFTL (Gupta et al., ASPLOS 2009), with whole translation pages as the unit of caching.
//! They have blocks of their own in each plane, so that collecting data never has to wait for the
//! room that its own changes to the map need. Where translation pages are is known in memory.

use super::area::{Area, Route};
use super::factory::Factory;
use super::store::{Io, Moved, Plan};
use crate::config::Settings;
use crate::nand::{Flash, Origin, Served};
use sluice_lists::Lists;
use sluice_units::Lpn;

/// The cached mapping table (CMT) and what is behind it.
pub(super) struct Translation {
    area: Area,
    /// Entries of a translation page.
    per_page: u32,
    /// Slots in order of use.
    used: Lists,
    /// Per translation page: its slot + 1, or 0.
    slot_of: Vec<u32>,
    /// Per slot: the page it holds.
    page_of: Vec<u32>,
    /// Per slot: whether it was changed since it was read.
    dirty: Vec<bool>,
    slots: u32,
}

impl Translation {
    pub fn new(
        settings: &Settings,
        pages: u32,
        plan: &Plan,
        factory: Option<&Factory>,
        seed: u64,
    ) -> Translation {
        let slots = pages.min(plan.lpns);
        Translation {
            area: Area::new(settings, plan, factory, seed),
            per_page: settings.ftl.entries_per_translation_page,
            used: Lists::new(1, (slots as usize) as u32),
            slot_of: vec![0; plan.lpns as usize],
            page_of: vec![0; slots as usize],
            dirty: vec![false; slots as usize],
            slots,
        }
    }

    /// Looks up the page's entry, to change it if `change`. Says when it is there.
    pub fn look_up<F: Flash>(
        &mut self,
        io: &mut Io<F>,
        lpn: Lpn,
        change: bool,
        origin: Origin,
    ) -> Served {
        let page = lpn.0 / self.per_page;
        if let Some(slot) = self.slot_of[page as usize].checked_sub(1) {
            io.stats.translation_hits += 1;
            self.used.move_to_front(0, slot);
            self.dirty[slot as usize] |= change;
            return Served::at_once(io.now);
        }
        io.stats.translation_misses += 1;
        let slot = self.take_slot(io, origin);
        self.used.push_front(0, slot);
        self.slot_of[page as usize] = slot + 1;
        self.page_of[slot as usize] = page;
        self.dirty[slot as usize] = change;
        let before = io.stats.flash_reads;
        let served = self.area.store.read(io, Lpn(page), origin);
        io.stats.translation_reads += io.stats.flash_reads - before;
        served.unwrap_or(Served::at_once(io.now))
    }

    /// A slot that is free, or freed by writing the page used longest ago back if it was changed.
    fn take_slot<F: Flash>(&mut self, io: &mut Io<F>, origin: Origin) -> u32 {
        if self.used.len(0) < self.slots {
            return self.used.len(0);
        }
        let slot = self.used.pop_back(0).expect("a cache has a slot at least");
        let page = self.page_of[slot as usize];
        self.slot_of[page as usize] = 0;
        if self.dirty[slot as usize] {
            let written = self
                .area
                .write(io, Lpn(page), Route::default(), origin, &mut ());
            io.stats.translation_programs += u64::from(written.is_ok());
        }
        slot
    }

    pub fn is_read_only(&self) -> bool {
        self.area.store.read_only
    }

    #[cfg(test)]
    pub fn area(&self) -> &Area {
        &self.area
    }
}

impl<F: Flash> Moved<F> for Translation {
    fn moved(&mut self, io: &mut Io<F>, lpn: Lpn) {
        self.look_up(io, lpn, true, Origin::Gc);
    }
}

/// One wait after another.
pub(super) fn then(first: Served, second: Served) -> Served {
    Served {
        done_at: second.done_at,
        queue: first.queue + second.queue,
        gc: first.gc + second.gc,
        service: first.service + second.service,
    }
}
