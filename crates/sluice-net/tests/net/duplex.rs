//! Bandwidth, utility and efficiency of one link under mixes of reads and writes (ESF section
//! V-D, Figures 16 and 17).

use crate::rig::{bandwidth, run};
use sluice_net::{Fabric, Length, LinkId};

/// A requester, a bus of 64 GB/s and four memories; headers of `header` bytes, payloads of 64.
fn bus(reads: &str, header: u64, more: &[(&str, &str)]) -> Fabric {
    let header = header.to_string();
    let mut set = vec![
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("endpoint.count", "4"),
        ("requester.depth", "2048"),
        ("requester.reads", reads),
        ("packet.header", &*header),
    ];
    set.extend(more);
    let length = Length {
        warmup: 8_000,
        requests: 16_000,
    };
    run(&set, length)
}

const SHARES: [(&str, f64); 5] = [
    ("100%", 1.0),
    ("75%", 0.75),
    ("50%", 0.5),
    ("25%", 0.25),
    ("none", 0.0),
];

/// Busy share of the bus, averaged over directions with wires of their own, and payload's share of
/// its bytes.
fn utility(fabric: &Fabric) -> (f64, f64) {
    let stats = fabric.stats();
    // The links of the requester and the endpoints come first; the bus is the last.
    let bus = fabric.graph().links.len() as u32 - 1;
    let ways = LinkId(bus).directions();
    let links = fabric.links();
    let busy: u64 = ways.iter().map(|way| links.busy(*way, stats.until).0).sum();
    let carried = ways.map(|way| links.carried(way));
    let bytes: u64 = carried.iter().map(|carried| carried.bytes).sum();
    let payload: u64 = carried.iter().map(|carried| carried.payload).sum();
    let wires = match fabric.graph().link(LinkId(bus)).settings.half {
        Some(_) => 1.0,
        None => 2.0,
    };
    (
        busy as f64 / wires / stats.time().0 as f64,
        payload as f64 / bytes as f64,
    )
}

/// With the messages of flits as long as docs/cxl-mem.md says: a read asks with 18 bytes and is
/// answered with 74, a write takes 86 and is answered with 6.
#[test]
fn flits_follow_the_same_closed_forms() {
    for (reads, r) in SHARES {
        let fabric = bus(reads, 0, &[("packet.flits", "256b")]);
        let (down, up) = (18.0 * r + 86.0 * (1.0 - r), 74.0 * r + 6.0 * (1.0 - r));
        let measured = bandwidth(fabric.stats(), 64) / 64_000.0;
        let expected = 64.0 / f64::max(down, up);
        let at = format!("{reads} reads: {measured} instead of {expected}");
        assert!((measured / expected - 1.0).abs() < 0.02, "{at}");
        let (_, efficiency) = utility(&fabric);
        assert!(
            (efficiency * (down + up) / 64.0 - 1.0).abs() < 0.01,
            "{efficiency}: {at}"
        );
    }
}

#[test]
fn full_duplex_follows_its_closed_forms() {
    for (reads, r) in SHARES {
        for header in [0, 16, 32, 64] {
            let h = header as f64 / 64.0;
            // The busier direction: data of reads and headers of writes, or the other way round.
            let busier = f64::max(r + (1.0 - r) * h, r * h + 1.0 - r);
            let fabric = bus(reads, header, &[]);
            let measured = bandwidth(fabric.stats(), 64) / 64_000.0;
            let at = format!("{reads} reads, header {header}: {measured}");
            assert!((measured * busier - 1.0).abs() < 0.02, "bandwidth: {at}");
            let (utility, efficiency) = utility(&fabric);
            let expected = (1.0 + h) / 2.0 / busier;
            assert!(
                (utility / expected - 1.0).abs() < 0.02,
                "utility {utility}: {at}"
            );
            assert!(
                (efficiency * (1.0 + h) - 1.0).abs() < 0.01,
                "{efficiency}: {at}"
            );
        }
    }
}

#[test]
fn half_duplex_does_not_care_for_the_mix() {
    for (reads, _) in SHARES {
        for header in [0, 16, 64] {
            let h = header as f64 / 64.0;
            let fabric = bus(reads, header, &[("link.duplex", "half")]);
            let measured = bandwidth(fabric.stats(), 64) / 64_000.0;
            let at = format!("{reads} reads, header {header}: {measured}");
            assert!((measured * (1.0 + h) - 1.0).abs() < 0.01, "{at}");
            assert!(utility(&fabric).0 > 0.99, "{at}");
        }
    }
}

#[test]
fn a_turnaround_is_paid_at_each_change_of_direction() {
    // Alone, a read turns the link round twice: for its data, and before that for its request.
    let at = |turnaround| {
        let set = [("link.duplex", "half"), ("link.turnaround", turnaround)];
        let more = [("requester.depth", "1"), ("requester.pattern", "stream")];
        let fabric = bus("100%", 16, &[set, more].concat());
        fabric.stats().latency.mean().0
    };
    assert_eq!(at("3ns"), at("0ns") + 2 * 3_000);
    assert_eq!(at("300ns"), at("0ns") + 2 * 300_000);
}

#[test]
fn bursts_save_turnarounds() {
    // Data packets of 1 ns both ways: a burst of k goes out in k ns and a turnaround of 4 ns.
    for burst in [1, 4, 16] {
        let k = burst.to_string();
        let half = [("link.duplex", "half"), ("link.turnaround", "4ns")];
        let fabric = bus(
            "50%",
            0,
            &[half, [("link.burst", &*k), ("packet.header", "0")]].concat(),
        );
        let measured = bandwidth(fabric.stats(), 64) / 64_000.0;
        // Headers take no time but a place in the burst: half of it is data.
        let data = f64::from(burst) / 2.0;
        let expected = data / (data + 4.0);
        assert!(
            (measured / expected - 1.0).abs() < 0.05,
            "{burst}: {measured}, {expected}"
        );
    }
}

/// A packet of `bytes` takes as long as the next whole number of widths does.
#[test]
fn a_packet_takes_up_whole_widths() {
    for (header, width) in [(1u64, 8u64), (8, 8), (9, 8), (16, 64), (0, 64), (1, 1)] {
        let text = width.to_string();
        let set = [("link.width", &*text), ("packet.data_header", "1")];
        let fabric = bus("100%", header, &set);
        let payload = bandwidth(fabric.stats(), 64);
        // Reads come back as a line and a byte; the bus carries nothing else that way.
        let line = 65u64.div_ceil(width) * width;
        let expected = 64_000.0 * 64.0 / line as f64;
        let at = format!("header {header}, width {width}: {payload}, not {expected}");
        assert!((payload / expected - 1.0).abs() < 0.002, "{at}");
        let bus = fabric.graph().links.len() as u32 - 1;
        let [there, back] = LinkId(bus)
            .directions()
            .map(|way| fabric.links().carried(way));
        assert_eq!(
            there.bytes,
            there.packets * header.div_ceil(width) * width,
            "{at}"
        );
        assert_eq!(back.bytes, back.packets * line, "{at}");
    }
}
