//! How long the far side of a host's L3 takes for a read, by where the page is: host memory, the
//! device's DRAM, either with migration deciding.
//!
//! `cargo bench -p sluice-testkit --bench memory` measures; `cargo test` runs a small size. The
//! hash says that two builds did the same thing: compare times only if it is equal.

use sluice_host::{Adaptive, AstriFlash, HostConfig, Memory, Migration, Sampling, Tpp};
use sluice_testkit::host_rig::{device, host};
use sluice_units::{Ps, Rng};
use std::time::Instant;

const ROUNDS: usize = 5;
/// Pages of the device's cache. Half as many are accessed.
const CACHE: u64 = 4_096;

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let accesses = if measure { 4_000_000 } else { 10_000 };
    println!("{:18} {:>8}  hash", "migration", "read ns");
    for (name, migration) in migrations() {
        let mut runs: Vec<(u64, u64)> = (0..ROUNDS).map(|_| once(migration, accesses)).collect();
        assert!(runs.iter().all(|run| run.1 == runs[0].1), "{name}");
        runs.sort_unstable();
        let (ps, hash) = runs[ROUNDS / 2];
        println!(
            "{name:18} {:5}.{:02}  {hash:016x}",
            ps / 1_000,
            ps % 1_000 / 10
        );
    }
}

fn migrations() -> [(&'static str, Migration); 6] {
    let adaptive = Adaptive {
        pages: CACHE as u32,
        threshold: 16,
        decay: Ps::from_ms(10),
        buffer: 64,
        interrupt: Ps::from_us(2),
        line: Ps::from_ns(8),
        huge: 1,
        spare: 40,
        remote_pages: 0,
        remote_latency: Ps::ZERO,
        ways: 0,
    };
    let never = Adaptive {
        threshold: u16::MAX.into(),
        decay: Ps::from_us(10),
        ..adaptive
    };
    let tpp = Tpp {
        pages: CACHE as u32,
        sampling: Sampling::Faults,
        period: Ps::from_ms(1),
        batch: 256,
        fault: Ps::from_us(1),
        window: Ps::from_ms(1_000),
        line: Ps::from_ns(8),
        spare: 40,
        ways: 0,
    };
    let astriflash = AstriFlash {
        pages: CACHE as u32,
        ways: 8,
        lookup: Ps::from_ns(20),
    };
    [
        ("all in host memory", Migration::AllHost),
        ("none", Migration::None),
        ("adaptive, cold", Migration::Adaptive(never)),
        ("adaptive, hot", Migration::Adaptive(adaptive)),
        ("tpp", Migration::Tpp(tpp)),
        ("astriflash", Migration::AstriFlash(astriflash)),
    ]
}

/// Picoseconds of a read, and the hash of all answers.
fn once(migration: Migration, accesses: u64) -> (u64, u64) {
    let sizes = [("device.capacity", "1GiB"), ("cache.capacity", "16MiB")];
    let config = HostConfig {
        is_checked: false,
        ..host(migration)
    };
    let mut memory = Memory::new(&config, device(&sizes));
    let mut rng = Rng::stream(1, "bench");
    let lines = CACHE / 2 * 64;
    let order: Vec<u64> = (0..1 << 16).map(|_| rng.below(lines) * 64).collect();
    let mut now = Ps::ZERO;
    let mut hash = 0;
    // Every page comes in, and what is hot becomes so.
    drive(&mut memory, &order, 1 << 18, &mut now, &mut hash);
    let start = Instant::now();
    drive(&mut memory, &order, accesses, &mut now, &mut hash);
    let elapsed = start.elapsed().as_nanos() as u64;
    (elapsed * 1_000 / accesses, hash)
}

fn drive(memory: &mut Memory, order: &[u64], count: u64, now: &mut Ps, hash: &mut u64) {
    for addr in order.iter().cycle().take(count as usize) {
        // Eight cores with a miss each every 160 ns or so.
        *now += Ps::from_ns(20);
        let answer = memory.read(*now, *addr, false);
        *hash = (*hash ^ answer.done_at.0).wrapping_mul(0x0000_0100_0000_01b3);
        while memory.take_moved().is_some() {}
    }
}
