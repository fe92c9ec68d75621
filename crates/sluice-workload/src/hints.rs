//! Programs that know what they will need next, and say so or keep it to themselves.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use clap::ValueEnum;
use serde::Serialize;
use sluice_units::{PAGE_BYTES, Rng, splitmix};

use crate::error::Error;
use crate::memory::Buffer;

const STREAM: &str = "hints.rows";
const PAGE: usize = PAGE_BYTES as usize;
/// Rows that a join looks up together, and says so of the next as many meanwhile.
const TOGETHER: usize = 32;
/// Pages that a pass has done with before it says so.
const DONE_WITH: u64 = 16;
/// Pages of the kept part that are read for each of the table.
const KEPT_READS: u64 = 4;

/// What is done, and what can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// Read the table in order. Hint: `MADV_SEQUENTIAL`
    Scan,
    /// Look rows of the table up at random, 32 together. Hint: `MADV_WILLNEED` for the next 32
    Join,
    /// Read the table in order, and for each page four of an index. Hint: `mlock` of the index
    Index,
    /// The same. Hint: `MADV_COLD` for what has been read of the table
    Pass,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub case: Case,
    /// Whether it says what it knows.
    pub told: bool,
    /// Pages of the table.
    pub table: u64,
    /// Pages of the index behind it.
    pub index: u64,
    /// Rows that a join looks up.
    pub rows: u64,
    pub seed: u64,
}

/// What was done and found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Pages written at the start, and how long that took, ns.
    pub filled: (u64, u64),
    /// Pages read after that, and how long it took, ns.
    pub read: (u64, u64),
    /// Pages that did not hold what was stored.
    pub mismatches: u64,
}

/// Fills table and index, and does what is to be done.
///
/// # Errors
/// If the system refuses a hint.
pub fn run(load: &Load, memory: &Buffer) -> Result<Found, Error> {
    let mut work = Work {
        load,
        memory,
        rng: Rng::stream(load.seed, STREAM),
        read: 0,
        mismatches: 0,
    };
    let pages = load.table + load.index;
    let started = Instant::now();
    for page in 0..pages {
        let word = memory.word(page as usize * PAGE);
        word.store(value(load.seed, page), Relaxed);
    }
    let filled = (pages, started.elapsed().as_nanos() as u64);
    let started = Instant::now();
    let done = match load.case {
        Case::Scan => work.scan(),
        Case::Join => work.join(),
        Case::Index => work.index(),
        Case::Pass => work.pass(),
    };
    done.map_err(Error::system("a hint"))?;
    Ok(Found {
        filled,
        read: (work.read, started.elapsed().as_nanos() as u64),
        mismatches: work.mismatches,
    })
}

fn value(seed: u64, page: u64) -> u64 {
    splitmix(seed ^ page << 20)
}

struct Work<'a> {
    load: &'a Load,
    memory: &'a Buffer,
    rng: Rng,
    read: u64,
    mismatches: u64,
}

