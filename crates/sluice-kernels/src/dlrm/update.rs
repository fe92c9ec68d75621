//! The update of the tables: stochastic gradient descent with the sparse gradient of an embedding,
//! made one for each row first, as `coalesce` of PyTorch does.
//!
//! The gradient has a row of values for each look-up, in the order of the samples. It is made one
//! for each row of the table: its numbers are sorted, and the values added up into a new buffer,
//! which is given back after the table and serves the next one. Then each row of the table is read,
//! changed and written.
//!
//! SkyByte's section seems to do so, by the traces of its artifact (doi:10.5281/zenodo.14660184,
//! output/warmup_traces, dlrm-*_prefill_data.txt). Of the 192,587 pages that it touches, 152,241
//! lie in stretches of 64,000,000 bytes, whose pages are touched evenly, 6,300 times in a stretch.
//! One time in eight a touch goes on to the next page: a row has 512 bytes. 28,070 pages lie in a
//! heap as large as 6,300 such rows for each of these tables. By that it has 165,000 look-ups. In
//! figure_drawing/mem_latency, nwrites and nthreads it has 4.55 million accesses, 1.306 million of
//! them writes, eight lines a look-up. The writes are of 5,557 pages in all, eight buffers of 6,300
//! rows. The tables' rows are no writes there, since a store that follows a load finds its line.

use super::super::Recorder;
use super::net::{DIM, Row, add};
use super::tell::{COPY, ENTRY_BYTES, LINE, Places, ROW_BYTES, loads};
use super::{BLOCK, Dlrm, PARTS, RATE};
use std::ops::Range;

const LINE_ENTRIES: u64 = LINE / ENTRY_BYTES;
/// Finding out whose the eight rows of a line of numbers are: load, multiply, shift, compare, mask.
const OWNERS: u32 = 8;
/// An entry merged: two compared, the smaller one moved, its list advanced.
const MERGE: u32 = 8;

/// Instructions for a look-up that is updated, and those of them that other parts of this kernel
/// give, about. Eight threads have 100 million each (SkyByte section VI-A) for those 165,000. What
/// most of them do is not known: PyTorch 1.13 needs 370 for its step with one thread (valgrind),
/// which changes rows without a buffer. Others sort first and change rows by calls, or threads wait
/// in loops.
const LOOKUP: u32 = 4_850;
const TOLD: u32 = 250;

/// A look-up of the part that a thread updates.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: u32,
    sample: u32,
    /// Which look-up of the table it is.
    value: u32,
    /// Which of the part's rows.
    group: u32,
}

/// What a thread knows of the part that it updates.
#[derive(Clone, Debug, Default)]
pub(super) struct Mine {
    entries: Vec<Entry>,
    /// Where the list is once it is sorted: each pass of the sort moves it to the other half.
    sorted: u64,
    /// Its rows in order, and the gradients of them.
    rows: Vec<u32>,
    sums: Vec<Row>,
}

/// Stretches of a part: in each third as many as blocks of samples.
pub(super) fn steps(batch: u64) -> u64 {
    3 * batch.div_ceil(BLOCK)
}

/// The part of so many things that a step of so many has.
fn portion(things: usize, step: u64, steps: u64) -> Range<usize> {
    let at = |step| (things as u64 * step / steps) as usize;
    at(step)..at(step + 1)
}

impl Dlrm {
    /// A step of the update of a part of a table.
    pub(super) fn update_part(&mut self, rec: &mut Recorder, thread: u32, part: u64, step: u64) {
        let (table, part) = ((part / PARTS) as usize, part % PARTS);
        let blocks = steps(self.batch) / 3;
        let (phase, step) = (step / blocks, step % blocks);
        rec.work(OWNERS);
        match phase {
            0 => {
                if step == 0 {
                    self.mine[thread as usize] = Mine::default();
                }
                let samples = step * BLOCK..self.batch.min((step + 1) * BLOCK);
                self.collect(rec, (thread, table, part), samples);
                if step + 1 == blocks {
                    self.sort(rec, thread, table);
                }
            }
            1 => self.coalesce(rec, (thread, table), (step, blocks)),
            _ => self.descend(rec, (thread, table), (step, blocks)),
        }
    }

