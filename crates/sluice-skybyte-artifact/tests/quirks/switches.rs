//! What follows a long delay: which accesses come again, and what the caches have meanwhile.

use crate::{artifact, run};
use sluice_host::HostConfig;
use sluice_model::Device;
use sluice_testkit::core_rig::{Loop, config, host, load};

/// A CXL-SSD whose every new page is a miss of 30 us.
fn flash(hint_threshold: &str) -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("cache.policy", "lru"),
        ("device.hint_threshold", hint_threshold),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

/// Flash of one die.
fn one_die() -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("device.hint_threshold", "2us"),
        ("nand.read", "30us"),
        ("nand.channels", "1"),
        ("nand.chips", "1"),
        ("nand.dies", "1"),
        ("nand.planes", "1"),
        ("prefetch.policy", "none"),
    ];
    Device::new(&config(&settings), 1).expect("a device")
}

fn switching(threads: u32) -> HostConfig {
    let mut host = host();
    host.threads = threads;
    host.coordinated = true;
    host
}

/// A new page each round.
fn pages(threads: u32, rounds: u64) -> Loop {
    Loop::new(threads, vec![load(0, 10, 1)], 4096, rounds)
}

/// A thread that is back issues nothing before its data is there: a page, a switch.
#[test]
fn who_waits_asks_once_more() {
    // Seven parts of memory do not begin on the same channel.
    let (threads, rounds) = (7, 50);
    let host = switching(threads);
    let waits = artifact(&[("os.resume", "wait")]);
    let stats = run(&host, waits.clone(), flash("2us"), pages(threads, rounds));
    let misses = u64::from(threads) * rounds;
    let at_ends = u64::from(threads) - 1;
    assert_eq!(stats.memory.long_delays, misses);
    assert_eq!(stats.switches, misses + at_ends);
    let requests = &stats.memory.requests;
    let (hits, reads) = (requests.device_read_hits, requests.device_read_misses);
    assert_eq!((hits, reads), (misses, misses));
    // A page takes 30 us, and a round of all threads 7 switches of 2 us: they wait for the rest.
    let alone = run(&host, waits, flash("2us"), pages(threads, 1)).time;
    let round = (stats.time - alone).0 / (rounds - 1);
    assert!((30_000_000..32_000_000).contains(&round), "{round} ps");
}

/// Pages of one die come one after the other, and a core that fills its caches with lines of both
/// waits for the first alone.
#[test]
fn filled_lines_are_not_waited_for() {
    let rounds = 40;
    let both = || vec![load(0, 300, 0), load(1 << 20, 0, 0)];
    let mut times = Vec::new();
    for fills in [false, true] {
        let line = if fills { "fill" } else { "drop" };
        let waits = artifact(&[("os.resume", "wait"), ("l3.long_delay", line)]);
        let program = Loop::new(1, both(), 4096, rounds);
        let stats = run(&switching(1), waits, one_die(), program);
        assert_eq!(stats.instructions, rounds * 302);
        let requests = &stats.memory.requests;
        let reads = requests.device_read_hits + requests.device_read_misses;
        match fills {
            true => {
                assert_eq!((reads, stats.switches), (2 * rounds, rounds));
                // An access that comes again finds both in the L1.
                assert_eq!(stats.levels[2].hits, 0);
            }
            false => assert!(reads >= 4 * rounds && stats.switches == 2 * rounds),
        }
        times.push(stats.time.0 / rounds);
    }
    assert!((60_000_000..64_000_000).contains(&times[0]), "{times:?}");
    assert!((30_000_000..64_000_000).contains(&times[1]), "{times:?}");
}
