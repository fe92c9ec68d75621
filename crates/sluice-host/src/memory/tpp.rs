//! TPP (SkyByte section VI-H): the kernel samples accesses and promotes pages: those that fault
//! twice, or those that are accessed while they are active.

use super::bus::{Bus, FromDevice};
use super::pages::{Due, Place, Sizes, Tiers, pace};
use super::{Answer, Moved};
use crate::artifact::Artifact;
use crate::config::{self, Sampling};
use sluice_model::Op;
use sluice_tiering::Refaults;
use sluice_units::{Lpn, PAGE_BYTES, Ps};
use std::collections::VecDeque;

/// What sampling knows of a page. All zero at the start.
#[derive(Clone, Copy, Default)]
struct Sampled {
    touched: bool,
    marked: bool,
    /// Since which turn it is active; 0: it is not.
    active: u32,
}

pub(super) struct Tpp {
    pub tiers: Tiers,
    given: config::Tpp,
    pages: Vec<Sampled>,
    faults: Refaults,
    /// Pages beyond are not to be marked: they have not been touched, or are not the program's.
    end: usize,
    /// Pages that became active with the turn, oldest first. Some may be inactive again.
    active: VecDeque<(u32, u32)>,
    turn: u32,
    /// Where marking goes on.
    hand: usize,
}

impl Tpp {
    pub fn new(bus: &Bus<impl Artifact>, given: &config::Tpp) -> Tpp {
        let sizes = Sizes {
            span: 1,
            home: given.pages,
            remote: 0,
            remote_latency: Ps::ZERO,
            spare: given.spare,
            ways: given.ways,
            line: given.line,
        };
        let mut tiers = Tiers::new(bus, &sizes);
        if given.period > Ps::ZERO {
            tiers.events.push(given.period, Due::Sample);
        }
        if given.sampling == Sampling::Accesses {
            tiers.went_back = Some(Vec::new());
        }
        Tpp {
            tiers,
            given: *given,
            pages: vec![Sampled::default(); bus.device().pages() as usize],
            faults: Refaults::new(bus.device().pages() as usize, given.window),
            end: 0,
            active: VecDeque::new(),
            turn: 0,
            hand: 0,
        }
    }

    /// The program has the first so many pages.
    ///
    /// # Panics
    /// If the device has not so many.
    pub fn scan(&mut self, pages: u64) {
        assert!(pages <= self.pages.len() as u64, "{pages} pages");
        if self.given.sampling == Sampling::Accesses {
            self.end = pages as usize;
        }
    }

    pub fn read(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        may_delay: bool,
    ) -> Answer {
        match self.tiers.place((addr / PAGE_BYTES) as u32) {
            Place::Host(frame) => self.tiers.read(bus, now, addr, frame),
            _ => {
                let FromDevice { answer, hit } = bus.device_read(now, addr, may_delay);
                self.note(bus, now, addr / PAGE_BYTES, hit);
                answer
            }
        }
    }

    pub fn write(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        may_delay: bool,
    ) -> Answer {
        match self.tiers.place((addr / PAGE_BYTES) as u32) {
            Place::Host(frame) => self.tiers.write(bus, now, addr, frame),
            _ => {
                let written = bus.device_write(now, addr, may_delay);
                if !written.logged {
                    self.note(bus, now, addr / PAGE_BYTES, written.hit);
                }
                written.answer
            }
        }
    }

    /// Takes note of an access that the device had, if it is the accesses that are sampled. What
    /// the write log serves of a page that is not in the cache is no such access.
    fn note(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, page: u64, hit: bool) {
        if self.given.sampling != Sampling::Accesses {
            return;
        }
        self.forget();
        let is_cached = bus.device().is_cached(Lpn::of(page));
        let it = self.pages[page as usize];
        if !it.marked || (hit && !is_cached) {
            return;
        }
        if it.active == 0 {
            self.activate(page as u32);
        } else if hit {
            self.promote(bus, now, now, page);
        }
    }