    /// Reads the numbers of the samples' rows, and lists those of the part.
    fn collect(
        &mut self,
        rec: &mut Recorder,
        (thread, table, part): (u32, usize, u64),
        samples: Range<u64>,
    ) {
        let first = self.number(table, samples.start, 0);
        let mut looked_up = 0;
        let list = self.places.list(thread);
        let mine = &mut self.mine[thread as usize];
        let had = mine.entries.len() as u64;
        for sample in samples {
            let before = self.before[sample as usize][table];
            let rows = self.samples[sample as usize].rows[table].rows();
            looked_up += rows.len() as u64;
            for (row, value) in rows.iter().zip(before..) {
                if u64::from(*row) * PARTS / self.places.rows == part {
                    mine.entries.push(Entry {
                        row: *row,
                        sample: sample as u32,
                        value,
                        group: 0,
                    });
                }
            }
        }
        loads(rec, first, looked_up * Places::NUMBER_BYTES, OWNERS);
        for i in had..mine.entries.len() as u64 {
            rec.work(COPY);
            rec.store(list + ENTRY_BYTES * i);
        }
    }

    /// Sorts the list, and adds up what belongs together. The recorded accesses are those of a
    /// merge sort.
    fn sort(&mut self, rec: &mut Recorder, thread: u32, table: usize) {
        let list = self.places.list(thread);
        let mine = &mut self.mine[thread as usize];
        // Of one row, the samples stay in order.
        mine.entries.sort_by_key(|entry| entry.row);
        for entry in &mut mine.entries {
            if mine.rows.last() != Some(&entry.row) {
                mine.rows.push(entry.row);
                mine.sums.push([0.0; DIM]);
            }
            entry.group = mine.rows.len() as u32 - 1;
            let by = &self.tapes[entry.sample as usize].by_rows[table];
            add(&mut mine.sums[entry.group as usize], 1.0, by);
        }
        let count = mine.entries.len() as u64;
        let bytes = ENTRY_BYTES * count;
        let passes = u64::from(count.next_power_of_two().ilog2());
        let halves = [list, list + self.places.list_bytes()];
        mine.sorted = halves[passes as usize % 2];
        for pass in 0..passes {
            let (from, to) = (halves[pass as usize % 2], halves[1 - pass as usize % 2]);
            for line in (0..bytes).step_by(LINE as usize) {
                rec.load(from + line);
                rec.work(MERGE * LINE_ENTRIES as u32);
                rec.store(to + line);
            }
        }
    }

    /// Brings the values of a row together in the new buffer.
    fn coalesce(
        &self,
        rec: &mut Recorder,
        (thread, table): (u32, usize),
        (step, steps): (u64, u64),
    ) {
        let mine = &self.mine[thread as usize];
        let new = self.places.new_values(thread);
        for at in portion(mine.entries.len(), step, steps) {
            let entry = &mine.entries[at];
            let again = at > 0 && mine.entries[at - 1].group == entry.group;
            let listed = rec.load(mine.sorted + ENTRY_BYTES * at as u64);
            let values = self
                .places
                .values(self.starts[table] + u64::from(entry.value));
            let to = new + ROW_BYTES * u64::from(entry.group);
            for line in (0..ROW_BYTES).step_by(LINE as usize) {
                rec.load_after(values + line, listed);
                if again {
                    rec.load(to + line);
                }
                rec.work(COPY);
                rec.store(to + line);
            }
        }
    }

