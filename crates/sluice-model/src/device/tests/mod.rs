//! The whole device against a list of what was written last: every page reads as that, whatever
//! cache, translation layer and garbage collection did with it, in any configuration.

mod contents;
mod host;
mod questions;
mod settings;
mod worn;

use super::*;
use crate::config::{DeviceConfig, Precondition};
use crate::request::{Op, ServedBy};
use contents::{Contents, ZEROS};
use host::Host;
use observer::Observer;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use settings::config;
use sluice_units::{LINE_BYTES, PageLine, Table};
use std::collections::BTreeSet;

const PAGES: u32 = 192;

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(Lpn),
    Store(Lpn),
    /// To a page that the host has mapped: the device does not see it.
    HiddenStore(Lpn),
    LateReport(Lpn),
    Discard(Lpn),
    Command(u8, Lpn),
    Block(BlockOp, Lpn, u32),
    Promote(Lpn),
    /// Whether the host has written the page before it demotes it.
    Demote(Lpn, bool),
    Wait(u64),
}

impl Step {
    /// The pages that it is about.
    fn pages(self) -> impl Iterator<Item = Lpn> {
        let (first, count) = match self {
            Step::Load(lpn)
            | Step::Store(lpn)
            | Step::HiddenStore(lpn)
            | Step::LateReport(lpn)
            | Step::Discard(lpn)
            | Step::Command(_, lpn)
            | Step::Promote(lpn)
            | Step::Demote(lpn, _) => (lpn, 1),
            Step::Block(_, lpn, count) => (lpn, count),
            Step::Wait(_) => (Lpn(0), 0),
        };
        (first.0..first.0 + count).map(Lpn)
    }
}

fn step() -> impl Strategy<Value = Step> {
    // Multiplied, so that low pages come up more often and hits happen.
    let page = || (0..14u32, 0..14u32).prop_map(|(a, b)| Lpn(a * b));
    prop_oneof![
        10 => page().prop_map(Step::Load),
        10 => page().prop_map(Step::Store),
        4 => page().prop_map(Step::HiddenStore),
        1 => page().prop_map(Step::LateReport),
        1 => page().prop_map(Step::Discard),
        3 => (0..5u8, page()).prop_map(|(kind, page)| Step::Command(kind, page)),
        1 => (0..4u8, page(), 1..9u32).prop_map(|(op, page, count)| {
            let all = [BlockOp::Read, BlockOp::Write, BlockOp::Trim, BlockOp::Flush];
            let op = all[usize::from(op)];
            Step::Block(op, page, count)
        }),
        2 => page().prop_map(Step::Promote),
        1 => (page(), any::<bool>()).prop_map(|(page, written)| Step::Demote(page, written)),
        3 => (0..60_000u64).prop_map(Step::Wait),
    ]
}

struct Rig {
    config: DeviceConfig,
    pipeline: Pipeline<Contents>,
    host: Host,
    now: Ps,
    newest: Table<Lpn, u64>,
    version: u64,
    /// Pages that the host has, and the device has not as new.
    promoted: BTreeSet<Lpn>,
}

impl Rig {
    fn new(config: &DeviceConfig, departs: bool) -> Rig {
        let initial = |lpn| match config.ftl.precondition {
            Precondition::Sequential | Precondition::Random => Contents::initial(lpn),
            Precondition::None => ZEROS,
        };
        Rig {
            config: config.clone(),
            pipeline: Pipeline::new(config, 3, None),
            host: Host {
                written: BTreeSet::new(),
                reported: BTreeSet::new(),
                departs,
            },
            now: Ps::ZERO,
            newest: Table::from_fn(PAGES, initial),
            version: 1_000_000,
            promoted: BTreeSet::new(),
        }
    }

    fn contents(&mut self) -> &mut Contents {
        self.pipeline.storage.back.observer()
    }

    /// What the host writes to the page next.
    fn write(&mut self, lpn: Lpn) {
        self.version += 1;
        self.newest[lpn] = self.version;
        self.contents().incoming = self.version;
    }

    fn access(&mut self, lpn: Lpn, op: Op) -> ServedBy {
        let lines = self.pipeline.front.lines_per_page();
        let line = match self.pipeline.storage.has_log() {
            true => Contents::line_of(lpn, lines),
            false => PageLine((self.version % u64::from(lines)) as u32),
        };
        let addr = lpn.addr(self.config.page_bytes()) + u64::from(line.0) * LINE_BYTES;
        let request = Request { addr, op };
        let completion = self.pipeline.access(self.now, request, &mut self.host);
        completion.served_by
    }

    fn is_read_only(&self) -> bool {
        self.pipeline.storage.back.is_read_only()
    }

    /// What the device has of a page, wherever.
    fn found(&mut self, lpn: Lpn) -> Option<u64> {
        let held = self.contents().of_cached(lpn).or(self.logged(lpn));
        held.or_else(|| self.in_flash(lpn))
    }

