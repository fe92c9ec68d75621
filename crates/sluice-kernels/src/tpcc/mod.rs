//! TPC-C on an in-memory store: nine tables, five transactions.
//!
//! After N-Store (Arulraj, Pavlo and Dulloor, 2015) as WHISPER has it and SkyByte's artifact ran
//! it. Each executor has a database of one small warehouse, and all databases are in one pool. The
//! write-ahead log is the optimised one, which is empty again after each transaction. A row's
//! strings are allocated apart from it, B+-trees are over hashed keys, and records and strings are
//! never freed. What a transaction reads and writes is N-Store's, built and counted
//! (experiments/skybyte/README.md has the counts). Different here:
//!
//! - Texts are read and written as addresses only. Numbers are real, and money is in cents.
//! - At a scale of s a database has s times fewer items, customers and first orders.
//! - TPC-C's consistency conditions hold. A Delivery delivers whole orders, the oldest first, and a
//!   Payment keeps its row of HISTORY. N-Store delivers the first line of an order, and drops the
//!   row, its Order-Status reads one line, and its Stock-Level ends at the first order; these two
//!   are so here. A line of an order has its stock in its own warehouse, the only one there: where
//!   one in a hundred lines has another in N-Store, the transaction ends there half done.
//! - A district keeps eight times as many orders and payments as there are first: then the oldest
//!   order goes, delivered if it was not, and payments overwrite the oldest.
//! - Where there are more threads than databases, some share one.

mod check;
mod data;
mod engine;
mod index;
mod layout;
mod rows;
mod shape;
mod table;
mod txn;

use super::{Kernel, KernelInfo, KernelOptions, Recorder};
use crate::Mismatch;
use data::Data;
use engine::{Own, Session};
use layout::Layout;
use sluice_host::{Instr, Program, Step};
use sluice_units::{Bytes, Rng};
use std::ops::Range;
use std::sync::Arc;
pub use table::DATABASES;

/// Transactions of each database in a round, and of all.
const EACH: u64 = 146;
const ROUND: u64 = DATABASES * EACH;
/// Entries of a stretch, about.
const STRETCH: usize = 1024;

/// The store, and the executors that run transactions on it.
pub struct Tpcc {
    options: KernelOptions,
    layout: Arc<Layout>,
    data: Data,
    /// Bytes that each thread has allocated of its heap ever.
    allocated: Vec<u64>,
    /// Transactions done, and those of each database.
    done: u64,
    each: [u64; DATABASES as usize],
    /// How far the allocator's walks are, in halves of lines.
    walked: u64,
    /// Sum of what Order-Status and Stock-Level answered.
    answers: u64,
    /// Those who execute.
    executors: u32,
}

/// What the registry says.
pub const INFO: KernelInfo = KernelInfo {
    name: "tpcc",
    meaning: "TPC-C on an in-memory store: nine tables, five transactions",
    source: "N-Store in WHISPER",
    published: Some((15_770, 36, 10)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 100,
    params: &[],
    make,
};

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(Tpcc::new(options))
}

impl Tpcc {
    fn new(options: &KernelOptions) -> Tpcc {
        Tpcc::with_executors(options, options.threads)
    }

    /// The store with so many executors, whatever threads there are.
    pub fn with_executors(options: &KernelOptions, executors: u32) -> Tpcc {
        let layout = Arc::new(Layout::new(options.scale, executors));
        Tpcc {
            options: options.clone(),
            data: Data::load(&layout, options.seed),
            layout,
            allocated: vec![0; executors as usize],
            done: 0,
            each: [0; DATABASES as usize],
            walked: 0,
            answers: 0,
            executors,
        }
    }

    /// The database of a thread's next transaction: the one with the fewest done of those that are
    /// its own, or that it shares.
    fn database(&self, thread: u32) -> usize {
        let lanes = (self.executors as usize).min(self.each.len());
        let own = (thread as usize % lanes..self.each.len()).step_by(lanes);
        own.min_by_key(|db| self.each[*db]).expect("a lane has one")
    }

    /// Addresses of an executor's heap.
    pub fn heap(&self, executor: u64) -> Range<u64> {
        let start = self.layout.session.at(executor);
        start..start + self.layout.session_bytes
    }

    /// Whether an executor's databases have had all their transactions.
    pub fn ended(&self, thread: u32) -> bool {
        let rounds = self.options.rounds;
        rounds > 0 && self.each[self.database(thread)] >= rounds.saturating_mul(EACH)
    }

