//! Prefetched pages on their way to a host that maps pages: when each has arrived, and which of
//! them stay unmapped, to see whether prefetches are used.
//!
//! A host does not see accesses to pages that it has mapped. So of `prefetch.sample` pages one is
//! left unmapped: its first access is seen, and stands for those that came before it.

use crate::cache::Ahead;
use crate::config::{MapRule, PrefetchSettings};
use sluice_units::{Lpn, Ps};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sampled pages whose group is still known. Older ones stand for themselves alone.
const GROUPS: usize = 256;
/// Pages on their way at most; more are left for their accesses.
const ON_THEIR_WAY_MAX: usize = 4096;
/// No page.
const NONE: u32 = u32::MAX;

/// A page that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrived {
    pub at: Ps,
    pub lpn: Lpn,
    /// Its place in its group.
    place: usize,
    /// Whose prefetch it is.
    pub by: Ahead,
}

/// Pages that prefetches sent for, in groups of `sample` in the order of their requests. The last
/// page of each group is the sampled one.
pub(super) struct Arrivals {
    sample: usize,
    /// Pages sent for.
    count: u64,
    pages: BinaryHeap<Reverse<Arrived>>,
    pages_max: usize,
    /// Per group the other pages, if the host has mapped them.
    mapped: Box<[Option<Arrived>]>,
    /// Per group the sampled page, until it was accessed.
    sampled: Box<[u32]>,
}

impl Arrivals {
    /// `None` if every page is left for its first access.
    pub fn new(settings: &PrefetchSettings) -> Option<Arrivals> {
        let sample = settings.sample as usize;
        if settings.map == MapRule::Touch || sample == 1 {
            return None;
        }
        // A group is not known by a new name before its last page has arrived.
        let pages_max = ON_THEIR_WAY_MAX.min(GROUPS * sample / 2);
        Some(Arrivals {
            sample,
            count: 0,
            pages: BinaryHeap::with_capacity(pages_max),
            pages_max,
            mapped: vec![None; GROUPS * sample].into(),
            sampled: vec![NONE; GROUPS].into(),
        })
    }

    /// A prefetch sent for the page, which arrives at `at`; `by` is whose it is.
    pub fn send(&mut self, at: Ps, lpn: Lpn, by: Ahead) {
        let places = (GROUPS * self.sample) as u64;
        let place = (self.count % places) as usize;
        self.count += 1;
        let (group, within) = (place / self.sample, place % self.sample);
        if within == 0 {
            self.mapped[place..place + self.sample].fill(None);
            self.sampled[group] = NONE;
        }
        if within + 1 == self.sample {
            self.sampled[group] = lpn.0;
        } else if self.pages.len() < self.pages_max {
            let page = Arrived { at, lpn, place, by };
            self.pages.push(Reverse(page));
        }
    }

    /// When the next page arrives.
    pub fn next_at(&self) -> Option<Ps> {
        self.pages.peek().map(|Reverse(page)| page.at)
    }

    /// The next page that has arrived by then.
    pub fn due(&mut self, by: Ps) -> Option<Arrived> {
        self.next_at().filter(|at| *at <= by)?;
        self.pages.pop().map(|Reverse(page)| page)
    }

    /// The host has mapped the page.
    pub fn map(&mut self, page: Arrived) {
        self.mapped[page.place] = Some(page);
    }

    /// The page was accessed or left, or its accesses are not seen. If it is a sampled one, these
    /// are the places of those that it stands for, once.
    pub fn settle(&mut self, lpn: Lpn) -> core::ops::Range<usize> {
        match self.sampled.iter().position(|&sampled| sampled == lpn.0) {
            Some(group) => {
                self.sampled[group] = NONE;
                group * self.sample..(group + 1) * self.sample
            }
            None => 0..0,
        }
    }

    /// The page at a place, if the host has mapped it. It may have left since.
    pub fn mapped(&self, place: usize) -> Option<Arrived> {
        self.mapped[place]
    }
}
