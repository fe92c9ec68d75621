//! Where everything is, and the instructions of the networks.
//!
//! Operators are those of PyTorch, one after the other: each reads its inputs and writes its output
//! into a buffer of its own.

use super::super::{Arena, Array, Recorder};
use super::net::{BOTTOM, DENSE, DIM, FEATURES, MOST, PAIRS, TABLES, TOP, TOP_IN, VECTORS};
use super::{PARTS, batch};
use std::ops::Range;

/// SkyByte Table I, in bytes.
const FOOTPRINT: u64 = 12_350_000_000;
/// The samples' share of it, in percent.
const SAMPLES_SHARE: u64 = 4;

pub(super) const LINE: u64 = 64;
/// Floats of a vector.
const LANES: u64 = 16;
pub(super) const ROW_BYTES: u64 = 4 * DIM as u64;
/// An entry of the list that is sorted: number of the row, place of its values.
pub(super) const ENTRY_BYTES: u64 = 16;

/// Dense features, label, and for each table where its rows begin and their numbers, which are
/// integers of 64 bits in DLRM.
const DENSE_BYTES: u64 = 4 * (FEATURES + 1) as u64;
const SAMPLE_BYTES: u64 = DENSE_BYTES + Places::NUMBER_BYTES * (TABLES * (1 + MOST)) as u64;
/// Bytes of an activation or gradient.
const KEPT: u64 = 4;
/// Room for look-ups of a sample in a table, and in a part of one: there are 5 and 0.6, evenly from
/// 1 to [`MOST`] and by lot.
const MEAN_MOST: u64 = 6;
const PART_MOST: (u64, u64) = (5, 2);
/// A sample's tape: the top's input, and after it dense features and bottom's hidden layer, the
/// top's and its gradient, gradients of the bottom's two.
const REST_AT: u64 = (KEPT * TOP_IN as u64).next_multiple_of(LINE);
const TOP_AT: u64 = REST_AT + KEPT * (DENSE + BOTTOM) as u64;
const BY_TOP_AT: u64 = TOP_AT + KEPT * TOP as u64;
const BY_BOTTOM_AT: u64 = BY_TOP_AT + KEPT * TOP as u64;
const TAPE_BYTES: u64 = (BY_BOTTOM_AT + KEPT * (BOTTOM + DIM) as u64).next_multiple_of(LINE);
/// A sample's rows and the bottom's output; all products, the pairs, and the gradient of the rows,
/// which a thread has room for once. Gradients of products and pairs go where these were.
const VECTORS_BYTES: u64 = VECTORS as u64 * ROW_BYTES;
const PRODUCTS_BYTES: u64 = (4 * (VECTORS * VECTORS) as u64).next_multiple_of(LINE);
const PAIRS_BYTES: u64 = (4 * TOP_IN as u64).next_multiple_of(LINE);
const ONCE_BYTES: u64 = VECTORS_BYTES + PRODUCTS_BYTES + PAIRS_BYTES;

/// Weights of the networks.
const FLOATS: u64 = (TOP_IN * TOP + TOP + BOTTOM * DIM + DENSE * BOTTOM) as u64;
/// What a thread goes through for each sample.
pub(super) const THREAD_BYTES: u64 = 4 * FLOATS + ONCE_BYTES + VECTORS_BYTES;

/// To ten multiplications, other instructions of their loop: broadcasts, addresses, loop.
const LOOP_TENTHS: u64 = 3;
/// A line copied: address, loop.
pub(super) const COPY: u32 = 2;
/// A line gathered or scattered: the places of 16 pairs.
const GATHER: u32 = 12;
/// The loss of a sample: an exponential, a logarithm, both sides' gradient.
const LOSS: u32 = 60;

/// Where in memory each array lies.
pub(super) struct Places {
    pub(super) arena: Arena,
    /// Rows of a table.
    pub(super) rows: u64,
    pub(super) batch: u64,
    pub(super) tables: Array,
    batches: u64,
    data: Array,
    weights: Array,
    tapes: Array,
    scratch: Array,
    /// Gradients of the rows, one for each look-up.
    values: Array,
    /// For each thread, a list and room to sort it.
    lists: Array,
    /// For each thread, gradients of the rows of a part.
    new_values: Array,
    /// Look-ups of a part that there is room for.
    part: u64,
}

/// Addresses of a sample's scratch.
pub(super) struct Scratch {
    pub(super) rows: u64,
    products: u64,
    pairs: u64,
    by_rows: u64,
}

impl Places {
    /// Bytes of a row's number.
    pub(super) const NUMBER_BYTES: u64 = 8;

