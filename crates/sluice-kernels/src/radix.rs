//! Parallel radix sort, after Splash-3's `radix`.
//!
//! For each digit, a thread counts the digits of its part of the keys. It adds up the counts of the
//! others to know where its keys of each digit go, and copies them there, into the other of two
//! arrays. Keys and ranks have eight bytes, as the original's `long`.
//!
//! The loops are those of a build without optimisation: locals live on the stack, each use is a
//! load. An optimised build takes 17 instructions for a key and digit instead of 58, and would miss
//! three times as often as Table I says. Locals stay in L1.
//!
//! Different from the original: the number of buckets is divided by the scale, because a bucket has
//! a page and a line open for each thread, and the caches for them are divided too. There are three
//! digits at every scale, as with its keys below 2^26. Sums over the threads are taken one by one,
//! not by a tree. The generation of the keys is left out: new ones are there when a round begins.
//! Keys are below 2^32 and are kept in four bytes.
//!
//! A run begins near the end of the first permutation and goes on to the next count, where most
//! off-chip accesses read, in order. The section of SkyByte's artifact is another.

use super::share::{Frame, Phased, Shared, compare, digest};
use super::{Arena, Array, KernelInfo, KernelOptions, Mismatch, Recorder};

use sluice_units::{Bytes, Rng, seed_of};
use std::ops::Range;

