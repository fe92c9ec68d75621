//! Transactions in memory under optimistic concurrency control, after Silo.
//!
//! Tu et al., "Speedy transactions in multicore in-memory databases", 2013. A record has a word
//! with a lock and the number of the transaction that wrote it (TID). A transaction reads records
//! and keeps what it will write to itself. To commit it locks the records that it writes, in the
//! order of addresses, and checks whether those that it read still have the same TID. Then it takes
//! a TID above all that it saw, writes, and copies its writes to its thread's log. If a record has
//! changed it gives up and runs again. The requests are those of the paper's YCSB: 100-byte
//! records, a part of them read and written again.
//!
//! A thread's transaction is under way from one stretch to the next, so that those of others come
//! between its reads and its commit and conflicts are real. Different here: the index is the
//! B+-tree of `store` instead of Masstree. A commit is not interrupted, so that no transaction
//! meets a lock. The log goes round in memory and to no disk. The contents of a record are a word.

use super::series::{START, Series, Turn, bytes, draws, mix};
use super::store::{FAN, Tree, TreePlan};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_params::{Kind, Param};
use sluice_units::{Bytes, LINE_BYTES};

/// Length, version list and TID, then 100 bytes.
const RECORD_BYTES: u64 = 2 * LINE_BYTES;
/// A key's share of the nodes, which are half full at worst.
const NODE_SHARE: u64 = 34;
/// A thread's log and the set of what it read, in memory of its own.
const LOG_BYTES: u64 = 512 << 10;
const SET_BYTES: u64 = 4096;
const PRIVATE_BYTES: u64 = LOG_BYTES + SET_BYTES;
/// An entry of the log: key, TID and the record.
const LOG_ENTRY: u64 = 128;
const ROUND: u64 = 4096;
/// Transactions that a thread ends in a stretch.
const STRETCH: u64 = 4;
const FILL: usize = 22;

/// Beginning a transaction: epoch, arena, request.
const BEGIN: u32 = 120;
/// An access: hash of the set of reads, entry, copy of the key.
const ACCESS: u32 = 60;
/// The commit: sorting the writes, fences, epoch, new TID.
const COMMIT: u32 = 150;
/// A record at the commit: compare, branch.
const VALIDATE: u32 = 8;

const PARAMS: &[Param] = &[
    bytes("64MB", "assumed: ESF section V-E gives no size"),
    Param {
        key: "accesses",
        kind: Kind::Count { min: 1, max: 64 },
        default: "10",
        meaning: "records that a transaction reads",
        source: "assumed: Silo's own YCSB has one, TPC-C some tens",
    },
    Param {
        key: "writes",
        kind: Kind::Count { min: 0, max: 100 },
        default: "20",
        meaning: "per cent of them that are written as well",
        source: "Silo section 5.2: 80/20 of reads and read-modify-writes",
    },
    START,
];

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "silo",
    meaning: "optimistic transactions on records in memory, in serial order of their numbers",
    source: "ESF section V-E, Silo",
    published: None,
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 10 * 3,
    params: PARAMS,
    make: |options| Box::new(Silo::new(options)),
};

#[derive(Clone, Copy, Default)]
struct Record {
    tid: u64,
    value: u64,
}

/// What a transaction has read, in its order.
#[derive(Clone, Copy)]
struct Read {
    record: u32,
    was: Record,
    is_written: bool,
}

/// A transaction between its reads and its commit.
struct Transaction {
    number: u64,
    reads: Vec<Read>,
}

#[derive(Default)]
struct Worker {
    under_way: Option<Transaction>,
    last_tid: u64,
    logged: u64,
}

struct Silo {
    options: KernelOptions,
    index: Tree,
    place: Array,
    private: Array,
    records: Vec<Record>,
    accesses: u64,
    writes: u64,
    workers: Vec<Worker>,
    series: Series,
    committed: u64,
    aborted: u64,
    /// What the transactions leave if they run one after the other, in the order of their commits.
    serial: Vec<u64>,
    /// The first read that such an execution would not have made.
    wrong: Option<Mismatch>,
    footprint: Bytes,
}

/// What a transaction writes to a record: all of what was there goes into it.
fn written(number: u64, was: u64) -> u64 {
    mix(was).wrapping_add(number)
}

