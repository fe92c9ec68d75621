//! A key-value store in this process under YCSB load, which checks every value it reads.

use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Mutex, PoisonError};

use crate::hist::Histogram;
use crate::meeting::Meeting;
use crate::store::{Record, Store};
use crate::timer::Timer;
use crate::value::{self, Mismatch};
use sluice_streams::order::thread_rng;
use sluice_streams::plan::THREADS_MAX;
use sluice_streams::ycsb::{Chooser, Distribution, Mix, Op, SCAN_MAX};

const OPS_STREAM: &str = "kv.ops";
const KINDS: usize = Op::ALL.len();
/// Mismatches that are described; all are counted.
const TOLD_MAX: usize = 10;

/// Latencies by thread and operation, off the heap that is measured.
static LATENCY: [[Histogram; KINDS]; THREADS_MAX] =
    [const { [const { Histogram::new() }; KINDS] }; THREADS_MAX];
static TOTALS: [Histogram; KINDS] = [const { Histogram::new() }; KINDS];
static ALL: Histogram = Histogram::new();
static STORE: Store = Store::new();
/// The store and the histograms serve one run in a process.
static RUN: Mutex<bool> = Mutex::new(false);

/// What to run: checked by the command line.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Shares of the operations.
    pub mix: Mix,
    /// Which keys are popular.
    pub distribution: Distribution,
    /// Records at the start.
    pub records: u64,
    /// Operations over all threads.
    pub ops: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    pub threads: usize,
    /// Seed of keys, operations and values.
    pub seed: u64,
    /// Whether every record is read back at the end.
    pub sweep: bool,
}

/// What was measured.
pub struct Measured {
    /// Wall time of the load in nanoseconds.
    pub load_ns: u64,
    /// Wall time of the operations in nanoseconds.
    pub run_ns: u64,
    /// Wall time of reading all back, when asked for.
    pub sweep_ns: Option<u64>,
    /// Records at the end.
    pub records: u64,
    /// Values read and checked.
    pub checked: u64,
    /// How many were wrong.
    pub mismatches: u64,
    /// The first of them.
    pub told: Vec<Mismatch>,
    /// Latencies by operation, in the order of [`Op::ALL`].
    pub by_op: &'static [Histogram; KINDS],
    /// Latencies of all operations.
    pub all: &'static Histogram,
}

/// Runs the load on the process's store.
///
/// # Panics
/// If called twice in a process: the store still holds the first run's records.
#[must_use]
pub fn run(load: &Load) -> Measured {
    let mut used = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(!std::mem::replace(&mut used, true), "one run in a process");
    let bench = Bench::new(load, &STORE, Timer::calibrate());
    let load_ns = bench.each_thread(|bench, thread| bench.load_part(thread));
    let run_ns = bench.each_thread(|bench, thread| bench.operate(thread));
    let sweep_ns = load
        .sweep
        .then(|| bench.each_thread(|bench, thread| bench.sweep(thread)));
    if load.sweep {
        bench.check_totals();
    }
    for thread in &LATENCY[..load.threads] {
        TOTALS
            .iter()
            .zip(thread)
            .for_each(|(total, part)| total.merge(part));
    }
    TOTALS.iter().for_each(|total| ALL.merge(total));
    Measured {
        load_ns,
        run_ns,
        sweep_ns,
        records: bench.existing.load(Relaxed),
        checked: bench.checked.load(Relaxed),
        mismatches: bench.mismatches.load(Relaxed),
        told: bench
            .told
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
        by_op: &TOTALS,
        all: &ALL,
    }
}

struct Bench<'a> {
    load: &'a Load,
    store: &'a Store,
    timer: Timer,
    meeting: Meeting,
    /// Held while a record is added, so that keys are dense.
    adding: Mutex<()>,
    existing: AtomicU64,
    updates: AtomicU64,
    versions: AtomicU64,
    checked: AtomicU64,
    mismatches: AtomicU64,
    told: Mutex<Vec<Mismatch>>,
}

