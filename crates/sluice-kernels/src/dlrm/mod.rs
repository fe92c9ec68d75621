//! Training of a deep learning recommendation model: embedding tables between two small networks.
//!
//! After Meta's DLRM (Naumov et al., "Deep learning recommendation model for personalization and
//! recommendation systems", 2019). It has 13 dense and 26 sparse features as in Criteo's data, a
//! bottom network, dot products of all pairs, a top network, cross entropy, and stochastic gradient
//! descent. A sample looks up 1 to 10 rows of a table, each as likely as any other, and adds them
//! up. DLRM's own generator draws them so by default, and SkyByte's artifact has them so
//! (`update`). Rows are updated without races, each part of a table by one thread (Kalamkar et al.,
//! "Optimizing deep learning recommender systems training on CPU cluster architectures", 2020).
//! Different here:
//!
//! - Tables have equally many rows. Those of the artifact are 193, as large as a part is here, one
//!   of eight of a table. The labels come from a rule.
//! - The networks are narrow: 13-64-128 and 480-128-1. No width shows in SkyByte's experiments,
//!   whose section has nothing of the networks.
//! - The matrix products are those of a sample with vectors of 16 floats. The kernel gives a load
//!   where a product first uses a line; its later uses are operands of the multiplications.
//! - Tables are kept as differences from their first values, which are a function of their place.

mod net;
mod source;
mod tell;
mod update;

use super::share::Share;
use super::{Kernel, KernelInfo, KernelOptions, Recorder};
use crate::Mismatch;
use net::{DIM, Net, Row, Sample, TABLES, TOP_IN, Tape, add};
use sluice_host::{Instr, Program, Step};
use sluice_params::{Declared, Param, RawConfig, choices};
use sluice_units::Bytes;
use source::{Source, first};
use std::collections::BTreeMap;
use tell::{COPY, LINE, Places, ROW_BYTES};
use update::Mine;

/// Samples of a batch at scale 1, and at least. A batch looks up as many rows of a part of a table
/// as one of SkyByte's looks up of one of its 193 tables. Those are as large as a part (`update`).
const BATCH: u64 = 10_000;
const BATCH_MIN: u64 = 24;
/// Samples that a thread takes at once.
const CHUNK: u64 = 4;
/// Samples of a stretch of an update.
const BLOCK: u64 = 128;
/// Parts of a table with an owner each: 208 in all.
const PARTS: u64 = 8;
/// Inputs of the top's hidden layer whose weights are updated together.
const INPUTS: usize = 16;
/// Learning rate: so large a part of the gradient changes a weight.
const RATE: f32 = 0.5;

/// A row looked up: read its number, scale, add, prefetch, loop.
const LOOKUP: u32 = 6;

choices! {
    /// Where a run begins.
    enum Section {
        Batch = "batch": "with the first batch",
        Update = "update": "where the gradients of that are known, and the tables' rows are \
                            changed by them",
    }
}

const PARAMS: &[Param] = &[Param {
    key: "section",
    kind: Section::KIND,
    default: "batch",
    meaning: "where a run begins",
    source: "update: the section of SkyByte's artifact, by the pages that it touches \
             (doi:10.5281/zenodo.14660184, output/warmup_traces)",
}];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "dlrm",
    meaning: "training a recommendation model: embedding rows read and updated, small networks",
    source: "Meta's DLRM",
    published: Some((12_350, 32, 51)),
    thread_bytes,
    own_bytes: |_, bytes, _| bytes / 10 * 9,
    params: PARAMS,
    make: |options| Box::new(Dlrm::new(options)),
};

/// The networks, which a run that begins with the update has not in its caches.
fn thread_bytes(given: &RawConfig) -> u64 {
    match given.read("section") {
        Section::Update => 0,
        Section::Batch => tell::THREAD_BYTES,
    }
}

/// Samples of a batch.
fn batch(scale: u32) -> u64 {
    (BATCH / u64::from(scale)).max(BATCH_MIN)
}

/// What the threads are at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Forward and backward: pieces of the batch.
    Samples,
    /// Update: parts of the networks, then of the tables.
    Update,
}

struct Dlrm {
    options: KernelOptions,
    places: Places,
    source: Source,
    batch: u64,
    net: Net,
    /// Differences of all rows from their first values.
    tables: Vec<Row>,
    samples: Vec<Sample>,
    /// Rows of a table that samples before this one look up.
    before: Vec<[u32; TABLES]>,
    /// Look-ups of the batch in the tables before each.
    starts: [u64; TABLES],
    tapes: Vec<Tape>,
    /// What each thread updates.
    mine: Vec<Mine>,
    phase: Phase,
    share: Share,
    /// Batches that were finished.
    done: u64,
    /// Mean loss of the last batch.
    loss: f32,
}