    /// What a worn-out device refuses to write is lost, as it says; what it had before is not. A
    /// page that comes from the host's memory was not the device's.
    fn refused(&mut self, lpn: Lpn, before: Option<u64>) {
        let found = self.found(lpn);
        let newest = self.newest[lpn];
        let is_one = before.is_none() || found == before || found == Some(newest);
        assert!(is_one, "{lpn}: {found:?} of {before:?} and {newest}");
        self.newest[lpn] = found.expect("a page that was programmed");
    }

    /// Writes that the device has refused, and not kept.
    fn refusals(&self) -> u64 {
        let stats = &self.pipeline.storage.stats;
        stats.writes_refused - stats.writes_kept
    }

    /// What the log has of a page.
    fn logged(&mut self, lpn: Lpn) -> Option<u64> {
        let line = Contents::line_of(lpn, self.pipeline.front.lines_per_page());
        let entry = self.pipeline.storage.find_logged(lpn, line)?;
        Some(self.contents().of_logged(entry))
    }

    /// What flash, or the buffer before it, has of a page: zeros if nothing.
    fn in_flash(&mut self, lpn: Lpn) -> Option<u64> {
        let back = &self.pipeline.storage.back;
        match (back.holds(lpn), back.ppn_of(lpn)) {
            (true, _) => Some(self.contents().of_gathered(lpn)),
            (_, Some(ppn)) => self.contents().of_flash(ppn),
            (_, None) => Some(ZEROS),
        }
    }

    /// Whether the host can have mapped the page.
    fn is_mapped(&self, lpn: Lpn) -> bool {
        let storage = &self.pipeline.storage;
        storage.cache.has(self.now, lpn) || (!storage.has_log() && storage.cache.contains(lpn))
    }

    fn balance(&self) -> Result<(), Imbalance> {
        balance::balance(&self.pipeline.storage)
    }

    /// Carries a step out, which may be refused. A page that the host has is demoted before
    /// anything is done to it.
    fn take(&mut self, step: Step) {
        self.pipeline.land(self.now, &mut self.host);
        for lpn in step.pages() {
            if self.promoted.contains(&lpn) && !matches!(step, Step::Demote(..)) {
                self.demote(lpn, lpn.0.is_multiple_of(2));
            }
        }
        let refusals = self.refusals();
        let pages = step.pages().filter(|lpn| lpn.0 < PAGES);
        let newest = pages.map(|lpn| (lpn, self.newest[lpn]));
        let before: Vec<(Lpn, u64)> = newest.collect();
        self.carry_out(step);
        if self.refusals() > refusals {
            for (lpn, before) in before {
                self.refused(lpn, Some(before));
            }
        }
        assert_eq!(self.balance(), Ok(()));
    }

    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Load(lpn) => {
                let served_by = self.access(lpn, Op::Read);
                let found = match served_by {
                    ServedBy::WriteLog => self.logged(lpn),
                    ServedBy::Flash if !self.pipeline.storage.cache.contains(lpn) => {
                        Some(self.contents().passed)
                    }
                    _ => self.contents().of_cached(lpn),
                };
                assert_eq!(found, Some(self.newest[lpn]), "{lpn}, {served_by:?}");
            }
            Step::Store(lpn) => {
                self.write(lpn);
                self.access(lpn, Op::Write);
            }
            Step::HiddenStore(lpn) => {
                if self.is_mapped(lpn) {
                    self.write(lpn);
                    self.contents().stored(lpn);
                    self.host.written.insert(lpn);
                }
            }
            Step::LateReport(lpn) => {
                self.write(lpn);
                self.contents().stored(lpn);
                self.pipeline.begin(self.now, lpn).written_late(lpn);
            }
            Step::Discard(lpn) => {
                self.host.written.remove(&lpn);
                self.newest[lpn] = ZEROS;
                self.pipeline.begin(self.now, lpn).discard(lpn);
            }
            Step::Command(kind, lpn) => self.command(kind, lpn),
            Step::Block(op, lpn, count) => self.block(op, lpn, count),
            Step::Promote(lpn) => self.promote(lpn),
            Step::Demote(lpn, written) => self.demote(lpn, written),
            Step::Wait(ns) => {
                self.now += Ps::from_ns(ns);
                self.pipeline.advance(self.now, &mut self.host);
            }
        }
    }

    /// A page promoted clean stays with the device, so that the next load shows whether it was.
    fn promote(&mut self, lpn: Lpn) {
        let newest = Some(self.newest[lpn]);
        let written = self.host.written.remove(&lpn);
        let promoted = migration::promote(&mut self.pipeline, self.now, lpn);
        let held = (self.contents().of_cached(lpn), self.logged(lpn));
        assert_eq!(held, (None, None));
        if !self.pipeline.storage.has_log() && !written && !self.is_read_only() {
            let in_flash = self.in_flash(lpn);
            let may_be_called_dirty = promoted.dirty && self.host.reported.contains(&lpn);
            assert!(
                may_be_called_dirty || promoted.dirty == (in_flash != newest),
                "{lpn} in flash: {in_flash:?}"
            );
        }
        if promoted.dirty || written {
            self.promoted.insert(lpn);
        }
    }

    fn demote(&mut self, lpn: Lpn, written: bool) {
        self.host.written.remove(&lpn);
        // Else the device would get what it has, and call it newer.
        if !self.promoted.remove(&lpn) || written {
            self.write(lpn);
        }
        let newest = self.newest[lpn];
        self.contents().incoming = newest;
        let refusals = self.refusals();
        if newest.is_multiple_of(3) {
            migration::demote_to_flash(&mut self.pipeline, self.now, lpn);
        } else {
            let completion = migration::demote(&mut self.pipeline, self.now, lpn, &mut self.host);
            assert!(completion.done_at >= self.now);
        }
        if self.refusals() > refusals {
            self.refused(lpn, None);
        }
    }

    fn command(&mut self, kind: u8, lpn: Lpn) {
        let all: [fn(Lpn) -> Command; 5] = [
            Command::Pin,
            Command::Unpin,
            Command::Prefetch,
            Command::Evict,
            Command::Flush,
        ];
        let command = all[usize::from(kind)](lpn);
        let pinned = self.pipeline.storage.cache.pins();
        let result = command::carry_out(&mut self.pipeline, self.now, command, &mut self.host);
        let cache = &self.pipeline.storage.cache;
        if result.is_err() {
            assert_eq!(cache.pins(), pinned, "refused, yet done");
        } else if let Command::Pin(lpn) = command {
            assert!(cache.contains(lpn));
        }
    }

    fn block(&mut self, op: BlockOp, lpn: Lpn, count: u32) {
        // One page at a time, so that each page has contents of its own.
        for lpn in (lpn.0..(lpn.0 + count).min(PAGES)).map(Lpn) {
            let before = self.newest[lpn];
            match op {
                BlockOp::Read | BlockOp::Flush => {}
                BlockOp::Write => self.write(lpn),
                BlockOp::Trim => self.newest[lpn] = ZEROS,
            }
            let request = BlockRequest::new(op, lpn, 1);
            let done = block::serve(&mut self.pipeline, self.now, request, &mut self.host);
            assert!(done.is_ok() || self.is_read_only());
            if done.is_err() {
                self.refused(lpn, Some(before));
            }
            if op == BlockOp::Read {
                let found = self.contents().of_cached(lpn).or(self.logged(lpn));
                let found = found.unwrap_or(self.contents().last_read);
                assert_eq!(found, self.newest[lpn], "block read of {lpn}");
            }
        }
    }
}

