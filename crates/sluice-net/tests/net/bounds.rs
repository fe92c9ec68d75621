//! What else bounds bandwidth: credits of a link, and the shares of logical devices.

use crate::rig::{bandwidth, fabric, run, spec};
use sluice_net::{Length, RangeSpec};

const LENGTH: Length = Length {
    warmup: 1_000,
    requests: 10_000,
};

#[test]
fn credits_are_worth_a_round_trip_each() {
    // A line's credit is away while the line is sent (1 ns), carried (1 ns) and received (25 ns),
    // and while word of it comes back (1 ns): 28 ns.
    for credits in [1, 4, 16] {
        let text = credits.to_string();
        let fabric = run(
            &[
                ("topology.kind", "bus"),
                ("requester.count", "1"),
                ("endpoint.count", "4"),
                ("requester.depth", "1024"),
                ("link.credits", &text),
            ],
            LENGTH,
        );
        let measured = bandwidth(fabric.stats(), 64);
        let expected = f64::from(credits) * 64_000.0 / 28.0;
        assert!(
            (measured / expected - 1.0).abs() < 0.01,
            "{credits}: {measured}, not {expected}"
        );
    }
}

#[test]
fn a_logical_device_has_its_share() {
    let set = [
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("endpoint.count", "1"),
        ("endpoint.bandwidth", "6400"),
        ("endpoint.logical_devices", "2"),
    ];
    for (targets, expected) in [(&["m0.0", "m0.1"][..], 6_400.0), (&["m0.1"], 3_200.0)] {
        let mut spec = spec(&set);
        spec.ranges = vec![RangeSpec {
            name: "all".to_owned(),
            base: 0,
            size: 512 << 20,
            targets: targets.iter().map(|name| (*name).to_owned()).collect(),
            hosts: Vec::new(),
        }];
        let mut fabric = fabric(&spec);
        fabric.run(LENGTH, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        let measured = bandwidth(fabric.stats(), 64);
        assert!(
            (measured / expected - 1.0).abs() < 0.02,
            "{targets:?}: {measured}, not {expected}"
        );
    }
}

/// Random lines close each other's rows; a queue in which hits go first closes fewer, the fewer the
/// longer it is.
#[test]
fn row_hits_first_give_more_bandwidth() {
    let at = |order: &str, queue: &str, footprint: &str| {
        let set = [
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.depth", "512"),
            ("requester.footprint", footprint),
            ("endpoint.count", "1"),
            ("endpoint.type", "dram"),
            ("endpoint.dram", "ddr4-2400"),
            ("endpoint.dram_channels", "1"),
            ("endpoint.dram_order", order),
            ("endpoint.dram_queue", queue),
        ];
        bandwidth(run(&set, LENGTH).stats(), 64)
    };
    let arrival = at("arrival", "32", "1MiB");
    let [few, many] = ["32", "256"].map(|queue| at("fr-fcfs", queue, "1MiB"));
    assert!(
        few > 1.2 * arrival && many > 1.05 * few,
        "{arrival}, {few}, {many}"
    );
    // Rows that stay open leave the order on the bus to choose: no more than a line in 3.33 ns.
    let [arrival, hits] = ["arrival", "fr-fcfs"].map(|order| at(order, "32", "64KiB"));
    let peak = 64e3 / 3.33;
    assert!(
        (1.05 * arrival..peak).contains(&hits),
        "{arrival}, {hits}, {peak}"
    );
}

/// As much as DRAMsim3 moves with as many entries, 32 banks of 8: 16.98 GB/s (docs/peers.md). It
/// changes rank in a clock less.
#[test]
fn random_lines_fill_a_channel_of_two_ranks() {
    let set = [
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("requester.depth", "288"),
        ("endpoint.count", "1"),
        ("endpoint.type", "dram"),
        ("endpoint.capacity", "16GiB"),
        ("endpoint.dram", "ddr4-2400"),
        ("endpoint.dram_channels", "1"),
        ("endpoint.dram_ranks", "2"),
        ("endpoint.dram_mapping", "RoChRaBaBgCo"),
        ("endpoint.dram_order", "fr-fcfs"),
        ("endpoint.dram_queue", "256"),
    ];
    let moved = bandwidth(run(&set, LENGTH).stats(), 64);
    assert!((moved / 16_980.0 - 1.0).abs() < 0.05, "{moved}");
}
