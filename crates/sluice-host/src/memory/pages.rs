//! Pages on the device and in host memory: the page table, the frames, and what a page in host
//! memory does.

use super::bus::Bus;
use super::frames::{Frame, Reclaim};
use super::sets::Sets;
use super::versions::LINES;
use super::{Answer, Moved};
use crate::artifact::Artifact;
use sluice_events::Wheel;
use sluice_tiering::Ages;
use sluice_units::{LINE_BYTES, PAGE_BYTES, Ps};
use std::ops::Range;

/// Where an entry of the page table leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Device,
    /// A frame of host memory.
    Host(u32),
    /// On its way there: an entry of the promotion look-aside buffer.
    Moving(u32),
}

const MOVING: u32 = 1 << 31;

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// An entry of the promotion look-aside buffer goes on.
    Copy(u32),
    /// The page that goes back goes on.
    Leave,
    /// Pages are to be marked for sampling.
    Sample,
}

/// How host memory for pages is made up. Sizes are in pages of 4 KiB.
pub(super) struct Sizes {
    /// Pages of an entry of the page table.
    pub span: u32,
    pub home: u32,
    pub remote: u32,
    pub remote_latency: Ps,
    pub spare: u32,
    /// Frames of a set; 0: a page can have any frame.
    pub ways: u32,
    /// From one line of a copy to the next.
    pub line: Ps,
}

/// Host memory and device as two tiers of pages.
pub(super) struct Tiers {
    /// The page table: 0 for the device, so that memory is touched when used; a frame plus 1; or
    /// with the highest bit a place in the buffer.
    table: Vec<u32>,
    pub frames: Vec<Frame>,
    /// Free frames of the home node and of the other one, if a page can have any.
    free: [Vec<u32>; 2],
    /// If it cannot. Nothing is kept free then: a page that comes in takes another one's place.
    pub sets: Option<Sets>,
    /// Pages that went back to the device, and whether they were written, if anybody asks.
    pub went_back: Option<Vec<(u32, bool)>>,
    home: u32,
    remote_latency: Ps,
    /// Pages of an entry.
    pub span: u32,
    pub ages: Ages,
    pub reclaim: Reclaim,
    pub events: Wheel<Due>,
}

impl Tiers {
    /// # Panics
    /// If the device's pages are not of 4 KiB, or an entry's are not a power of two.
    pub fn new(bus: &Bus<impl Artifact>, sizes: &Sizes) -> Tiers {
        let settings = bus.device().config();
        assert_eq!(
            settings.page_bytes(),
            PAGE_BYTES,
            "device.page, with pages that move"
        );
        assert!(
            sizes.span.is_power_of_two(),
            "{} pages of an entry",
            sizes.span
        );
        let units = settings.pages.div_ceil(sizes.span);
        let spare = sizes.spare.div_ceil(sizes.span);
        // No more than can ever be used, in whole sets.
        let used = units.saturating_add(spare);
        let used = used.checked_next_multiple_of(sizes.ways.max(1));
        let most = |pages: u32| (pages / sizes.span).min(used.unwrap_or(u32::MAX));
        let home = most(sizes.home);
        let frames = home.saturating_add(most(sizes.remote));
        assert!(frames < MOVING, "{frames} frames");
        Tiers {
            table: vec![0; units as usize],
            frames: vec![Frame::default(); frames as usize],
            free: [(0..home).rev().collect(), (home..frames).rev().collect()],
            sets: (sizes.ways > 0).then(|| Sets::new(frames, sizes.ways)),
            went_back: None,
            home,
            remote_latency: sizes.remote_latency,
            span: sizes.span,
            ages: Ages::new(frames),
            reclaim: Reclaim::new(spare, sizes.line),
            events: Wheel::with_capacity(256),
        }
    }

    /// Fills all frames but those that reclaim keeps free with the last of these pages, the last
    /// one as the youngest. Returns the first one.
    pub fn fill(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        pages: Range<u64>,
        is_written: &dyn Fn(u64) -> bool,
    ) -> u64 {
        let span = u64::from(self.span);
        let units = pages.start.div_ceil(span) as u32..pages.end.div_ceil(span) as u32;
        let room = match &self.sets {
            Some(_) => self.frames.len() as u32,
            None => self.free_frames().saturating_sub(self.reclaim.spare),
        };
        let first = units.start.max(units.end.saturating_sub(room));
        for unit in first..units.end {
            let Some(frame) = self.frame_for(bus, Ps::ZERO, unit) else {
                break;
            };
            for page in self.pages_of(bus, unit) {
                bus.promote(Ps::ZERO, page);
            }
            self.put(unit, Place::Host(frame));
            self.frames[frame as usize] = Frame {
                unit,
                dirty: is_written(u64::from(unit) * span),
                ..Frame::default()
            };
            self.comes_in(frame);
        }
        u64::from(first) * span
    }

    /// Bytes of an entry.
    fn bytes(&self) -> u64 {
        u64::from(self.span) * PAGE_BYTES
    }

    /// The entry of the page table that has the page.
    pub fn unit(&self, page: u64) -> u32 {
        (page >> self.span.trailing_zeros()) as u32
    }

    /// The pages of an entry: the last may have fewer.
    pub fn pages_of(&self, bus: &Bus<impl Artifact>, unit: u32) -> std::ops::Range<u64> {
        let first = u64::from(unit) * u64::from(self.span);
        first..(first + u64::from(self.span)).min(bus.device().pages())
    }

