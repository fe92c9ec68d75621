//! What the engine does for a statement: N-Store's way from a statement to a row and back.
//!
//! Every statement makes a record of what it looks for, prints its key into a string stream and
//! hashes it. An answer is printed column by column, and a record is made of what was printed.
//! Hardly any of this memory is freed. A change prints an entry of the undo log, and marks the
//! allocations of the row's strings as in use, each in a line of its own. A row that is inserted is
//! several allocations. Of the loads and stores that hit the first cache, the kernel gives those of
//! a table's columns, and one of the stack for each step.

use super::super::{Loaded, Recorder};
use super::index::{Entry, Index};
use super::layout::{LEAK_LINES, LOG_LINES, Layout, STACK_LINES};
use super::shape::{LINE, Shape};

/// Beginning and ending a transaction: drawing its numbers, freeing its log.
const TRANSACTION: u32 = 6_000;
/// A statement: its copies and lists of columns, its time taken twice. It stands for what callgrind
/// shows in no function of its own, so that a New-Order and a Payment take what N-Store's take.
const STATEMENT: u32 = 2_200;
/// Printing a key and hashing it.
const KEY: u32 = 1_250;
/// An answer is copied into a stream and out of it, and its strings given back as copies.
const ANSWER: u32 = 2_000;
/// A column that the program asks an answer for: a copy of a string, or a number printed and
/// scanned again.
const GET: u32 = 700;
/// An entry of the log: print, allocate, list; and freeing it.
const LOG: u32 = 2_900;
/// Printing a row's number of 8 bytes into it.
pub(super) const LOG_DOUBLE: u32 = 2_553;
/// Writing a line of the allocator: finding room, splitting it, marking it as in use.
const CLUMP: u32 = 120;
/// Allocations that the allocator looks at in walks of more than 256 of them, in a transaction on
/// average: counted over 38,000 transactions of seven executors, behind the first 3,500. They are
/// 160 bytes apart.
const WALK: u32 = 285;
const WALK_HALF_LINES: u64 = 5;
const WALK_WORK: u32 = 10;
/// Lines of a log entry and of its list's node, with the allocator's.
const ENTRY_LINES: u64 = 4;

/// How an answer is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is printed, and nothing else.
    Print,
    /// A record is made of it that is never freed.
    Read,
    /// That record is in the pool, and freed with the change that is made of it.
    Change,
}

/// What is asked for, and what it is used for.
pub(super) struct Asked {
    pub(super) strings: u64,
    /// Columns that the program then looks at.
    pub(super) columns: u32,
    pub(super) to: Use,
}

/// All columns of a table, of which so many are looked at.
pub(super) fn all(shape: &Shape, columns: u32, to: Use) -> Asked {
    Asked {
        strings: shape.strings,
        columns,
        to,
    }
}

/// Where a thread's own memory is, and what it has allocated of its heap ever.
pub(super) struct Own<'a> {
    pub(super) thread: u64,
    pub(super) allocated: &'a mut u64,
}

/// A thread's executor for the length of a transaction.
pub(super) struct Session<'a, 'b> {
    pub(super) rec: &'a mut Recorder<'b>,
    layout: &'a Layout,
    own: Own<'a>,
    database: u64,
    /// Entries of the log, and steps that used the stack.
    logged: u64,
    steps: u64,
}

impl<'a, 'b> Session<'a, 'b> {
    pub(super) fn begin(
        rec: &'a mut Recorder<'b>,
        layout: &'a Layout,
        own: Own<'a>,
        database: u64,
    ) -> Session<'a, 'b> {
        rec.work(TRANSACTION);
        Session {
            rec,
            layout,
            own,
            database,
            logged: 0,
            steps: 0,
        }
    }

    /// Frees the entries of the log.
    pub(super) fn end(&mut self) {
        for line in (0..self.logged * ENTRY_LINES).step_by(2) {
            let before = self.rec.load(self.log_line(line));
            self.rec.work(CLUMP);
            self.rec.store_after(self.log_line(line), before);
        }
    }

    /// Makes the record of a statement.
    fn statement(&mut self, shape: &Shape) {
        self.step();
        self.rec.work(STATEMENT);
        let schema = self.layout.schema(self.database, shape);
        for at in (0..shape.schema_bytes()).step_by(LINE as usize) {
            self.rec.load(schema + at);
        }
        self.keep(shape.key_heap, shape.construct());
    }

    fn look(&mut self, index: &Index, key: u64) -> Option<Entry> {
        self.step();
        self.rec.work(KEY);
        index.get(self.rec, key)
    }

    /// Looks a row up that may not be there.
    pub(super) fn seek(&mut self, shape: &Shape, index: &Index, key: u64) -> Option<Entry> {
        self.statement(shape);
        self.look(index, key)
    }