/// Items of an update, in the order in which DLRM makes its parameters: parts of tables, blocks of
/// the top's hidden layer, the other layers.
const ALL_PARTS: u64 = TABLES as u64 * PARTS;
const BLOCKS: u64 = TOP_IN.div_ceil(INPUTS) as u64;
const UPDATES: u64 = ALL_PARTS + BLOCKS + 1;

impl Dlrm {
    fn new(options: &KernelOptions) -> Dlrm {
        let places = Places::new(options.scale, options.threads);
        let batch = places.batch;
        Dlrm {
            options: options.clone(),
            source: Source {
                seed: options.seed,
                rows: places.rows,
            },
            batch,
            net: Net::new(options.seed),
            tables: vec![[0.0; DIM]; TABLES * places.rows as usize],
            samples: Vec::new(),
            before: Vec::new(),
            starts: [0; TABLES],
            tapes: vec![Tape::EMPTY; batch as usize],
            mine: vec![Mine::default(); options.threads as usize],
            phase: Phase::Samples,
            share: Share::new(options.threads, batch, CHUNK),
            places,
            done: 0,
            loss: 0.0,
        }
        .filled()
    }

    /// With the samples of the batch to come.
    fn filled(mut self) -> Dlrm {
        self.load();
        if self.options.given.read::<Section>("section") == Section::Update {
            for sample in 0..self.batch {
                let rows = self.sums(sample);
                self.compute(sample, &rows);
            }
            self.advance();
        }
        self
    }

    fn load(&mut self) {
        let numbers = self.done * self.batch..(self.done + 1) * self.batch;
        self.samples.clear();
        self.samples.extend(numbers.map(|n| self.source.sample(n)));
        let mut rows = [0; TABLES];
        self.before.clear();
        for sample in &self.samples {
            self.before.push(rows);
            for (rows, bag) in rows.iter_mut().zip(&sample.rows) {
                *rows += bag.rows().len() as u32;
            }
        }
        let mut start = 0;
        for (at, rows) in self.starts.iter_mut().zip(rows) {
            *at = start;
            start += u64::from(rows);
        }
    }

    fn at(&self, table: usize, row: u32) -> usize {
        table * self.places.rows as usize + row as usize
    }

    /// The last thread has arrived at the end of a phase.
    fn advance(&mut self) {
        if self.phase == Phase::Samples {
            self.phase = Phase::Update;
            // A thread that begins with an item goes through all of it.
            let steps = update::steps(self.batch);
            self.share.begin(UPDATES * steps, steps);
            return;
        }
        self.loss = self.tapes.iter().map(|t| t.loss).sum::<f32>() / self.batch as f32;
        self.phase = Phase::Samples;
        self.share.begin(self.batch, CHUNK);
        self.done += 1;
        self.load();
    }

    /// Forward and backward for some samples of the batch.
    fn learn(&mut self, rec: &mut Recorder, thread: u32, from: u64, to: u64) {
        for sample in from..to {
            self.look_up(rec, thread, sample);
            let rows = self.sums(sample);
            self.compute(sample, &rows);
        }
        let run = (self.done, thread);
        tell::networks(rec, &self.places, run, from..to, |rec, sample, by_rows| {
            self.spread(rec, sample, by_rows);
        });
    }

    fn compute(&mut self, sample: u64, rows: &[Row; TABLES]) {
        let (at, share) = (sample as usize, 1.0 / self.batch as f32);
        self.net
            .learn(&self.samples[at], rows, share, &mut self.tapes[at]);
    }

    /// For each table, the rows of a sample added up.
    fn sums(&self, sample: u64) -> [Row; TABLES] {
        let bags = &self.samples[sample as usize].rows;
        std::array::from_fn(|table| {
            let mut sum = [0.0; DIM];
            for row in bags[table].rows() {
                add(&mut sum, 1.0, &first(table, *row));
                add(&mut sum, 1.0, &self.tables[self.at(table, *row)]);
            }
            sum
        })
    }

