//! SkyByte's long-delay messages on a link.

use crate::rig::run;
use sluice_host::HostConfig;
use sluice_model::Device;
use sluice_testkit::core_rig::{Loop, config, host, load};
use sluice_units::Ps;

/// A CXL-SSD whose every new page is a miss of 30 us.
fn flash() -> Device {
    let settings = [
        ("device.capacity", "1GiB"),
        ("cache.capacity", "256MiB"),
        ("cache.policy", "lru"),
        ("device.hint_threshold", "2us"),
        ("device.protocol_latency", "0ns"),
        ("nand.read", "30us"),
        ("prefetch.policy", "none"),
    ];
    Device::new(&config(&settings), 1).unwrap()
}

fn switching(threads: u32) -> HostConfig {
    let mut host = host();
    (host.threads, host.coordinated) = (threads, true);
    host
}

/// A new page each round.
fn pages(threads: u32, rounds: u64) -> Loop {
    Loop::new(threads, vec![load(0, 10, 1)], 4096, rounds)
}

#[test]
fn threads_take_turns_while_pages_come() {
    let rounds = 200;
    let bandwidth = [("link.bandwidth", "16000")];
    let alone = run(&host(), flash(), &bandwidth, &mut pages(1, rounds));
    assert_eq!((alone.switches, alone.memory.long_delays), (0, 0));
    let many = run(&switching(8), flash(), &bandwidth, &mut pages(8, rounds));
    assert_eq!(many.instructions, 8 * alone.instructions);
    assert!(
        many.time.0 < 2 * alone.time.0,
        "{} {}",
        many.time,
        alone.time
    );
    let at_ends = 7;
    assert_eq!(many.switches, many.memory.long_delays + at_ends);
    let whole = many.cores;
    let sum = whole.compute + whole.memory + whole.switching + whole.idle;
    assert_eq!(sum, many.time);
}

/// A request and a message of 9 bytes, at a microsecond a byte: the switch comes that much later.
#[test]
fn the_message_takes_the_links_time() {
    let first_switch = |bandwidth| {
        let settings = [("link.bandwidth", bandwidth)];
        let stats = run(&switching(1), flash(), &settings, &mut pages(1, 1));
        assert!(stats.memory.long_delays > 0);
        stats
    };
    let (fast, slow) = (first_switch("none"), first_switch("1"));
    // While the page comes the thread asks again and again; each round takes the link's time too.
    let round = Ps::from_us(17 + 9);
    let (delays, waited) = (slow.memory.long_delays, slow.cores.memory);
    let data = Ps::from_us(17 + 74);
    assert!(
        waited >= round * delays + data,
        "{waited} for {delays} delays"
    );
    assert!(delays < fast.memory.long_delays);
}