    pub(super) fn new(scale: u32, threads: u32) -> Places {
        let target = FOOTPRINT / u64::from(scale);
        let batch = batch(scale);
        let batches = (target * SAMPLES_SHARE / 100 / SAMPLE_BYTES / batch).max(1);
        let (values, part) = (
            TABLES as u64 * MEAN_MOST * batch,
            PART_MOST.0 * batch / PART_MOST.1,
        );
        let threads = u64::from(threads);
        let of_threads = threads * part * (2 * ENTRY_BYTES + ROW_BYTES);
        let others =
            batches * batch * SAMPLE_BYTES + batch * TAPE_BYTES + values * ROW_BYTES + of_threads;
        let rows = (target.saturating_sub(others) / (TABLES as u64 * ROW_BYTES)).max(PARTS);
        let mut arena = Arena::default();
        Places {
            tables: arena.array(TABLES as u64 * rows, ROW_BYTES),
            data: arena.array(batches, batch * SAMPLE_BYTES),
            weights: arena.array(FLOATS, 4),
            tapes: arena.array(batch, TAPE_BYTES),
            scratch: arena.array(threads, ONCE_BYTES + VECTORS_BYTES),
            values: arena.array(values, ROW_BYTES),
            lists: arena.array(threads * 2 * part, ENTRY_BYTES),
            new_values: arena.array(threads * part, ROW_BYTES),
            part,
            rows,
            batch,
            batches,
            arena,
        }
    }

    #[cfg(test)]
    pub(super) fn end_of_tables(&self) -> u64 {
        self.tables.at(TABLES as u64 * self.rows)
    }

    /// Where it stands at which number the rows of a sample begin: a batch has them by table.
    pub(super) fn start(&self, done: u64, table: usize, sample: u64) -> u64 {
        let before = table as u64 * self.batch + sample;
        self.numbers(done) + Self::NUMBER_BYTES * before
    }

    fn numbers(&self, done: u64) -> u64 {
        self.data.at(done % self.batches) + DENSE_BYTES * self.batch
    }

    /// Where the number of a row is, after so many others of the table.
    pub(super) fn number(&self, done: u64, table: usize, before: u64) -> u64 {
        let others = (TABLES + MOST * table) as u64 * self.batch;
        self.numbers(done) + Self::NUMBER_BYTES * (others + before)
    }

    /// Where the gradient of a row is, after so many look-ups of the batch.
    pub(super) fn values(&self, before: u64) -> u64 {
        self.values.at(before)
    }

    /// A thread's list, and as far behind it the room to sort it.
    pub(super) fn list(&self, thread: u32) -> u64 {
        self.lists.at(u64::from(thread) * 2 * self.part)
    }

    pub(super) fn list_bytes(&self) -> u64 {
        self.part * ENTRY_BYTES
    }

    /// A thread's gradients of the rows of a part.
    pub(super) fn new_values(&self, thread: u32) -> u64 {
        self.new_values.at(u64::from(thread) * self.part)
    }

    pub(super) fn scratch(&self, thread: u32) -> Scratch {
        let products = self.scratch.at(u64::from(thread));
        let pairs = products + PRODUCTS_BYTES;
        Scratch {
            rows: products + ONCE_BYTES,
            products,
            pairs,
            by_rows: pairs + PAIRS_BYTES,
        }
    }
}

/// Instructions of so many multiplications and additions.
fn multiply(count: u64) -> u32 {
    (count.div_ceil(LANES) * (10 + LOOP_TENTHS) / 10) as u32
}

/// Loads of all lines from `start`, with `work` for each.
pub(super) fn loads(rec: &mut Recorder, start: u64, bytes: u64, work: u32) {
    let first = start / LINE * LINE;
    for line in (first..start + bytes).step_by(LINE as usize) {
        rec.load(line.max(start));
        rec.work(work);
    }
}

/// Stores to all lines from `start`, with `work` for each.
fn stores(rec: &mut Recorder, start: u64, bytes: u64, work: u32) {
    let first = start / LINE * LINE;
    for line in (first..start + bytes).step_by(LINE as usize) {
        rec.work(work);
        rec.store(line.max(start));
    }
}

/// Line by line from one place to another.
pub(super) fn copy(rec: &mut Recorder, from: u64, to: u64, bytes: u64, work: u32) {
    for line in (0..bytes).step_by(LINE as usize) {
        rec.load(from + line);
        rec.work(work);
        rec.store(to + line);
    }
}

/// Products with weights, a line of which is read once for all samples.
fn layer(rec: &mut Recorder, weights: u64, count: usize, samples: u64) {
    loads(rec, weights, 4 * count as u64, multiply(LANES * samples));
}