impl<'a> Bench<'a> {
    fn new(load: &'a Load, store: &'a Store, timer: Timer) -> Self {
        Self {
            load,
            store,
            timer,
            meeting: Meeting::new(load.threads),
            adding: Mutex::new(()),
            existing: AtomicU64::new(load.records),
            updates: AtomicU64::new(0),
            versions: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            mismatches: AtomicU64::new(0),
            told: Mutex::new(Vec::with_capacity(TOLD_MAX)),
        }
    }

    /// Runs `work` on every thread at once; wall nanoseconds from the first start to the last
    /// end. One thread runs here, because starting one allocates.
    fn each_thread(&self, work: impl Fn(&Self, usize) + Sync) -> u64 {
        let timed = |thread: usize| {
            let _joined = self.meeting.join();
            let started = self.meeting.wait();
            work(self, thread);
            let ended = self.meeting.wait();
            ended.duration_since(started).as_nanos() as u64
        };
        let timed = &timed;
        match self.load.threads {
            1 => timed(0),
            threads => std::thread::scope(|scope| {
                // A thread may not be had: those before it end then, too.
                let _joined = self.meeting.join();
                (1..threads).for_each(|thread| drop(scope.spawn(move || timed(thread))));
                timed(0)
            }),
        }
    }

    fn load_part(&self, thread: usize) {
        for key in (thread as u64..self.load.records).step_by(self.load.threads) {
            self.add(key);
        }
    }

    fn add(&self, key: u64) {
        let mut value = vec![0; self.load.value_bytes].into_boxed_slice();
        value::fill(&mut value, self.load.seed, key, 0);
        if !self.store.insert(key, value) {
            self.wrong(Mismatch::new(key, "no record before its insert", "one"));
        }
    }

    fn operate(&self, thread: usize) {
        let load = self.load;
        let mut rng = thread_rng(load.seed, thread as u64, OPS_STREAM);
        let items = load.records + load.mix.expected_inserts(load.ops);
        let chooser = Chooser::new(load.distribution, items);
        let threads = load.threads as u64;
        let ops = load.ops / threads + u64::from((thread as u64) < load.ops % threads);
        for _ in 0..ops {
            let op = load.mix.op(&mut rng);
            // Whoever sees the number sees the records, too.
            let existing = self.existing.load(Acquire);
            let key = chooser.key(&mut rng, existing);
            let scan = if op == Op::Scan {
                1 + rng.below(SCAN_MAX)
            } else {
                1
            };
            let started = self.timer.start();
            self.apply(op, key, scan.min(existing - key));
            let ns = self.timer.stop(started);
            LATENCY[thread][op as usize].record(ns);
        }
    }

    fn apply(&self, op: Op, key: u64, scan: u64) {
        match op {
            Op::Read => self.read(key),
            Op::Update => self.update(key, false),
            Op::ReadModifyWrite => self.update(key, true),
            Op::Scan => (key..key + scan).for_each(|key| self.read(key)),
            Op::Insert => {
                let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
                let key = self.existing.load(Relaxed);
                self.add(key);
                self.existing.store(key + 1, Release);
            }
        }
    }

    fn read(&self, key: u64) {
        self.record(key, |record| self.check(key, &record));
    }

    fn update(&self, key: u64, check: bool) {
        self.record(key, |record| {
            if check {
                self.check(key, &record);
            }
            *record.version += 1;
            value::fill(record.value, self.load.seed, key, *record.version);
        });
        self.updates.fetch_add(1, Relaxed);
    }

    fn record<R>(&self, key: u64, with: impl FnOnce(Record) -> R) -> Option<R> {
        let result = self.store.with(key, with);
        if result.is_none() {
            self.wrong(Mismatch::new(key, "a record", "none"));
        }
        result
    }

    fn check(&self, key: u64, record: &Record) {
        self.checked.fetch_add(1, Relaxed);
        if let Err(mismatch) = value::check(record.value, self.load.seed, key, *record.version) {
            self.wrong(mismatch);
        }
    }

