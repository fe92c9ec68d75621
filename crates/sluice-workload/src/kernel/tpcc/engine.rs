//! What the engine does for a statement: N-Store's way from a statement to a row and back.
//!
//! N-Store executes tens of thousands of instructions a transaction outside the tables: every
//! statement allocates a record, prints its key into a string stream and hashes it; every answer is
//! printed column by column; every change prints an entry of the undo log. Harizopoulos et al.,
//! "OLTP through the looking glass, and what we found there" (2008) measured 22 us of a 3.2 GHz
//! processor for an average New-Order or Payment in the leanest engine they could make, 80 us in
//! their engine without logging, locking, latching and buffers: some 70,000 to 250,000 cycles. The
//! constants here add up to about 175,000 instructions for the average transaction. Of the loads
//! and stores of that work, which hit the first cache, those of statement, strings and log are
//! told.

use super::super::store::{Entry, Tree};
use super::super::{Loaded, Recorder};
use super::layout::Field;

/// Beginning and ending a transaction: request, numbers, list of what to free.
const TRANSACTION: u32 = 4_000;
/// A statement: allocate and fill a record, print and hash its key, dispatch, free.
const STATEMENT: u32 = 2_750;
/// Stores and loads of it that are told.
const STATEMENT_STORES: u64 = 5;
const STATEMENT_LOADS: u64 = 6;
/// Printing or converting 16 bytes of columns.
const PRINT: u32 = 130;
/// An entry of the undo log: print, allocate, list; and its part of the commit.
const LOG: u32 = 1_500;
/// Bytes copied at once.
const PIECE: u64 = 16;
/// Bytes that the heap grows by with each piece that is put there. Strings on the way are freed;
/// N-Store itself (g++ -O2, its optimised write-ahead log, one thread), run and counted, takes
/// 589,000 instructions for a transaction and keeps 11.4 KB of heap: 19 bytes in 1,000 of them.
const KEPT: u64 = 8;

/// A thread's connection for the length of a transaction.
pub(super) struct Session<'a, 'b> {
    pub(super) rec: &'a mut Recorder<'b>,
    base: u64,
    /// The heap of records, strings and entries of the undo log: its size, and what was ever
    /// allocated.
    heap_bytes: u64,
    allocated: &'a mut u64,
}

/// The pieces of a column.
fn pieces(row: u64, (offset, bytes): Field) -> impl Iterator<Item = u64> {
    let (start, end) = (row + offset, row + offset + bytes);
    let rest = (start / PIECE + 1..).map(|piece| piece * PIECE);
    std::iter::once(start).chain(rest.take_while(move |at| *at < end))
}

impl<'a, 'b> Session<'a, 'b> {
    /// Begins a transaction in a session at `base` of `bytes`, which has `allocated` so much.
    pub(super) fn begin(
        rec: &'a mut Recorder<'b>,
        (base, bytes): (u64, u64),
        allocated: &'a mut u64,
    ) -> Session<'a, 'b> {
        rec.work(TRANSACTION);
        Session {
            rec,
            base,
            heap_bytes: bytes,
            allocated,
        }
    }

    /// Looks a row up that is there.
    pub(super) fn find(&mut self, tree: &Tree, key: u64) -> Entry {
        self.statement();
        let found = tree.get(self.rec, key);
        found.expect("the transaction's rows exist")
    }

    /// Parses a statement.
    pub(super) fn statement(&mut self) {
        let start = *self.allocated;
        for _ in 0..STATEMENT_STORES {
            self.rec.work(STATEMENT / STATEMENT_STORES as u32);
            self.allocate();
        }
        (0..STATEMENT_LOADS).for_each(|at| {
            self.rec
                .load(self.heap(start + at % STATEMENT_STORES * KEPT));
        });
    }

    /// Prints columns of a row.
    pub(super) fn read(&mut self, row: u64, before: Loaded, columns: &[Field]) {
        for at in columns.iter().flat_map(|field| pieces(row, *field)) {
            self.rec.load_after(at, before);
            self.rec.work(PRINT);
            self.allocate();
        }
    }

    /// Changes columns of a row after logging them.
    pub(super) fn write(&mut self, row: u64, before: Loaded, columns: &[Field]) {
        self.log();
        for field in columns {
            for at in pieces(row, *field) {
                let old = self.rec.load_after(at, before);
                self.rec.work(PRINT);
                self.allocate();
                self.rec.store_after(at, old);
            }
        }
    }

    /// Fills in a new row, bytes from 0.
    pub(super) fn insert(&mut self, row: u64, (offset, bytes): Field) {
        self.statement();
        self.log();
        for at in pieces(row, (0, offset + bytes)) {
            self.rec.work(PRINT);
            self.rec.store(at);
        }
    }

    /// Logs and removes a row's entries.
    pub(super) fn delete(&mut self, tree: &mut Tree, key: u64) {
        self.log();
        let found = tree.remove(self.rec, key);
        assert!(found, "a row is in all its indices");
    }

    fn log(&mut self) {
        self.rec.work(LOG);
        self.allocate();
        self.allocate();
    }

    /// Writes the next piece of the heap, which grows into memory that nobody used before.
    fn allocate(&mut self) {
        self.rec.store(self.heap(*self.allocated));
        *self.allocated += KEPT;
    }

    fn heap(&self, allocated: u64) -> u64 {
        self.base + allocated % self.heap_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_fabric::host::MemOp;

    #[test]
    fn the_heap_is_used_again_only_after_all_of_it() {
        let (mut out, mut allocated) = (Vec::new(), 0);
        for _ in 0..2 {
            let rec = &mut Recorder::new(&mut out);
            Session::begin(rec, (4096, 7 * KEPT), &mut allocated).statement();
        }
        let places = |op| {
            let of = out.iter().filter(move |instr| instr.op == op);
            of.map(|instr| (instr.addr - 4096) / KEPT)
                .collect::<Vec<_>>()
        };
        assert_eq!(places(MemOp::Store), [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]);
        let loads = [0, 1, 2, 3, 4, 0, 5, 6, 0, 1, 2, 5];
        assert_eq!(places(MemOp::Load), loads);
    }
}
