//! The pages of the session's device and the processes that map them: what the model changes.

use super::extents::{Extents, Piece, User};
use super::message::Window;
use super::process::{Process, Segment};
use crate::measures::stats::Residency;
use crate::memory::progress::Progress;
use core::ops::Range;
use sluice_model::Effects;
use sluice_region::PAGE;
use sluice_units::Lpn;

/// Pages that a process may have for a moment although they have left the cache.
const BEHIND_MAX: u64 = 8;

/// Processes, and where each of their pages is.
pub struct Pages {
    /// Processes that have ended leave their places to others.
    processes: Vec<Option<Process>>,
    extents: Extents,
    /// Whether a page was written while it was mapped somewhere where it is no longer.
    written: Box<[bool]>,
    /// Keeps pages that a thread needs together.
    pub progress: Progress,
    /// Pages that the model has evicted, and which stay mapped for a while.
    orphans: Vec<u64>,
    /// Pages that processes which are gone had written after all.
    late: Vec<u64>,
    residency: Residency,
}

impl Pages {
    /// A device of so many pages, which nobody uses yet.
    pub fn new(pages: u64, residency: Residency) -> Pages {
        Pages {
            processes: Vec::new(),
            extents: Extents::new(pages),
            written: vec![false; pages as usize].into(),
            progress: Progress::new(0),
            orphans: Vec::new(),
            late: Vec::new(),
            residency,
        }
    }

    /// Takes up a process. Returns its place.
    pub fn add(&mut self, process: Process) -> usize {
        let free = self.processes.iter().position(Option::is_none);
        let place = free.unwrap_or(self.processes.len());
        if place == self.processes.len() {
            self.processes.push(None);
        }
        self.processes[place] = Some(process);
        place
    }

    /// The process in a place.
    pub fn process(&mut self, place: usize) -> Option<&mut Process> {
        self.processes.get_mut(place)?.as_mut()
    }

    /// Pages of the device whose objects somebody maps.
    pub fn in_use(&self) -> u64 {
        self.extents.in_use()
    }

    /// A process has ended, or goes on without us.
    pub fn remove(&mut self, place: usize) {
        let starts: Vec<usize> = self
            .process(place)
            .map(|process| process.segments.keys().copied().collect())
            .unwrap_or_default();
        // What it has had since it said that it ends, if it did, may be written.
        for start in starts {
            self.remove_segment(place, start, false);
        }
        if let Some(mut process) = self.processes[place].take() {
            self.late.append(&mut process.take_late());
        }
    }

    fn remove_segment(&mut self, place: usize, start: usize, is_known: bool) {
        let Some(segment) = self.process(place).and_then(|p| p.segments.remove(&start)) else {
            return;
        };
        if !is_known {
            for lpn in segment.all_mapped() {
                self.written[lpn as usize] = true;
            }
        }
        let user = User {
            process: place,
            start,
        };
        self.extents.remove_user(segment.lpn, user);
    }

    /// Puts a mapping of a process on the device. `freed` gets the pages that lose their object.
    /// False if there is no room.
    pub fn map(
        &mut self,
        place: usize,
        window: &Window,
        mut freed: impl FnMut(Range<u64>),
    ) -> bool {
        self.unmap(place, window.start, window.end());
        let mut lost = Vec::new();
        let taken = self.extents.take(window, |pages| lost.push(pages));
        for pages in lost {
            self.forget(&pages);
            freed(pages);
        }
        let Some(pieces) = taken else {
            return false;
        };
        for piece in pieces {
            self.add_segment(place, window.start, piece);
        }
        true
    }

    /// Pages lose their object. What was done to them is nothing to the one that gets them.
    fn forget(&mut self, pages: &Range<u64>) {
        self.written[pages.start as usize..pages.end as usize].fill(false);
        self.orphans.retain(|lpn| !pages.contains(lpn));
        self.late.retain(|lpn| !pages.contains(lpn));
        let processes = self.processes.iter_mut().flatten();
        processes.for_each(|process| process.forget(pages));
        for lpn in pages.clone() {
            self.residency.set(lpn, 0);
        }
    }

    fn add_segment(&mut self, place: usize, start: usize, piece: Piece) {
        let start = start + piece.page as usize * PAGE;
        if let Some(process) = self.process(place) {
            let segment = Segment::new(piece.lpn, piece.pages);
            process.segments.insert(start, segment);
        }
        let user = User {
            process: place,
            start,
        };
        self.extents.add_user(piece.lpn, user);
    }