impl Work<'_> {
    fn look_at(&mut self, page: u64) {
        let found = self.memory.word(page as usize * PAGE).load(Relaxed);
        self.read += 1;
        self.mismatches += u64::from(found != value(self.load.seed, page));
    }

    fn say(&self, page: u64, pages: u64, advice: i32) -> io::Result<()> {
        match self.load.told {
            true => self
                .memory
                .advise(page as usize * PAGE, pages as usize * PAGE, advice),
            false => Ok(()),
        }
    }

    fn scan(&mut self) -> io::Result<()> {
        self.say(0, self.load.table, libc::MADV_SEQUENTIAL)?;
        (0..self.load.table).for_each(|page| self.look_at(page));
        Ok(())
    }

    fn some_rows(&mut self, rows: &mut [u64]) -> io::Result<()> {
        rows.fill_with(|| self.rng.below(self.load.table));
        let rows = rows.iter();
        rows.copied()
            .try_for_each(|row| self.say(row, 1, libc::MADV_WILLNEED))
    }

    fn join(&mut self) -> io::Result<()> {
        let mut left = self.load.rows as usize;
        let (mut now, mut next) = ([0; TOGETHER], [0; TOGETHER]);
        let mut count = left.min(TOGETHER);
        self.some_rows(&mut now[..count])?;
        while count > 0 {
            left -= count;
            let following = left.min(TOGETHER);
            self.some_rows(&mut next[..following])?;
            now[..count].iter().for_each(|row| self.look_at(*row));
            (now, count) = (next, following);
        }
        Ok(())
    }

    /// A page of the table, and some of the index.
    fn row(&mut self, page: u64) {
        self.look_at(page);
        for _ in 0..KEPT_READS {
            let kept = self.load.table + self.rng.below(self.load.index);
            self.look_at(kept);
        }
    }

    fn index(&mut self) -> io::Result<()> {
        if self.load.told {
            let (first, pages) = (self.load.table as usize, self.load.index as usize);
            self.memory.lock(first * PAGE, pages * PAGE)?;
        }
        (0..self.load.table).for_each(|page| self.row(page));
        Ok(())
    }

    fn pass(&mut self) -> io::Result<()> {
        for page in 0..self.load.table {
            self.row(page);
            if (page + 1) % DONE_WITH == 0 {
                self.say(page + 1 - DONE_WITH, DONE_WITH, libc::MADV_COLD)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_reads_what_it_says_told_or_not_and_notices_a_wrong_page() {
        let (table, index, rows) = (64, 8, 100);
        for case in Case::value_variants() {
            let reads = match case {
                Case::Scan => table,
                Case::Join => rows,
                Case::Index | Case::Pass => table * (1 + KEPT_READS),
            };
            for told in [false, true] {
                let memory = Buffer::anonymous((table + index) as usize * PAGE).unwrap();
                let load = Load {
                    case: *case,
                    told,
                    table,
                    index,
                    rows,
                    seed: 3,
                };
                let found = run(&load, &memory).unwrap();
                assert_eq!((found.filled.0, found.read.0), (table + index, reads));
                assert_eq!(found.mismatches, 0);
                memory.word(5 * PAGE).store(0, Relaxed);
                let mut work = Work {
                    load: &load,
                    memory: &memory,
                    rng: Rng::stream(3, STREAM),
                    read: 0,
                    mismatches: 0,
                };
                work.scan().unwrap();
                assert_eq!(work.mismatches, 1);
            }
        }
    }

    /// With one page wrong, as many reads are wrong as were drawn of that page.
    #[test]
    fn rows_are_drawn_among_all_pages() {
        let (table, index, rows) = (8, 4, 100);
        let memory = Buffer::anonymous((table + index) as usize * PAGE).unwrap();
        let load = |case| Load {
            case,
            told: false,
            table,
            index,
            rows,
            seed: 3,
        };
        for case in [Case::Join, Case::Index, Case::Pass, Case::Scan] {
            let mut rng = Rng::stream(3, STREAM);
            let mut due = vec![0; (table + index) as usize];
            match case {
                Case::Join => (0..rows).for_each(|_| due[rng.below(table) as usize] += 1),
                Case::Scan => due[..table as usize].fill(1),
                Case::Index | Case::Pass => {
                    due[..table as usize].fill(1);
                    let kept = 0..table * KEPT_READS;
                    kept.for_each(|_| due[(table + rng.below(index)) as usize] += 1);
                }
            }
            for (page, due) in due.into_iter().enumerate() {
                let load = load(case);
                run(&load, &memory).unwrap();
                memory.word(page * PAGE).store(0, Relaxed);
                let mut work = Work {
                    load: &load,
                    memory: &memory,
                    rng: Rng::stream(3, STREAM),
                    read: 0,
                    mismatches: 0,
                };
                let done = match case {
                    Case::Scan => work.scan(),
                    Case::Join => work.join(),
                    Case::Index => work.index(),
                    Case::Pass => work.pass(),
                };
                done.unwrap();
                assert_eq!(work.mismatches, due, "{case:?}, page {page}");
            }
        }
    }
}