/// Forward and backward of the networks for samples whose rows have been read. `parted` gets the
/// place of the gradients of each sample's rows.
pub(super) fn networks(
    rec: &mut Recorder,
    places: &Places,
    (done, thread): (u64, u32),
    samples: Range<u64>,
    parted: impl Fn(&mut Recorder, u64, u64),
) {
    let count = samples.end - samples.start;
    let top = places.weights.at(0);
    let bottom = places.weights.at((TOP_IN * TOP + TOP) as u64);
    let dense = places.data.at(done % places.batches);
    let bytes = 4 * FEATURES as u64;
    loads(rec, dense + bytes * samples.start, bytes * count, COPY);
    layer(rec, bottom, BOTTOM * (DENSE + DIM), count);
    for sample in samples.clone() {
        let tape = places.tapes.at(sample);
        stores(rec, tape + REST_AT, TOP_AT - REST_AT, COPY);
        meet(rec, &places.scratch(thread), tape);
    }
    layer(rec, top, TOP_IN * TOP, count);
    for sample in samples.clone() {
        rec.work(multiply(4 * TOP as u64) + LOSS);
        let at = places.tapes.at(sample) + TOP_AT;
        stores(rec, at, BY_BOTTOM_AT - TOP_AT, COPY);
    }
    layer(rec, top, TOP_IN * TOP, count);
    for sample in samples.clone() {
        let scratch = places.scratch(thread);
        part(rec, &scratch);
        parted(rec, sample, scratch.by_rows);
    }
    layer(rec, bottom, BOTTOM * (DENSE + DIM), count);
    for sample in samples {
        let at = places.tapes.at(sample) + BY_BOTTOM_AT;
        stores(rec, at, TAPE_BYTES - BY_BOTTOM_AT, COPY);
    }
}

/// All products of a sample's vectors, the pairs among them, and the input of the top network.
fn meet(rec: &mut Recorder, scratch: &Scratch, tape: u64) {
    let all = (VECTORS * VECTORS * DIM) as u64;
    loads(rec, scratch.rows, VECTORS_BYTES, 0);
    let lines = PRODUCTS_BYTES / LINE;
    stores(rec, scratch.products, PRODUCTS_BYTES, multiply(all / lines));
    let pairs = 4 * PAIRS as u64;
    loads(rec, scratch.products, PRODUCTS_BYTES, 0);
    stores(rec, scratch.pairs, pairs, GATHER);
    copy(rec, scratch.pairs, tape, KEPT * TOP_IN as u64, COPY);
}

/// The interaction backward: from the gradient of the top's input to that of every row.
fn part(rec: &mut Recorder, scratch: &Scratch) {
    let all = (VECTORS * VECTORS * DIM) as u64;
    stores(rec, scratch.pairs, 4 * TOP_IN as u64, COPY);
    // Zeros, then the pairs into them.
    stores(rec, scratch.products, PRODUCTS_BYTES, 1);
    loads(rec, scratch.pairs, 4 * PAIRS as u64, GATHER);
    stores(rec, scratch.products, PRODUCTS_BYTES, 1);
    // Both factors of a product have a gradient; the two are added.
    for _ in 0..2 {
        loads(rec, scratch.products, PRODUCTS_BYTES, 0);
        loads(rec, scratch.rows, VECTORS_BYTES, 0);
        let lines = VECTORS_BYTES / LINE;
        stores(rec, scratch.by_rows, VECTORS_BYTES, multiply(all / lines));
    }
}

/// Some samples' part in the update of some inputs of the top's hidden layer: the sums stay in
/// registers.
pub(super) fn top_update(
    rec: &mut Recorder,
    places: &Places,
    inputs: &Range<u64>,
    samples: Range<u64>,
) {
    let count = inputs.end - inputs.start;
    for tape in samples.map(|sample| places.tapes.at(sample)) {
        loads(rec, tape + KEPT * inputs.start, KEPT * count, 0);
        let by_top = BY_BOTTOM_AT - BY_TOP_AT;
        loads(
            rec,
            tape + BY_TOP_AT,
            by_top,
            multiply(count * TOP as u64) / 2,
        );
    }
}

/// The sums go into the weights.
pub(super) fn top_updated(rec: &mut Recorder, places: &Places, inputs: &Range<u64>) {
    let top = TOP as u64;
    let weights = places.weights.at(inputs.start * top);
    let bytes = 4 * (inputs.end - inputs.start) * top;
    copy(rec, weights, weights, bytes, COPY);
}

/// Some samples' part in the update of the bottom network and the last layer.
pub(super) fn rest_update(rec: &mut Recorder, places: &Places, samples: Range<u64>) {
    for tape in samples.map(|sample| places.tapes.at(sample)) {
        loads(rec, tape + REST_AT, BY_TOP_AT - REST_AT, 0);
        loads(rec, tape + BY_BOTTOM_AT, TAPE_BYTES - BY_BOTTOM_AT, 0);
        rec.work(multiply((DENSE * BOTTOM + BOTTOM * DIM + TOP) as u64));
    }
}

/// The sums go into these weights.
pub(super) fn rest_updated(rec: &mut Recorder, places: &Places) {
    let weights = places.weights.at((TOP_IN * TOP) as u64);
    let floats = TOP + BOTTOM * (DIM + DENSE);
    copy(rec, weights, weights, 4 * floats as u64, COPY);
}
