//! What the host says of how it will access ranges of pages.

use crate::config::Settings;
use sluice_params::choices;
use sluice_units::{Bits, Lpn};

choices! {
    /// How a range of pages will be accessed, as far as the host says.
    pub enum Pattern {
        Normal = "normal": "as the prefetcher finds out",
        Random = "random": "in no order: no access of the range sends for another page",
        Sequential = "sequential": "from the first page on: those next in line are sent for, and \
                                    those passed leave before all others",
    }
}

/// No more pages are on their way ahead than this part of the cache has, or they would push each
/// other out.
const SHARE_AHEAD: u32 = 4;

/// What the host has said of each page, a bit for each pattern but the normal one. Fresh memory is
/// zeros that the operating system hands out untouched.
pub(super) struct Advice {
    random: Bits,
    sequential: Bits,
    pub pages: u64,
    /// Pages in line that a range accessed in order has on their way.
    pub ahead: u32,
}

impl Advice {
    /// Nothing said of any page.
    pub fn new(settings: &Settings) -> Advice {
        let pages = settings.pages as usize;
        let mut advice = Advice {
            random: Bits::new(pages),
            sequential: Bits::new(pages),
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
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (random, sequential) = (pattern == Pattern::Random, pattern == Pattern::Sequential);
        self.random.mark(first.index(), count, random);
        self.sequential.mark(first.index(), count, sequential);
    }

    /// How the page will be accessed.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> Pattern {
        match (
            self.random.has(lpn.index()),
            self.sequential.has(lpn.index()),
        ) {
            (false, false) => Pattern::Normal,
            (false, true) => Pattern::Sequential,
            _ => Pattern::Random,
        }
    }
}
