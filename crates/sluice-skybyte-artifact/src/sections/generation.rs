//! The section that SkyByte's artifact (doi:10.5281/zenodo.14660184) has of radix: while five
//! threads of eight still generate keys, three have theirs and count them.
//!
//! The pages of its runs (output/warmup_traces) say so. Three stretches of 11,157 begin where a
//! thread's part of the keys does, parts of 2^26 keys of 8 bytes; five stretches of 426 lie in the
//! five other parts, at 68 to 97 % of them. By the counters (figure_drawing/all.dat) each line of
//! the long ones is read once, and each of the short ones is written. Before the sort there is a
//! barrier: threads that were waiting at it when the traces began have the count in theirs, and the
//! others the end of the generation. Replayed, all begin at once.
//!
//! A thread has 40 million instructions of those traces, as many as 11,157 pages of keys take at 7
//! each and 426 at 184, which is what a compiler makes of both loops with -O2. Then Table I's 7.1
//! misses are the artifact's 2,278,398 accesses in 320 million instructions, and its 29 % of
//! writes the stores of both loops.
//!
//! Here the section is run through again and again, each time with the keys that follow; a thread
//! that has done its part waits for the others. At the end of a part of the array it begins anew.

use sluice_kernels::radix::{INFO, PIECE, Plan};
use sluice_kernels::share::{Frame, Phased, compare, digest};
use sluice_kernels::{Arena, Array, KernelOptions, Mismatch, Recorder};
use sluice_units::Bytes;
use std::ops::Range;

/// Of so many threads these count.
const OF_THREADS: u64 = 8;
const COUNTING: [u64; 3] = [3, 5, 6];
/// Instructions of a section, in all threads together.
const INSTRUCTIONS: u64 = OF_THREADS * 40_000_000;
/// The share of its keys that a thread which generates has at first, in percent: the mean of the
/// five.
const GENERATED: u64 = 80;

/// For a key that is generated: four products modulo 2^46, each a call which loads four constants,
/// the largest key, and the store.
const GENERATE: u64 = 184;
const PRODUCTS: u32 = 4;
const CONSTANTS: u64 = 4;
/// Of a product those without memory.
const WORK_PRODUCT: u32 = 39;
/// Of the rest.
const WORK_GENERATE: u32 = GENERATE as u32 - 2 - PRODUCTS * (WORK_PRODUCT + CONSTANTS as u32 + 2);
/// For a key that is counted: its load, the addition to memory of its bucket, which is a load and a
/// store and one instruction, and five without memory.
const COUNT: u64 = 7;
const WORK_COUNT: u32 = COUNT as u32 - 3;

struct Places {
    keys: Array,
    counts: Array,
    /// A line of constants, and another of return addresses for each thread.
    constants: Array,
    stacks: Array,
    footprint: Bytes,
}

/// The kernel with `section=generation`.
pub(super) struct Generation {
    frame: Frame,
    plan: Plan,
    places: Places,
    keys: Vec<u32>,
    /// For each thread, of each bucket.
    counts: Vec<u32>,
    digest: u64,
}

impl Places {
    /// As much memory as Table I says: what is over beyond two arrays of keys, ranks and counts is
    /// not known, and nobody touches it.
    fn new(plan: &Plan, options: &KernelOptions) -> Places {
        let threads = u64::from(options.threads);
        let mut arena = Arena::default();
        let [keys, _sorted] = [plan.keys; 2].map(|keys| arena.array(keys, 8));
        let [counts, _ranks] = [threads * plan.buckets(); 2].map(|slots| arena.array(slots, 8));
        let (constants, stacks) = (arena.array(CONSTANTS + 1, 8), arena.array(threads * 8, 8));
        let published = INFO.table_1_bytes() / u64::from(options.scale);
        arena.array(published.saturating_sub(arena.footprint().0), 1);
        Places {
            keys,
            counts,
            constants,
            stacks,
            footprint: arena.footprint(),
        }
    }
}

/// As many keys as the original's power of two: the parts of the artifact's eight threads have
/// 2^26.
fn plan(scale: u32) -> Plan {
    let mut plan = Plan::new(scale);
    plan.keys = 1 << plan.keys.ilog2();
    plan
}

/// Whether the thread counts: three of each eight, those of the cores that take ten times as long
/// there. Where a core stands on the artifact's ring says how long its accesses take.
fn counts(thread: u64) -> bool {
    COUNTING.contains(&(thread % OF_THREADS))
}

impl Generation {
    pub(super) fn new(options: &KernelOptions) -> Generation {
        let plan = plan(options.scale);
        let mut generation = Generation {
            frame: Frame::new(options, 0, 1),
            places: Places::new(&plan, options),
            keys: vec![0; plan.keys as usize],
            counts: vec![0; options.threads as usize * plan.buckets() as usize],
            plan,
            digest: 0,
        };
        for thread in generation.counting() {
            let start = thread * generation.part();
            let keys = start as usize..(start + generation.part()) as usize;
            let (plan, seed) = (generation.plan, options.seed);
            plan.generate_from(start, seed, 0, &mut generation.keys[keys]);
        }
        generation.begin();
        generation
    }

    /// Keys of a thread that has any.
    fn part(&self) -> u64 {
        (self.plan.keys / u64::from(self.frame.options.threads)).max(1)
    }

    /// Whether there are keys for the thread.
    fn has_part(&self, thread: u64) -> bool {
        (thread + 1) * self.part() <= self.plan.keys
    }

    /// Keys of a thread in a section: one at least, and none of a thread that has no part.
    fn section(&self, thread: u64) -> u64 {
        if !self.has_part(thread) {
            return 0;
        }
        let of_all = u64::from(self.frame.options.scale) * u64::from(self.frame.options.threads);
        (INSTRUCTIONS / of_all / if counts(thread) { COUNT } else { GENERATE }).max(1)
    }

