//! TPP (SkyByte section VI-H): the kernel samples accesses by page faults, and promotes pages that
//! fault twice.

use super::bus::Bus;
use super::pages::{Due, Place, Sizes, Tiers, pace};
use super::{Answer, Moved};
use crate::host::config;
use sluice_model::Op;
use sluice_units::{PAGE_BYTES, Ps};

/// What sampling knows of a page. All zero at the start.
#[derive(Clone, Copy, Default)]
struct Sampled {
    /// When it faulted last, plus one picosecond.
    fault: u64,
    touched: bool,
    marked: bool,
}

pub(super) struct Tpp {
    pub tiers: Tiers,
    given: config::Tpp,
    pages: Vec<Sampled>,
    /// Pages beyond have not been touched.
    touched_end: usize,
    /// Where marking goes on.
    hand: usize,
}

impl Tpp {
    pub fn new(bus: &Bus, given: &config::Tpp) -> Tpp {
        let sizes = Sizes {
            span: 1,
            home: given.pages,
            remote: 0,
            remote_latency: Ps::ZERO,
            spare: given.spare,
            line: given.line,
        };
        let mut tiers = Tiers::new(bus, &sizes);
        if given.period > Ps::ZERO {
            tiers.events.push(given.period, Due::Sample);
        }
        Tpp {
            tiers,
            given: *given,
            pages: vec![Sampled::default(); bus.device.pages() as usize],
            touched_end: 0,
            hand: 0,
        }
    }

    pub fn read(&mut self, bus: &mut Bus, now: Ps, addr: u64, may_delay: bool) -> Answer {
        match self.tiers.place((addr / PAGE_BYTES) as u32) {
            Place::Host(frame) => self.tiers.read(bus, now, addr, frame),
            _ => bus.device_read(now, addr, may_delay).answer,
        }
    }

    pub fn write(&mut self, bus: &mut Bus, now: Ps, addr: u64, may_delay: bool) -> Answer {
        match self.tiers.place((addr / PAGE_BYTES) as u32) {
            Place::Host(frame) => self.tiers.write(bus, now, addr, frame),
            _ => bus.device_write(now, addr, may_delay).answer,
        }
    }

    /// Marks the next pages of the device that the program has touched, so that they fault. Those
    /// that have not faulted since they were marked count too.
    pub fn sample(&mut self, bus: &mut Bus, now: Ps) {
        let mut left = self.given.batch;
        let mut is_first = true;
        for _ in 0..self.touched_end {
            if left == 0 {
                break;
            }
            let page = self.hand;
            self.hand = (page + 1) % self.touched_end;
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
        self.tiers.events.push(now + self.given.period, Due::Sample);
    }

    /// A thread's TLB misses on a page, at its own time: how long the kernel has it. What others
    /// share is used at `clock`.
    pub fn walk(&mut self, bus: &mut Bus, clock: Ps, now: Ps, page: u64) -> Ps {
        let it = &mut self.pages[page as usize];
        it.touched = true;
        self.touched_end = self.touched_end.max(page as usize + 1);
        if !std::mem::take(&mut it.marked) {
            return Ps::ZERO;
        }
        bus.stats.migration.samples += 1;
        let last = std::mem::replace(&mut it.fault, now.0 + 1);
        let again = last != 0 && now - Ps(last - 1) <= self.given.window;
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

    /// Moves the page, from `from` on at the earliest, while the thread that faulted waits. Others
    /// that access it wait as well.
    fn promote(&mut self, bus: &mut Bus, clock: Ps, from: Ps, page: u64) {
        let Some(frame) = self.tiers.take_frame() else {
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
