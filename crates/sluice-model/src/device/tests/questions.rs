//! A question changes nothing: a device that estimates each wait for its hint does what it would
//! do without.

use super::*;

/// A device that makes an estimate for each access that waits for flash, and one that makes none.
fn both(seed: u64, log: Option<&str>) -> Option<[Rig; 2]> {
    let base = config(seed, log)?;
    let rigs = ["queue", "exact"].map(|rule| {
        let mut raw = base.raw().clone();
        raw.set("device.hint", rule).expect("a value");
        // An access is at the device long after it was asked for: others are asked for between.
        let way = ["40ns", "1us", "30us"][seed as usize % 3];
        raw.set("device.protocol_latency", way).expect("a value");
        DeviceConfig::new(&raw)
            .ok()
            .map(|config| Rig::new(&config, false))
    });
    match rigs {
        [Some(asked), Some(left)] => Some([asked, left]),
        _ => None,
    }
}

#[test]
fn an_estimate_changes_nothing() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut estimates = 0;
    for seed in 0..u64::from(sluice_testkit::cases(240)) {
        let log = [None, None, Some("256B"), Some("2KiB")][seed as usize / 3 % 4];
        let Some(mut rigs) = both(seed, log) else {
            continue;
        };
        for _ in 0..400 {
            let step = step().new_tree(&mut runner).expect("a step").current();
            let [asked, left] = rigs.each_mut().map(|rig| {
                rig.take(step);
                format!("{:?}", rig.pipeline.storage.stats)
            });
            let pairs = rigs[0].config.raw().to_pairs();
            assert_eq!(asked, left, "{seed}: {step:?} with {pairs:?}");
        }
        let stats = &rigs[0].pipeline.storage.stats;
        estimates += stats.misses + stats.mshr_merges;
    }
    assert!(
        estimates > 10_000,
        "{estimates} are too few to mean anything"
    );
}
