//! Training of a deep learning recommendation model: embedding tables between two small networks.
//!
//! After Meta's DLRM (Naumov et al., "Deep learning recommendation model for personalization and
//! recommendation systems", 2019): 13 dense and 26 sparse features as in Criteo's data, a bottom
//! network, dot products of all pairs, a top network, cross entropy, stochastic gradient descent
//! with one row of each table for a sample. Rows are updated without races, each part of a table
//! by one thread (Kalamkar et al., "Optimizing deep learning recommender systems training on CPU
//! cluster architectures", 2020). Different here:
//!
//! - Tables have equally many rows, and rows are drawn zipfian, the most popular ones first: DLRM
//!   numbers Criteo's categories as they first appear. A sample looks up 1 to 10 rows of a table
//!   and adds them up, as DLRM's own generator of inputs has it. The labels come from a rule.
//! - The networks are narrow: 13-64-64 and 416-128-1.
//! - What the update needs is kept in bfloat16, rows and weights in 32 bits, as that paper trains.
//! - A run begins with a batch, and ends within it if it is no longer than SkyByte's experiments
//!   here: rows are read, and pages that are written are written in order (Figure 18: one program
//!   in 200 off-chip accesses).
//! - The matrix products are those of blocks of samples with vectors of 16 floats. A load is told
//!   where a product first uses a line; its later uses are operands of the multiplications.
//! - Tables are kept as differences from their first values, which are a function of their place.

mod net;
mod source;
mod tell;

use super::share::Share;
use super::{Kernel, KernelInfo, KernelOptions, Loaded, Recorder};
use crate::zipf::Zipf;
use net::{DIM, Net, Row, Sample, TABLES, TOP_IN, Tape, add};
use sluice_fabric::host::{Instr, Program, Step};
use sluice_units::Bytes;
use source::{Source, first};
use std::collections::BTreeMap;
use std::ops::Range;
use tell::{BY_ROW_BYTES, LANES, LINE, Places, ROW_BYTES};

/// Skew of the rows' popularity: a compromise of three of the paper's numbers. With 1.3, 1.25 and
/// 1.12 of the accesses that leave the processor 35, 31 and 23 % are writes (Figure 17's data: 29),
/// 10, 13 and 21 % wait for flash under SkyByte-WP (Figure 17 and Table III: 7), and there are 9,
/// 10 and 14 misses in 1,000 instructions (Table I: 5).
const THETA: f64 = 1.3;
/// Samples of a batch at scale 1, and at least. Batches are as large as many machines train with
/// together: a run sees rows that are read, and activations and gradients that are written in
/// order, before the first update writes rows.
const BATCH: u64 = 196_608;
const BATCH_MIN: u64 = 24;
/// Samples that a thread works on at once, and those that it takes at once.
const GROUP: u64 = 2;
const CHUNK: u64 = 4;
/// Samples of a stretch of an update.
const BLOCK: u64 = 128;
/// Parts of a table with an owner each.
const PARTS: u64 = 4;
/// Inputs of the top's hidden layer whose weights are updated together.
const INPUTS: usize = 16;
/// Learning rate.
const RATE: f32 = 0.5;

/// A row looked up: read its number, scale, add, prefetch, loop.
const LOOKUP: u32 = 6;
/// Finding out whose 16 rows are: load, multiply, shift, compare, mask, branch.
const OWNERS: u32 = 6;

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "dlrm",
    meaning: "training a recommendation model: embedding rows read and updated, small networks",
    source: "Meta's DLRM",
    published: Some((12_350, 32, 51)),
    thread_bytes: tell::THREAD_BYTES,
    params: &[],
    make: |options| Box::new(Dlrm::new(options)),
};

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
    tapes: Vec<Tape>,
    phase: Phase,
    share: Share,
    /// Batches done.
    done: u64,
    /// Mean loss of the last batch.
    loss: f32,
}

/// Items of an update: blocks of the top's hidden layer, the other layers, parts of tables.
const BLOCKS: u64 = TOP_IN.div_ceil(INPUTS) as u64;
const UPDATES: u64 = BLOCKS + 1 + TABLES as u64 * PARTS;

