//! Hit ratios of a chase over 1.667 times the cache (Cylon, Table 3), counted from real traps.

use crate::parity::read_traps;
use crate::sluice::Sluice;
use sluice_driver::{Access, Options, Visibility};
use sluice_model::{Device, DeviceConfig};
use sluice_testkit::parity::Record;

const CACHE: &str = "24MiB";
/// 40 MiB: 1.667 times the cache, the ratio of the paper's 8 GB to its 4.8 GB.
const PAGES: u64 = 10_240;
const CACHE_PAGES: u64 = 6_144;
const PASSES: u64 = 4;

/// Traps on the chase's buffer, from the pass that builds it on.
fn traps(trap: &str, policy: &str, stride: u64, more: &str) -> (Vec<u64>, Vec<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let sluice = Sluice::run(trap).cache(CACHE).set("cache.policy", policy);
    let flags = format!("chase --size 40MiB --stride {stride} --passes {PASSES} {more}");
    let out = sluice.record(folder.path()).workload(&flags).well();
    let all = read_traps(folder.path());
    assert_eq!(out.number("/traps"), all.len() as u64);
    let record = Record::cut(&all, PAGES).expect("a pass that builds");
    let own = record.traps.iter().filter(|page| record.holds(**page));
    (own.copied().collect(), record.before.to_vec())
}

/// Hits after the first pass, in percent.
fn steady_hits(trap: &str, policy: &str, stride: u64, more: &str) -> f64 {
    let (traps, _) = traps(trap, policy, stride, more);
    // Each page traps once in the pass that builds.
    let after = traps.len() as u64 - PAGES;
    let accesses = PASSES * PAGES * 4096 / stride;
    let percent = 100.0 * (1.0 - after as f64 / accesses as f64);
    println!("{trap} {policy} stride {stride} {more}: {percent:.2} % hits");
    percent
}

const PUBLISHED: [(&str, [f64; 3]); 3] = [
    ("fifo", [0.0, 75.0, 87.5]),
    ("clock", [0.0, 75.0, 87.5]),
    ("lifo", [60.0, 90.0, 95.0]),
];
const STRIDES: [u64; 3] = [4096, 1024, 512];

#[test]
fn table_3_of_cylon_comes_out_of_real_traps() {
    for (policy, percents) in PUBLISHED {
        for (stride, published) in STRIDES.into_iter().zip(percents) {
            let hits = steady_hits("signal", policy, stride, "");
            assert!(
                (hits - published).abs() <= 0.5,
                "{policy} at {stride}: {hits:.2} %, published {published} %"
            );
        }
    }
}

#[test]
fn table_3_comes_out_of_events_too() {
    for (policy, stride, published) in [("fifo", 4096, 0.0), ("lifo", 1024, 90.0)] {
        let hits = steady_hits("event", policy, stride, "");
        assert!((hits - published).abs() <= 0.5, "{policy}: {hits:.2} %");
    }
}

/// A page is drawn without regard to what the cache holds, so it is there with the probability
/// cache / working set, whatever the policy. The published 24 % and 21 % do not follow from the
/// published sizes.
#[test]
fn a_uniform_chase_hits_with_the_caches_share_of_the_pages() {
    let share = 100.0 * CACHE_PAGES as f64 / PAGES as f64;
    for policy in ["fifo", "lifo", "s3fifo"] {
        let hits = steady_hits("signal", policy, 4096, "--uniform");
        // Four standard deviations of 40,960 draws.
        assert!((hits - share).abs() <= 1.0, "{policy}: {hits:.2} %");
    }
}

/// The paper states neither queue sizes nor passes for its 18 %, 80 % and 90 %: ours are given
/// pass by pass, live and simulated.
#[test]
fn s3fifo_pass_by_pass_is_the_simulators() {
    for stride in STRIDES {
        let (live, before) = traps("signal", "s3fifo", stride, "");
        let simulated = simulated_misses("s3fifo", stride, &before, live[0]);
        let mut rest = &live[..];
        for (pass, misses) in simulated.iter().enumerate() {
            let (this, next) = rest.split_at((*misses as usize).min(rest.len()));
            assert!(
                this.is_sorted_by(|a, b| a < b) && this.len() as u64 == *misses,
                "pass {pass} at {stride} is not one sweep of {misses} traps"
            );
            let percent = 100.0 - 100.0 * *misses as f64 / (PAGES * 4096 / stride) as f64;
            println!("s3fifo stride {stride} pass {pass}: {percent:.2} % hits");
            rest = next;
        }
        assert!(rest.is_empty(), "{} traps too many", rest.len());
    }
}

/// Traps of each pass, the building one first.
fn simulated_misses(policy: &str, stride: u64, before: &[u64], first: u64) -> Vec<u64> {
    let mut raw = sluice_config::load(sluice_config::DEFAULT).expect("a preset");
    for (key, value) in [
        ("device.capacity", "1GiB"),
        ("cache.capacity", CACHE),
        ("cache.policy", policy),
    ] {
        raw.set(key, value).expect("a setting");
    }
    let mut device = Device::new(&DeviceConfig::new(&raw).expect("possible"), 1).expect("possible");
    let read = |addr| Access { addr, write: false };
    let options = Options {
        visibility: Visibility::Misses,
        interval: PAGES * 4096 / stride,
        ..Options::default()
    };
    // The heap's pages are in the way of both devices, but in no pass: they come first.
    let alone = Options {
        interval: 0,
        ..options
    };
    let heap = before.iter().map(|page| read(page * 4096));
    sluice_driver::run(&mut device, vec![heap], alone).unwrap();
    let per_pass = options.interval;
    let sweep = (0..(PASSES + 1) * per_pass).map(|i| read(first * 4096 + i % per_pass * stride));
    let result = sluice_driver::run(&mut device, vec![sweep], options).unwrap();
    result.intervals.iter().map(|i| i.misses).collect()
}
