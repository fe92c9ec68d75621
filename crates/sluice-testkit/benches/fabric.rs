//! How many events and requests a second a fabric does, and how the time grows with the events. One
//! fabric is ESF's 8 requesters and 8 memories fully connected, another has 1,000 requesters on
//! 4,096 edge ports. The event queue runs beside a binary heap, with the same events.
//!
//! `cargo bench -p sluice-testkit --bench fabric` measures; `cargo test` runs a small size so that
//! it keeps working. The hash says that two builds did the same thing.

use sluice_events::Wheel;
use sluice_net::{Fabric, FabricConfig, FabricSpec, Length};
use sluice_units::{Ps, Rng};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let scale = if measure { 100 } else { 1 };
    let esf = [("requester.depth", "512"), ("link.bandwidth", "8000")];
    println!(
        "{:<26} {:>10} {:>12} {:>9} {:>9} {:>8}  hash",
        "fabric", "requests", "events", "Mevent/s", "Mreq/s", "ns/event"
    );
    for round in 1..=if measure { 3 } else { 1 } {
        run(
            &format!("8 x 8 connected, run {round}"),
            &esf,
            20_000 * scale,
        );
    }
    for times in [1, 2, 4, 8] {
        run(
            &format!("the same, {times} of 8"),
            &esf,
            5_000 * scale * times,
        );
    }
    let large = [
        ("requester.count", "1000"),
        ("endpoint.count", "3096"),
        ("topology.kind", "spine-leaf"),
        ("topology.per_switch", "32"),
        ("topology.spines", "16"),
        ("endpoint.capacity", "256MiB"),
    ];
    run("4096 edge ports", &large, 10_000 * scale);
    println!("resident: {} MiB at most", resident_mib());
    queues(50_000 * scale);
}

fn run(name: &str, set: &[(&str, &str)], requests: u64) {
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.set(key, value).expect("a value of its kind");
    }
    let config = FabricConfig::new(&spec, 1).expect("a fabric that can be");
    let mut fabric = Fabric::new(&config).expect("a fabric that can be");
    let length = |requests| Length {
        warmup: 0,
        requests,
    };
    fabric
        .run(length(requests / 10), &mut |_| true)
        .expect("no deadlock");
    let start = Instant::now();
    fabric
        .run(length(requests), &mut |_| true)
        .expect("no deadlock");
    let seconds = start.elapsed().as_secs_f64();
    fabric.balance().expect("the books balance");
    let stats = fabric.stats();
    println!(
        "{name:<26} {:>10} {:>12} {:>9.2} {:>9.2} {:>8.1}  {:016x}",
        stats.completed(),
        stats.events,
        stats.events as f64 / seconds / 1e6,
        stats.completed() as f64 / seconds / 1e6,
        seconds * 1e9 / stats.events as f64,
        stats.hash
    );
}

/// The most memory that this process has had, from the kernel's account.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Both queues hold as many events as a fabric does, and each that is taken adds one at one of a
/// few delays, as packets do.
fn queues(turns: u64) {
    const DELAYS: [u64; 6] = [51_000, 96_000, 97_250, 104_000, 141_000, 800];
    println!(
        "{:<26} {:>9} {:>9} {:>8}",
        "queue of", "wheel ns", "heap ns", "ratio"
    );
    for pending in [64, 1_000, 4_000, 64_000] {
        let mut wheel = Wheel::with_capacity(pending);
        let mut heap = BinaryHeap::with_capacity(pending);
        for event in 0..pending as u64 {
            wheel.push(Ps(event * 37), [event; 1]);
            heap.push(Reverse((Ps(event * 37), event, [event; 1])));
        }
        let mut last = [Ps::ZERO; 2];
        let mut rng = Rng::stream(1, "wheel");
        let start = Instant::now();
        for _ in 0..turns {
            let (at, event) = wheel.pop().expect("as many as at the start");
            let delay = DELAYS[rng.below(DELAYS.len() as u64) as usize];
            wheel.push(at + Ps(delay), event);
            last[0] = at;
        }
        let wheel_ns = start.elapsed().as_secs_f64() * 1e9 / turns as f64;
        let mut rng = Rng::stream(1, "wheel");
        let start = Instant::now();
        for sequence in pending as u64..pending as u64 + turns {
            let Reverse((at, _, event)) = heap.pop().expect("as many as at the start");
            let delay = DELAYS[rng.below(DELAYS.len() as u64) as usize];
            // Events of one time in the order in which they were added, as in the wheel.
            heap.push(Reverse((at + Ps(delay), sequence, event)));
            last[1] = at;
        }
        let heap_ns = start.elapsed().as_secs_f64() * 1e9 / turns as f64;
        assert_eq!(last[0], last[1], "both queues have the same order");
        let ratio = heap_ns / wheel_ns;
        println!("{pending:<26} {wheel_ns:>9.1} {heap_ns:>9.1} {ratio:>8.2}");
    }
}
