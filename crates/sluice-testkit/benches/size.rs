//! What a terabyte costs the machine that models it: the time to make the device, and the memory
//! that is resident when every page has been written and then read.
//!
//! `cargo bench -p sluice-testkit --bench size` takes the default policy, `-- POLICY..` others;
//! `cargo test` runs a small size. The programs and misses say that two builds did the same thing.

use sluice_model::{Device, DeviceConfig, EVICTIONS, Op, Request};
use sluice_units::{Lpn, PAGE_BYTES, Ps};
use std::time::Instant;

/// What a terabyte may have resident under a policy that remembers no evicted pages.
const RESIDENT_MAX: u64 = 3 << 30;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let measure = args.iter().any(|arg| arg == "--bench");
    let is_named = |name: &str| args.iter().any(|arg| arg == name);
    let capacity = if measure { "1TiB" } else { "64MiB" };
    println!("{capacity} of 4 KiB pages, a cache of 5 %");
    println!(
        "{:8} {:>8} {:>9} {:>13} {:>9}  programs, misses",
        "policy", "new ms", "at first", "all used MiB", "s"
    );
    let any = EVICTIONS.iter().any(|entry| is_named(entry.info.name));
    for entry in EVICTIONS {
        let name = entry.info.name;
        if is_named(name) || !any && name == "fifo" {
            let resident = show(name, capacity);
            assert!(
                resident <= RESIDENT_MAX || name != "fifo",
                "{resident} bytes"
            );
        }
    }
}

/// Uses every page and prints what that took. Bytes that are resident at the end.
fn show(policy: &str, capacity: &str) -> u64 {
    let mut raw = DeviceConfig::builder();
    for (key, value) in [("device.capacity", capacity), ("cache.policy", policy)] {
        raw.set(key, value).expect("a valid value");
    }
    let config = DeviceConfig::new(&raw).expect("a possible device");
    let before = resident();
    let start = Instant::now();
    let mut device = Device::new(&config, 1).expect("addressable memory");
    let new_ms = start.elapsed().as_millis();
    let at_first = resident().saturating_sub(before);
    let start = Instant::now();
    let mut now = Ps::ZERO;
    for op in [Op::Write, Op::Read] {
        for lpn in 0..device.pages() {
            let addr = Lpn::of(lpn).addr(PAGE_BYTES);
            now = device.access(now, Request { addr, op }, &mut ()).done_at;
        }
    }
    let used = resident().saturating_sub(before);
    println!(
        "{policy:8} {new_ms:>8} {:>9} {:>13} {:>9}  {}, {}",
        at_first >> 20,
        used >> 20,
        start.elapsed().as_secs(),
        device.stats().host_programs,
        device.stats().misses,
    );
    used
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the proc file system");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<u64>().ok()).expect("VmRSS") << 10
}