    /// Takes a range of a process off the device, whose parts outside stay.
    pub fn unmap(&mut self, place: usize, start: usize, end: usize) {
        if let Some(process) = self.process(place) {
            process.settle(start, end);
        }
        for at in self.segments_in(place, start, end) {
            self.note_written(place, at);
            let Some(segment) = self.process(place).and_then(|p| p.segments.get(&at)) else {
                continue;
            };
            let (lpn, pages) = (segment.lpn, segment.pages);
            let mapped: Vec<u64> = segment.all_mapped().collect();
            self.remove_segment(place, at, true);
            let first = (start.saturating_sub(at) / PAGE) as u64;
            let behind = (end.saturating_sub(at) / PAGE) as u64;
            for kept in [0..first.min(pages), behind.min(pages)..pages] {
                if kept.is_empty() {
                    continue;
                }
                let piece = Piece {
                    page: kept.start,
                    pages: kept.end - kept.start,
                    lpn: lpn + kept.start,
                };
                self.add_segment(place, at, piece);
                let kept_at = at + kept.start as usize * PAGE;
                let process = self.process(place);
                if let Some(segment) = process.and_then(|p| p.segments.get_mut(&kept_at)) {
                    for lpn in &mapped {
                        if segment.has(*lpn) {
                            segment.set(*lpn, true);
                        }
                    }
                }
            }
        }
    }

    fn segments_in(&mut self, place: usize, start: usize, end: usize) -> Vec<usize> {
        let Some(process) = self.process(place) else {
            return Vec::new();
        };
        let touches = |(at, segment): (&usize, &Segment)| {
            let to = at + segment.pages as usize * PAGE;
            (to > start).then_some(*at)
        };
        process.segments.range(..end).filter_map(touches).collect()
    }

    /// A process says that it ends. It has taken out all that it had.
    pub fn end(&mut self, place: usize) {
        let written = self.process(place).map(Process::end);
        for lpn in written.unwrap_or_default() {
            self.written[lpn as usize] = true;
        }
    }

    /// Notes what a process has written of a segment.
    fn note_written(&mut self, place: usize, start: usize) {
        let written = self.process(place).map(|process| process.written_in(start));
        for lpn in written.unwrap_or_default() {
            self.written[lpn as usize] = true;
        }
    }

    /// Maps a page for a thread that waits for it. False if it could not be.
    pub fn put(&mut self, place: usize, start: usize, lpn: u64, is_store: bool) -> bool {
        let is_written = self.written[lpn as usize] | is_store;
        let put = self
            .process(place)
            .is_some_and(|p| p.put(start, lpn, is_written));
        if put {
            self.written[lpn as usize] = is_written;
            self.residency
                .set(lpn, sluice_abi::CACHED | sluice_abi::MAPPED);
        }
        put
    }

    /// Whether a process has more pages than it may beside those in the cache.
    pub fn is_behind(&self, place: usize) -> bool {
        let process = self.processes.get(place).and_then(Option::as_ref);
        process.is_some_and(|process| process.behind() > BEHIND_MAX)
    }

    /// The model has a page: an eviction that was not yet carried out is void.
    pub fn adopt(&mut self, lpn: u64) {
        self.orphans.retain(|orphan| *orphan != lpn);
    }

    /// The model has evicted a page that is mapped.
    pub fn orphan(&mut self, lpn: u64) {
        if !self.orphans.contains(&lpn) {
            self.orphans.push(lpn);
        }
    }

    /// Takes a page out that the model evicted while it was needed. Returns it, and whether it was
    /// written.
    pub fn next_orphan(&mut self) -> Option<(u64, bool)> {
        let at = self
            .orphans
            .iter()
            .position(|lpn| !self.progress.holds(*lpn))?;
        let lpn = self.orphans.swap_remove(at);
        Some((lpn, self.take_out(lpn)))
    }

    /// A page that was written after its process was to take it out, and before it had left.
    pub fn next_late(&mut self) -> Option<u64> {
        let of_gone = self.late.pop();
        of_gone.or_else(|| {
            let mut processes = self.processes.iter_mut().flatten();
            processes.find_map(Process::next_late)
        })
    }

    /// Takes a page out of every process. Says whether it was written.
    fn take_out(&mut self, lpn: u64) -> bool {
        let mut written = core::mem::take(&mut self.written[lpn as usize]);
        if let Some(extent) = self.extents.of(lpn) {
            for user in &extent.users {
                if let Some(process) = &mut self.processes[user.process] {
                    written |= process.drop_page(user.start, lpn).unwrap_or(false);
                }
            }
        }
        self.residency.set(lpn, 0);
        written
    }

    /// Counts a miss on a page.
    pub fn missed(&self, lpn: u64) {
        self.residency.missed(lpn);
    }

    /// Sends each process the pages that leave.
    pub fn send_leaving(&mut self) {
        for process in self.processes.iter_mut().flatten() {
            process.send_leaving();
        }
    }
}

impl Effects for Pages {
    const MAPS: bool = true;

    fn cached(&mut self, lpn: Lpn) {
        self.residency.set(lpn.into(), sluice_abi::CACHED);
    }

    fn unmap(&mut self, lpn: Lpn) -> bool {
        let lpn = u64::from(lpn);
        if self.progress.holds(lpn) {
            self.orphan(lpn);
            return false;
        }
        self.take_out(lpn)
    }
}