    /// Which key a thread's item of a round's section is.
    fn key(&self, round: u64, thread: u64, item: u64) -> u64 {
        let first = if counts(thread) { 0 } else { GENERATED };
        let at = self.part() * first / 100 + round * self.section(thread) + item;
        thread * self.part() + at % self.part()
    }

    /// The threads that count, of those with keys.
    fn counting(&self) -> Vec<u64> {
        let threads = 0..u64::from(self.frame.options.threads);
        let counting = threads.filter(|thread| counts(*thread) && self.has_part(*thread));
        counting.collect()
    }

    fn begin(&mut self) {
        let sections: Vec<_> = (0..u64::from(self.frame.options.threads))
            .map(|thread| 0..self.section(thread))
            .collect();
        self.frame
            .share
            .begin_own(|thread| sections[thread as usize].clone());
    }

    /// Of the counts, and of the keys that a round's threads generated.
    fn digest_of(&self, round: u64, keys: &[u32], of_buckets: &[u32]) -> u64 {
        let threads = 0..u64::from(self.frame.options.threads);
        let generated = threads
            .filter(|thread| !counts(*thread))
            .flat_map(|thread| {
                (0..self.section(thread)).map(move |item| self.key(round, thread, item))
            });
        let values = generated.map(|key| keys[key as usize]);
        digest(values.chain(of_buckets.iter().copied()).map(u64::from))
    }

    fn count(&mut self, thread: u64, key: u64, to: &mut Recorder) {
        let bucket = self.plan.bucket(self.keys[key as usize], 0);
        let slot = thread * self.plan.buckets() + bucket;
        self.counts[slot as usize] += 1;
        let loaded = to.load(self.places.keys.at(key));
        to.work(WORK_COUNT);
        to.load_after(self.places.counts.at(slot), loaded);
        to.store_after(self.places.counts.at(slot), loaded);
    }

    fn generate(&mut self, thread: u64, key: u64, to: &mut Recorder) {
        let (at, seed) = (key as usize, self.frame.options.seed);
        let into = &mut self.keys[at..=at];
        self.plan.generate_from(key, seed, 0, into);
        let stack = self.places.stacks.at(thread * 8);
        for _ in 0..PRODUCTS {
            to.store(stack);
            (0..CONSTANTS).for_each(|constant| _ = to.load(self.places.constants.at(constant)));
            to.work(WORK_PRODUCT);
            to.load(stack);
        }
        to.load(self.places.constants.at(CONSTANTS));
        to.work(WORK_GENERATE);
        to.store(self.places.keys.at(key));
    }
}

impl Phased for Generation {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn footprint(&self) -> Bytes {
        self.places.footprint
    }

    fn stretch(&self) -> u64 {
        PIECE
    }

    fn work(&mut self, thread: u32, items: Range<u64>, to: &mut Recorder) {
        let thread = u64::from(thread);
        for item in items {
            let key = self.key(self.frame.rounds, thread, item);
            if counts(thread) {
                self.count(thread, key, to);
            } else {
                self.generate(thread, key, to);
            }
        }
    }

    fn advance(&mut self) {
        self.digest = self.digest_of(self.frame.rounds, &self.keys, &self.counts);
        self.frame.end_round();
        self.begin();
    }

    /// All keys in one sequence, and for each thread a count of those of its sections.
    fn check(&self) -> Result<(), Mismatch> {
        let Some(last) = self.frame.rounds.checked_sub(1) else {
            return Ok(());
        };
        let mut keys = vec![0; self.keys.len()];
        self.plan.generate(self.frame.options.seed, 0, &mut keys);
        let mut of_buckets = vec![0; self.counts.len()];
        for thread in self.counting() {
            let start = (thread * self.part()) as usize;
            let part = keys[start..start + self.part() as usize].iter();
            let counted = (self.frame.rounds * self.section(thread)) as usize;
            for key in part.cycle().take(counted) {
                let bucket = u64::from(*key) & (self.plan.buckets() - 1);
                of_buckets[(thread * self.plan.buckets() + bucket) as usize] += 1;
            }
        }
        let plain = self.digest_of(last, &keys, &of_buckets);
        compare("radix", self.frame.rounds, self.digest, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_kernels::Kernel;
    use sluice_kernels::drive::{assert_footprint, options, run};
    use sluice_kernels::share::Shared;

    fn section(threads: u32, scale: u32, rounds: u64) -> Shared<Generation> {
        Shared(Generation::new(&options(threads, scale, rounds)))
    }

    #[test]
    fn any_number_of_threads_counts_what_was_generated() {
        for (threads, scale) in [(1, 4_000), (3, 4_000), (8, 4_000), (24, 2_000)] {
            // Further than to the end of a part.
            let mut kernel = section(threads, scale, 14);
            let told = run(&mut kernel, 1 + threads as usize % 3);
            assert_eq!((kernel.rounds(), kernel.check()), (14, Ok(())), "{threads}");
            let whole = 14 * INSTRUCTIONS / u64::from(scale);
            assert!(told.instructions <= whole && told.instructions * 20 > whole * 19);
            kernel.0.counts[usize::from(threads > 1) * 3] += 1;
            kernel.0.digest = kernel.0.digest_of(13, &kernel.0.keys, &kernel.0.counts);
            assert!(kernel.check().is_err());
        }
    }

    #[test]
    fn footprint_is_that_of_table_1() {
        assert_footprint(&INFO, |scale| {
            let options = options(24, scale, 0);
            Places::new(&plan(scale), &options).footprint
        });
    }
}
