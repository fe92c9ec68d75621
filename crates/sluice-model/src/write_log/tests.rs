//! The log on its own, against a plain map and closed forms.

use super::index::PageId;
use super::*;
use crate::config::{DeviceConfig, WriteLogParams, WriteLogSettings};
use crate::nand::ProgramEnd;
use crate::stats::WriteLogStats;
use proptest::prelude::*;
use sluice_units::{Lpn, PageLine, Ppn, Rng};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const LINES_PER_PAGE: u32 = 64;
const READ: Ps = Ps(30);
const PROGRAM: Ps = Ps(1_000);
const HALF: Ps = Ps(500);

fn log_of(lines: u32, buffers: u32, coalescing_buffers: u32) -> WriteLog {
    let mut given = WriteLogParams::new(&DeviceConfig::builder());
    given.index_latency = Ps::ZERO;
    given.coalescing_buffers = coalescing_buffers;
    let settings = WriteLogSettings {
        given,
        buffers,
        lines_per_buffer: lines,
    };
    WriteLog::new(&settings, LINES_PER_PAGE)
}

/// A flash that holds versions of lines, on which nothing waits for anything.
#[derive(Default)]
struct Flash {
    /// Per (page, line): which version is programmed.
    lines: BTreeMap<(u32, u32), u64>,
    /// Which version each append of the buffer under compaction was.
    appended: Vec<u64>,
    cached: BTreeSet<u32>,
    read: Vec<(Ps, u32)>,
    programmed: Vec<(Ps, u32)>,
    /// How many programs it takes, if it wears out.
    lasts: Option<usize>,
}

impl Destage for Flash {
    fn is_cached(&self, _at: Ps, lpn: Lpn) -> bool {
        self.cached.contains(&lpn.0)
    }

    fn read(&mut self, at: Ps, lpn: Lpn, _stats: &mut Stats) -> Ps {
        self.read.push((at, lpn.0));
        at + READ
    }

    fn program(
        &mut self,
        at: Ps,
        lpn: Lpn,
        lines: impl Iterator<Item = (PageLine, LogEntry)> + Clone,
        _stats: &mut Stats,
    ) -> Option<Programmed> {
        if self
            .lasts
            .is_some_and(|lasts| self.programmed.len() >= lasts)
        {
            return None;
        }
        self.programmed.push((at, lpn.0));
        for (line, entry) in lines {
            let version = self.appended[entry.0 as usize % self.appended.len()];
            let was = self.lines.insert((lpn.0, line.0), version);
            assert!(
                was < Some(version),
                "{lpn} line {line:?}: {version} over {was:?}"
            );
        }
        // Some ends are known at once, of others only that they are not before half the time.
        let end = match self.programmed.len() % 2 {
            0 => ProgramEnd::At(at + PROGRAM),
            _ => ProgramEnd::NotBefore(at + HALF),
        };
        let ppn = Ppn(lpn.0);
        Some(Programmed { ppn, end })
    }

    fn program_end(&mut self, at: Ps, _ppn: Ppn) -> ProgramEnd {
        ProgramEnd::At(at + PROGRAM - HALF)
    }
}

impl WriteLog {
    /// What a failed test shows: each buffer from the oldest, each page with its lines.
    fn dump(&self) -> String {
        let mut text = format!("oldest {} full {}\n", self.oldest, self.full);
        for (number, buffer) in self.buffers.iter().enumerate() {
            for id in (0..buffer.pages()).map(PageId) {
                let (lpn, lines) = buffer.page(id);
                let places: BTreeMap<_, _> = match lines {
                    0 => BTreeMap::new(),
                    _ => buffer.lines(id).collect(),
                };
                writeln!(text, "buffer {number}: page {lpn}: {places:?}").unwrap();
            }
        }
        text
    }