    pub fn place(&self, unit: u32) -> Place {
        match self.table[unit as usize] {
            0 => Place::Device,
            place if place & MOVING != 0 => Place::Moving(place & !MOVING),
            place => Place::Host(place - 1),
        }
    }

    /// Changes where an entry leads.
    pub fn put(&mut self, unit: u32, place: Place) {
        self.table[unit as usize] = match place {
            Place::Device => 0,
            Place::Host(frame) => frame + 1,
            Place::Moving(entry) => entry | MOVING,
        };
    }

    /// Invalidates an entry that has changed in every TLB. Memory in sets is looked up by the
    /// device's address: no translation changes.
    pub fn moves(&self, bus: &mut Bus<impl Artifact>, unit: u32, shootdown: bool) {
        if self.sets.is_some() {
            return;
        }
        bus.moves(Moved {
            first: u64::from(unit) * u64::from(self.span),
            pages: self.span,
            shootdown,
        });
    }

    /// A frame for the pages of an entry: a free one, of the home node first, then of the other
    /// (SkyByte section IV); or one of its set, whose pages leave.
    pub fn frame_for(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, unit: u32) -> Option<u32> {
        let frame = match &self.sets {
            Some(sets) => {
                let frame = sets.room(unit)?;
                if !sets.is_empty(frame) {
                    self.displace(bus, now, frame);
                }
                frame
            }
            None => {
                let [home, remote] = &mut self.free;
                home.pop().or_else(|| remote.pop())?
            }
        };
        if let Some(sets) = &mut self.sets {
            sets.holds(frame);
        }
        self.frames[frame as usize] = Frame::default();
        Some(frame)
    }

    pub fn free_frame(&mut self, frame: u32) {
        match &mut self.sets {
            Some(sets) => sets.frees(frame),
            None => self.free[usize::from(frame >= self.home)].push(frame),
        }
    }

    /// The pages of a frame are there: they may leave from now on.
    fn comes_in(&mut self, frame: u32) {
        match &mut self.sets {
            Some(sets) => sets.comes_in(frame),
            None => self.ages.add(frame),
        }
    }

    /// Frames that nothing is in.
    pub fn free_frames(&self) -> u32 {
        self.free.iter().map(|free| free.len() as u32).sum()
    }

    /// The page of host memory where the frame begins.
    pub fn frame_page(&self, frame: u32) -> u64 {
        u64::from(frame) * u64::from(self.span)
    }

    /// Where in host memory the frame has the byte at `addr`.
    pub fn frame_addr(&self, frame: u32, addr: u64) -> u64 {
        u64::from(frame) * self.bytes() + addr % self.bytes()
    }

    /// The line of an entry's pages that has the byte at `addr`.
    pub fn line_of(&self, addr: u64) -> u64 {
        addr % self.bytes() / LINE_BYTES
    }

    /// Reads a line of a page in host memory.
    pub fn read(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, addr: u64, frame: u32) -> Answer {
        let place = self.frame_addr(frame, addr);
        bus.versions.host_read(addr, place);
        let away = self.access(now, frame);
        bus.host_read(now, place, away)
    }

    /// Writes a line of a page in host memory, whose copy on the device is stale from now on.
    pub fn write(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        addr: u64,
        frame: u32,
    ) -> Answer {
        let place = self.frame_addr(frame, addr);
        bus.versions.host_write(addr, place);
        let away = self.access(now, frame);
        let it = &mut self.frames[frame as usize];
        it.dirty = true;
        it.rewritten = it.leaving;
        bus.host_write(now, place, away)
    }

    /// Notes an access, and says what it takes beside that to DRAM: the way to the other node, and
    /// the wait for a page whose contents are on their way.
    fn access(&mut self, now: Ps, frame: u32) -> Ps {
        if let Some(sets) = &mut self.sets {
            sets.uses(frame);
        }
        let it = &mut self.frames[frame as usize];
        it.referenced = true;
        let away = match frame < self.home {
            true => Ps::ZERO,
            false => self.remote_latency,
        };
        away + (it.ready_at - now)
    }

    /// The host has the contents of an entry's pages in a frame: it leads there from now on.
    pub fn moved_in(
        &mut self,
        bus: &mut Bus<impl Artifact>,
        now: Ps,
        unit: u32,
        frame: u32,
        written: bool,
    ) {
        let mut dirty = written;
        for page in self.pages_of(bus, unit) {
            dirty |= bus.promote(now, page);
        }
        self.put(unit, Place::Host(frame));
        self.frames[frame as usize] = Frame {
            unit,
            dirty,
            // It was promoted for being hot: the first look of reclaim makes it active.
            referenced: true,
            ..Frame::default()
        };
        self.comes_in(frame);
        self.moves(bus, unit, true);
        bus.stats.migration.promotions += 1;
    }
}

/// The times at which the lines of a page pass the link, one `line` after the other, and when the
/// next page can begin.
pub(super) fn pace(
    start: Ps,
    line: Ps,
    mut pass: impl FnMut(Ps) -> Ps,
) -> ([Ps; LINES as usize], Ps) {
    let mut times = [Ps::ZERO; LINES as usize];
    let mut next = start;
    for time in &mut times {
        *time = pass(next);
        next = *time + line;
    }
    (times, next)
}