    /// Looks a row up that is there.
    pub(super) fn find(&mut self, shape: &Shape, index: &Index, key: u64) -> Entry {
        let found = self.seek(shape, index, key);
        found.expect("the transaction's rows exist")
    }

    /// Prints a row, and may make a record of what was printed.
    pub(super) fn answer(&mut self, shape: &Shape, row: u64, found: Entry, asked: &Asked) {
        self.step();
        let data = self.numbers(shape, row, found.loaded);
        self.rec.work(ANSWER + shape.print());
        for string in 0..asked.strings {
            self.rec
                .load_after(row + shape.clump_at(string) + LINE, data);
            self.rec.work(Shape::PRINT_STRING);
        }
        self.step();
        let record = match asked.to {
            Use::Print => return,
            Use::Read => shape.record_heap,
            Use::Change => 0,
        };
        self.keep(shape.text_heap + record, shape.parse());
        self.rec.work(GET * asked.columns);
    }

    /// Loads a row's record and its numbers.
    fn numbers(&mut self, shape: &Shape, row: u64, found: Loaded) -> Loaded {
        let record = self.rec.load_after(row + Shape::RECORD, found);
        let line = |line| row + Shape::data_at(line);
        let first = self.rec.load_after(line(0), record);
        (1..shape.data).for_each(|n| {
            self.rec.load_after(line(n), record);
        });
        first
    }

    /// Changes some lines of a row after logging their columns; `work` is for printing them.
    pub(super) fn change(
        &mut self,
        shape: &Shape,
        (index, key): (&Index, u64),
        row: u64,
        (lines, work): (&[u64], u32),
    ) {
        self.rec.work(STATEMENT);
        let found = self.look(index, key).expect("it was found before");
        let record = self.rec.load_after(row + Shape::RECORD, found.loaded);
        self.log(work);
        let clump = |s: &mut Session, at: u64, before: Loaded| {
            let old = s.rec.load_after(at, before);
            s.rec.work(CLUMP / 2);
            s.rec.store_after(at, old);
        };
        let mut data = record;
        for line in lines {
            data = self.rec.load_after(row + Shape::data_at(*line), record);
            self.rec.store_after(row + Shape::data_at(*line), data);
        }
        clump(self, row + Shape::DATA_CLUMP, record);
        for string in 0..shape.strings {
            clump(self, row + shape.clump_at(string), data);
        }
    }

    /// Makes a row, looks whether it is there, and puts it into its table's list.
    pub(super) fn insert(&mut self, shape: &Shape, row: u64, (index, key): (&Index, u64)) {
        self.statement(shape);
        self.rec.store(row);
        for line in 0..shape.lines() {
            self.rec.work(CLUMP);
            let at = row + line * LINE;
            self.begin_line(at, at + LINE);
        }
        self.look(index, key);
        self.log(0);
        let list = row + shape.lines() * LINE;
        self.rec.store(list);
        self.rec.store(list + LINE);
    }

    /// An entry of an index for a row that was inserted.
    pub(super) fn enter(&mut self, index: &mut Index, key: u64, value: u32) {
        self.rec.work(KEY);
        index.put(self.rec, key, value);
    }

    /// Logs and removes an entry.
    pub(super) fn delete(&mut self, index: &mut Index, key: u64) {
        self.log(0);
        self.rec.work(KEY);
        let found = index.remove(self.rec, key);
        assert!(found, "a row is in all its indices");
    }

    /// Makes a record in the pool whose strings are never freed.
    pub(super) fn leak(&mut self, shape: &Shape, record: u64) {
        let at = self.layout.leaks.at(record % self.layout.leaks_count);
        for line in 0..LEAK_LINES {
            self.rec.work(CLUMP + shape.construct() / LEAK_LINES as u32);
            self.rec.store(at + line * LINE);
            if line % 3 == 0 {
                self.rec.load(at + line * LINE);
            }
        }
    }

    fn log(&mut self, work: u32) {
        self.step();
        for line in 0..ENTRY_LINES {
            let at = self.log_line(self.logged * ENTRY_LINES + line);
            self.rec.work((LOG + work) / ENTRY_LINES as u32);
            self.rec.store(at);
        }
        self.logged += 1;
    }

    fn log_line(&self, line: u64) -> u64 {
        self.layout.logs.at(self.database) + line % LOG_LINES * LINE
    }

    /// Writes so much of the heap, which grows into memory that nobody used before.
    fn keep(&mut self, bytes: u64, work: u32) {
        let lines = bytes.div_ceil(LINE).max(1);
        for line in 0..bytes.div_ceil(LINE) {
            let heap = self.layout.session.at(self.own.thread);
            let at = (*self.own.allocated + line * LINE) % self.layout.session_bytes;
            let next = (at + LINE) % self.layout.session_bytes;
            self.rec.work(work / lines as u32);
            self.begin_line(heap + at, heap + next);
        }
        if bytes == 0 {
            self.rec.work(work);
        }
        *self.own.allocated += bytes;
    }

