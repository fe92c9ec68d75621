//! What the host says of how it will access ranges of pages, and what the prefetcher makes of it.

use super::observer::Observer;
use super::pipeline::Pipeline;
use super::prefetching::Cause;
use crate::config::Settings;
use crate::request::Effects;
use sluice_params::choices;
use sluice_units::{Lpn, Ps};

choices! {
    /// How a range of pages will be accessed, as far as the host says.
    pub enum Pattern {
        Normal = "normal": "as the prefetcher finds out",
        Random = "random": "in no order: no access of the range sends for another page",
        Sequential = "sequential": "from the first page on: those next in line are sent for, and \
                                    those passed leave before all others",
    }
}

/// A page that was passed goes cold when the one behind it has been passed as well: an access may
/// lie across the end of a page.
const STILL_NEEDED: u32 = 2;

/// No more pages are on their way ahead than this part of the cache has, or they would push each
/// other out.
const SHARE_AHEAD: u32 = 4;

/// What the host has said of each page, a bit for each pattern but the normal one. Fresh memory is
/// zeros that the operating system hands out untouched.
pub(super) struct Advice {
    random: Box<[u64]>,
    sequential: Box<[u64]>,
    pages: u64,
    /// Pages in line that a range accessed in order has on their way.
    ahead: u32,
}

impl Advice {
    /// Nothing said of any page.
    pub fn new(settings: &Settings) -> Advice {
        let words = settings.pages.div_ceil(u64::BITS) as usize;
        let mut advice = Advice {
            random: vec![0; words].into(),
            sequential: vec![0; words].into(),
            pages: settings.pages.into(),
            ahead: 0,
        };
        advice.retune(settings);
        advice
    }

    /// Takes other settings. What the host has said stays.
    pub fn retune(&mut self, settings: &Settings) {
        let most = settings.cache.pages / SHARE_AHEAD;
        self.ahead = settings.prefetch.sequential.min(most);
    }

    /// Notes how pages will be accessed, as far as the device has them.
    pub fn note(&mut self, first: Lpn, count: u64, pattern: Pattern) {
        let end = u64::from(first).saturating_add(count).min(self.pages);
        let mut at = u64::from(first);
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let word = (at / 64) as usize;
            put(&mut self.random[word], mask, pattern == Pattern::Random);
            let is_sequential = pattern == Pattern::Sequential;
            put(&mut self.sequential[word], mask, is_sequential);
            at += bits;
        }
    }

    /// How the page will be accessed.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> Pattern {
        let (word, bit) = ((lpn.0 / u64::BITS) as usize, 1u64 << (lpn.0 % u64::BITS));
        match (self.random[word] & bit, self.sequential[word] & bit) {
            (0, 0) => Pattern::Normal,
            (0, _) => Pattern::Sequential,
            _ => Pattern::Random,
        }
    }
}

fn put(word: &mut u64, mask: u64, is_set: bool) {
    *word = if is_set { *word | mask } else { *word & !mask };
}

impl<O: Observer> Pipeline<O> {
    /// Follows the access that is being served, to a range that is accessed in order: what is next
    /// in line is sent for, and what was passed goes cold.
    pub fn follow_line<E: Effects>(&mut self, at: Ps, lpn: Lpn, effects: &mut E) {
        // First, so that the pages passed make room.
        self.cool_passed(lpn);
        let last = u64::from(lpn) + u64::from(self.advice.ahead);
        let end = last.min(self.advice.pages - 1) as u32;
        for next in (lpn.0 + 1..=end).map(Lpn) {
            if self.advice.of(next) != Pattern::Sequential {
                return;
            }
            if self.storage.cache.contains(next) {
                continue;
            }
            if !self.prefetch_one(at, next, Some(Cause { lpn, keep: lpn }), effects) {
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