/// What the registry says.
pub const INFO: KernelInfo = KernelInfo {
    name: "radix",
    meaning: "radix sort: counts and permutes keys between two arrays, digit by digit",
    source: "Splash-3, radix",
    published: Some((9600, 29, 71)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 2,
    params: &[],
    make: |options| Box::new(Shared(Radix::new(options))),
};

const RADIX: u64 = 1024;
const DIGITS: u32 = 3;
/// The part of the first permutation that a run leaves behind.
const SKIP: (u64, u64) = (98, 100);
/// Keys or buckets in a stretch.
pub const PIECE: u64 = 64;

/// Instructions of the counting loop that touch no memory: two address sums of two each, an
/// increment. Additions to memory are a load and a store, and no third.
const WORK_COUNT: u32 = 5;
/// Those of the permuting loop: four address sums, the move between two registers of the shift,
/// the increment, the jump.
const WORK_PERMUTE: u32 = 11;
/// Instructions of the sum for a bucket.
const WORK_RANK: u32 = 4;

/// Slots of a thread's stack.
#[derive(Clone, Copy)]
enum Local {
    I,
    Stop,
    KeyFrom,
    KeyTo,
    Mask,
    Shift,
    ThisKey,
    Tmp,
    Ranks,
}

/// What to sort, and how.
#[derive(Clone, Copy)]
pub struct Plan {
    /// How many keys are sorted.
    pub keys: u64,
    log2: u32,
    max_key: u64,
}

struct Places {
    keys: [Array; 2],
    counts: Array,
    ranks: Array,
    stacks: Array,
    footprint: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Count,
    Rank,
    Permute,
}

struct Radix {
    frame: Frame,
    plan: Plan,
    places: Places,
    keys: [Vec<u32>; 2],
    /// For each thread, of each bucket.
    counts: Vec<u32>,
    ranks: Vec<u32>,
    /// For each thread, keys in the buckets before the one that it ranks next.
    before: Vec<u32>,
    phase: Phase,
    digit: u32,
    digest: u64,
}

impl Plan {
    /// The keys of Table I and the original's digits, at a scale.
    pub fn new(scale: u32) -> Plan {
        let log2 = (RADIX / u64::from(scale)).max(8).ilog2();
        let bytes = INFO.table_1_bytes() / u64::from(scale);
        Plan {
            keys: (bytes / 16).max(1),
            log2,
            // The highest digit uses one bucket in sixteen, as with the original's default.
            max_key: 1 << (2 * log2 + log2.saturating_sub(4).max(1)),
        }
    }

    /// Buckets of a digit.
    pub fn buckets(&self) -> u64 {
        1 << self.log2
    }

    /// The bucket of a key by one of its digits.
    pub fn bucket(&self, key: u32, digit: u32) -> u64 {
        u64::from(key >> (digit * self.log2)) & (self.buckets() - 1)
    }

    /// The keys of a round: a multiplicative generator modulo 2^46, the mean of four draws each.
    pub fn generate(&self, seed: u64, round: u64, into: &mut [u32]) {
        self.generate_from(0, seed, round, into);
    }

    /// Those from the `first` on.
    pub fn generate_from(&self, first: u64, seed: u64, round: u64, into: &mut [u32]) {
        const RATIO: u64 = 1_220_703_125;
        const MODULUS: u64 = 1 << 46;
        let mut state = Rng::stream(seed_of(seed, round), "radix").below(MODULUS) | 1;
        // The modulus divides 2^64, so that products may wrap.
        let (mut power, mut draws) = (RATIO, 4 * first);
        while draws > 0 {
            if draws % 2 == 1 {
                state = state.wrapping_mul(power) % MODULUS;
            }
            (power, draws) = (power.wrapping_mul(power), draws / 2);
        }
        for key in into {
            let mut sum = 0;
            for _ in 0..4 {
                state = state.wrapping_mul(RATIO) % MODULUS;
                sum += state;
            }
            *key = ((u128::from(sum / 4) * u128::from(self.max_key)) >> 46) as u32;
        }
    }
}

impl Places {
    fn new(plan: &Plan, threads: u32) -> Places {
        let threads = u64::from(threads);
        let mut arena = Arena::default();
        let keys = [arena.array(plan.keys, 8), arena.array(plan.keys, 8)];
        Places {
            keys,
            counts: arena.array(threads * plan.buckets(), 8),
            ranks: arena.array(threads * plan.buckets(), 8),
            stacks: arena.array(threads * 512, 8),
            footprint: arena.footprint(),
        }
    }
}

impl Radix {
    fn new(options: &KernelOptions) -> Radix {
        let plan = Plan::new(options.scale);
        let zeros = || vec![0; plan.keys as usize];
        let buckets = vec![0; options.threads as usize * plan.buckets() as usize];
        let mut radix = Radix {
            frame: Frame::new(options, 0, 1),
            places: Places::new(&plan, options.threads),
            plan,
            keys: [zeros(), zeros()],
            counts: buckets.clone(),
            ranks: buckets,
            before: vec![0; options.threads as usize],
            phase: Phase::Count,
            digit: 0,
            digest: 0,
        };
        radix.begin_round();
        radix.skip_to_section();
        radix
    }

    /// Does all before the section without a trace: the first count, and most of the permutation.
    fn skip_to_section(&mut self) {
        for thread in 0..self.frame.options.threads {
            for i in self.part(thread.into()) {
                let slot = self.slot(thread, self.bucket(i));
                self.counts[slot as usize] += 1;
            }
        }
        for thread in 0..self.frame.options.threads {
            (0..self.plan.buckets()).for_each(|bucket| _ = self.find_rank(thread, bucket));
        }
        self.frame.share.skip_all();
        self.begin(Phase::Permute);
        let parts: Vec<_> = (0..self.frame.options.threads)
            .map(|thread| {
                let part = self.part(thread.into());
                let skipped = part.start + (part.end - part.start) * SKIP.0 / SKIP.1;
                (part.start..skipped).for_each(|i| _ = self.place(thread, i));
                skipped..part.end
            })
            .collect();
        self.frame.share.skip_all();
        self.frame
            .share
            .begin_own(|thread| parts[thread as usize].clone());
    }

    fn begin_round(&mut self) {
        let [keys, _] = &mut self.keys;
        self.plan
            .generate(self.frame.options.seed, self.frame.rounds, keys);
        self.digit = 0;
        self.begin(Phase::Count);
    }

    /// A thread's part of the keys.
    fn part(&self, thread: u64) -> Range<u64> {
        let cut = |thread| self.plan.keys * thread / u64::from(self.frame.options.threads);
        cut(thread)..cut(thread + 1)
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        let parts: Vec<_> = (0..u64::from(self.frame.options.threads))
            .map(|thread| match phase {
                Phase::Rank => 0..self.plan.buckets(),
                Phase::Count | Phase::Permute => self.part(thread),
            })
            .collect();
        self.frame
            .share
            .begin_own(|thread| parts[thread as usize].clone());
        self.before.fill(0);
    }

    /// Where a thread's count or rank of a bucket is.
    fn slot(&self, thread: u32, bucket: u64) -> u64 {
        u64::from(thread) * self.plan.buckets() + bucket
    }

    fn local(&self, thread: u32, local: Local) -> u64 {
        self.places
            .stacks
            .at(u64::from(thread) * 512 + local as u64)
    }

    fn load(&self, thread: u32, locals: &[Local], to: &mut Recorder) {
        for local in locals {
            to.load(self.local(thread, *local));
        }
    }

    /// Where the keys come from and go to: the arrays change places with each digit.
    fn arrays(&self) -> (Array, Array) {
        let from = (self.digit % 2) as usize;
        (self.places.keys[from], self.places.keys[1 - from])
    }

    fn clear_counts(&mut self, thread: u32, to: &mut Recorder) {
        for bucket in 0..self.plan.buckets() {
            let slot = self.slot(thread, bucket);
            self.counts[slot as usize] = 0;
            self.load(thread, &[Local::I, Local::Ranks], to);
            to.store(self.places.counts.at(slot));
            self.next_i(thread, to);
            to.work(WORK_RANK);
        }
    }

    /// `i++`, and its comparison with the end.
    fn next_i(&self, thread: u32, to: &mut Recorder) {
        to.load(self.local(thread, Local::I));
        to.store(self.local(thread, Local::I));
        self.load(thread, &[Local::I, Local::Stop], to);
    }

    fn bucket(&self, i: u64) -> u64 {
        self.plan.bucket(self.keys[0][i as usize], self.digit)
    }

    /// The key's digit becomes `this_key`: its load, and its bucket.
    fn this_key(&self, thread: u32, i: u64, to: &mut Recorder) -> (super::Loaded, u64) {
        let bucket = self.bucket(i);
        self.load(thread, &[Local::I, Local::KeyFrom], to);
        let key = to.load(self.arrays().0.at(i));
        to.load(self.local(thread, Local::Mask));
        to.store(self.local(thread, Local::ThisKey));
        self.load(thread, &[Local::Shift, Local::ThisKey], to);
        to.store(self.local(thread, Local::ThisKey));
        (key, bucket)
    }

    fn count(&mut self, thread: u32, i: u64, to: &mut Recorder) {
        if i == self.part(thread.into()).start {
            self.clear_counts(thread, to);
        }
        let (key, bucket) = self.this_key(thread, i, to);
        let slot = self.slot(thread, bucket);
        self.counts[slot as usize] += 1;
        self.load(thread, &[Local::ThisKey, Local::Ranks], to);
        to.load_after(self.places.counts.at(slot), key);
        to.work(WORK_COUNT);
        to.store_after(self.places.counts.at(slot), key);
        self.next_i(thread, to);
    }

    /// The rank of a thread's first key in a bucket: all keys in the buckets before, and those in
    /// this one of the threads before. Where it is kept.
    fn find_rank(&mut self, thread: u32, bucket: u64) -> u64 {
        let mut rank = self.before[thread as usize];
        for other in 0..self.frame.options.threads {
            let count = self.counts[self.slot(other, bucket) as usize];
            rank += if other < thread { count } else { 0 };
            self.before[thread as usize] += count;
        }
        let slot = self.slot(thread, bucket);
        self.ranks[slot as usize] = rank;
        slot
    }

    fn rank(&mut self, thread: u32, bucket: u64, to: &mut Recorder) {
        for other in 0..self.frame.options.threads {
            to.load(self.places.counts.at(self.slot(other, bucket)));
            to.work(WORK_RANK);
        }
        let slot = self.find_rank(thread, bucket);
        to.store(self.places.ranks.at(slot));
    }

    /// A key goes to its rank, which is returned with where it is kept.
    fn place(&mut self, thread: u32, i: u64) -> (u64, u32) {
        let slot = self.slot(thread, self.bucket(i));
        let rank = self.ranks[slot as usize];
        self.keys[1][rank as usize] = self.keys[0][i as usize];
        self.ranks[slot as usize] += 1;
        (slot, rank)
    }

    fn permute(&mut self, thread: u32, i: u64, to: &mut Recorder) {
        let (key, _) = self.this_key(thread, i, to);
        let (slot, rank) = self.place(thread, i);
        let (from, into) = self.arrays();
        let at = self.places.ranks.at(slot);
        self.load(thread, &[Local::ThisKey, Local::Ranks], to);
        let ranked = to.load_after(at, key);
        to.store(self.local(thread, Local::Tmp));
        self.load(
            thread,
            &[Local::I, Local::KeyFrom, Local::Tmp, Local::KeyTo],
            to,
        );
        to.load(from.at(i));
        to.store_after(into.at(rank.into()), ranked);
        self.load(thread, &[Local::ThisKey, Local::Ranks], to);
        to.load_after(at, key);
        to.work(WORK_PERMUTE);
        to.store_after(at, key);
        self.next_i(thread, to);
    }
}

impl Phased for Radix {
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
        for item in items {
            match self.phase {
                Phase::Count => self.count(thread, item, to),
                Phase::Rank => self.rank(thread, item, to),
                Phase::Permute => self.permute(thread, item, to),
            }
        }
    }

    fn advance(&mut self) {
        match self.phase {
            Phase::Count => self.begin(Phase::Rank),
            Phase::Rank => self.begin(Phase::Permute),
            Phase::Permute if self.digit + 1 < DIGITS => {
                self.keys.swap(0, 1);
                self.digit += 1;
                self.begin(Phase::Count);
            }
            Phase::Permute => {
                self.frame.end_round();
                self.digest = digest(self.keys[1].iter().map(|key| u64::from(*key)));
                self.begin_round();
            }
        }
    }

    fn check(&self) -> Result<(), Mismatch> {
        let Some(last) = self.frame.rounds.checked_sub(1) else {
            return Ok(());
        };
        let mut keys = vec![0; self.plan.keys as usize];
        self.plan.generate(self.frame.options.seed, last, &mut keys);
        keys.sort_unstable();
        let plain = digest(keys.iter().map(|key| u64::from(*key)));
        compare("radix", self.frame.rounds, self.digest, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprint_is_that_of_table_1() {
        crate::drive::assert_footprint(&INFO, |scale| Places::new(&Plan::new(scale), 24).footprint);
    }

    #[test]
    fn as_many_digits_as_the_original_needs() {
        for scale in [1, 8, 64, 128, 100_000] {
            let plan = Plan::new(scale);
            let highest = plan.max_key - 1;
            assert_eq!(highest.ilog(plan.buckets()) + 1, DIGITS, "1:{scale}");
        }
        assert_eq!(Plan::new(1).max_key, 1 << 26);
    }

    /// Runs with the seeds 0 to 3 had the same four sets of keys, in other orders.
    #[test]
    fn no_two_rounds_of_neighbouring_seeds_have_the_same_keys() {
        let plan = Plan::new(64);
        let keys = |seed, round| {
            let mut keys = [0; 8];
            plan.generate(seed, round, &mut keys);
            keys
        };
        let all = (0..4).flat_map(|seed| (0..4).map(move |round| (seed, round)));
        let all: Vec<_> = all.map(|(seed, round)| keys(seed, round)).collect();
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), 16);
    }
}