    /// Changes rows of the table by their gradients.
    fn descend(
        &mut self,
        rec: &mut Recorder,
        (thread, table): (u32, usize),
        (step, steps): (u64, u64),
    ) {
        let rows = {
            let mine = &self.mine[thread as usize];
            let work = (LOOKUP - TOLD) * mine.entries.len() as u32 / mine.rows.len().max(1) as u32;
            let new = self.places.new_values(thread);
            for at in portion(mine.rows.len(), step, steps) {
                let listed = rec.load(mine.sorted + ENTRY_BYTES * at as u64);
                rec.work(work);
                let row = self.places.tables.at(self.at(table, mine.rows[at]) as u64);
                let from = new + ROW_BYTES * at as u64;
                for line in (0..ROW_BYTES).step_by(LINE as usize) {
                    rec.load(from + line);
                    rec.load_after(row + line, listed);
                    rec.work(COPY);
                    rec.store_after(row + line, listed);
                }
            }
            portion(mine.rows.len(), step, steps)
        };
        for at in rows {
            let (row, sum) = {
                let mine = &self.mine[thread as usize];
                (mine.rows[at], mine.sums[at])
            };
            let at = self.at(table, row);
            add(&mut self.tables[at], -RATE, &sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::drive::given;
    use super::super::INFO;
    use super::*;
    use sluice_host::{Instr, MemOp, Program, Step};

    /// Each pass of the sort moves the list to the other half of its memory. After an odd number of
    /// them the first half was read.
    #[test]
    fn the_list_is_read_where_the_sort_left_it() {
        let set = [("section", "update")];
        let (mut odd, mut even) = (0, 0);
        for scale in [64, 128, 256, 512] {
            let mut kernel = Dlrm::new(&given(&INFO, 1, 0, &set, scale));
            let (list, half) = (kernel.places.list(0), kernel.places.list_bytes());
            let half_of = |addr| {
                (list..list + 2 * half)
                    .contains(&addr)
                    .then(|| (addr - list) / half)
            };
            for step in 0..10 * steps(kernel.batch) {
                let mut out: Vec<Instr> = Vec::new();
                assert_eq!(kernel.fill(0, &mut out), Step::More);
                let count = kernel.mine[0].entries.len() as u64;
                let passes = u64::from(count.next_power_of_two().ilog2());
                if step % steps(kernel.batch) < steps(kernel.batch) / 3 {
                    continue;
                }
                let reads = out.iter().filter(|instr| instr.op == MemOp::Load);
                for at in reads.filter_map(|instr| half_of(instr.addr)) {
                    assert_eq!(at, passes % 2, "{count} look-ups");
                    odd += passes % 2;
                    even += 1 - passes % 2;
                }
            }
        }
        assert!(odd > 100 && even > 100, "{odd}, {even}");
    }

    /// Of each look-up a row and its values are read; a new buffer is written, and the row. The
    /// instructions are those of the artifact.
    #[test]
    fn a_look_up_takes_what_the_artifact_s_takes() {
        let set = [("section", "update")];
        let mut kernel = Dlrm::new(&given(&INFO, 1, 0, &set, 64));
        let parts = 20;
        let mut out: Vec<Instr> = Vec::new();
        let mut looked_up = 0;
        for step in 1..=parts * steps(kernel.batch) {
            assert_eq!(kernel.fill(0, &mut out), Step::More);
            if step % steps(kernel.batch) == 0 {
                looked_up += kernel.mine[0].entries.len() as u64;
            }
        }
        let per_part = looked_up as f64 / parts as f64;
        assert!((per_part * 64.0 - 6_300.0).abs() < 300.0, "{per_part}");
        let each = |instructions: u64| instructions as f64 / looked_up as f64;
        let all = each(out.iter().map(Instr::count).sum());
        assert!((all / f64::from(LOOKUP) - 1.0).abs() < 0.05, "{all}");
        let tables = kernel.places.tables.at(0)..kernel.places.end_of_tables();
        let lines = |op, inside: bool| {
            let of = |i: &&Instr| i.op == op && tables.contains(&i.addr) == inside;
            each(out.iter().filter(of).count() as u64)
        };
        // A row that two samples look up is changed once.
        for (op, from, to) in [(MemOp::Load, 7.6, 8.0), (MemOp::Store, 7.6, 8.0)] {
            let rows = lines(op, true);
            assert!((from..=to).contains(&rows), "{op:?}: {rows}");
        }
        let others = (lines(MemOp::Load, false), lines(MemOp::Store, false));
        assert!((18.0..30.0).contains(&others.0), "{others:?}");
        assert!((9.0..12.0).contains(&others.1), "{others:?}");
    }
}