    /// Runs an executor's next transaction, of the mix of TPC-C 5.2.3 at its minima.
    pub fn transaction(&mut self, rec: &mut Recorder, thread: u32) {
        let db = self.database(thread);
        let number = self.each[db] * DATABASES + db as u64;
        let start = number.wrapping_mul(0xd129_0d3e_4d7d_9a63);
        let rng = &mut Rng::from_splitmix(self.options.seed ^ start);
        let kind = Kind::of(rng.below(100));
        self.run(rec, thread, db as u64, (kind, rng));
        let inserted = self.data.rows.inserted();
        engine::walk(rec, &self.layout, inserted, &mut self.walked);
        self.each[db] += 1;
        self.done += 1;
    }

    fn run(&mut self, rec: &mut Recorder, thread: u32, db: u64, (kind, rng): (Kind, &mut Rng)) {
        let layout = Arc::clone(&self.layout);
        let mut allocated = self.allocated[thread as usize];
        let own = Own {
            thread: u64::from(thread),
            allocated: &mut allocated,
        };
        let s = &mut Session::begin(rec, &layout, own, db);
        match kind {
            Kind::NewOrder => self.new_order(s, rng, db),
            Kind::Payment => self.payment(s, rng, db),
            Kind::OrderStatus => self.order_status(s, rng, db),
            Kind::Delivery => self.delivery(s, rng, db),
            Kind::StockLevel => self.stock_level(s, rng, db),
        }
        s.end();
        self.allocated[thread as usize] = allocated;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    fn of(percent: u64) -> Kind {
        match percent {
            0..45 => Kind::NewOrder,
            45..88 => Kind::Payment,
            88..92 => Kind::OrderStatus,
            92..96 => Kind::Delivery,
            _ => Kind::StockLevel,
        }
    }
}

impl Program for Tpcc {
    fn footprint(&self) -> Bytes {
        self.layout.arena.footprint()
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.ended(thread) {
            return Step::End;
        }
        let mut rec = Recorder::new(out);
        let full = rec.len() + STRETCH;
        while rec.len() < full && !self.ended(thread) {
            self.transaction(&mut rec, thread);
        }
        Step::More
    }
}

impl Kernel for Tpcc {
    fn rounds(&self) -> u64 {
        self.done / ROUND
    }

