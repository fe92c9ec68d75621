//! The pages that a program uses, one after another, and how often caches of all sizes miss them.

use sluice_model::cache::{EvictionEntry, Space};
use sluice_model::{DeviceConfig, RawConfig, SetIndex};
use sluice_trace::Reuse;
use sluice_units::{Lpn, Rng};
use std::collections::HashMap;

/// Uses of pages in order. Pages are numbered as they are first used.
pub struct Uses {
    /// Of a page.
    page_bytes: u64,
    /// Pages of the program, if these are a sample of them.
    of: Option<u64>,
    /// Pages of the program within which uses are not told apart: nothing is known of smaller
    /// caches.
    smallest: u64,
    numbers: HashMap<u64, u32>,
    pages: Vec<Lpn>,
    /// Uses before counting began.
    before: usize,
    reuse: Reuse,
}

impl Uses {
    /// None so far, of pages of a size.
    pub fn new(page_bytes: u64) -> Uses {
        Uses {
            page_bytes,
            of: None,
            smallest: 0,
            numbers: HashMap::new(),
            pages: Vec::new(),
            before: 0,
            reuse: Reuse::default(),
        }
    }

    /// Uses that a live run recorded: those that miss a cache of `smallest` pages, of some pages of
    /// all `of`.
    pub fn of_some(page_bytes: u64, smallest: u64, of: u64) -> Uses {
        Uses {
            of: Some(of),
            smallest,
            ..Uses::new(page_bytes)
        }
    }

    /// A use of a page.
    pub fn touch(&mut self, page: u64) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(page).or_insert(next);
        self.pages.push(Lpn(number));
        self.reuse.touch(number.into());
    }

    /// Counting begins: what came before has filled the caches.
    pub fn warm(&mut self) {
        self.before = self.pages.len();
        self.reuse.reset();
    }

    /// Of a page.
    pub(super) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// How many of the program's pages or uses stand for so many of these.
    pub(super) fn scaled(&self, count: u64) -> u64 {
        let sample = self.sample();
        let product = u128::from(count) * u128::from(self.of.unwrap_or(sample));
        (product / u128::from(sample)) as u64
    }

    /// The fewest of the program's pages for which so many of these stand.
    pub(super) fn reaching(&self, held: u64) -> u64 {
        let sample = self.sample();
        let product = u128::from(held) * u128::from(self.of.unwrap_or(sample));
        product.div_ceil(u128::from(sample)) as u64
    }

    /// Pages of these that stand for so many of the program.
    pub(super) fn held(&self, pages: u64) -> u64 {
        let sample = self.sample();
        let product = u128::from(pages) * u128::from(sample);
        (product / u128::from(self.of.unwrap_or(sample).max(1))) as u64
    }

    /// Different pages; 1 of none.
    fn sample(&self) -> u64 {
        self.numbers.len().max(1) as u64
    }

    /// The pages in order, those before counting began among them.
    pub(super) fn pages(&self) -> &[Lpn] {
        &self.pages
    }

    /// Pages that the program used.
    pub(super) fn distinct(&self) -> u64 {
        self.of.unwrap_or(self.numbers.len() as u64)
    }

    /// The smallest cache that something is known of, pages.
    pub(super) fn smallest(&self) -> u64 {
        self.smallest
    }

    /// Uses that a cache of the smallest size misses.
    pub(super) fn counted(&self) -> u64 {
        let misses = self.reuse.lru_misses(self.held(self.smallest));
        self.scaled(misses)
    }

    /// First uses among those counted.
    pub(super) fn first(&self) -> u64 {
        self.scaled(self.reuse.first())
    }

    /// Misses of LRU with 0, 1, 2 and so on pages of the sample, first uses left out.
    pub(super) fn lru(&self) -> impl Iterator<Item = u64> {
        let mut left = self.reuse.touches() - self.reuse.first();
        let hits = std::iter::once(0).chain(self.reuse.distances().iter().copied());
        hits.map(move |more| {
            left -= more;
            self.scaled(left)
        })
    }

    /// Misses of LRU with so many pages, first uses left out.
    pub(super) fn lru_misses(&self, pages: u64) -> u64 {
        let misses = self.reuse.lru_misses(self.held(pages));
        self.scaled(misses - self.reuse.first())
    }

    /// Misses of a policy with so many pages, first uses left out.
    pub(super) fn misses(&self, policy: &EvictionEntry, given: &Given<'_>, pages: u64) -> u64 {
        let space = Space {
            sets: 1,
            ways: self.held(pages).clamp(1, self.sample()) as u32,
            pages: self.sample() as u32,
            index: SetIndex::Modulo,
            given: given.raw.clone(),
            rng: Rng::stream(given.seed, "cache.eviction"),
        };
        let of = |pages| (policy.misses)(&space, &mut std::iter::once(pages));
        let all = of(&self.pages[..]);
        // What these caches missed before counting began is not counted.
        let before = match self.before {
            0 => 0,
            before => of(&self.pages[..before]),
        };
        self.scaled(all - before - self.reuse.first())
    }
}

/// What a policy is given besides the uses.
pub(super) struct Given<'a> {
    /// Parameters, those of policies among them.
    pub raw: &'a RawConfig,
    /// Of the policy's random stream.
    pub seed: u64,
}

impl<'a> Given<'a> {
    pub(super) fn of(config: &'a DeviceConfig, seed: u64) -> Given<'a> {
        let raw = config.raw();
        Given { raw, seed }
    }
}