    /// Reads the rows of a sample, and adds those of a table up to where the products find them.
    fn look_up(&self, rec: &mut Recorder, thread: u32, sample: u64) {
        let bags = &self.samples[sample as usize].rows;
        let scratch = self.places.scratch(thread);
        for (table, bag) in bags.iter().enumerate() {
            rec.load(self.places.start(self.done, table, sample));
            rec.work(LOOKUP);
            for (i, row) in bag.rows().iter().enumerate() {
                let number = rec.load(self.number(table, sample, i));
                let at = self.at(table, *row);
                rec.work(LOOKUP);
                for line in (0..ROW_BYTES).step_by(LINE as usize) {
                    rec.load_after(self.places.tables.at(at as u64) + line, number);
                    rec.work(1);
                }
            }
            for line in (0..ROW_BYTES).step_by(LINE as usize) {
                rec.store(scratch.rows + table as u64 * ROW_BYTES + line);
            }
        }
    }

    /// Each row that a sample looks up has its table's gradient.
    fn spread(&self, rec: &mut Recorder, sample: u64, by_rows: u64) {
        let bags = &self.samples[sample as usize].rows;
        for (table, bag) in bags.iter().enumerate() {
            let before = u64::from(self.before[sample as usize][table]);
            let from = by_rows + table as u64 * ROW_BYTES;
            for i in 0..bag.rows().len() as u64 {
                let to = self.places.values(self.starts[table] + before + i);
                tell::copy(rec, from, to, ROW_BYTES, COPY);
            }
        }
    }

    /// Where the number of a row that a sample looks up is.
    fn number(&self, table: usize, sample: u64, i: usize) -> u64 {
        let before = u64::from(self.before[sample as usize][table]);
        self.places.number(self.done, table, before + i as u64)
    }

    /// A step of an item. What is summed over the samples goes into weights at the end.
    fn update(&mut self, rec: &mut Recorder, thread: u32, item: u64, step: u64) {
        if item < ALL_PARTS {
            self.update_part(rec, thread, item, step);
            return;
        }
        let steps = update::steps(self.batch);
        let samples = step * self.batch / steps..(step + 1) * self.batch / steps;
        let last = samples.end == self.batch;
        let block = item - ALL_PARTS;
        if block < BLOCKS {
            let from = block as usize * INPUTS;
            let to = TOP_IN.min(from + INPUTS);
            let inputs = from as u64..to as u64;
            tell::top_update(rec, &self.places, &inputs, samples);
            if last {
                self.net.update_top(&self.tapes, from, to, RATE);
                tell::top_updated(rec, &self.places, &inputs);
            }
        } else {
            tell::rest_update(rec, &self.places, samples);
            if last {
                self.net.update_rest(&self.tapes, RATE);
                tell::rest_updated(rec, &self.places);
            }
        }
    }
}

impl Program for Dlrm {
    fn footprint(&self) -> Bytes {
        self.places.arena.footprint()
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.options.rounds > 0 && self.done >= self.options.rounds {
            return Step::End;
        }
        if let Some(piece) = self.share.piece(thread, 1) {
            let mut rec = Recorder::new(out);
            match self.phase {
                Phase::Samples => self.learn(&mut rec, thread, piece.start, piece.end),
                Phase::Update => {
                    let steps = update::steps(self.batch);
                    let (item, step) = (piece.start / steps, piece.start % steps);
                    self.update(&mut rec, thread, item, step);
                }
            }
            return Step::More;
        }
        if self.share.arrive() {
            self.advance();
        }
        Step::Barrier
    }
}

impl Kernel for Dlrm {
    fn rounds(&self) -> u64 {
        self.done
    }