    fn wrong(&self, mismatch: Mismatch) {
        self.mismatches.fetch_add(1, Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX {
            told.push(mismatch);
        }
    }

    fn sweep(&self, thread: usize) {
        let existing = self.existing.load(Relaxed);
        for key in (thread as u64..existing).step_by(self.load.threads) {
            let version = self.record(key, |record| {
                self.check(key, &record);
                *record.version
            });
            self.versions.fetch_add(version.unwrap_or(0), Relaxed);
        }
    }

    /// Version and value lie on different pages; these totals show even a loss of both.
    fn check_totals(&self) {
        let totals = [
            (
                "updates over all records",
                self.updates.load(Relaxed),
                self.versions.load(Relaxed),
            ),
            ("records", self.existing.load(Relaxed), self.store.records()),
        ];
        for (what, expected, found) in totals {
            if expected != found {
                let (expected, found) = (format!("{expected} {what}"), found.to_string());
                self.wrong(Mismatch::new(0, expected, found));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(mix: Mix, threads: usize) -> Load {
        let distribution = mix.distribution();
        let (records, ops, value_bytes, seed) = (500, 5_000, 100, 3);
        Load {
            mix,
            distribution,
            records,
            ops,
            value_bytes,
            threads,
            seed,
            sweep: true,
        }
    }

    /// Loads a store of its own and lets `damage` loose before everything is read back.
    fn found(load: &Load, damage: impl Fn(&Store)) -> (u64, Vec<Mismatch>) {
        let store = Store::new();
        let bench = Bench::new(load, &store, Timer::calibrate());
        bench.each_thread(|bench, thread| bench.load_part(thread));
        let mut rng = thread_rng(load.seed, 0, OPS_STREAM);
        let chooser = Chooser::new(load.distribution, load.records);
        for _ in 0..load.ops {
            let existing = bench.existing.load(Relaxed);
            let key = chooser.key(&mut rng, existing);
            bench.apply(load.mix.op(&mut rng), key, 5.min(existing - key));
        }
        damage(&store);
        bench.each_thread(|bench, thread| bench.sweep(thread));
        bench.check_totals();
        (
            bench.mismatches.load(Relaxed),
            bench.told.into_inner().unwrap(),
        )
    }

    #[test]
    fn every_mix_reads_what_it_wrote() {
        for mix in [Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F] {
            let (mismatches, told) = found(&load(mix, 3), |_| ());
            assert_eq!(mismatches, 0, "{mix:?}: {told:?}");
        }
    }

    #[test]
    fn a_flipped_bit_is_told_with_its_key() {
        let (mismatches, told) = found(&load(Mix::C, 1), |store| {
            store.with(77, |record| record.value[40] ^= 4);
        });
        assert_eq!(mismatches, 1);
        let message = told[0].to_string();
        assert!(message.starts_with("key 77: expected ") && message.contains(", found "));
        assert!(message.contains("at byte 40 of version 0"), "{message}");
    }

    #[test]
    fn a_record_that_went_back_in_time_is_found() {
        let (mismatches, told) = found(&load(Mix::A, 1), |store| {
            let key = (0..500).find(|k| store.with(*k, |r| *r.version > 0) == Some(true));
            store.with(key.unwrap(), |record| {
                *record.version -= 1;
                value::fill(record.value, 3, key.unwrap(), *record.version);
            });
        });
        assert_eq!(mismatches, 1);
        assert!(
            told[0].expected.contains("updates over all records"),
            "{told:?}"
        );
    }

    /// A bench over a store of its own, loaded but for what `before` puts there first.
    fn loaded<'a>(load: &'a Load, store: &'a Store, before: impl Fn(&Store)) -> Bench<'a> {
        before(store);
        let bench = Bench::new(load, store, Timer::calibrate());
        bench.each_thread(|bench, thread| bench.load_part(thread));
        bench
    }

    #[test]
    fn a_record_that_is_there_or_is_not_is_told() {
        let (load, store) = (load(Mix::C, 2), Store::new());
        let bench = loaded(&load, &store, |store| {
            for key in [5, 6, 600] {
                store.insert(key, vec![0; 100].into_boxed_slice());
            }
        });
        let told = |bench: &Bench| bench.told.lock().unwrap().last().unwrap().to_string();
        // Two were there before their insert.
        assert_eq!(bench.mismatches.load(Relaxed), 2);
        assert!(told(&bench).ends_with(": expected no record before its insert, found one"));
        bench.read(777);
        assert_eq!(told(&bench), "key 777: expected a record, found none");
        assert_eq!(bench.mismatches.load(Relaxed), 3);
        // One more than there should be: 500 and that of key 600.
        bench.check_totals();
        assert_eq!(told(&bench), "key 0: expected 500 records, found 501");
        assert_eq!(bench.mismatches.load(Relaxed), 4);
    }

    #[test]
    fn ten_are_told_and_all_are_counted() {
        let (mismatches, told) = found(&load(Mix::C, 2), |store| {
            for key in 100..125 {
                store.with(key, |record| record.value[99] ^= 1);
            }
        });
        assert_eq!((mismatches, told.len()), (25, TOLD_MAX));
    }

    /// What each operation checks, and what it leaves.
    #[test]
    fn operations_do_what_they_are_called() {
        let (load, store) = (load(Mix::A, 1), Store::new());
        let bench = loaded(&load, &store, |_| ());
        let state = || {
            let version = store.with(7, |record| *record.version).unwrap();
            let figures = [&bench.checked, &bench.updates, &bench.existing];
            (version, figures.map(|figure| figure.load(Relaxed)))
        };
        for (op, scan, due) in [
            (Op::Read, 1, (0, [1, 0, 500])),
            (Op::Update, 1, (1, [1, 1, 500])),
            (Op::ReadModifyWrite, 1, (2, [2, 2, 500])),
            (Op::Scan, 9, (2, [11, 2, 500])),
            (Op::Insert, 1, (2, [11, 2, 501])),
        ] {
            bench.apply(op, 7, scan);
            assert_eq!(state(), due, "{op:?}");
        }
        assert_eq!(store.records(), 501);
        assert_eq!(bench.mismatches.load(Relaxed), 0);
        // A read checks, and an update does not look at what it replaces.
        store.with(7, |record| record.value[8] ^= 1);
        bench.apply(Op::Read, 7, 1);
        bench.apply(Op::ReadModifyWrite, 7, 1);
        assert_eq!(bench.mismatches.load(Relaxed), 2);
        store.with(7, |record| record.value[8] ^= 1);
        bench.apply(Op::Update, 7, 1);
        assert_eq!(bench.mismatches.load(Relaxed), 2);
    }

    /// Threads share out the operations, whatever is left over.
    #[test]
    fn all_operations_are_done_once() {
        let load = Load {
            ops: 1_003,
            ..load(Mix::B, 4)
        };
        let store = Store::new();
        let bench = loaded(&load, &store, |_| ());
        let count = |thread: usize| LATENCY[thread].iter().map(Histogram::count).sum::<u64>();
        let each = |wanted: &dyn Fn(usize) -> u64| [0, 1, 2, 3].map(wanted);
        let before = each(&count);
        bench.each_thread(|bench, thread| bench.operate(thread));
        let after = each(&count);
        let done = [0, 1, 2, 3].map(|thread| after[thread] - before[thread]);
        assert_eq!(done, [251, 251, 251, 250]);
        // A scan ends where the records do.
        let load = Load {
            ops: 2_000,
            records: 20,
            ..self::load(Mix::E, 1)
        };
        let store = Store::new();
        let bench = loaded(&load, &store, |_| ());
        bench.operate(0);
        assert_eq!(bench.mismatches.load(Relaxed), 0);
        assert!(bench.existing.load(Relaxed) > 20);
    }

    /// A second stream of the same numbers says what is scanned: from a key that is there, 1 to
    /// 100 records, and not beyond the last.
    #[test]
    fn scans_are_as_long_as_they_are_drawn() {
        let load = Load {
            records: 60,
            ops: 400,
            ..load(Mix::E, 1)
        };
        let store = Store::new();
        let bench = loaded(&load, &store, |_| ());
        bench.operate(0);
        let mut rng = thread_rng(load.seed, 0, OPS_STREAM);
        let chooser = Chooser::new(load.distribution, 60 + load.mix.expected_inserts(400));
        let (mut existing, mut checked) = (60, 0);
        for _ in 0..400 {
            let op = load.mix.op(&mut rng);
            let key = chooser.key(&mut rng, existing);
            match op {
                Op::Scan => checked += (1 + rng.below(100)).min(existing - key),
                _ => existing += 1,
            }
        }
        assert_eq!(bench.checked.load(Relaxed), checked);
        assert_eq!(bench.existing.load(Relaxed), existing);
    }
}