/// Runs the steps; then every page is read.
fn every_page_reads_as_written(seed: u64, log: Option<&str>, steps: &[Step]) {
    let Some(config) = config(seed, log) else {
        return;
    };
    let mut rig = Rig::new(&config, seed % 3 == 1);
    let mut pinned = 0;
    for step in steps {
        let before = rig.pipeline.storage.dump();
        let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.take(*step)));
        if let Err(panic) = taken {
            eprintln!("{:?}\n{before}at {step:?}", config.raw().to_pairs());
            std::panic::resume_unwind(panic);
        }
        pinned = pinned.max(rig.pipeline.storage.cache.pins());
    }
    rig.pipeline.storage.back.check();
    (0..PAGES).for_each(|lpn| rig.take(Step::Block(BlockOp::Read, Lpn(lpn), 1)));
    (0..PAGES).for_each(|lpn| rig.take(Step::Load(Lpn(lpn))));
    rig.pipeline.storage.back.check();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(192)))]

    #[test]
    fn what_was_written_last_is_read(
        seed in any::<u64>(),
        log in 0..4usize,
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let log = [None, None, Some("256B"), Some("2KiB")][log];
        every_page_reads_as_written(seed, log, &steps);
    }
}

/// With a write log of two to sixteen lines in each buffer, so that it is always compacting.
#[test]
fn nothing_is_lost_with_a_write_log() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut served = 0;
    for seed in 0..60 {
        let log = ["256B", "2KiB"][seed as usize % 2];
        let Some(config) = config(seed, Some(log)) else {
            continue;
        };
        let mut rig = Rig::new(&config, seed % 3 == 1);
        for _ in 0..1_500 {
            let tree = step().new_tree(&mut runner).expect("a step");
            rig.take(tree.current());
        }
        rig.pipeline.storage.back.check();
        served += rig.pipeline.storage.stats.write_log.served();
    }
    assert!(served > 10_000, "{served} are too few to mean anything");
}

#[test]
fn most_configurations_are_possible() {
    let possible = (0..1_000)
        .filter(|seed| config(*seed, None).is_some())
        .count();
    assert!(possible > 700, "{possible} of 1000");
}

/// Long runs, so that blocks are erased and collected again and again.
#[test]
fn nothing_is_lost_in_the_long_run() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut erases = 0;
    for seed in 0..12 {
        let Some(config) = config(seed, None) else {
            continue;
        };
        let mut rig = Rig::new(&config, seed % 3 == 1);
        for _ in 0..6_000 {
            let tree = step().new_tree(&mut runner).expect("a step");
            rig.take(tree.current());
        }
        rig.pipeline.storage.back.check();
        erases += rig.pipeline.storage.stats.erases;
    }
    assert!(
        erases > 1_000,
        "{erases} erases are too few to mean anything"
    );
}