    /// TPC-C's consistency conditions (3.3.2), by district, customer and stock.
    fn check(&self) -> Result<(), Mismatch> {
        self.consistent()
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;
    use crate::drive::assert_footprint;
    use sluice_host::MemOp;
    use std::collections::BTreeSet;
    use std::hash::{DefaultHasher, Hash, Hasher};

    fn options(threads: u32, scale: u32, rounds: u64) -> KernelOptions {
        given(&INFO, threads, rounds, &[], scale)
    }

    fn state(kernel: &Tpcc) -> u64 {
        let mut hasher = DefaultHasher::new();
        let data = &kernel.data;
        (&data.warehouse_ytd, &data.districts, &data.customers).hash(&mut hasher);
        (&data.stocks, &data.orders, &data.lines, &data.history).hash(&mut hasher);
        for index in &data.index {
            let trees = index.changing().map(|(_, tree)| tree.rows());
            trees.hash(&mut hasher);
        }
        kernel.answers.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn any_order_of_threads_gives_the_same_database() {
        let mut states = Vec::new();
        for (threads, stretches) in [(1, 1), (3, 1), (8, 4), (24, 1)] {
            let mut kernel = Tpcc::new(&options(threads, 1024, 1));
            assert_eq!(kernel.check(), Ok(()));
            let run = run(&mut kernel, stretches);
            assert_eq!(kernel.check(), Ok(()));
            assert_eq!(kernel.rounds(), 1);
            states.push((state(&kernel), run.instructions, run.loads, run.stores));
        }
        assert!(states.iter().all(|state| *state == states[0]), "{states:?}");
    }

    #[test]
    fn it_goes_on_when_there_is_no_place_left() {
        let mut kernel = Tpcc::new(&options(2, 8192, 10));
        run(&mut kernel, 1);
        let forgotten = kernel.data.districts.iter().map(|d| d.oldest - 1);
        let orders = kernel.layout.sizes.orders as u32;
        assert!(
            forgotten.clone().min() > Some(orders),
            "every place used again"
        );
        assert_eq!(kernel.check(), Ok(()));
    }

    #[test]
    fn same_order_same_instructions() {
        let hash = |stretches| run(make(&options(4, 8192, 1)).as_mut(), stretches);
        assert_eq!(hash(2), hash(2));
        assert_ne!(hash(2).hash, hash(3).hash);
    }

    #[test]
    fn footprint_of_table_1() {
        assert_footprint(&INFO, |scale| Layout::new(scale, 24).arena.footprint());
    }

    /// What a kind of transaction does at full scale, on average: thousands of instructions, lines
    /// of the pool but for lists of columns, those of them that are written, and bytes of heap.
    fn counts(kind: Kind) -> [f64; 4] {
        let mut kernel = Tpcc::new(&options(8, 1, 0));
        let (mut sum, times) = ([0; 4], 70);
        for n in 0..times {
            let (mut out, thread) = (Vec::new(), n as u32 % 7);
            let rng = &mut Rng::from_splitmix(n);
            kernel.run(
                &mut Recorder::new(&mut out),
                thread,
                u64::from(thread),
                (kind, rng),
            );
            sum[0] += out.iter().map(Instr::count).sum::<u64>();
            let layout = &kernel.layout;
            let of_pool = |at: u64| {
                let stack = layout.stack.at(0)..layout.stack.at(8);
                let lists = layout.schema(0, &shape::ITEM)..layout.schema(6, &shape::STOCK) + 4096;
                at >= layout.new_rows.at(0) && !stack.contains(&at) && !lists.contains(&at)
            };
            let told = out.iter().filter(|instr| instr.op != MemOp::None);
            let pool: Vec<_> = told.filter(|instr| of_pool(instr.addr)).collect();
            let lines: BTreeSet<u64> = pool.iter().map(|instr| instr.addr / 64).collect();
            let stores = pool.iter().filter(|instr| instr.op == MemOp::Store);
            let stored: BTreeSet<u64> = stores.map(|instr| instr.addr / 64).collect();
            sum[1] += lines.len() as u64;
            sum[2] += stored.len() as u64;
        }
        sum[3] = kernel.allocated.iter().sum();
        sum.map(|sum| sum as f64 / times as f64)
    }

    /// N-Store's, by a plug-in of QEMU that sees every access of 248 New-Orders and 266 Payments,
    /// and in bytes of heap by what its source allocates; malloc's count of all of it is 11.4 KB.
    #[test]
    fn a_transaction_does_what_n_stores_does() {
        let (new_order, payment) = (counts(Kind::NewOrder), counts(Kind::Payment));
        for (ours, n_stores) in [
            (new_order, [755_000.0, 775.0, 401.0, 19_900.0]),
            (payment, [179_400.0, 165.0, 97.0, 5_200.0]),
        ] {
            for (ours, n_stores) in ours.into_iter().zip(n_stores) {
                assert!(
                    (0.85..1.15).contains(&(ours / n_stores)),
                    "{ours} {n_stores}"
                );
            }
        }
    }

    #[test]
    fn threads_share_databases_evenly() {
        for threads in [1, 3, 7, 8, 24] {
            let mut kernel = Tpcc::new(&options(threads, 8192, 1));
            let mut seen = BTreeSet::new();
            for n in 0..420 {
                let thread = n % threads;
                seen.insert(kernel.database(thread));
                kernel.transaction(&mut Recorder::new(&mut Vec::new()), thread);
            }
            assert_eq!(seen.len(), DATABASES as usize, "{threads} threads");
        }
    }

    #[test]
    fn what_is_not_consistent_is_seen() {
        type Break = fn(&mut Data);
        let breaks: [(&str, Break); 8] = [
            ("condition 1:", |d| d.warehouse_ytd[1] += 1),
            ("condition 9:", |d| d.districts[3].forgotten -= 1),
            ("condition 5:", |d| {
                d.orders.iter_mut().for_each(|o| o.carrier = 1)
            }),
            ("condition 7:", |d| {
                d.lines.iter_mut().for_each(|l| l.delivered = true)
            }),
            ("condition 12:", |d| d.customers[5].balance += 1),
            ("S_YTD", |d| d.stocks[2].ytd += 1),
            ("condition 2", |d| d.districts[0].next += 1),
            ("condition 3", |d| d.districts[0].undelivered -= 1),
        ];
        for (due, break_it) in breaks {
            let mut kernel = Tpcc::new(&options(1, 8192, 1));
            let mut out = Vec::new();
            (0..200).for_each(|_| kernel.transaction(&mut Recorder::new(&mut out), 0));
            break_it(&mut kernel.data);
            let error = kernel.check().expect_err(due);
            assert!(error.what.starts_with(due), "{error}");
        }
    }
}
