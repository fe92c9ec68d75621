//! How long the whole device takes for an access: cache, MSHR, FTL, NAND and statistics, policy by
//! policy; when all accesses hit, and when three in four miss (uniform over four times the cache).
//!
//! `cargo bench -p sluice-testkit` measures; `cargo test` runs a small size so that it keeps
//! working. The hash says that two builds did the same thing: compare times only if it is equal.

use sluice_model::{Device, DeviceConfig, EVICTIONS, Op, Request};
use sluice_units::{Fnv, Lpn, PAGE_BYTES, Ps, Rng};
use std::time::Instant;

const ROUNDS: usize = 5;

/// Pages of cache, and pages accessed: half of the cache, or four times as many.
const CACHE: u64 = 4_096;

fn main() {
    for (capacity, cache) in [("96GiB", "5%"), ("1TiB", "48GiB")] {
        let start = Instant::now();
        let made = device(&[("device.capacity", capacity), ("cache.capacity", cache)]);
        println!(
            "new {capacity:>5} {:>6} us, {} pages",
            start.elapsed().as_micros(),
            made.pages()
        );
    }
    let measure = std::env::args().any(|arg| arg == "--bench");
    let accesses = if measure { 4_000_000 } else { 10_000 };
    println!(
        "{:8} {:>9} {:>7} {:>6} {:>10} {:>7} {:>6}  hash",
        "policy", "hit ns", "M/s", "ratio", "3/4 miss", "M/s", "ratio"
    );
    let mut base: Option<(u64, u64)> = None;
    for entry in EVICTIONS {
        let name = entry.info.name;
        let (hit_ps, hit_hash) = median(name, CACHE / 2, accesses);
        let (miss_ps, miss_hash) = median(name, CACHE * 4, accesses / 4);
        let (hit_base, miss_base) = *base.get_or_insert((hit_ps, miss_ps));
        println!(
            "{name:8} {:>9} {:>7} {:>6} {:>10} {:>7} {:>6}  {:016x}",
            decimal(hit_ps, 1_000),
            decimal(1_000_000, hit_ps),
            decimal(hit_ps, hit_base),
            decimal(miss_ps, 1_000),
            decimal(1_000_000, miss_ps),
            decimal(miss_ps, miss_base),
            hit_hash ^ miss_hash.rotate_left(1)
        );
    }
}

/// `value / unit` with two decimals.
fn decimal(value: u64, unit: u64) -> String {
    let hundredths = value * 100 / unit.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Median picoseconds of an access over the rounds, and the hash of all completions.
fn median(policy: &str, pages: u64, accesses: u64) -> (u64, u64) {
    let mut runs: Vec<(u64, u64)> = (0..ROUNDS).map(|_| once(policy, pages, accesses)).collect();
    assert!(
        runs.iter().all(|run| run.1 == runs[0].1),
        "{policy} does not repeat itself"
    );
    runs.sort_unstable();
    runs[ROUNDS / 2]
}

fn once(policy: &str, pages: u64, accesses: u64) -> (u64, u64) {
    let sizes = [("device.capacity", "1GiB"), ("cache.capacity", "16MiB")];
    let mut device = device(&[&sizes[..], &[("cache.policy", policy)]].concat());
    let mut rng = Rng::stream(1, "bench");
    let order: Vec<u64> = (0..1 << 16)
        .map(|_| Lpn::of(rng.below(pages)).addr(PAGE_BYTES))
        .collect();
    let mut now = Ps::ZERO;
    let mut drive = |device: &mut Device, count: u64, hash: &mut Fnv| {
        for addr in order.iter().cycle().take(count as usize) {
            let req = Request {
                addr: *addr,
                op: Op::Read,
            };
            now = device.access(now, req, &mut ()).done_at;
            hash.word(now.0);
        }
    };
    let mut hash = Fnv::default();
    drive(&mut device, order.len() as u64, &mut hash);
    let start = Instant::now();
    drive(&mut device, accesses, &mut hash);
    (
        start.elapsed().as_nanos() as u64 * 1_000 / accesses,
        hash.value(),
    )
}

fn device(pairs: &[(&str, &str)]) -> Device {
    let mut raw = DeviceConfig::builder();
    for (key, value) in pairs {
        raw.set(key, value).expect("a valid value");
    }
    Device::new(&DeviceConfig::new(&raw).expect("a possible device"), 1)
        .expect("addressable memory")
}
