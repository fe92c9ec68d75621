//! Stores that sweep over more than the cache: what a page of cache more or less changes.

use sluice_config::{DEFAULT, load};
use sluice_driver::{Access, Options, run};
use sluice_model::{Device, DeviceConfig};
use sluice_streams::parse_spec;

/// The mean latency in nanoseconds and the misses of a chase with stores over four times the cache.
fn chase(device: &str, cache_pages: u64) -> (u64, u64) {
    let mut raw = load(device).expect("a preset");
    let cache = format!("{}KiB", 4 * cache_pages);
    for (key, value) in [("device.capacity", "128MiB"), ("cache.capacity", &cache)] {
        raw.set(key, value).expect("a value");
    }
    let config = DeviceConfig::new(&raw).expect("possible settings");
    let mut device = Device::new(&config, 1).expect("a device");
    let spec = parse_spec("chase:size=8MiB,stride=4096,passes=3,write=1", 1);
    let streams = spec.expect("a workload").streams();
    let access = |access: sluice_streams::Access| Access {
        addr: access.addr,
        write: access.write,
    };
    let streams = streams
        .into_iter()
        .map(|stream| stream.map(access))
        .collect();
    let result = run(&mut device, streams, Options::default()).unwrap();
    (result.latency.mean().0 / 1_000, result.misses)
}

/// The largest ratio of the means of neighbours with as many misses.
fn largest_step(device: &str) -> f64 {
    let found: Vec<(u64, u64)> = (480..=544).map(|pages| chase(device, pages)).collect();
    let steps = found.windows(2).filter(|pair| pair[0].1 == pair[1].1);
    let ratio = |pair: &[(u64, u64)]| {
        let (less, more) = (pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0));
        more as f64 / less as f64
    };
    let ratios: Vec<f64> = steps.map(ratio).collect();
    assert!(ratios.len() > 60, "{found:?}");
    ratios.into_iter().fold(1.0, f64::max)
}

#[test]
fn a_page_of_cache_more_changes_little_but_where_dies_take_turns() {
    let step = largest_step(DEFAULT);
    println!("largest step: {step:.3}");
    assert!(step < 1.1, "{step}");
    // FEMU's way: victims and fills meet on the same dies behind a cache of whole stripes.
    assert!(largest_step("cylon") > 3.0);
}
