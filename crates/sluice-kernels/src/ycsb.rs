//! YCSB's workload B on an in-memory store: 95 % reads, 5 % updates, zipfian.
//!
//! After N-Store (Arulraj, Pavlo and Dulloor, "Let's talk about storage and recovery methods for
//! non-volatile memory database systems", 2015) as WHISPER runs it. Tuples lie on the heap in the
//! order of their keys, with a B+-tree over the keys' hashes. An undo log is empty again after each
//! transaction, which is of one tuple. Requests are drawn before the run. The most popular keys are
//! those loaded first, as in N-Store; YCSB itself scatters them over the whole table. Different
//! here:
//!
//! - A tuple has YCSB's 1 KB in 15 fields of 64 bytes instead of ten of 100, and they lie in it;
//!   N-Store has five and allocates each. SkyByte's section writes one line in 250 (Figure 17, its
//!   indexing), which leaves no more than a line for an update.
//! - A read folds the fields in vector registers into one digest each. N-Store prints a tuple into
//!   a string stream, at some instructions a byte; Table I's 92 misses in 1,000 instructions, one
//!   in eleven, leave no room for that.
//! - The contents of a field are kept as the number of the operation that wrote it.

use super::series::{draws, mix};
use super::store::{FAN, Tree, TreePlan};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Loaded, Mismatch, Recorder};
use sluice_host::{Instr, Program, Step};
use sluice_streams::ycsb::{Mix, Op};
use sluice_streams::zipf::{YCSB_THETA, Zipf};
use sluice_units::Bytes;

/// SkyByte Table I, in bytes.
const FOOTPRINT: u64 = 9_610_000_000;
/// Fields of a tuple.
const FIELDS: u64 = 15;
/// Each is a line, so that an update writes one.
const FIELD_BYTES: u64 = LINE;
/// The allocator's word, and length and schema of the tuple, which say where its fields are.
const HEADER_BYTES: u64 = LINE;
const TUPLE_BYTES: u64 = HEADER_BYTES + FIELDS * FIELD_BYTES;
const LINE: u64 = 64;
/// A thread's pages: requests, results and undo log.
const PRIVATE_BYTES: u64 = 3 * 4096;
const RESULTS_AT: u64 = 4096;
const LOG_AT: u64 = 2 * 4096;
/// Transactions in a round.
const ROUND: u64 = 8192;
/// Transactions in a stretch.
const STRETCH: u64 = 16;

/// Skew of the keys' popularity, YCSB's own. SkyByte's Table I has 92 misses in 1,000 instructions;
/// here they are 70. Of these, 3 to 4 % wait for flash (Figure 17, SkyByte-W: the flash's part over
/// the time of a read is 3 %). Host memory of 2 GiB serves three quarters (83 % by its CXL part).
const THETA: f64 = YCSB_THETA;

/// A transaction: the loop over the requests, its number and kind, the statement, three calls.
const TRANSACTION: u32 = 40;
/// The hash of a key: multiply, shift, exclusive or.
const HASH: u32 = 3;
/// A field into its digest: address, multiply, add, and the loop's part.
const FOLD: u32 = 4;
/// The end of a read: digests of 32 bits into one vector.
const RETURN: u32 = 4;
/// An entry of the undo log: allocate it and its list node, fill them in, free both at the commit.
/// It has the old value's address, and so the value itself is not read (N-Store's `update`).
const LOG: u32 = 60;

struct Layout {
    arena: Arena,
    records: u64,
    index: TreePlan,
    tuples: Array,
    private: Array,
}

impl Layout {
    fn new(options: &KernelOptions) -> Layout {
        let target = FOOTPRINT / u64::from(options.scale);
        // A key costs its tuple and its share of a leaf and of the nodes above it. The threads'
        // pages come on top: the tuples do not depend on how many threads there are.
        let records = (target / (TUPLE_BYTES + 17)).max(FAN as u64);
        let mut arena = Arena::default();
        let index = TreePlan::new(&mut arena, records, FAN, records);
        let tuples = arena.array(records, TUPLE_BYTES);
        let private = arena.array(u64::from(options.threads), PRIVATE_BYTES);
        Layout {
            arena,
            records,
            index,
            tuples,
            private,
        }
    }
}

/// What a transaction asks for.
struct Request {
    key: u64,
    /// The field to update; all are read if there is none.
    update: Option<u64>,
}

