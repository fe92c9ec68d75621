//! Worn flash behind a write log, a write buffer and the cache: what the device has acknowledged
//! stays readable.

use super::*;

impl Rig {
    /// What the device has of each page behind the cache.
    fn behind(&mut self) -> Vec<Option<u64>> {
        let pages = (0..PAGES).map(Lpn);
        let of = |lpn| self.logged(lpn).or_else(|| self.in_flash(lpn));
        pages.map(of).collect()
    }
}

/// Compaction dropped the lines of a page that flash refused, and a page that left the cache those
/// that the log had of it: loads found what flash had before. Then the log takes stores until it is
/// full, and the cache takes those after that.
#[test]
fn what_the_log_has_stays_when_flash_is_worn() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut kept, mut taken, mut full) = (0, 0, 0);
    for seed in 0..60 {
        let log = ["256B", "2KiB"][seed as usize % 2];
        let Some(config) = config(seed, Some(log)) else {
            continue;
        };
        let mut raw = config.raw().clone();
        for (key, value) in [("nand.endurance", "2"), ("ftl.write_buffer", "none")] {
            raw.set(key, value).expect("a value");
        }
        let Ok(config) = DeviceConfig::new(&raw) else {
            continue;
        };
        let mut rig = Rig::new(&config, seed % 3 == 1);
        for _ in 0..2_500 {
            let step = step().new_tree(&mut runner).expect("a step").current();
            let before = rig.is_read_only().then(|| rig.behind());
            let stats = rig.pipeline.storage.stats;
            rig.take(step);
            let Some(before) = before else { continue };
            let about: Vec<usize> = match step {
                // They change nothing behind the cache, or for the better.
                Step::Load(_) | Step::Store(_) | Step::Command(..) => Vec::new(),
                _ => step.pages().map(Lpn::index).collect(),
            };
            let after = rig.behind();
            for lpn in (0..PAGES as usize).filter(|lpn| !about.contains(lpn)) {
                let (before, after) = (before[lpn], after[lpn]);
                assert!(after >= before, "{seed}: page {lpn} at {step:?}");
            }
            let refused = rig.pipeline.storage.stats.writes_kept;
            let now = rig.pipeline.storage.stats.write_log;
            kept += u64::from(refused > 0 && now.hits > stats.write_log.hits);
            taken += u64::from(refused > 0 && now.appends > stats.write_log.appends);
            full += u64::from(now.appends == stats.write_log.appends)
                * u64::from(matches!(step, Step::Store(_)));
        }
        rig.pipeline.storage.back.check();
    }
    assert!(
        kept > 100 && taken > 10 && full > 1_000,
        "{kept} {taken} {full}"
    );
}

/// A page that flash refused had left the cache or the write buffer by then, so that loads found
/// what flash had before.
#[test]
fn what_is_acknowledged_stays_when_flash_is_worn() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut kept, mut gathered, mut passed) = (0, 0, 0);
    for seed in 0..sluice_testkit::cases(150).into() {
        let log = [None, None, Some("256B"), Some("2KiB")][seed as usize % 4];
        let Some(config) = config(seed, log) else {
            continue;
        };
        let mut raw = config.raw().clone();
        raw.set("nand.endurance", "2").expect("a value");
        let Ok(config) = DeviceConfig::new(&raw) else {
            continue;
        };
        let mut rig = Rig::new(&config, seed % 3 == 1);
        for _ in 0..1_500 {
            let step = step().new_tree(&mut runner).expect("a step").current();
            rig.take(step);
        }
        (0..PAGES).for_each(|lpn| rig.take(Step::Load(Lpn(lpn))));
        rig.pipeline.storage.back.check();
        if rig.is_read_only() {
            let stats = &rig.pipeline.storage.stats;
            kept += stats.writes_kept;
            gathered += rig.pipeline.storage.back.buffered();
            passed += match config.cache.loads_around {
                true => 0,
                false => stats.read_arounds,
            };
        }
    }
    assert!(
        kept > 1_000 && gathered > 20 && passed > 1_000,
        "{kept} {gathered} {passed}"
    );
}