impl Silo {
    fn new(options: &KernelOptions) -> Silo {
        let private = u64::from(options.threads) * PRIVATE_BYTES;
        let data = options.bytes().saturating_sub(private);
        let len = (data / (RECORD_BYTES + NODE_SHARE)).max(4 * FAN as u64);
        let mut arena = Arena::default();
        let plan = TreePlan::new(&mut arena, 0, FILL, len);
        let place = arena.array(len, RECORD_BYTES);
        let private = arena.array(u64::from(options.threads), PRIVATE_BYTES);
        let series = Series::new(options, len, ROUND);
        let loaded = series.loaded(len);
        let mut entries: Vec<(u64, u32)> = (0..loaded).map(|r| (mix(r), r as u32)).collect();
        entries.sort_unstable();
        Silo {
            options: options.clone(),
            index: Tree::build(plan, entries.into_iter()),
            place,
            private,
            records: vec![Record::default(); len as usize],
            accesses: options.given.read("accesses"),
            writes: options.given.read("writes"),
            workers: (0..options.threads).map(|_| Worker::default()).collect(),
            series,
            committed: 0,
            aborted: 0,
            serial: vec![0; len as usize],
            wrong: None,
            footprint: arena.footprint(),
        }
    }

    /// A transaction that inserts a record nobody else knows of.
    fn insert(&mut self, rec: &mut Recorder, thread: u32, record: u64) {
        rec.work(BEGIN + COMMIT);
        let at = self.place.at(record);
        (0..RECORD_BYTES)
            .step_by(16)
            .for_each(|offset| rec.store(at + offset));
        self.index.insert(rec, mix(record), record as u32);
        self.log(rec, thread, at);
    }

    /// Reads all records of a transaction.
    fn read(&mut self, rec: &mut Recorder, thread: u32, number: u64) -> Transaction {
        rec.work(BEGIN);
        let mut rng = draws(self.options.seed, number);
        let mut reads: Vec<Read> = Vec::new();
        let set = self.private.at(thread.into()) + LOG_BYTES;
        for _ in 0..self.accesses {
            let wanted = rng.below(self.records.len() as u64) as u32;
            let is_written = rng.below(100) < self.writes;
            if reads.iter().any(|read| read.record == wanted) {
                continue;
            }
            let entry = self.index.get(rec, mix(wanted.into()));
            let entry = entry.expect("every key was loaded");
            let at = self.place.at(entry.value.into());
            rec.load_after(at, entry.loaded);
            rec.load_after(at + LINE_BYTES, entry.loaded);
            rec.work(ACCESS);
            rec.store(set + reads.len() as u64 * 32);
            reads.push(Read {
                record: entry.value,
                was: self.records[entry.value as usize],
                is_written,
            });
        }
        Transaction { number, reads }
    }

    /// Ends a transaction, or says that it has to run again.
    fn commit(&mut self, rec: &mut Recorder, thread: u32, transaction: &Transaction) -> bool {
        rec.work(COMMIT);
        let mut writes: Vec<&Read> = transaction.reads.iter().filter(|r| r.is_written).collect();
        writes.sort_unstable_by_key(|read| read.record);
        for read in &writes {
            // Compare and swap of the lock.
            rec.load(self.place.at(read.record.into()));
            rec.store(self.place.at(read.record.into()));
        }
        let mut is_valid = true;
        for read in &transaction.reads {
            rec.load(self.place.at(read.record.into()));
            rec.work(VALIDATE);
            is_valid &= self.records[read.record as usize].tid == read.was.tid;
        }
        if !is_valid {
            writes
                .iter()
                .for_each(|read| rec.store(self.place.at(read.record.into())));
            self.aborted += 1;
            return false;
        }
        let seen = transaction.reads.iter().map(|read| read.was.tid);
        let worker = &mut self.workers[thread as usize];
        let tid = seen.fold(worker.last_tid, u64::max) + 1;
        worker.last_tid = tid;
        for read in &writes {
            let at = self.place.at(read.record.into());
            rec.store(at + LINE_BYTES);
            rec.store(at);
            self.records[read.record as usize] = Record {
                tid,
                value: written(transaction.number, read.was.value),
            };
            self.log(rec, thread, at);
        }
        self.committed += 1;
        self.follow(transaction);
        true
    }

    /// Appends a record to a thread's log.
    fn log(&mut self, rec: &mut Recorder, thread: u32, record_at: u64) {
        let worker = &mut self.workers[thread as usize];
        let to = self.private.at(thread.into()) + worker.logged;
        worker.logged = (worker.logged + LOG_ENTRY) % LOG_BYTES;
        for offset in (0..LOG_ENTRY).step_by(32) {
            rec.load(record_at + offset);
            rec.store(to + offset);
        }
    }

