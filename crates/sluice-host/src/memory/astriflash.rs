//! AstriFlash (SkyByte section VI-H): host memory as a set-associative cache of the device's
//! pages, and a switch of user-level threads at each of its misses.

use super::Answer;
use super::bus::{Bus, Fetched};
use super::versions::LINES;
use crate::artifact::Artifact;
use crate::config;
use sluice_model::Op;
use sluice_units::{PAGE_BYTES, Ps};
use std::ops::Range;

/// A page's place.
#[derive(Clone, Copy, Default)]
struct Way {
    /// The page plus 1; 0 if there is none.
    page: u64,
    dirty: bool,
    /// When it was used last, in look-ups.
    used: u64,
    /// When its page is there.
    ready_at: Ps,
}

pub(super) struct AstriFlash {
    ways: Vec<Way>,
    associativity: usize,
    sets: u64,
    lookup: Ps,
    lookups: u64,
}

/// What a look-up finds.
enum Found {
    /// The place of a page that is there or on its way.
    Page(usize),
    /// A place that the page can have.
    Room(usize),
    /// Every page of the set is on its way.
    Busy,
}

impl AstriFlash {
    /// # Panics
    /// If the device's pages are not of 4 KiB, or the sets are not a power of two.
    pub fn new(bus: &Bus<impl Artifact>, given: &config::AstriFlash) -> AstriFlash {
        let page_bytes = bus.device().config().page_bytes();
        assert_eq!(page_bytes, PAGE_BYTES, "device.page, with a cache of pages");
        let sets = given.pages / given.ways;
        assert!(sets.is_power_of_two(), "{sets} sets of pages");
        AstriFlash {
            ways: vec![Way::default(); (sets * given.ways) as usize],
            associativity: given.ways as usize,
            sets: sets.into(),
            lookup: given.lookup,
            lookups: 0,
        }
    }

    /// Fills all places with the last of these pages of a program, the last one as the one used
    /// last. Returns the first one.
    pub fn fill(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        pages: Range<u64>,
        is_written: &dyn Fn(u64) -> bool,
    ) -> u64 {
        let room = self.ways.len() as u64;
        let first = pages.start.max(pages.end.saturating_sub(room));
        for page in first..pages.end {
            if let Found::Room(place) = self.find(Ps::ZERO, page) {
                bus.promote(Ps::ZERO, page);
                self.ways[place] = Way {
                    page: page + 1,
                    dirty: is_written(page),
                    used: self.lookups,
                    ready_at: Ps::ZERO,
                };
            }
        }
        first
    }

    /// Looks a page up. Its set has room if one of its pages is there and can leave.
    fn find(&mut self, at: Ps, page: u64) -> Found {
        self.lookups += 1;
        let first = (page % self.sets) as usize * self.associativity;
        let mut room: Option<usize> = None;
        for place in first..first + self.associativity {
            let way = &self.ways[place];
            if way.page == page + 1 {
                self.ways[place].used = self.lookups;
                return Found::Page(place);
            }
            // A place that was never used is older than any page.
            let older = room.is_none_or(|room| way.used < self.ways[room].used);
            if way.ready_at <= at && older {
                room = Some(place);
            }
        }
        room.map_or(Found::Busy, Found::Room)
    }

    pub fn read(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        may_delay: bool,
    ) -> Answer {
        let found_at = now + self.lookup;
        match self.find(found_at, addr / PAGE_BYTES) {
            Found::Page(place) => {
                bus.versions.host_read(addr, addr_in(place, addr));
                let ready_at = self.ways[place].ready_at;
                match ready_at > found_at {
                    true => bus.merged(now, ready_at, may_delay),
                    false => bus.host_read(now, addr_in(place, addr), Ps::ZERO),
                }
            }
            Found::Room(place) => {
                let fetched = self.bring_in(bus, now, place, addr);
                bus.fetched_for_read(now, &fetched, may_delay)
            }
            Found::Busy => bus.device_read(now, addr, may_delay).answer,
        }
    }

    pub fn write(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        may_delay: bool,
    ) -> Answer {
        let found_at = now + self.lookup;
        let (place, answer) = match self.find(found_at, addr / PAGE_BYTES) {
            Found::Page(place) if may_delay && self.ways[place].ready_at > found_at => {
                // It comes again, and is a request each time: as a read that meets its page.
                bus.stats.requests.device_writes += 1;
                return bus.delayed(found_at, self.ways[place].ready_at);
            }
            Found::Page(place) => (place, bus.host_write(now, addr_in(place, addr), Ps::ZERO)),
            Found::Room(place) => {
                let fetched = self.bring_in(bus, now, place, addr);
                (place, bus.fetched_for_write(now, &fetched, may_delay))
            }
            Found::Busy => return bus.device_write(now, addr, may_delay).answer,
        };
        if !answer.delayed {
            self.ways[place].dirty = true;
            bus.versions.host_write(addr, addr_in(place, addr));
        }
        answer
    }

    /// Puts the page of a line in a place, whose page goes back to the device if it was written.
    fn bring_in(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        place: usize,
        addr: u64,
    ) -> Fetched {
        let old = self.ways[place];
        if old.page != 0 {
            bus.stats.migration.demotions += 1;
            if old.dirty {
                bus.stats.migration.dirty_demotions += 1;
                bus.host_page(now, place as u64, Op::Read);
                for _ in 0..LINES {
                    bus.line_returns(now, now);
                }
                bus.demote(now, old.page - 1, place as u64);
            } else {
                bus.versions.dropped(old.page - 1, place as u64);
            }
        }
        let fetched = bus.fetch_page(now, addr);
        bus.host_page(now, place as u64, Op::Write);
        bus.versions.copied(addr / PAGE_BYTES, place as u64, 0);
        bus.stats.migration.promotions += 1;
        self.ways[place] = Way {
            page: addr / PAGE_BYTES + 1,
            dirty: false,
            used: self.lookups,
            ready_at: fetched.ready_at,
        };
        fetched
    }
}

/// Where in host memory a place has the byte at `addr`.
fn addr_in(place: usize, addr: u64) -> u64 {
    place as u64 * PAGE_BYTES + addr % PAGE_BYTES
}
