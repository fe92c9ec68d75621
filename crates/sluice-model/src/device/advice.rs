//! What the host says of how it will access ranges of pages.

use crate::config::Settings;
use sluice_params::choices;
use sluice_units::Lpn;

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
    random: Box<[u64]>,
    sequential: Box<[u64]>,
    pub pages: u64,
    /// Pages in line that a range accessed in order has on their way.
    pub ahead: u32,
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