struct Ycsb {
    options: KernelOptions,
    layout: Layout,
    keys: Zipf,
    index: Tree,
    /// For every field of every tuple, the operation that wrote it, from 1.
    written: Vec<[u32; FIELDS as usize]>,
    /// Transactions that were finished.
    done: u64,
    /// Sum of the digests of all fields read.
    digest: u64,
}

pub(super) const INFO: KernelInfo = KernelInfo {
    name: "ycsb",
    meaning: "YCSB's workload B on an in-memory store: zipfian reads, 5 % updates",
    source: "N-Store in WHISPER",
    published: Some((9_610, 5, 922)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes / 14,
    params: &[],
    make,
};

fn make(options: &KernelOptions) -> Box<dyn Kernel> {
    Box::new(ycsb(options))
}

fn ycsb(options: &KernelOptions) -> Ycsb {
    let layout = Layout::new(options);
    let mut entries: Vec<(u64, u32)> = (0..layout.records).map(|k| (mix(k), k as u32)).collect();
    entries.sort_unstable();
    let index = Tree::build(layout.index, entries.into_iter());
    Ycsb {
        options: options.clone(),
        keys: Zipf::new(layout.records, THETA),
        index,
        written: vec![[0; FIELDS as usize]; layout.records as usize],
        layout,
        done: 0,
        digest: 0,
    }
}

/// What folding a field gives.
fn digest(key: u64, field: u64, written: u32) -> u64 {
    let x = (key * FIELDS + field) ^ u64::from(written) << 40;
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Ycsb {
    fn request(&self, number: u64) -> Request {
        let mut rng = draws(self.options.seed, number);
        let op = Mix::B.op(&mut rng);
        Request {
            key: self.keys.rank(&mut rng),
            update: (op == Op::Update).then(|| rng.below(FIELDS)),
        }
    }

    fn transaction(&mut self, rec: &mut Recorder, thread: u32) {
        let private = self.layout.private.at(u64::from(thread));
        let request = self.request(self.done);
        rec.load(private + self.done % 512 * 8);
        rec.work(TRANSACTION + HASH);
        let entry = self.index.get(rec, mix(request.key));
        let entry = entry.expect("every key was loaded");
        let tuple = u64::from(entry.value);
        self.done += 1;
        match request.update {
            Some(field) => self.update(rec, private, tuple, field, entry.loaded),
            None => self.read(rec, private, tuple, entry.loaded),
        }
    }

    fn read(&mut self, rec: &mut Recorder, private: u64, tuple: u64, before: Loaded) {
        let start = self.layout.tuples.at(tuple);
        // Where the fields are is known from the header: a page that is not in the device's cache
        // is waited for once.
        let header = rec.load_after(start, before);
        rec.work(FOLD);
        for line in 1..TUPLE_BYTES / LINE {
            rec.load_after(start + line * LINE, header);
            rec.work(FOLD);
        }
        let written = &self.written[tuple as usize];
        let digests = (0..).zip(written).map(|(f, w)| digest(tuple, f, *w));
        self.digest = digests.fold(self.digest, u64::wrapping_add);
        rec.work(RETURN);
        rec.store(private + RESULTS_AT);
    }

    fn update(&mut self, rec: &mut Recorder, private: u64, tuple: u64, field: u64, b: Loaded) {
        self.written[tuple as usize][field as usize] = self.done as u32;
        let header = self.layout.tuples.at(tuple);
        let value = header + HEADER_BYTES + field * FIELD_BYTES;
        let b = rec.load_after(header, b);
        // The entry: what, where, and the old value's address.
        rec.work(LOG);
        rec.store(private + LOG_AT);
        rec.store(private + LOG_AT + LINE);
        // The list gets it: node's value and link, list's tail and length.
        let node = private + LOG_AT + 16;
        for at in [0, 8, LINE, LINE + 8] {
            rec.store(node + at);
        }
        rec.store_after(value, b);
        rec.work(1);
        // Gives the entry back: tail, length, and both allocations.
        for at in [LINE, LINE + 8, 0, 2 * LINE] {
            rec.store(node + at);
        }
    }
}

impl Program for Ycsb {
    fn footprint(&self) -> Bytes {
        self.layout.arena.footprint()
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        let left = match self.options.rounds {
            0 => STRETCH,
            rounds => (rounds.saturating_mul(ROUND) - self.done).min(STRETCH),
        };
        let mut rec = Recorder::new(out);
        (0..left).for_each(|_| self.transaction(&mut rec, thread));
        if left == 0 {
            return Step::End;
        }
        Step::More
    }
}

impl Kernel for Ycsb {
    fn rounds(&self) -> u64 {
        self.done / ROUND
    }

    /// Executes all requests again, with the tuples in an array by key and no index.
    fn check(&self) -> Result<(), Mismatch> {
        let mut tuples = vec![[0; FIELDS as usize]; self.layout.records as usize];
        let mut sum = 0_u64;
        for number in 0..self.done {
            let Request { key, update } = self.request(number);
            let tuple = &mut tuples[key as usize];
            match update {
                Some(field) => tuple[field as usize] = number as u32 + 1,
                None => {
                    let digests = (0..).zip(tuple.iter()).map(|(f, w)| digest(key, f, *w));
                    sum = digests.fold(sum, u64::wrapping_add);
                }
            }
        }
        if let Some(key) = (0..tuples.len()).find(|key| tuples[*key] != self.written[*key]) {
            let (due, is) = (tuples[key], self.written[key]);
            return Err(Mismatch::new(
                format!("the last write of key {key}"),
                format!("{is:?}"),
                format!("{due:?}"),
            ));
        }
        if sum != self.digest {
            let is = self.digest;
            return Err(Mismatch::new(
                "the sum of the digests read",
                format!("{is:x}"),
                format!("{sum:x}"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::{options, run};
    use super::*;
    use crate::drive::assert_footprint;
    use sluice_host::MemOp;

    #[test]
    fn any_order_of_threads_gives_the_sequential_result() {
        let mut told = Vec::new();
        for (threads, stretches) in [(1, 1), (3, 1), (8, 1), (8, 5)] {
            let mut kernel = make(&options(threads, 2048, 2));
            let run = run(kernel.as_mut(), stretches);
            assert_eq!(kernel.check(), Ok(()));
            assert_eq!(kernel.rounds(), 2);
            told.push((run.instructions, run.loads, run.stores));
        }
        assert!(told.iter().all(|t| *t == told[0]), "{told:?}");
    }

    #[test]
    fn same_order_same_instructions() {
        let hash = |stretches| run(make(&options(4, 2048, 1)).as_mut(), stretches);
        assert_eq!(hash(2), hash(2));
        assert_ne!(hash(2).hash, hash(3).hash);
    }

    #[test]
    fn footprint_of_table_1() {
        assert_footprint(&INFO, |scale| {
            Layout::new(&options(24, scale, 0)).arena.footprint()
        });
        // The kernel has this skew.
        let layout = Layout::new(&options(24, 2048, 0));
        let kernel = make(&options(24, 2048, 0));
        assert_eq!(kernel.footprint(), layout.arena.footprint());
    }

    #[test]
    fn a_lost_update_is_seen() {
        let mut kernel = ycsb(&options(2, 2048, 1));
        run(&mut kernel, 1);
        let key = kernel
            .written
            .iter()
            .position(|w| *w != [0; FIELDS as usize]);
        kernel.written[key.expect("5 % are updates")] = [0; FIELDS as usize];
        assert!(kernel.check().is_err());
    }

    /// The instructions that `tell` records after a load of the index.
    fn told(tell: impl FnOnce(&mut Recorder, Loaded)) -> Vec<Instr> {
        let mut out = Vec::new();
        let mut rec = Recorder::new(&mut out);
        let before = rec.load(0);
        tell(&mut rec, before);
        drop(rec);
        out
    }

    #[test]
    fn an_update_does_not_read_the_old_value() {
        let mut kernel = ycsb(&options(1, 2048, 1));
        let out = told(|rec, before| kernel.update(rec, 0, 3, 7, before));
        let header = kernel.layout.tuples.at(3);
        let of = |op| move |instr: &&Instr| instr.op == op && instr.addr >= header;
        let loads: Vec<u64> = out.iter().filter(of(MemOp::Load)).map(|i| i.addr).collect();
        let stores: Vec<u64> = out
            .iter()
            .filter(of(MemOp::Store))
            .map(|i| i.addr)
            .collect();
        assert_eq!((loads, stores), (vec![header], vec![header + 8 * LINE]));
    }

    #[test]
    fn a_tuple_is_read_by_its_header() {
        let mut kernel = ycsb(&options(1, 2048, 1));
        let out = told(|rec, before| kernel.read(rec, 0, 3, before));
        let after: Vec<u16> = out[1..=16].iter().map(|instr| instr.after).collect();
        // The header after the index, every other line after the header.
        let due: Vec<u16> = std::iter::once(1).chain(1..16).collect();
        assert_eq!(after, due);
    }
}
