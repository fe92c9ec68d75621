//! How pages go back to the device: by a copy in the background.

use super::bus::Bus;
use super::frames::{AccessedBits, Frame};
use super::pages::{Due, Place, Tiers, pace};
use super::versions::LINES;
use crate::artifact::Artifact;
use sluice_model::Op;
use sluice_units::Ps;

/// Pages that leave together, with one shootdown for those that need no copy: as in Linux
/// (SWAP_CLUSTER_MAX).
const BATCH: u32 = 32;

impl Tiers {
    /// If too few frames are free or will be, sends pages back: a batch, or as many as it takes.
    pub fn reclaim(&mut self, bus: &mut Bus<impl Artifact>, now: Ps) {
        let spare = self.reclaim.spare;
        if self.sets.is_some() || self.frames_to_come() >= spare {
            return;
        }
        let enough = spare + BATCH.min(spare) - 1;
        let mut shootdown = true;
        while self.frames_to_come() < enough {
            let Some(frame) = self
                .ages
                .victim(u64::MAX, &mut AccessedBits(&mut self.frames))
            else {
                return;
            };
            if self.frames[frame as usize].dirty && bus.artifact.copies_pages_back() {
                self.frames[frame as usize].leaving = true;
                self.reclaim.leaving.push_back(frame);
                if self.reclaim.leaving.len() == 1 {
                    self.copy_back(bus, now);
                }
            } else {
                // Flash still has it, or gets it at once: only the translation changes.
                self.drop_frame(bus, now, frame, std::mem::take(&mut shootdown));
            }
        }
    }

    /// Frames that are free, or will be once their pages have been copied.
    fn frames_to_come(&self) -> u32 {
        self.free_frames() + self.reclaim.leaving.len() as u32
    }

    /// Sends the pages of a frame back at once, for others that take their place. Their lines use
    /// the link, and nobody waits for them.
    pub(super) fn displace(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, frame: u32) {
        let Frame { unit, dirty, .. } = self.frames[frame as usize];
        if !dirty || !bus.artifact.copies_pages_back() {
            return self.drop_frame(bus, now, frame, true);
        }
        for (page, frame_page) in self.pages_of(bus, unit).zip(self.frame_page(frame)..) {
            bus.host_page(now, frame_page, Op::Read);
            for _ in 0..LINES {
                bus.line_returns(now, now);
            }
            bus.demote(now, page, frame_page);
        }
        bus.stats.migration.dirty_demotions += 1;
        self.left(bus, frame, true);
    }

    /// Gives a frame up whose pages the device has, or gets without a copy.
    fn drop_frame(&mut self, bus: &mut Bus<impl Artifact>, now: Ps, frame: u32, shootdown: bool) {
        let Frame { unit, dirty, .. } = self.frames[frame as usize];
        let first = self.frame_page(frame);
        bus.stats.migration.dirty_demotions += u64::from(dirty);
        for (page, frame_page) in self.pages_of(bus, unit).zip(first..) {
            match dirty {
                false => bus.versions.dropped(page, frame_page),
                true => bus.return_page(now, page, frame_page),
            }
        }
        self.left(bus, frame, shootdown);
    }

    /// The frame's pages are on the device again.
    fn left(&mut self, bus: &mut Bus<impl Artifact>, frame: u32, shootdown: bool) {
        let Frame { unit, dirty, .. } = self.frames[frame as usize];
        if let Some(pages) = &mut self.went_back {
            pages.push((unit, dirty));
        }
        self.put(unit, Place::Device);
        self.moves(bus, unit, shootdown);
        self.free_frame(frame);
        bus.stats.migration.demotions += 1;
    }

    /// Begins to copy the next page of the frame whose turn it is.
    fn copy_back(&mut self, bus: &mut Bus<impl Artifact>, now: Ps) {
        let Some(frame) = self.reclaim.leaving.front() else {
            return;
        };
        let page = self.frame_page(*frame) + self.reclaim.copied;
        bus.host_page(now, page, Op::Read);
        let ready_at = self.frames[*frame as usize].ready_at;
        let start = now.max(ready_at);
        let (_, end) = pace(start, self.reclaim.line, |at| bus.line_returns(now, at));
        self.events.push(end, Due::Leave);
    }

    /// A page of the frame whose turn it is was copied.
    pub fn leave(&mut self, bus: &mut Bus<impl Artifact>, now: Ps) {
        let Some(frame) = self.reclaim.leaving.front().copied() else {
            return;
        };
        self.reclaim.copied += 1;
        let it = self.frames[frame as usize];
        let pages = self.pages_of(bus, it.unit);
        if self.reclaim.copied == pages.end - pages.start || it.rewritten {
            self.reclaim.leaving.pop_front();
            self.reclaim.copied = 0;
            let it = &mut self.frames[frame as usize];
            it.leaving = false;
            if std::mem::take(&mut it.rewritten) {
                // The copy is not what the page is now. One that is written is not cold: it stays,
                // and its accessed bit makes it active at the next look.
                self.ages.add(frame);
            } else {
                for (page, frame_page) in pages.zip(self.frame_page(frame)..) {
                    bus.demote(now, page, frame_page);
                }
                bus.stats.migration.dirty_demotions += 1;
                self.left(bus, frame, true);
            }
            self.reclaim_more(bus, now);
        } else {
            self.copy_back(bus, now);
        }
    }

    /// Goes on with those that wait, and with more if they are not enough.
    fn reclaim_more(&mut self, bus: &mut Bus<impl Artifact>, now: Ps) {
        if self.reclaim.leaving.is_empty() {
            self.reclaim(bus, now);
        } else {
            self.copy_back(bus, now);
            self.reclaim(bus, now);
        }
    }
}