    /// Executes a transaction that has committed, with nobody else about.
    fn follow(&mut self, transaction: &Transaction) {
        for read in &transaction.reads {
            let due = &mut self.serial[read.record as usize];
            if read.was.value != *due && self.wrong.is_none() {
                let number = transaction.number;
                self.wrong = Some(Mismatch::new(
                    format!("what transaction {number} read in record {}", read.record),
                    format!("{:x}", read.was.value),
                    format!("{due:x}, by the serial order"),
                ));
            }
            if read.is_written {
                *due = written(transaction.number, *due);
            }
        }
    }

    /// Begins the next transaction; false if there is none.
    fn begin(&mut self, rec: &mut Recorder, thread: u32) -> bool {
        if self.series.left(1) == 0 {
            return false;
        }
        match self.series.take() {
            Turn::Load(record) => self.insert(rec, thread, record),
            Turn::Do(number) => {
                let transaction = self.read(rec, thread, number);
                self.workers[thread as usize].under_way = Some(transaction);
            }
        }
        true
    }
}

impl Program for Silo {
    fn footprint(&self) -> Bytes {
        self.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let mut rec = Recorder::new(out);
        for _ in 0..STRETCH {
            if let Some(transaction) = self.workers[thread as usize].under_way.take()
                && !self.commit(&mut rec, thread, &transaction)
            {
                let again = self.read(&mut rec, thread, transaction.number);
                self.workers[thread as usize].under_way = Some(again);
                continue;
            }
            if !self.begin(&mut rec, thread) {
                break;
            }
        }
        if rec.is_empty() {
            Step::End
        } else {
            Step::More
        }
    }
}

impl Kernel for Silo {
    fn rounds(&self) -> u64 {
        self.committed / ROUND
    }

    /// Every transaction read, and all left behind, what they would one after the other.
    fn check(&self) -> Result<(), Mismatch> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let mut pairs = self.records.iter().zip(&self.serial);
        match pairs.position(|(record, due)| record.value != *due) {
            Some(record) => Err(Mismatch::new(
                format!("record {record}"),
                format!("{:x}", self.records[record].value),
                format!("{:x}, by its writers", self.serial[record]),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{given, run};
    use super::*;

    fn silo(threads: u32, rounds: u64, set: &[(&str, &str)]) -> Silo {
        Silo::new(&given(&INFO, threads, rounds, set, 6_000))
    }

    #[test]
    fn transactions_are_serializable_in_spite_of_conflicts() {
        for set in [
            &[("writes", "50")][..],
            &[("start", "empty"), ("accesses", "4")],
        ] {
            let mut kernel = silo(8, 2, set);
            run(&mut kernel, 1);
            assert_eq!((kernel.check(), kernel.rounds()), (Ok(()), 2));
            assert!(kernel.aborted > 100, "{}", kernel.aborted);
        }
    }

    #[test]
    fn one_thread_never_gives_up() {
        let mut kernel = silo(1, 1, &[]);
        run(&mut kernel, 1);
        assert_eq!((kernel.check(), kernel.aborted), (Ok(()), 0));
        kernel.records[7].value ^= 1;
        assert!(kernel.check().is_err());
    }

    /// Without the validation, what was read in between is lost.
    #[test]
    fn a_commit_over_a_change_is_seen() {
        let mut kernel = silo(2, 1, &[("writes", "100")]);
        let mut out = Vec::new();
        let rec = &mut Recorder::new(&mut out);
        let [first, mut second] = [0, 1].map(|thread| kernel.read(rec, thread, 5));
        assert!(kernel.commit(rec, 0, &first));
        assert!(!kernel.commit(rec, 1, &second));
        for read in &mut second.reads {
            read.was.tid = kernel.records[read.record as usize].tid;
        }
        assert!(kernel.commit(rec, 1, &second));
        assert!(kernel.check().is_err());
    }

    #[test]
    fn it_has_the_memory_that_was_asked_for() {
        let kernel = Silo::new(&given(&INFO, 2, 1, &[("bytes", "8MB")], 1));
        assert!(
            kernel.footprint().0.abs_diff(8_000_000) < 400_000,
            "{}",
            kernel.footprint().0
        );
    }
}
