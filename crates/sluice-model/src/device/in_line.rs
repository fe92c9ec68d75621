//! The accesses to a range that the host has announced as sequential: the pages next in line, and
//! those passed.

use super::advice::Pattern;
use super::observer::Observer;
use super::pipeline::Pipeline;
use super::prefetching::Cause;
use crate::cache::Ahead;
use crate::request::Effects;
use sluice_units::{Lpn, Ps};

/// A page that was passed goes cold when the one behind it has been passed as well: an access may
/// lie across the end of a page.
const STILL_NEEDED: u32 = 2;

impl<O: Observer> Pipeline<O> {
    /// Follows the access that is being served, to a range that is accessed in order: what is next
    /// in line is sent for, and what was passed goes cold.
    pub fn follow_line<E: Effects>(&mut self, at: Ps, lpn: Lpn, effects: &mut E) {
        // First, so that the pages passed make room.
        self.cool_passed(lpn);
        let last = u64::from(lpn) + u64::from(self.advice.ahead);
        let end = last.min(self.advice.pages - 1) as u32;
        let cause = Cause {
            by: Ahead::Line,
            lpn,
            keep: lpn,
        };
        for next in (lpn.0 + 1..=end).map(Lpn) {
            if self.advice.of(next) != Pattern::Sequential {
                return;
            }
            if self.storage.cache.contains(next) {
                continue;
            }
            if !self.prefetch_one(at, next, Some(cause), effects) {
                return;
            }
            self.storage.stats.sequential_prefetches += 1;
        }
    }

    /// The pages of the line before this one go cold, the latest first, up to one that has gone.
    fn cool_passed(&mut self, lpn: Lpn) {
        let most = 2 * self.advice.ahead;
        let passed = (STILL_NEEDED..STILL_NEEDED + most).map_while(|back| lpn.0.checked_sub(back));
        for page in passed.map(Lpn) {
            if self.advice.of(page) != Pattern::Sequential || !self.storage.cool(page) {
                return;
            }
            self.storage.stats.sequential_passed += 1;
        }
    }
}