    /// Panics if the counts of the index contradict its contents.
    fn check(&self, stats: &WriteLogStats) {
        let (mut bytes, mut unflushed) = (0, 0);
        for buffer in &self.buffers {
            for id in (0..buffer.pages()).map(PageId) {
                let (lpn, lines) = buffer.page(id);
                let held = if lines == 0 {
                    0
                } else {
                    buffer.lines(id).count()
                };
                assert_eq!(held, lines as usize, "page {lpn}\n{}", self.dump());
                // Three quarters of a table are used at most, but for the largest.
                let slots = match lines {
                    0 => 0,
                    lines => (lines * 4).div_ceil(3).next_power_of_two().clamp(4, 64),
                };
                bytes += 16 + 4 * u64::from(slots);
                unflushed += u64::from(if buffer.is_flushed(id) { 0 } else { lines });
            }
        }
        assert_eq!(self.index_bytes, bytes, "{}", self.dump());
        let left = stats.superseded + stats.lines_flushed + stats.dropped;
        assert_eq!(
            stats.appends - left,
            unflushed,
            "{stats:?}\n{}",
            self.dump()
        );
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Append(u32, u32),
    Drop(u32),
    Cache(u32),
    Evict(u32),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Squared, so that low pages and lines come up more often.
    let page = || (0..7u32, 0..7u32).prop_map(|(a, b)| a * b);
    let line = (0..8u32, 0..9u32).prop_map(|(a, b)| a * b);
    prop_oneof![
        20 => (page(), line).prop_map(|(page, line)| Step::Append(page, line)),
        1 => page().prop_map(Step::Drop),
        1 => page().prop_map(Step::Cache),
        1 => page().prop_map(Step::Evict),
        3 => (0..1_500u64).prop_map(Step::Wait),
    ]
}

/// The plain model: what each line was last, and which versions each buffer took.
#[derive(Default)]
struct Plain {
    newest: BTreeMap<(u32, u32), u64>,
    /// Per buffer: the version of each append since it was last reclaimed.
    appended: Vec<Vec<u64>>,
    versions: u64,
}

/// No line is lost or stale, whatever is appended, dropped, cached, and however time passes.
fn holds_every_line(
    lines: u32,
    buffers: u32,
    coalescing_buffers: u32,
    lasts: Option<usize>,
    steps: &[Step],
    stride: usize,
) {
    let mut log = log_of(lines, buffers, coalescing_buffers);
    let mut stats = Stats::default();
    let mut flash = Flash {
        lasts,
        ..Flash::default()
    };
    let mut plain = Plain {
        appended: vec![Vec::new(); buffers as usize],
        ..Plain::default()
    };
    let mut now = Ps::ZERO;
    for (at, step) in steps.iter().enumerate() {
        // Event by event, so that the flash knows whose buffer it is that it is given.
        while log.due <= now {
            plain.step(&mut log, &mut flash, &mut stats);
        }
        match *step {
            Step::Append(lpn, line) => {
                while log.full == log.buffers.len() && log.due < Ps::MAX {
                    plain.step(&mut log, &mut flash, &mut stats);
                }
                plain.append(&mut log, now, (lpn, line), &mut flash, &mut stats);
            }
            Step::Drop(lpn) => {
                log.drop_page(Lpn(lpn), &mut stats);
                plain.newest.retain(|place, _| place.0 != lpn);
                flash.lines.retain(|place, _| place.0 != lpn);
            }
            Step::Cache(lpn) => _ = flash.cached.insert(lpn),
            Step::Evict(lpn) => _ = flash.cached.remove(&lpn),
            Step::Wait(time) => now += Ps(time),
        }
        if at % stride == 0 {
            log.check(&stats.write_log);
            plain.check(&log, &flash, step);
        }
    }
}

impl Plain {
    fn step(&self, log: &mut WriteLog, flash: &mut Flash, stats: &mut Stats) {
        flash.appended.clone_from(&self.appended[log.oldest]);
        log.step(flash, stats);
    }

    fn append(
        &mut self,
        log: &mut WriteLog,
        now: Ps,
        (lpn, line): (u32, u32),
        flash: &mut Flash,
        stats: &mut Stats,
    ) {
        let open = (log.oldest + log.full) % log.buffers.len();
        if log.appended == 0 && log.full < log.buffers.len() {
            self.appended[open].clear();
        }
        if (log.append(now, Lpn(lpn), PageLine(line), flash, stats)).is_some() {
            self.versions += 1;
            self.appended[open].push(self.versions);
            self.newest.insert((lpn, line), self.versions);
        } else {
            let is_full = log.full == log.buffers.len();
            assert!(is_full && stats.writes_kept > 0);
        }
    }

