//! Host memory for hot pages of the device: which pages belong there, and which are there (SkyByte
//! III-C). Nothing in here allocates after the start.

use crate::host::Near;
use crate::settings::{LiveParams, MigrationPolicy};
use sluice_region::PAGE;
use sluice_tiering::{Ages, Heat, Refault};
use sluice_units::Ps;
use std::collections::VecDeque;

/// Hot pages that wait to move.
const WANTED_MAX: usize = 64;

/// How hot pages are told from others.
enum Hot {
    Adaptive(Heat),
    Tpp(Box<[Refault]>, Ps),
}

impl Hot {
    /// Notes an access that trapped. Says whether the page belongs in host memory.
    fn saw(&mut self, now: Ps, lpn: u64) -> bool {
        match self {
            Hot::Adaptive(heat) => heat.count(now, lpn),
            Hot::Tpp(faults, window) => faults[lpn as usize].again(now, *window),
        }
    }
}

/// A page in host memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    pub lpn: u64,
    /// Whether flash does not have what the page held when it came.
    pub dirty: bool,
}

/// Host memory for pages of the device.
pub struct Migration {
    hot: Hot,
    /// What each frame holds, or held.
    pub frames: Box<[Frame]>,
    /// Frames that hold nothing.
    pub free: Vec<u32>,
    /// The others.
    pub ages: Ages,
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
                let faults = vec![Refault::default(); pages as usize];
                Hot::Tpp(faults.into(), params.migration_tpp_window)
            }
        };
        // No more than can ever be used.
        let frames = (params.migration_capacity.0 / PAGE as u64).clamp(1, pages) as u32;
        let migration = Migration {
            hot,
            frames: vec![Frame::default(); frames as usize].into(),
            free: (0..frames).rev().collect(),
            ages: Ages::new(frames),
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

    /// A page comes into a frame.
    pub fn moves_in(&mut self, frame: u32, page: Frame) {
        self.frames[frame as usize] = page;
        self.ages.add(frame);
    }
}
