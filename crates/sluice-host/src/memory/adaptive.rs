//! SkyByte's promotion of hot pages (section III-C): the device counts, the host copies.

use super::Answer;
use super::buffer::{Buffer, CHUNKS_MAX, Promotion};
use super::bus::{Bus, FromDevice};
use super::pages::{Due, Place, Sizes, Tiers, pace};
use crate::artifact::Artifact;
use crate::config;
use sluice_model::Op;
use sluice_tiering::Heat;
use sluice_units::{Lpn, PAGE_BYTES, Ps};

pub(super) struct Adaptive {
    pub tiers: Tiers,
    /// What the device counts of a page of 4 KiB while it is in the cache.
    heat: Heat,
    buffer: Buffer,
    interrupt: Ps,
    line: Ps,
}

impl Adaptive {
    /// # Panics
    /// If a huge page has more than 512 pages, or the threshold is more than a counter counts.
    pub fn new(bus: &mut Bus<impl Artifact>, given: &config::Adaptive) -> Adaptive {
        bus.evicted = Some(Vec::new());
        assert!(
            given.huge <= CHUNKS_MAX,
            "{} pages of a huge page",
            given.huge
        );
        let sizes = Sizes {
            span: given.huge,
            home: given.pages,
            remote: given.remote_pages,
            remote_latency: given.remote_latency,
            spare: given.spare,
            ways: given.ways,
            line: given.line,
        };
        Adaptive {
            tiers: Tiers::new(bus, &sizes),
            heat: Heat::new(bus.device().pages() as usize, given.threshold, given.decay),
            buffer: Buffer::new(given.buffer),
            interrupt: given.interrupt,
            line: given.line,
        }
    }

    pub fn read(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        may_delay: bool,
    ) -> Answer {
        let unit = self.tiers.unit(addr / PAGE_BYTES);
        match self.tiers.place(unit) {
            Place::Host(frame) => self.tiers.read(bus, now, addr, frame),
            Place::Moving(entry) => {
                let promotion = self.buffer.at(entry);
                if promotion.reads_host(self.tiers.line_of(addr)) {
                    bus.stats.migration.buffer_host += 1;
                    let frame = promotion.frame;
                    return self.tiers.read(bus, now, addr, frame);
                }
                bus.stats.migration.buffer_device += 1;
                bus.device_read(now, addr, may_delay).answer
            }
            Place::Device => {
                let FromDevice { answer, hit } = bus.device_read(now, addr, may_delay);
                self.counts(bus, now, addr, hit);
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
        let unit = self.tiers.unit(addr / PAGE_BYTES);
        match self.tiers.place(unit) {
            Place::Host(frame) => self.tiers.write(bus, now, addr, frame),
            Place::Moving(entry) => {
                let line = self.tiers.line_of(addr);
                let promotion = self.buffer.at(entry);
                if promotion.writes_host(now, line) {
                    bus.stats.migration.buffer_host += 1;
                    let frame = promotion.frame;
                    self.tiers.write(bus, now, addr, frame)
                } else {
                    bus.stats.migration.buffer_device += 1;
                    bus.device_write(now, addr, may_delay).answer
                }
            }
            Place::Device => {
                let written = bus.device_write(now, addr, may_delay);
                let logs_count = bus.artifact.counts_logged_stores();
                let counts = written.hit && (logs_count || !written.logged);
                self.counts(bus, now, addr, counts);
                written.answer
            }
        }
    }

    /// Takes note of an access of the device's to a page that stays there so far. The write log
    /// serves pages that are not in the cache as well.
    fn counts(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, addr: u64, hit: bool) {
        self.forget(bus);
        let page = addr / PAGE_BYTES;
        if hit && bus.device().is_cached(Lpn::of(page)) {
            self.count(bus, now, page);
        }
    }

    /// Counts an access to a page that the device had in its cache, and asks the host to promote
    /// it once it is hot. A page that was not taken has to become hot again: an interrupt for
    /// every access would be too much.
    fn count(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, page: u64) {
        if self.heat.count(now, page) && !bus.device().is_pinned(Lpn::of(page)) {
            self.promote(bus, now, self.tiers.unit(page));
        }
    }

    /// Forgets the counts of pages that have left the device's cache.
    fn forget(&mut self, bus: &mut Bus<impl Artifact>) {
        for page in bus.evicted.iter_mut().flat_map(|pages| pages.drain(..)) {
            self.heat.forget(page);
        }
    }

    fn promote(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, unit: u32) {
        if self.buffer.is_full() {
            bus.stats.migration.buffer_full += 1;
            return;
        }
        let Some(frame) = self.tiers.frame_for(bus, now, unit) else {
            bus.stats.migration.no_room += 1;
            return self.tiers.reclaim(bus, now);
        };
        if let Some(entry) = self.buffer.add(Promotion::new(unit, frame)) {
            self.tiers.put(unit, Place::Moving(entry));
            let begin = now + self.interrupt;
            self.tiers.events.push(begin, Due::Copy(entry));
        }
        self.tiers.reclaim(bus, now);
    }

    /// A promotion goes on: its first line is to be copied, or its present chunk was.
    pub fn copy(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, entry: u32) {
        let promotion = self.buffer.at(entry);
        let (unit, frame) = (promotion.unit, promotion.frame);
        let pages = self.tiers.pages_of(bus, unit);
        let has_begun = promotion.moved_at[0] != Ps::MAX;
        if has_begun {
            let chunk = u64::from(promotion.chunk);
            let frame_page = self.tiers.frame_page(frame) + chunk;
            bus.host_page(now, frame_page, Op::Write);
            let written = self.buffer.at(entry).next_chunk();
            bus.versions
                .copied(pages.start + chunk, frame_page, written);
        }
        let promotion = self.buffer.at(entry);
        let page = pages.start + u64::from(promotion.chunk);
        if page < pages.end {
            let start = bus.page_ready(now, page);
            let arrive = |at| bus.line_arrives(now, at);
            let (moved_at, end) = pace(start, self.line, arrive);
            promotion.moved_at = moved_at;
            return self.tiers.events.push(end, Due::Copy(entry));
        }
        let written = promotion.is_written();
        self.buffer.remove(entry);
        self.tiers.moved_in(bus, now, unit, frame, written);
    }
}