    fn check(&self, log: &WriteLog, flash: &Flash, step: &Step) {
        for (place, version) in &self.newest {
            let found = match log.find(Lpn(place.0), PageLine(place.1)) {
                Some(entry) => {
                    let (buffer, offset) = (entry.0 / log.lines, entry.0 % log.lines);
                    Some(self.appended[buffer as usize][offset as usize])
                }
                None => flash.lines.get(place).copied(),
            };
            assert_eq!(
                found,
                Some(*version),
                "{place:?} after {step:?}\n{}",
                log.dump()
            );
        }
        // What was dropped is nowhere.
        for buffer in &log.buffers {
            for id in (0..buffer.pages()).map(PageId) {
                let (lpn, lines) = buffer.page(id);
                for (line, _) in (lines > 0).then(|| buffer.lines(id)).into_iter().flatten() {
                    assert!(
                        self.newest.contains_key(&(lpn.0, line.0)),
                        "page {lpn}, {line:?}"
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_line_is_lost_or_stale(
        lines in 1..60u32,
        buffers in 1..4u32,
        coalescing_buffers in 1..5u32,
        lasts in prop::option::of(0..40usize),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        holds_every_line(lines, buffers, coalescing_buffers, lasts, &steps, 5);
    }
}

/// Many more steps than proptest takes, from one seed.
#[test]
fn no_line_is_lost_in_a_long_run() {
    let mut rng = Rng::stream(11, "write log");
    for round in 0..20 {
        let mut below = |n: u64| rng.below(n) as u32;
        let steps: Vec<Step> = (0..3_000)
            .map(|_| match below(40) {
                0 => Step::Drop(below(40)),
                1 => Step::Cache(below(40)),
                2 => Step::Evict(below(40)),
                3..=5 => Step::Wait(u64::from(below(3_000))),
                _ => Step::Append(below(8) * below(8), below(8) * below(9)),
            })
            .collect();
        let (lines, buffers) = (1 + below(200), 1 + below(3));
        let coalescing = 1 + below(8);
        println!("round {round}: {buffers} buffers of {lines} lines, {coalescing} pages at once");
        let lasts = (round % 2 == 1).then(|| below(400) as usize);
        holds_every_line(lines, buffers, coalescing, lasts, &steps, 37);
    }
}

fn fill(log: &mut WriteLog, now: Ps, places: impl Iterator<Item = (u32, u32)>) -> Stats {
    let (mut flash, mut stats) = (flash_for(log), Stats::default());
    for (lpn, line) in places {
        log.append(now, Lpn(lpn), PageLine(line), &mut flash, &mut stats);
    }
    stats
}

/// A flash for tests that look at times and counts alone: every append is the same version.
fn flash_for(log: &WriteLog) -> Flash {
    Flash {
        appended: vec![1; log.lines as usize],
        ..Flash::default()
    }
}

/// SkyByte section III-B: a 64 MiB log of one line a page needs 2^20 first-level entries and as
/// many first tables, 32 MiB, whatever its buffers; and no other spread needs more.
#[test]
fn the_index_of_64_mib_takes_32_mib_at_most() {
    const LINES: u32 = 1 << 20;
    for buffers in [1, 2, 4] {
        let mut log = log_of(LINES / buffers, buffers, 1);
        let stats = fill(&mut log, Ps::ZERO, (0..LINES).map(|lpn| (lpn, lpn % 64)));
        assert_eq!(stats.write_log.index_bytes_max, 32 << 20);
        assert_eq!((log.full, stats.write_log.stalls), (buffers as usize, 0));
    }
    for lines_per_page in 2..=64u32 {
        let lines = LINES / 64;
        let mut log = log_of(lines, 1, 1);
        let places = (0..lines).map(|at| (at / lines_per_page, at % lines_per_page));
        let stats = fill(&mut log, Ps::ZERO, places);
        let worst = u64::from(lines) * 32;
        assert!(
            stats.write_log.index_bytes_max < worst,
            "{lines_per_page} lines a page"
        );
    }
}

/// What the paper's growth rule gives for pages of so many lines, by hand.
#[test]
fn tables_grow_at_three_quarters() {
    for (lines, slots) in [
        (1, 4),
        (3, 4),
        (4, 8),
        (6, 8),
        (7, 16),
        (12, 16),
        (13, 32),
        (24, 32),
        (25, 64),
        (64, 64),
    ] {
        let mut log = log_of(64, 1, 1);
        let stats = fill(&mut log, Ps::ZERO, (0..lines).map(|line| (9, line)));
        assert_eq!(
            stats.write_log.index_bytes_max,
            16 + 4 * slots,
            "{lines} lines"
        );
    }
}

/// Tables that move while others grow and go must still be found by their pages: every spread
/// that fills a buffer to the last line, with the arena's bound reached.
#[test]
fn the_arena_never_overflows() {
    let mut rng = Rng::stream(3, "arena");
    for round in 0..60 {
        let lines = 1 + rng.below(2_000) as u32;
        let (mut log, pages) = (log_of(lines, 1, 1), 1 + rng.below(u64::from(lines)));
        let mut stats = Stats::default();
        let mut flash = flash_for(&log);
        let mut held = BTreeSet::new();
        for at in 0..lines {
            if at % 50 == 49 {
                let lpn = rng.below(pages) as u32;
                log.drop_page(Lpn(lpn), &mut stats);
                held.retain(|place: &(u32, u32)| place.0 != lpn);
            }
            // Breadth first, so that all pages grow from size to size together.
            let place = (u64::from(at) % pages, u64::from(at) / pages % 64);
            let place = (place.0 as u32, place.1 as u32);
            log.append(
                Ps::ZERO,
                Lpn(place.0),
                PageLine(place.1),
                &mut flash,
                &mut stats,
            );
            held.insert(place);
        }
        for place in &held {
            assert!(
                log.find(Lpn(place.0), PageLine(place.1)).is_some(),
                "round {round}: {place:?}\n{}",
                log.dump()
            );
        }
        log.check(&stats.write_log);
    }
}

/// A reset does not touch the buckets; after as many as there are generations it must.
#[test]
fn old_generations_of_the_index_are_never_found() {
    let mut index = Index::new(8);
    for round in 0..400u32 {
        assert_eq!(index.find(Lpn(round), PageLine(1)), None, "round {round}");
        for at in 0..8 {
            index.insert(Lpn(at + round), PageLine(1), LogEntry(at));
        }
        let found = index.find(Lpn(round + 7), PageLine(1));
        assert_eq!(found, Some(LogEntry(7)), "round {round}");
        index.reset();
    }
}

mod timing;