    /// Trains again from the beginning, a batch at a time in the order of the samples, with the
    /// rows that were used in a map.
    fn check(&self) -> Result<(), Mismatch> {
        let mut net = Net::new(self.options.seed);
        let mut tables: BTreeMap<(usize, u32), Row> = BTreeMap::new();
        let (mut tapes, mut loss) = (vec![Tape::EMPTY; self.batch as usize], 0.0);
        for batch in 0..self.done {
            let numbers = batch * self.batch..(batch + 1) * self.batch;
            let samples: Vec<Sample> = numbers.map(|n| self.source.sample(n)).collect();
            for (sample, tape) in samples.iter().zip(&mut tapes) {
                let rows = std::array::from_fn(|table| {
                    let mut sum = [0.0; DIM];
                    for row in sample.rows[table].rows() {
                        add(&mut sum, 1.0, &first(table, *row));
                        let now = tables.get(&(table, *row)).unwrap_or(&[0.0; DIM]);
                        add(&mut sum, 1.0, now);
                    }
                    sum
                });
                net.learn(sample, &rows, 1.0 / self.batch as f32, tape);
            }
            net.update_top(&tapes, 0, TOP_IN, RATE);
            net.update_rest(&tapes, RATE);
            let mut sums: BTreeMap<(usize, u32), Row> = BTreeMap::new();
            for (sample, tape) in samples.iter().zip(&tapes) {
                for (table, by) in tape.by_rows.iter().enumerate() {
                    for row in sample.rows[table].rows() {
                        add(sums.entry((table, *row)).or_insert([0.0; DIM]), 1.0, by);
                    }
                }
            }
            for (row, sum) in sums {
                add(tables.entry(row).or_insert([0.0; DIM]), -RATE, &sum);
            }
            loss = tapes.iter().map(|t| t.loss).sum::<f32>() / self.batch as f32;
        }
        if self.phase == Phase::Samples && net != self.net {
            return Err(Mismatch::new(
                format!("a weight of the networks after batch {}", self.done),
                "another",
                "that of a computation in one sequence",
            ));
        }
        if loss != self.loss {
            return Err(Mismatch::new("the mean loss", self.loss, loss));
        }
        // In the middle of an update some rows are ahead.
        let wrong = tables.iter().find(|((table, row), due)| {
            self.phase == Phase::Samples && self.tables[self.at(*table, *row)] != **due
        });
        wrong.map_or(Ok(()), |((table, row), due)| {
            let is = self.tables[self.at(*table, *row)];
            let [is, due] = [is, *due].map(|row| format!("{row:?}"));
            Err(Mismatch::new(
                format!("row {row} of table {table}"),
                is,
                due,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;
    use crate::drive::assert_footprint;

    const SMALL: u32 = 8192;

    fn dlrm(threads: u32, scale: u32, rounds: u64, section: &str) -> Dlrm {
        let set = [("section", section)];
        Dlrm::new(&given(&INFO, threads, rounds, &set, scale))
    }

    #[test]
    fn any_order_of_threads_gives_the_sequential_result() {
        let mut told = Vec::new();
        for section in ["batch", "update"] {
            for (threads, stretches) in [(1, 1), (3, 1), (8, 2)] {
                let mut kernel = dlrm(threads, SMALL, 2, section);
                let run = run(&mut kernel, stretches);
                assert_eq!(kernel.check(), Ok(()));
                assert_eq!(kernel.rounds(), 2);
                told.push((run.instructions, run.loads, run.stores));
            }
        }
        let (batch, update) = told.split_at(3);
        assert!(batch.iter().all(|t| *t == batch[0]), "{told:?}");
        assert!(update.iter().all(|t| *t == update[0]), "{told:?}");
        assert!(update[0] < batch[0], "{told:?}");
    }

    #[test]
    fn same_order_same_instructions() {
        let hash = |stretches| run(&mut dlrm(4, SMALL, 1, "batch"), stretches);
        assert_eq!(hash(2), hash(2));
        assert_ne!(hash(2).hash, hash(3).hash);
    }

    #[test]
    fn it_learns() {
        let mut kernel = dlrm(1, SMALL, 0, "batch");
        let mut out = Vec::new();
        let mut losses = Vec::new();
        while kernel.done < 36 {
            let before = kernel.done;
            out.clear();
            kernel.fill(0, &mut out);
            losses.extend((kernel.done > before).then_some(kernel.loss));
        }
        let mean = |losses: &[f32]| losses.iter().sum::<f32>() / losses.len() as f32;
        let (start, end) = (mean(&losses[..5]), mean(&losses[31..]));
        // ln 2 is what a coin costs.
        assert!(
            (0.6..0.8).contains(&start) && end < 0.8 * start,
            "{start} to {end}"
        );
    }

    /// Many stretches make a batch's update, and rows get their gradients in order all the same.
    #[test]
    fn a_batch_of_several_blocks_gives_the_sequential_result() {
        let scale = (BATCH / (2 * BLOCK)) as u32 - 5;
        let mut kernel = dlrm(3, scale, 1, "batch");
        assert!(kernel.batch > 2 * BLOCK && !kernel.batch.is_multiple_of(BLOCK));
        run(&mut kernel, 1);
        assert_eq!(kernel.check(), Ok(()));
    }

    #[test]
    fn footprint_of_table_1() {
        assert_footprint(&INFO, |scale| Places::new(scale, 24).arena.footprint());
    }

    #[test]
    fn a_lost_update_is_seen() {
        let mut kernel = dlrm(2, SMALL, 2, "batch");
        run(&mut kernel, 1);
        let touched = kernel.tables.iter().position(|row| *row != [0.0; DIM]);
        kernel.tables[touched.expect("rows are updated")][3] = 0.0;
        assert!(kernel.check().is_err_and(|e| e.what.starts_with("row")));
    }
}