    /// Writes a line of memory that nobody used before. Both allocators write the size of the room
    /// behind an allocation, and read it for the next. So the same transaction reads 92 % of the
    /// heap's new lines, and 71 % of the pool's: there it does not read the lines of a string that
    /// leaks.
    fn begin_line(&mut self, at: u64, next: u64) {
        self.rec.load(at);
        self.rec.store(at);
        self.rec.store(next);
    }

    /// Calls: a line of the stack is written and read again.
    fn step(&mut self) {
        let stack = self.layout.stack.at(self.own.thread);
        let at = stack + self.steps % STACK_LINES * LINE;
        self.rec.store(at);
        self.rec.load(at);
        self.steps += 1;
    }
}

/// A transaction's share of the allocator's walks, which go on from transaction to transaction, in
/// halves of lines, and begin again at the end of what was `inserted`.
pub(super) fn walk(rec: &mut Recorder, layout: &Layout, inserted: u64, walked: &mut u64) {
    let window = layout.walk_lines;
    let mut before: Option<Loaded> = None;
    for _ in 0..WALK {
        *walked = (*walked + WALK_HALF_LINES) % (2 * window);
        let back = window - *walked / 2;
        let at = match inserted.checked_sub(back) {
            Some(line) => layout.new_rows.at(line),
            None => layout.old_end - (back - inserted) * LINE,
        };
        rec.work(WALK_WORK);
        before = Some(match before {
            Some(before) => rec.load_after(at, before),
            None => rec.load(at),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::ITEM;
    use super::*;
    use sluice_host::MemOp;

    #[test]
    fn the_heap_is_used_again_only_after_all_of_it() {
        let layout = Layout::new(8192, 2);
        let (mut out, mut allocated) = (Vec::new(), layout.session_bytes - 2 * LINE);
        let own = Own {
            thread: 1,
            allocated: &mut allocated,
        };
        Session::begin(&mut Recorder::new(&mut out), &layout, own, 0).keep(4 * LINE, 1_000);
        let heap = layout.session.at(1);
        let stores = out.iter().filter(|instr| instr.op == MemOp::Store);
        let mut at: Vec<u64> = stores.map(|instr| (instr.addr - heap) / LINE).collect();
        at.dedup();
        let last = layout.session_bytes / LINE - 1;
        assert_eq!(at, [last - 1, last, 0, 1, 2]);
        assert_eq!(allocated, layout.session_bytes + 2 * LINE);
    }

    #[test]
    fn a_statements_strings_stay_on_the_heap_behind_the_size_that_is_read() {
        let layout = Layout::new(64, 1);
        let (mut out, mut allocated) = (Vec::new(), 0);
        let own = Own {
            thread: 0,
            allocated: &mut allocated,
        };
        Session::begin(&mut Recorder::new(&mut out), &layout, own, 0).statement(&ITEM);
        assert_eq!(allocated, 288, "two of 120 characters");
        let heap: Vec<(MemOp, u64)> = out
            .iter()
            .map(|instr| (instr.op, instr.addr.wrapping_sub(layout.session.at(0))))
            .filter(|(op, at)| *op != MemOp::None && *at < layout.session_bytes)
            .collect();
        assert_eq!(heap.len(), 15);
        for (line, steps) in (0..).zip(heap.chunks(3)) {
            let (at, next) = (line * LINE, (line + 1) * LINE);
            let wanted = [(MemOp::Load, at), (MemOp::Store, at), (MemOp::Store, next)];
            assert_eq!(steps, wanted);
        }
    }

    #[test]
    fn the_allocator_looks_at_what_was_inserted_last_and_before_it() {
        let layout = Layout::new(16, 8);
        let (inserted, mut walked, mut out) = (100, 0, Vec::new());
        for _ in 0..4 {
            walk(&mut Recorder::new(&mut out), &layout, inserted, &mut walked);
        }
        let new = layout.new_rows.at(0)..layout.new_rows.at(inserted);
        let old = layout.old_end - (layout.walk_lines - inserted) * LINE..layout.old_end;
        let of = |range: &std::ops::Range<u64>| {
            out.iter().filter(|i| range.contains(&i.addr)).count() as u64
        };
        assert_eq!(of(&new) + of(&old), 4 * u64::from(WALK));
        // More than once around, and evenly.
        let due = 4 * u64::from(WALK) * inserted / layout.walk_lines;
        assert!(of(&new).abs_diff(due) * 10 < due, "{} {due}", of(&new));
        assert!(
            out[1..u64::from(WALK) as usize]
                .iter()
                .all(|i| i.after == 1)
        );
    }
}
