//! Threads that write a pattern over a buffer and check it again, until time is up.
//!
//! Every page is shared: its lines belong to the threads in turn, so that several threads
//! touch, write and lose the same page at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_units::{LINE_BYTES, PAGE_BYTES, Rng, splitmix};

use crate::error::Error;
use crate::meeting::Meeting;
use crate::memory::{Buffer, Scratch};
use sluice_streams::order::thread_rng;

const STREAM: &str = "pattern.order";
const LINES: u64 = PAGE_BYTES / LINE_BYTES;
const WORDS: u64 = LINE_BYTES / 8;
/// Most threads: each owns at least one line of a page.
pub const THREADS_MAX: u64 = LINES;
/// Pages visited between two looks at the clock.
const BURST: u64 = 256;
/// One burst in so many is part of a sweep in address order; the others visit random pages.
const SWEEP_ONE_IN: u64 = 4;
/// Mismatches that are described; all are counted.
const TOLD_MAX: usize = 10;

/// What to run: checked by the command line.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Threads, at most [`THREADS_MAX`].
    pub threads: u64,
    /// How long the threads write and check.
    pub time: Duration,
    /// Seed of the visits and of the pattern.
    pub seed: u64,
}

/// What was done and found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Visits of one thread to one page.
    pub visits: u64,
    pub words_checked: u64,
    pub words_written: u64,
    /// Words that did not hold what was stored.
    pub mismatches: u64,
    /// The first of them, in words.
    pub told: Vec<String>,
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
}

/// Runs the threads over the whole buffer, then checks every word once more.
///
/// # Errors
/// When there is no scratch memory for the versions.
///
/// # Panics
/// If the buffer is not whole pages.
pub fn run(load: &Load, buffer: &Buffer) -> Result<Found, Error> {
    assert!((buffer.bytes() as u64).is_multiple_of(PAGE_BYTES));
    let pages = buffer.bytes() as u64 / PAGE_BYTES;
    let scratch = || Scratch::new(pages as usize).map_err(Error::system("scratch memory"));
    let versions: Vec<Scratch> = (0..load.threads)
        .map(|_| scratch())
        .collect::<Result<_, _>>()?;
    let bench = Bench {
        load,
        buffer,
        pages,
        meeting: Meeting::new(load.threads as usize),
        failed: AtomicBool::new(false),
        told: Mutex::default(),
        mismatches: AtomicU64::new(0),
    };
    let started = Instant::now();
    let (bench, deadline) = (&bench, started + load.time);
    let mut found = std::thread::scope(|scope| {
        // A thread may not be had: those before it end then, too.
        let _joined = bench.meeting.join();
        let handles: Vec<_> = (0..)
            .zip(versions)
            .map(|(thread, versions)| scope.spawn(move || bench.work(thread, versions, deadline)))
            .collect();
        handles
            .into_iter()
            .fold(Found::default(), |mut sum, handle| {
                let part = handle.join().expect("a pattern thread panicked");
                sum.visits += part.visits;
                sum.words_checked += part.words_checked;
                sum.words_written += part.words_written;
                sum
            })
    });
    found.wall_ns = started.elapsed().as_nanos() as u64;
    found.mismatches = bench.mismatches.load(Relaxed);
    found.told = bench
        .told
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    Ok(found)
}

struct Bench<'a> {
    load: &'a Load,
    buffer: &'a Buffer,
    pages: u64,
    meeting: Meeting,
    failed: AtomicBool,
    told: Mutex<Vec<String>>,
    mismatches: AtomicU64,
}

impl Bench<'_> {
    fn work(&self, thread: u64, mut versions: Scratch, deadline: Instant) -> Found {
        let _joined = self.meeting.join();
        let mut worker = Worker {
            bench: self,
            thread,
            versions: versions.cells(),
            rng: thread_rng(self.load.seed, thread, STREAM),
            found: Found::default(),
        };
        // Everything is written once, so that from here on no word may be zero.
        (0..self.pages).for_each(|page| worker.visit(page, true));
        self.meeting.wait();
        let mut sweep = thread * self.pages / self.load.threads;
        while Instant::now() < deadline && !self.failed.load(Relaxed) {
            let sweeping = worker.rng.below(SWEEP_ONE_IN) == 0;
            for _ in 0..BURST {
                let page = if sweeping {
                    sweep
                } else {
                    worker.rng.below(self.pages)
                };
                sweep = if sweeping {
                    (sweep + 1) % self.pages
                } else {
                    sweep
                };
                let write = worker.rng.below(2) == 0;
                worker.visit(page, write);
            }
        }
        self.meeting.wait();
        (0..self.pages).for_each(|page| worker.visit(page, false));
        worker.found
    }

    /// What a word holds: zero before its first version, afterwards a hash of place, version
    /// and thread.
    fn word(&self, offset: u64, version: u32, thread: u64) -> u64 {
        if version == 0 {
            return 0;
        }
        splitmix(splitmix(offset ^ self.load.seed) ^ (u64::from(version) << 8) ^ thread)
    }

    fn wrong(&self, thread: u64, offset: u64, version: u32, found: u64) {
        self.mismatches.fetch_add(1, Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() == TOLD_MAX {
            self.failed.store(true, Relaxed);
            return;
        }
        let expected = self.word(offset, version, thread);
        let older = (1..version)
            .rev()
            .find(|old| self.word(offset, *old, thread) == found);
        let guess = match (found, older) {
            (0, _) => " (zero: the page was lost)".to_owned(),
            (_, Some(old)) => format!(" (version {old}: a store was lost)"),
            _ => String::new(),
        };
        told.push(format!(
            "thread {thread}, offset {offset:#x}, version {version}: \
             expected {expected:#x}, found {found:#x}{guess}"
        ));
    }
}

