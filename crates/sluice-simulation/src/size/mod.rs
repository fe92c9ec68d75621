//! How large a cache a program needs: hit ratios and run times at all sizes, from one run.

mod error;
mod timing;
mod uses;

pub use error::SizeError;
pub use timing::{Subject, Timing};
pub use uses::Uses;

use sluice_model::cache::EvictionEntry;
use sluice_results::{
    CurvePoint, PolicyPoint, SizeAnswer, SizeKnee, SizeMethod, SizePoint, SizeProfile, SizeResult,
    SizeSchema, settings, version,
};
use sluice_stats::share;
use sluice_units::{Bytes, Ratio};
use std::collections::BTreeMap;
use uses::Given;

/// The policy whose misses are known at every size.
const LRU: &str = "lru";
/// Sizes are halved so often from the footprint, where none were asked for.
const HALVINGS: u32 = 7;
/// Points of the curve.
const CURVE_POINTS: u64 = 400;
/// A knee stands out of the straight line between the ends by this share of its height. Less is
/// what a program has that uses all its pages alike.
const KNEE_LEAST: f64 = 0.1;
/// A policy's smallest cache is found to one part in so many of the footprint.
const SEARCH_PARTS: u64 = 1024;

/// What is asked.
pub struct SizePlan<'a> {
    /// Which accesses, on which device.
    pub of: Subject<'a>,
    /// The hit ratio to be reached.
    pub target: Ratio,
    /// Policies besides LRU. The first is the one that the answer in words is about.
    pub policies: Vec<&'static EvictionEntry>,
    /// Sizes that were asked for; of none, halves of the footprint.
    pub sizes: Vec<Bytes>,
    /// Where the accesses come from.
    pub method: SizeMethod,
    /// The run that recorded the accesses.
    pub profile: Option<SizeProfile>,
}

