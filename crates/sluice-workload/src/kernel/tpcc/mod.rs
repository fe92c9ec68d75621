//! TPC-C on an in-memory store: nine tables, five transactions.
//!
//! After N-Store (Arulraj, Pavlo and Dulloor, 2015) as WHISPER runs it: rows on the heap, a B+-tree
//! for each key, an undo log that is empty again after each transaction, and records and strings
//! that nobody frees. Different here:
//!
//! - Rows have the columns and sizes of TPC-C 1.3 in one piece; N-Store allocates each string.
//! - Texts are read and written as addresses only. Numbers are real, and money is in cents.
//! - At a scale of s there are s^1/3 times fewer warehouses, and s^2/3 times fewer items, customers
//!   and first orders in each, so that small tables shrink with the caches.
//! - A district keeps as many orders and payments as the footprint has room for: then the oldest
//!   order goes, delivered if it was not, and payments overwrite the oldest. TPC-C grows for ever.
//! - A New-Order that must be rolled back finds out before its first change.
//! - One in thirty warehouses is at work at a time, the next ones in the next round. Any thread
//!   serves any of them; there is no think time.

mod check;
mod data;
mod engine;
mod layout;
mod rows;
mod txn;

use super::store::Entry;
use super::{Kernel, KernelInfo, KernelOptions, Recorder};
use data::Data;
use engine::Session;
use layout::Layout;
use sluice_fabric::host::{Instr, Program, Step};
use sluice_units::{Bytes, Rng};

/// Transactions in a round.
const ROUND: u64 = 1024;
/// Entries of a stretch, about.
const STRETCH: usize = 1024;

struct Tpcc {
    options: KernelOptions,
    layout: Layout,
    data: Data,
    /// Bytes that each session has allocated ever.
    allocated: Vec<u64>,
    /// Transactions done.
    done: u64,
    /// Sum of what Order-Status and Stock-Level answered.
    answers: u64,
    /// Entries of the last scan.
    found: Vec<Entry>,
}

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "tpcc",
    meaning: "TPC-C on an in-memory store: nine tables, five transactions",
    source: "N-Store in WHISPER",
    published: Some((15_770, 36, 10)),
    thread_bytes: |_| 0,
    params: &[],
    make,
};

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(Tpcc::new(options))
}

impl Tpcc {
    fn new(options: &KernelOptions) -> Tpcc {
        let layout = Layout::new(options.scale, options.threads);
        Tpcc {
            options: options.clone(),
            data: Data::load(&layout, options.seed),
            layout,
            allocated: vec![0; options.threads as usize],
            done: 0,
            answers: 0,
            found: Vec::new(),
        }
    }

    /// The mix of TPC-C 5.2.3 at its minima.
    fn transaction(&mut self, rec: &mut Recorder, thread: u32) {
        let start = self.done.wrapping_mul(0xd129_0d3e_4d7d_9a63);
        let rng = &mut Rng::from_splitmix(self.options.seed ^ start);
        let layout = &self.layout;
        let session = (layout.session.at(u64::from(thread)), layout.session_bytes);
        let mut allocated = self.allocated[thread as usize];
        let s = &mut Session::begin(rec, session, &mut allocated);
        match rng.below(100) {
            0..45 => self.new_order(s, rng),
            45..88 => self.payment(s, rng),
            88..92 => self.order_status(s, rng),
            92..96 => self.delivery(s, rng),
            _ => self.stock_level(s, rng),
        }
        self.allocated[thread as usize] = allocated;
        self.done += 1;
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
        let rounds = self.options.rounds;
        let ended = |done| rounds > 0 && done >= rounds * ROUND;
        if ended(self.done) {
            return Step::End;
        }
        let mut rec = Recorder::new(out);
        let full = rec.len() + STRETCH;
        while rec.len() < full && !ended(self.done) {
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
    fn check(&self) -> Result<(), String> {
        self.consistent()
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_footprint;
    use super::super::drive::{options, run};
    use super::*;
    use std::hash::{DefaultHasher, Hash, Hasher};

    fn state(kernel: &Tpcc) -> u64 {
        let mut hasher = DefaultHasher::new();
        let data = &kernel.data;
        (&data.warehouse_ytd, &data.districts, &data.customers).hash(&mut hasher);
        (&data.stocks, &data.orders, &data.lines, &data.history).hash(&mut hasher);
        (data.index.lines.entries(), kernel.answers).hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn any_order_of_threads_gives_the_same_database() {
        let mut states = Vec::new();
        for (threads, stretches) in [(1, 1), (3, 1), (8, 4)] {
            let mut kernel = Tpcc::new(&options(threads, 2048, 1));
            assert_eq!(kernel.check(), Ok(()));
            let run = run(&mut kernel, stretches);
            assert_eq!(kernel.check(), Ok(()));
            assert_eq!(kernel.rounds(), 1);
            states.push((state(&kernel), run.instructions, run.loads, run.stores));
        }
        assert_eq!(states[0], states[1]);
        assert_eq!(states[0], states[2]);
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
        // As TPC-C has it, but for how many.
        let sizes = Layout::new(1, 24).sizes;
        assert_eq!((sizes.items, sizes.customers), (100_000, 3_000));
        assert!(sizes.orders > 3_000, "{sizes:?}");
    }

    #[test]
    fn what_is_not_consistent_is_seen() {
        type Break = fn(&mut Data);
        let breaks: [(&str, Break); 7] = [
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
            ("condition 2:", |d| d.districts[0].next += 1),
        ];
        for (due, break_it) in breaks {
            let mut kernel = Tpcc::new(&options(1, 8192, 1));
            let mut out = Vec::new();
            (0..200).for_each(|_| kernel.transaction(&mut Recorder::new(&mut out), 0));
            break_it(&mut kernel.data);
            let error = kernel.check().expect_err(due);
            assert!(error.starts_with(due), "{error}");
        }
    }
}
