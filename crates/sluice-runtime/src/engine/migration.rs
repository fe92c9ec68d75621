//! Host memory for hot pages of the device: which pages belong there, and which are there (SkyByte
//! III-C). Nothing in here allocates after the start.

use crate::host::Near;
use crate::session::settings::{LiveParams, MigrationPolicy};
use sluice_region::PAGE;
use sluice_tiering::{Ages, Heat, Refaults};
use sluice_units::{Bits, Ps};
use std::collections::VecDeque;

/// Hot pages that wait to move.
const WANTED_MAX: usize = 64;

/// How hot pages are recognised.
enum Hot {
    Adaptive(Heat),
    Tpp(Refaults),
}

impl Hot {
    /// Notes an access that trapped. Says whether the page belongs in host memory.
    fn saw(&mut self, now: Ps, lpn: u64) -> bool {
        match self {
            Hot::Adaptive(heat) => heat.count(now, lpn),
            Hot::Tpp(faults) => faults.again(now, lpn),
        }
    }
}

/// Host memory for pages of the device.
pub struct Migration {
    hot: Hot,
    /// The page in each frame. Like all that grows with the settings, untouched until it is used.
    pub pages: Box<[u64]>,
    /// Whether flash does not have what the page of a frame held when it came.
    dirty: Bits,
    /// Frames in use, by age.
    pub ages: Ages,
    /// Frames that hold nothing any more, and from which on none has held anything.
    free: Vec<u32>,
    fresh: u32,
    /// Hot pages, which move beside the next faults: that time is waited for anyway.
    pub wanted: VecDeque<u64>,
}

impl Migration {
    /// Host memory as the settings say, if there is any, and its table of pages.
    pub fn of(params: &LiveParams, pages: u64) -> Option<(Migration, Near)> {
        let hot = match params.migration_policy {
            MigrationPolicy::None => return None,
            MigrationPolicy::Adaptive => {
                let (threshold, decay) = (params.migration_threshold, params.migration_decay);
                Hot::Adaptive(Heat::new(pages as usize, threshold, decay))
            }
            MigrationPolicy::Tpp => {
                Hot::Tpp(Refaults::new(pages as usize, params.migration_tpp_window))
            }
        };
        // No more than can ever be used.
        let frames = (params.migration_capacity.0 / PAGE as u64).clamp(1, pages) as u32;
        let migration = Migration {
            hot,
            pages: vec![0; frames as usize].into(),
            dirty: Bits::new(frames as usize),
            ages: Ages::new(frames),
            free: Vec::with_capacity(frames as usize),
            fresh: 0,
            wanted: VecDeque::with_capacity(WANTED_MAX),
        };
        Some((migration, Near::new(pages as usize)))
    }

    /// Notes an access of a page on the device that trapped. A page that it makes hot waits to
    /// move. False if too many do.
    pub fn saw(&mut self, now: Ps, lpn: u64) -> bool {
        let has_room = self.wanted.len() < WANTED_MAX;
        let is_hot = self.hot.saw(now, lpn);
        if is_hot && has_room {
            self.wanted.push_back(lpn);
        }
        has_room || !is_hot
    }

    /// A frame that holds nothing, if there is one.
    pub fn take_free(&mut self) -> Option<u32> {
        let reused = self.free.pop();
        reused.or_else(|| {
            let fresh = self.fresh;
            let is_frame = (fresh as usize) < self.pages.len();
            self.fresh += u32::from(is_frame);
            is_frame.then_some(fresh)
        })
    }

    /// A frame holds nothing any more.
    pub fn give_free(&mut self, frame: u32) {
        self.free.push(frame);
    }

    /// A page comes into a frame.
    pub fn moves_in(&mut self, frame: u32, lpn: u64, dirty: bool) {
        self.pages[frame as usize] = lpn;
        self.dirty.mark(frame as usize, 1, dirty);
        self.ages.add(frame);
    }

    /// The page of a frame, and whether flash does not have what it held when it came.
    pub fn page_of(&self, frame: u32) -> (u64, bool) {
        (self.pages[frame as usize], self.dirty.has(frame as usize))
    }

    /// Frames that hold a page.
    #[cfg(test)]
    pub fn in_use(&self) -> usize {
        self.fresh as usize - self.free.len()
    }
}