    /// Makes a page active. There are no more of them than host memory has room for.
    fn activate(&mut self, page: u32) {
        self.turn += 1;
        self.pages[page as usize].active = self.turn;
        self.active.push_back((page, self.turn));
        if self.active.len() > self.given.pages as usize
            && let Some((oldest, turn)) = self.active.pop_front()
            && self.pages[oldest as usize].active == turn
        {
            self.pages[oldest as usize].active = 0;
        }
    }

    /// Pages that went back written begin anew.
    fn forget(&mut self) {
        let pages = self.tiers.went_back.iter_mut();
        for (page, dirty) in pages.flat_map(|pages| pages.drain(..)) {
            if dirty {
                self.pages[page as usize] = Sampled::default();
            }
        }
    }

    /// Marks the next pages.
    pub fn sample(&mut self, bus: &mut Bus<impl Artifact>, now: Ps) {
        match self.given.sampling {
            Sampling::Faults => self.mark(bus),
            Sampling::Accesses => self.mark_all(),
        }
        self.tiers.events.push(now + self.given.period, Due::Sample);
    }

    /// Marks the next pages of the program, wherever they are.
    fn mark_all(&mut self) {
        for _ in 0..self.end.min(self.given.batch as usize) {
            self.pages[self.hand].marked = true;
            self.hand = (self.hand + 1) % self.end;
        }
    }

    /// Marks the next pages of the device that the program has touched, so that they fault. Those
    /// that have not faulted since they were marked count too.
    fn mark(&mut self, bus: &mut Bus<impl Artifact>) {
        let mut left = self.given.batch;
        let mut is_first = true;
        for _ in 0..self.end {
            if left == 0 {
                break;
            }
            let page = self.hand;
            self.hand = (page + 1) % self.end;
            let on_device = self.tiers.place(page as u32) == Place::Device;
            let it = &mut self.pages[page];
            if !(it.touched && on_device) {
                continue;
            }
            left -= 1;
            if !std::mem::replace(&mut it.marked, true) {
                bus.moves(Moved {
                    first: page as u64,
                    pages: 1,
                    shootdown: std::mem::take(&mut is_first),
                });
            }
        }
    }

    /// A thread's TLB misses on a page, at its own time: how long the kernel has it. What others
    /// share is used at `clock`.
    pub fn walk(&mut self, bus: &mut Bus<impl Artifact>, clock: Ps, now: Ps, page: u64) -> Ps {
        if self.given.sampling == Sampling::Accesses {
            return Ps::ZERO;
        }
        let it = &mut self.pages[page as usize];
        it.touched = true;
        self.end = self.end.max(page as usize + 1);
        if !std::mem::take(&mut it.marked) {
            return Ps::ZERO;
        }
        bus.stats.migration.samples += 1;
        let again = self.faults.again(now, page);
        if again && self.tiers.place(page as u32) == Place::Device {
            self.promote(bus, clock, now + self.given.fault, page);
        }
        match self.tiers.place(page as u32) {
            Place::Host(frame) => self
                .given
                .fault
                .max(self.tiers.frames[frame as usize].ready_at - now),
            _ => self.given.fault,
        }
    }

    /// Moves the page, from `from` on at the earliest. Accesses to it wait meanwhile, and so does a
    /// thread that faulted.
    fn promote(&mut self, bus: &mut Bus<impl Artifact>, clock: Ps, from: Ps, page: u64) {
        let Some(frame) = self.tiers.frame_for(bus, clock, page as u32) else {
            bus.stats.migration.no_room += 1;
            return self.tiers.reclaim(bus, clock);
        };
        let start = bus.page_ready(clock, page).max(from);
        let (_, end) = pace(start, self.given.line, |at| bus.line_arrives(clock, at));
        let frame_page = self.tiers.frame_page(frame);
        bus.host_page(clock, frame_page, Op::Write);
        bus.versions.copied(page, frame_page, 0);
        self.tiers.moved_in(bus, clock, page as u32, frame, false);
        self.tiers.frames[frame as usize].ready_at = end;
        self.tiers.reclaim(bus, clock);
    }
}