impl SizePlan<'_> {
    /// The answer; none if `stop` said so.
    ///
    /// # Errors
    /// [`SizeError`].
    pub fn run(
        &self,
        timing: &Timing<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<SizeResult>, SizeError> {
        let uses = self.of.uses;
        let mut answers = Vec::new();
        for policy in self.names() {
            if stop() {
                return Ok(None);
            }
            answers.push(self.answer(policy));
        }
        let mut sizes = Vec::new();
        for pages in self.table(&answers) {
            if stop() {
                return Ok(None);
            }
            let Some(run_time_s) = timing.at(&self.of, pages, stop)? else {
                return Ok(None);
            };
            sizes.push(self.point(pages, run_time_s));
        }
        Ok(Some(SizeResult {
            schema: SizeSchema::default(),
            workload: self.of.workload.to_owned(),
            device: self.of.device.to_owned(),
            config: settings(self.of.config.raw().to_pairs()),
            seed: self.of.seed,
            version: version(),
            method: self.method,
            accesses_are: accesses_are(self.method).to_owned(),
            accesses: uses.counted(),
            first_accesses: uses.first(),
            footprint_bytes: uses.distinct() * uses.page_bytes(),
            smallest_bytes: uses.smallest() * uses.page_bytes(),
            target_hit_ratio: self.target.to_f64(),
            answers,
            knee: self.knee(),
            sizes,
            curve: self.curve(),
            profile: self.profile,
        }))
    }

    /// LRU and the policies that were asked for.
    fn names(&self) -> impl Iterator<Item = Option<&'static EvictionEntry>> {
        let others = self.policies.iter().filter(|entry| entry.info.name != LRU);
        std::iter::once(None).chain(others.map(|entry| Some(*entry)))
    }

    fn misses(&self, policy: Option<&EvictionEntry>, pages: u64) -> u64 {
        match policy {
            None => self.of.uses.lru_misses(pages),
            Some(policy) => {
                let given = Given::of(self.of.config, self.of.seed);
                self.of.uses.misses(policy, &given, pages)
            }
        }
    }

    /// Accesses that a cache could hit.
    fn reachable(&self) -> u64 {
        self.of.uses.counted() - self.of.uses.first()
    }

    /// The hit ratio; a policy worse than none at all in a small cache has 0.
    fn hit_ratio(&self, misses: u64) -> Option<f64> {
        let reachable = self.reachable();
        share(reachable.saturating_sub(misses), reachable)
    }

    /// Whether so few misses are what was asked for.
    fn is_enough(&self, misses: u64) -> bool {
        let reachable = self.reachable();
        let hits = reachable.saturating_sub(misses);
        reachable > 0 && hits >= self.target.ceil_of(reachable)
    }

    /// The smallest cache with the hit ratio that was asked for.
    fn answer(&self, policy: Option<&'static EvictionEntry>) -> SizeAnswer {
        let page_bytes = self.of.uses.page_bytes();
        let pages = match policy {
            None => self.lru_pages(),
            Some(policy) => self.pages_by_search(policy),
        };
        let pages = pages.map(|pages| pages.max(self.of.uses.smallest()));
        let twice_adds = pages.and_then(|pages| {
            let [one, two] = [pages, 2 * pages].map(|pages| self.misses(policy, pages));
            Some(self.hit_ratio(two)? - self.hit_ratio(one)?)
        });
        let name = policy.map_or(LRU, |entry| entry.info.name);
        SizeAnswer {
            policy: name.to_owned(),
            asked: self.policies.iter().any(|entry| entry.info.name == name),
            cache_bytes: pages.map(|pages| pages * page_bytes),
            twice_adds,
        }
    }

    fn lru_pages(&self) -> Option<u64> {
        let held = self
            .of
            .uses
            .lru()
            .position(|misses| self.is_enough(misses))?;
        Some(self.of.uses.reaching(held as u64))
    }

    /// By halves, as if more cache never had more misses. Where it has (Belady 1969), the size is
    /// one that is enough, and there may be a smaller one.
    fn pages_by_search(&self, policy: &'static EvictionEntry) -> Option<u64> {
        let (mut low, mut high) = (0, self.of.uses.distinct());
        if !self.is_enough(self.misses(Some(policy), high)) {
            return None;
        }
        let step = (high / SEARCH_PARTS).max(self.of.uses.scaled(1));
        while high - low > step {
            let middle = low + (high - low) / 2;
            match self.is_enough(self.misses(Some(policy), middle)) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }

    /// The sizes of the table, pages: those that were asked for and of which something is known, or
    /// halves of the footprint and the answers.
    fn table(&self, answers: &[SizeAnswer]) -> Vec<u64> {
        let (page_bytes, all) = (self.of.uses.page_bytes(), self.of.uses.distinct());
        let mut pages: Vec<u64> = match self.sizes.is_empty() {
            false => self.sizes.iter().map(|size| size.0 / page_bytes).collect(),
            true => {
                let halves = (0..=HALVINGS).map(|power| all.div_ceil(1 << power));
                let found = answers.iter().filter_map(|answer| answer.cache_bytes);
                halves
                    .chain(found.map(|bytes| bytes / page_bytes))
                    .collect()
            }
        };
        // Of smaller caches nothing is known.
        pages.retain(|pages| *pages >= self.of.uses.smallest());
        pages.retain(|pages| self.of.uses.held(*pages) > 0);
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    fn point(&self, pages: u64, run_time_s: Option<f64>) -> SizePoint {
        let policies = self.names().map(|policy| {
            let misses = self.misses(policy, pages);
            let name = policy.map_or(LRU, |entry| entry.info.name);
            let hit_ratio = self.hit_ratio(misses);
            (name.to_owned(), PolicyPoint { misses, hit_ratio })
        });
        SizePoint {
            cache_bytes: pages * self.of.uses.page_bytes(),
            policies: policies.collect::<BTreeMap<_, _>>(),
            run_time_s,
        }
    }

    /// LRU at sizes evenly apart, and at each power of two of them.
    fn curve(&self) -> Vec<CurvePoint> {
        let all = self.of.uses.distinct();
        let least = self.of.uses.smallest();
        let even = (0..=CURVE_POINTS).map(|part| all * part / CURVE_POINTS);
        let powers = (0..u64::BITS - all.leading_zeros()).map(|power| 1u64 << power);
        let mut pages: Vec<u64> = even.chain(powers).filter(|pages| *pages >= least).collect();
        pages.sort_unstable();
        pages.dedup();
        let point = |pages: u64| {
            let hit_ratio = self.hit_ratio(self.of.uses.lru_misses(pages))?;
            let cache_bytes = pages * self.of.uses.page_bytes();
            Some(CurvePoint {
                cache_bytes,
                hit_ratio,
            })
        };
        pages.into_iter().filter_map(point).collect()
    }

    fn knee(&self) -> Option<SizeKnee> {
        let points = self.of.uses.lru().enumerate();
        let points = points.filter_map(|(held, misses)| {
            Some((self.of.uses.reaching(held as u64), self.hit_ratio(misses)?))
        });
        let points: Vec<(u64, f64)> = points
            .filter(|(pages, _)| *pages >= self.of.uses.smallest())
            .collect();
        let (first, last) = (*points.first()?, *points.last()?);
        let (width, height) = ((last.0 - first.0) as f64, last.1 - first.1);
        let above =
            |point: &(u64, f64)| (point.1 - first.1) / height - (point.0 - first.0) as f64 / width;
        let best = points
            .iter()
            .max_by(|a, b| above(a).total_cmp(&above(b)).then(b.0.cmp(&a.0)))?;
        (above(best) >= KNEE_LEAST).then(|| SizeKnee {
            cache_bytes: best.0 * self.of.uses.page_bytes(),
            hit_ratio: best.1,
        })
    }
}

/// What counts as an access.
fn accesses_are(method: SizeMethod) -> &'static str {
    match method {
        SizeMethod::Trace => "each page that an access of the trace touches",
        SizeMethod::Filtered => "accesses to a page that a cache of the smallest size misses",
        SizeMethod::Sampled => {
            "accesses to a page that a cache of the smallest size misses, estimated from the \
             pages that were watched"
        }
    }
}