impl Dlrm {
    fn new(options: &KernelOptions) -> Dlrm {
        let places = Places::new(options.scale, options.threads);
        let batch = places.batch;
        Dlrm {
            options: options.clone(),
            source: Source {
                seed: options.seed,
                zipf: Zipf::new(places.rows, THETA),
            },
            batch,
            net: Net::new(options.seed),
            tables: vec![[0.0; DIM]; TABLES * places.rows as usize],
            samples: Vec::new(),
            before: Vec::new(),
            tapes: vec![Tape::EMPTY; batch as usize],
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
    }

    fn at(&self, table: usize, row: u32) -> usize {
        table * self.places.rows as usize + row as usize
    }

    /// The last thread has arrived at the end of a phase.
    fn advance(&mut self) {
        if self.phase == Phase::Samples {
            self.phase = Phase::Update;
            // Who begins with an item goes through the whole batch.
            let blocks = self.batch.div_ceil(BLOCK);
            self.share.begin(UPDATES * blocks, blocks);
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
            let rows = self.look_up(rec, thread, sample);
            let share = 1.0 / self.batch as f32;
            let at = sample as usize;
            self.net
                .learn(&self.samples[at], &rows, share, &mut self.tapes[at]);
        }
        tell::networks(rec, &self.places, (self.done, thread), from..to);
    }

    /// Reads the rows of a sample, and adds those of a table up to where the products find them.
    fn look_up(&self, rec: &mut Recorder, thread: u32, sample: u64) -> [Row; TABLES] {
        let bags = &self.samples[sample as usize].rows;
        let scratch = self.places.scratch(thread, sample);
        std::array::from_fn(|table| {
            rec.load(self.places.start(self.done, table, sample));
            rec.work(LOOKUP);
            let mut sum = [0.0; DIM];
            for (i, row) in bags[table].rows().iter().enumerate() {
                let number = rec.load(self.number(table, sample, i));
                let at = self.at(table, *row);
                rec.work(LOOKUP);
                for line in (0..ROW_BYTES).step_by(LINE as usize) {
                    rec.load_after(self.places.tables.at(at as u64) + line, number);
                    rec.work(1);
                }
                add(&mut sum, 1.0, &first(table, *row));
                add(&mut sum, 1.0, &self.tables[at]);
            }
            for line in (0..ROW_BYTES).step_by(LINE as usize) {
                rec.store(scratch.rows + table as u64 * ROW_BYTES + line);
            }
            sum
        })
    }

    /// Where the number of a row that a sample looks up is.
    fn number(&self, table: usize, sample: u64, i: usize) -> u64 {
        let before = u64::from(self.before[sample as usize][table]);
        self.places.number(self.done, table, before + i as u64)
    }

    /// An item's part in some samples of the batch; the sums over all of them go into weights at
    /// the end.
    fn update(&mut self, rec: &mut Recorder, item: u64, samples: Range<u64>) {
        let last = samples.end == self.batch;
        if item < BLOCKS {
            let from = item as usize * INPUTS;
            let to = TOP_IN.min(from + INPUTS);
            let inputs = from as u64..to as u64;
            tell::top_update(rec, &self.places, &inputs, samples);
            if last {
                self.net.update_top(&self.tapes, from, to, RATE);
                tell::top_updated(rec, &self.places, &inputs);
            }
        } else if item == BLOCKS {
            tell::rest_update(rec, &self.places, samples);
            if last {
                self.net.update_rest(&self.tapes, RATE);
                tell::rest_updated(rec, &self.places);
            }
        } else {
            let part = item - BLOCKS - 1;
            self.update_table(rec, (part / PARTS) as usize, part % PARTS, samples);
        }
    }

    /// Goes through samples and updates the table's rows that belong to the part.
    fn update_table(&mut self, rec: &mut Recorder, table: usize, part: u64, samples: Range<u64>) {
        for sample in samples {
            if sample % LANES == 0 {
                rec.load(self.places.start(self.done, table, sample));
            }
            rec.load(self.number(table, sample, 0));
            rec.work(OWNERS);
            let bag = self.samples[sample as usize].rows[table].clone();
            for (i, row) in bag.rows().iter().enumerate() {
                if u64::from(*row) * PARTS / self.places.rows != part {
                    continue;
                }
                let number = rec.load(self.number(table, sample, i));
                let at = self.at(table, *row);
                let gradient = &self.tapes[sample as usize].by_rows[table];
                add(&mut self.tables[at], -RATE, gradient);
                let gradient = self.places.by_rows.at(sample) + table as u64 * BY_ROW_BYTES;
                self.tell_row_update(rec, at as u64, gradient, number);
            }
        }
    }

    fn tell_row_update(&self, rec: &mut Recorder, at: u64, gradient: u64, number: Loaded) {
        rec.work(LOOKUP);
        rec.load(gradient);
        for line in (0..ROW_BYTES).step_by(LINE as usize) {
            let row = self.places.tables.at(at) + line;
            rec.load_after(row, number);
            rec.work(1);
            rec.store_after(row, number);
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
        let most = match self.phase {
            Phase::Samples => GROUP,
            Phase::Update => 1,
        };
        if let Some(piece) = self.share.piece(thread, most) {
            let mut rec = Recorder::new(out);
            match self.phase {
                Phase::Samples => self.learn(&mut rec, thread, piece.start, piece.end),
                Phase::Update => {
                    let blocks = self.batch.div_ceil(BLOCK);
                    let start = piece.start % blocks * BLOCK;
                    let samples = start..self.batch.min(start + BLOCK);
                    self.update(&mut rec, piece.start / blocks, samples);
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
    fn check(&self) -> Result<(), String> {
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
            for (sample, tape) in samples.iter().zip(&tapes) {
                for (table, by) in tape.by_rows.iter().enumerate() {
                    for row in sample.rows[table].rows() {
                        add(tables.entry((table, *row)).or_insert([0.0; DIM]), -RATE, by);
                    }
                }
            }
            loss = tapes.iter().map(|t| t.loss).sum::<f32>() / self.batch as f32;
        }
        if self.phase == Phase::Samples && net != self.net {
            return Err(format!("weights of the networks after batch {}", self.done));
        }
        if loss != self.loss {
            return Err(format!("mean loss: {}, expected {loss}", self.loss));
        }
        // In the middle of an update some rows are ahead.
        let wrong = tables.iter().find(|((table, row), due)| {
            self.phase == Phase::Samples && self.tables[self.at(*table, *row)] != **due
        });
        wrong.map_or(Ok(()), |((table, row), _)| {
            Err(format!("row {row} of table {table}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_footprint;
    use super::super::drive::{options, run};
    use super::*;

    const SMALL: u32 = 8192;

    #[test]
    fn any_order_of_threads_gives_the_sequential_result() {
        let mut told = Vec::new();
        for (threads, stretches) in [(1, 1), (3, 1), (8, 2)] {
            let mut kernel = Dlrm::new(&options(threads, SMALL, 2));
            let run = run(&mut kernel, stretches);
            assert_eq!(kernel.check(), Ok(()));
            assert_eq!(kernel.rounds(), 2);
            told.push((run.instructions, run.loads, run.stores));
        }
        assert!(told.iter().all(|t| *t == told[0]), "{told:?}");
    }

    #[test]
    fn same_order_same_instructions() {
        let hash = |stretches| run(&mut Dlrm::new(&options(4, SMALL, 1)), stretches);
        assert_eq!(hash(2), hash(2));
        assert_ne!(hash(2).hash, hash(3).hash);
    }

    #[test]
    fn it_learns() {
        let mut kernel = Dlrm::new(&options(1, SMALL, 0));
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
        let mut kernel = Dlrm::new(&options(3, scale, 1));
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
        let mut kernel = Dlrm::new(&options(2, SMALL, 2));
        run(&mut kernel, 1);
        let touched = kernel.tables.iter().position(|row| *row != [0.0; DIM]);
        kernel.tables[touched.expect("rows are updated")][3] = 0.0;
        assert!(kernel.check().is_err_and(|e| e.starts_with("row")));
    }
}