struct Worker<'a> {
    bench: &'a Bench<'a>,
    thread: u64,
    /// Versions of this thread's lines by page, out of the measured memory. Zero: not written.
    versions: &'a mut [u32],
    rng: Rng,
    found: Found,
}

impl Worker<'_> {
    /// Checks this thread's lines of a page, and writes them anew when asked to.
    fn visit(&mut self, page: u64, write: bool) {
        let version = self.versions[page as usize];
        let next = version + u32::from(write);
        self.versions[page as usize] = next;
        self.found.visits += 1;
        let threads = self.bench.load.threads;
        // The turn is shifted from page to page, so that each thread owns every place.
        let first = (self.thread + page) % threads;
        for line in (first..LINES).step_by(threads as usize) {
            let start = page * PAGE_BYTES + line * LINE_BYTES;
            for offset in (0..WORDS).map(|word| start + word * 8) {
                self.touch(offset, version, write.then_some(next));
            }
        }
    }

    fn touch(&mut self, offset: u64, version: u32, next: Option<u32>) {
        let word = self.bench.buffer.word(offset as usize);
        if version > 0 || self.bench.buffer.is_fresh() {
            let found = word.load(Relaxed);
            self.found.words_checked += 1;
            if found != self.bench.word(offset, version, self.thread) {
                self.bench.wrong(self.thread, offset, version, found);
            }
        }
        if let Some(next) = next {
            word.store(self.bench.word(offset, next, self.thread), Relaxed);
            self.found.words_written += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(threads: u64, ms: u64) -> Load {
        Load {
            threads,
            time: Duration::from_millis(ms),
            seed: 9,
        }
    }

    #[test]
    fn plain_memory_keeps_the_pattern() {
        for threads in [1, 3, 8, 64] {
            let buffer = Buffer::anonymous(64 * 4096).unwrap();
            let found = run(&load(threads, 30), &buffer).unwrap();
            assert_eq!(
                (found.mismatches, found.told.len()),
                (0, 0),
                "{:?}",
                found.told
            );
            // First pass and last pass cover every word, with any number of threads.
            assert!(found.words_written >= 64 * 512 && found.words_checked >= 2 * 64 * 512);
        }
    }

    #[test]
    fn memory_that_is_not_fresh_need_not_be_zero() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        for fresh in [true, false] {
            let buffer = Buffer::file(&path, 16 * 4096).unwrap();
            assert_eq!(buffer.is_fresh(), fresh);
            assert_eq!(run(&load(2, 5), &buffer).unwrap().mismatches, 0);
        }
    }

    /// The other threads waited for it at their barrier for ever.
    #[test]
    fn a_thread_that_panics_ends_the_run() {
        let (said, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (load, buffer) = (load(3, 0), Buffer::anonymous(2048 * 4096).unwrap());
            let bench = bench(&load, &buffer);
            let run = || {
                std::thread::scope(|scope| {
                    // The last one has no room for the version of the last page.
                    for (thread, pages) in [(0, 2048), (1, 2048), (2, 1024)] {
                        let (bench, versions) = (&bench, Scratch::new(pages).unwrap());
                        scope.spawn(move || bench.work(thread, versions, Instant::now()));
                    }
                });
            };
            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            said.send(run.is_err())
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)), Ok(true));
    }

    fn bench<'a>(load: &'a Load, buffer: &'a Buffer) -> Bench<'a> {
        Bench {
            load,
            buffer,
            pages: buffer.bytes() as u64 / PAGE_BYTES,
            meeting: Meeting::new(load.threads as usize),
            failed: AtomicBool::new(false),
            told: Mutex::default(),
            mismatches: AtomicU64::new(0),
        }
    }

    /// Writes 16 pages twice from thread 1 of 2, lets `damage` loose and checks them.
    fn told(damage: impl Fn(&Bench)) -> Vec<String> {
        let (load, buffer) = (load(2, 0), Buffer::anonymous(16 * 4096).unwrap());
        let bench = bench(&load, &buffer);
        let mut versions = [0; 16];
        let mut worker = Worker {
            bench: &bench,
            thread: 1,
            versions: &mut versions,
            rng: thread_rng(9, 1, STREAM),
            found: Found::default(),
        };
        let mut all = |write| (0..16).for_each(|page| worker.visit(page, write));
        all(true);
        all(true);
        damage(&bench);
        all(false);
        bench.told.into_inner().unwrap()
    }

    #[test]
    fn each_kind_of_loss_is_told() {
        assert_eq!(told(|_| ()), [""; 0]);
        // Page 5 begins with a line of thread 1: 5 + 1 is even.
        let at = 5 * 4096 + 128;
        let store = |bench: &Bench, value| bench.buffer.word(at).store(value, Relaxed);
        let lost = told(|bench| store(bench, 0));
        let older = told(|bench| store(bench, bench.word(at as u64, 1, 1)));
        let strange = told(|bench| store(bench, 0x1234));
        for told in [&lost, &older, &strange] {
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].starts_with("thread 1, offset 0x5080, version 2: expected 0x"));
        }
        assert!(
            lost[0].ends_with("found 0x0 (zero: the page was lost)"),
            "{lost:?}"
        );
        assert!(
            older[0].ends_with("(version 1: a store was lost)"),
            "{older:?}"
        );
        assert!(strange[0].ends_with("found 0x1234"), "{strange:?}");
    }

    #[test]
    fn fresh_memory_that_is_not_zero_is_found() {
        let buffer = Buffer::anonymous(4096).unwrap();
        buffer.word(8).store(1, Relaxed);
        let found = run(&load(1, 1), &buffer).unwrap();
        assert_eq!(found.mismatches, 1);
    }

    /// Another mapping of the same file takes the words away, again and again: the run ends long
    /// before its time, with ten of its findings described.
    #[test]
    fn a_run_that_finds_much_wrong_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memory");
        let buffer = Buffer::file(&path, 16 * 4096).unwrap();
        let other = Buffer::file(&path, 16 * 4096).unwrap();
        let over = AtomicBool::new(false);
        let started = Instant::now();
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    (0..16 * 512).for_each(|word| other.word(word * 8).store(0, Relaxed));
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let found = run(&load(2, 200_000), &buffer).unwrap();
            over.store(true, Relaxed);
            found
        });
        assert!(started.elapsed() < Duration::from_secs(100));
        assert!(found.mismatches > TOLD_MAX as u64);
        assert_eq!(found.told.len(), TOLD_MAX);
        assert!(
            found.told[0].ends_with("(zero: the page was lost)"),
            "{:?}",
            found.told
        );
    }

    /// Each word has one owner, whatever the number of threads.
    #[test]
    fn every_line_belongs_to_one_thread() {
        for threads in [1, 2, 3, 5, 64] {
            let (load, buffer) = (load(threads, 0), Buffer::anonymous(5 * 4096).unwrap());
            let bench = bench(&load, &buffer);
            let mut lines = std::collections::BTreeSet::new();
            for thread in 0..threads {
                let mut versions = [0; 5];
                let mut worker = Worker {
                    bench: &bench,
                    thread,
                    versions: &mut versions,
                    rng: thread_rng(9, thread, STREAM),
                    found: Found::default(),
                };
                (0..5).for_each(|page| worker.visit(page, true));
                assert_eq!(worker.found.visits, 5);
                assert_eq!(worker.found.words_checked, worker.found.words_written);
                assert_eq!(versions, [1; 5]);
                for at in (0..5 * 4096).step_by(8) {
                    let own = bench.word(at, 1, thread);
                    if bench.buffer.word(at as usize).load(Relaxed) == own {
                        assert!(lines.insert(at), "{at} has two owners of {threads}");
                    }
                }
            }
            assert_eq!(lines.len(), 5 * 512, "{threads} threads");
            assert_eq!(bench.mismatches.load(Relaxed), 0);
        }
    }

    /// A word of another place, version or thread is another word, so that any mix-up shows.
    #[test]
    fn words_differ_by_place_version_and_thread() {
        let (load, buffer) = (load(4, 0), Buffer::anonymous(4096).unwrap());
        let bench = bench(&load, &buffer);
        let mut words = std::collections::BTreeSet::from([0]);
        for offset in (0..1 << 16).step_by(1 << 11) {
            for version in 1..=64 {
                for thread in 0..4 {
                    assert!(words.insert(bench.word(offset, version, thread)));
                }
            }
        }
        assert_eq!(bench.word(8, 0, 3), 0);
    }
}
