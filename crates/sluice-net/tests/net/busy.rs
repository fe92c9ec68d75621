//! How long links, controllers and what is in devices were busy, and which of them bounds a run.

use crate::rig::{fabric, run, spec};
use sluice_model::{Device, DeviceConfig};
use sluice_net::{
    Access, DeviceGroup, EndpointId, Fabric, FabricSpec, Group, Length, LinkSpec, Part, RangeSpec,
    RequesterId, Resource, VcsSpec,
};
use sluice_units::Ps;

const LENGTH: Length = Length {
    warmup: 1_000,
    requests: 5_000,
};

fn is(found: &Resource, kind: &str, name: &str) {
    assert_eq!((found.kind, &*found.name), (kind, name), "{found:?}");
}

/// A byte takes as long as the bandwidth of all logical devices says, whatever their share.
#[test]
fn a_controller_is_busy_by_its_bandwidth_for_each_access() {
    for logical in ["1", "2", "4"] {
        let mut spec = spec(&[
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.depth", "512"),
            ("endpoint.count", "1"),
            ("endpoint.bandwidth", "6400"),
            ("endpoint.logical_devices", logical),
        ]);
        let count: u8 = logical.parse().unwrap();
        let targets = (0..count).map(|id| match count {
            1 => "m0".to_owned(),
            _ => format!("m0.{id}"),
        });
        spec.ranges = vec![RangeSpec {
            name: "all".to_owned(),
            base: 0,
            size: 512 << 20,
            targets: targets.collect(),
            hosts: Vec::new(),
        }];
        let mut fabric = fabric(&spec);
        fabric.run(LENGTH, &mut |_| true).unwrap();
        // Behind each other nearly all the time.
        let (found, time) = (fabric.bottleneck(), fabric.stats().time());
        assert_eq!(found.kind, "controller");
        assert!(time.0.abs_diff(found.busy.0) < time.0 / 20, "{found:?}");
        // Each share takes as much longer for a line as there are shares.
        let each = Ps::from_ns(10 * u64::from(count));
        let served = (0..count).map(|id| fabric.served(EndpointId(0), id));
        let most = each * served.max().unwrap();
        assert!(
            found.busy.0.abs_diff(most.0) <= each.0,
            "{found:?}, not {most}"
        );
    }
}

/// A star whose hosts have slow links.
fn star(reads: &str, bandwidth: &str) -> Fabric {
    let set = [
        ("topology.kind", "star"),
        ("requester.count", "2"),
        ("requester.reads", reads),
        ("requester.depth", "256"),
        ("endpoint.count", "4"),
        ("packet.header", "0"),
    ];
    let mut spec = spec(&set);
    let link = vec![("bandwidth".to_owned(), bandwidth.to_owned())];
    let group = |name: &str, link| Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), "1".to_owned())],
        link,
        ..Group::default()
    };
    spec.requesters = vec![group("fast", Vec::new()), group("slow", link)];
    let mut fabric = fabric(&spec);
    fabric.run(LENGTH, &mut |_| true).unwrap();
    fabric.balance().unwrap();
    fabric
}

/// A full link is busy all the time that is counted, no more and no less, and that of data is a
/// port of the switch or the host's own.
#[test]
fn a_full_link_is_busy_all_the_time() {
    for (reads, kind, name) in [
        ("100%", "switch", "s0 to slow"),
        ("none", "link", "slow to s0"),
    ] {
        let fabric = star(reads, "1000");
        let found = fabric.bottleneck();
        is(&found, kind, name);
        assert_eq!(found.busy, fabric.stats().time());
        let direction = fabric.graph().directions();
        let direction = { direction }
            .find(|it| fabric.graph().direction_name(*it) == name)
            .unwrap();
        assert_eq!(fabric.links().busy(direction, fabric.now()), found.busy);
        // A line takes 64 ns. One may be on the wires at either end of the counting.
        let carried = fabric.links().carried(direction);
        let on_wires = Ps::from_ns(64) * carried.packets;
        assert!(on_wires.0.abs_diff(found.busy.0) <= 2 * 64_000, "{found:?}");
        assert_eq!(
            (carried.bytes, carried.payload),
            (carried.packets * 64, carried.packets * 64)
        );
    }
}

/// Packets wait behind all that came before them and are on the wires: the longest wait is that of
/// the last of so many at once.
#[test]
fn the_longest_wait_is_behind_all_others() {
    let mut fabric = fabric(&spec(&[
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("requester.pattern", "external"),
        ("endpoint.count", "1"),
    ]));
    let send = |fabric: &mut Fabric, at: Ps, count: u64| {
        for tag in 0..count {
            let access = Access {
                addr: tag * 64,
                is_write: true,
            };
            fabric.send(at, RequesterId(0), access, tag).unwrap();
        }
        crate::rig::drain(fabric);
    };
    let longest = |fabric: &Fabric| {
        let directions = fabric.graph().directions();
        let waits = directions.map(|it| fabric.links().wait_max(it));
        waits.max().unwrap()
    };
    send(&mut fabric, Ps::ZERO, 10);
    assert_eq!(longest(&fabric), Ps::from_ns(9));
    send(&mut fabric, Ps::from_us(1), 5);
    assert_eq!(longest(&fabric), Ps::from_ns(9));
    fabric.begin();
    send(&mut fabric, Ps::from_us(2), 5);
    assert_eq!(longest(&fabric), Ps::from_ns(4));
    let parts = fabric.stats().parts();
    assert_eq!(
        parts[Part::LinkQueue] + parts[Part::SwitchQueue],
        Ps::from_ns(1 + 2 + 3 + 4).0.into()
    );
}

/// Where nothing is full, requesters could ask for more: the one that asks most is named, of equals
/// the first.
#[test]
fn who_asks_most_bounds_a_run_in_which_nothing_is_full() {
    let asks = |intervals: [&str; 3]| {
        let mut spec = spec(&[
            ("topology.kind", "star"),
            ("requester.depth", "1"),
            ("requester.pattern", "stream"),
            ("endpoint.count", "1"),
        ]);
        let group = |(name, interval): (&str, &str)| Group {
            name: name.to_owned(),
            set: vec![
                ("count".to_owned(), "1".to_owned()),
                ("interval".to_owned(), interval.to_owned()),
            ],
            ..Group::default()
        };
        let named = ["a", "b", "c"].into_iter().zip(intervals);
        spec.requesters = named.map(group).collect();
        let mut fabric = fabric(&spec);
        let length = Length {
            warmup: 300,
            requests: 600,
        };
        fabric.run(length, &mut |_| true).unwrap();
        let found = fabric.bottleneck();
        assert_eq!(found.kind, "requester");
        assert_eq!(found.busy, fabric.stats().time());
        found.name
    };
    assert_eq!(asks(["9us", "3us", "9us"]), "b");
    assert_eq!(asks(["9us", "9us", "3us"]), "c");
    assert_eq!(asks(["3us", "3us", "9us"]), "a");
}

/// A resource bounds a run from nine tenths of the time on: a host with a pause asks for a line
/// every so often of 64 ns.
#[test]
fn a_resource_bounds_from_nine_tenths_on() {
    for (interval, kind) in [("71ns", "controller"), ("72ns", "requester")] {
        let set = [
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.depth", "256"),
            ("requester.interval", interval),
            ("endpoint.count", "1"),
            ("endpoint.bandwidth", "1000"),
        ];
        let found = run(&set, LENGTH).bottleneck();
        assert_eq!(found.kind, kind, "{interval}: {found:?}");
    }
}

/// Time of flash: each read of a page takes its die, and its channel for the transfer, and there
/// are so many of them.
#[test]
fn flash_is_busy_as_long_as_its_reads_take() {
    let flash = |settings: &[(&str, &str)]| {
        let usual = [
            ("device.capacity", "64MiB"),
            ("cache.capacity", "1MiB"),
            ("mshr.entries", "1024"),
            ("nand.channels", "2"),
            ("nand.chips", "1"),
            ("nand.dies", "2"),
            ("prefetch.policy", "none"),
            ("ftl.precondition", "sequential"),
        ];
        let mut raw = DeviceConfig::builder();
        for (key, value) in usual.iter().chain(settings) {
            raw.set(key, value).unwrap();
        }
        let (name, config) = ("ssd".to_owned(), DeviceConfig::new(&raw).unwrap());
        let mut spec = spec(&[
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.depth", "64"),
            ("endpoint.count", "1"),
            ("endpoint.type", "device"),
        ]);
        spec.endpoints = vec![Group {
            name: name.clone(),
            set: vec![("count".to_owned(), "1".to_owned())],
            device: Some(DeviceGroup { name, config }),
            ..Group::default()
        }];
        let mut fabric = fabric(&spec);
        fabric.run(LENGTH, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        fabric
    };
    let reads = |fabric: &Fabric| {
        let device: &Device = fabric.device(EndpointId(0)).unwrap();
        let all = device.stats().flash_reads;
        // The first thousand came back before the counting began.
        assert!(all > 5_000, "{all}");
        all
    };
    let long = [("nand.read", "100us"), ("nand.transfer", "1us")];
    let fabric = flash(&long);
    let found = fabric.bottleneck();
    is(&found, "die", "ssd");
    let most = Ps::from_us(100).0 * reads(&fabric) / 4;
    let time = fabric.stats().time().0;
    assert!(found.busy.0 < most && found.busy.0 <= time, "{found:?}");
    assert!(found.busy.0 > time * 9 / 10, "{found:?} of {time}");
    let slow = [("nand.read", "1us"), ("nand.transfer", "100us")];
    let fabric = flash(&slow);
    let found = fabric.bottleneck();
    is(&found, "channel", "ssd");
    let most = Ps::from_us(100).0 * reads(&fabric) / 2;
    assert!(found.busy.0 < most, "{found:?}");
    assert!(found.busy.0 > fabric.stats().time().0 * 9 / 10, "{found:?}");
}

/// While half-duplex wires turn round they carry nothing, and nothing else can have them.
#[test]
fn wires_that_turn_round_bound_a_run() {
    let set = [
        ("topology.kind", "star"),
        ("link.duplex", "half"),
        ("link.turnaround", "100ns"),
        ("link.burst", "1"),
        ("requester.reads", "50%"),
        ("endpoint.count", "1"),
    ];
    let fabric = run(&set, LENGTH);
    let (found, links) = (fabric.bottleneck(), fabric.links());
    assert!(found.name.contains("m0"), "{found:?}");
    let mut directions = fabric.graph().directions();
    let direction = directions.find(|it| fabric.graph().direction_name(*it) == found.name);
    let carries = links.busy(direction.unwrap(), fabric.now());
    assert!(carries * 5 < found.busy, "{carries} of {found:?}");
}

/// Two hosts behind a switch that is divided, each with a memory on a link of 1000 MB/s.
fn divided(set: &[(&str, &str)]) -> FabricSpec {
    let mut spec = spec(&[
        ("topology.kind", "list"),
        ("requester.depth", "512"),
        ("requester.reads", "none"),
    ]);
    for (key, value) in set {
        spec.raw.set(key, value).unwrap();
    }
    let group = |name: &str, link| Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), "2".to_owned())],
        link,
        ..Group::default()
    };
    let slow = vec![("bandwidth".to_owned(), "1000".to_owned())];
    spec.requesters = vec![group("host", Vec::new())];
    spec.endpoints = vec![group("mem", slow)];
    spec.switches = vec![Group {
        name: "sw".to_owned(),
        ..Group::default()
    }];
    for number in 0..2 {
        for end in ["host", "mem"] {
            spec.links.push(LinkSpec {
                ends: [format!("{end}{number}"), "sw".to_owned()],
                set: Vec::new(),
            });
        }
        spec.vcs.push(VcsSpec {
            name: format!("vcs{number}"),
            switch: "sw".to_owned(),
            upstream: format!("host{number}"),
            vppbs: vec![format!("mem{number}")],
        });
    }
    spec
}

/// What was reserved for a time after the end counted as carried and served: 1997 MB/s on a link of
/// 1000.
#[test]
fn what_is_to_come_is_not_carried_yet() {
    for (set, warmup) in [
        (&[][..], 0),
        (&[][..], 3_000),
        (&[("requester.reads", "50%")], 500),
        (&[("link.duplex", "half")], 500),
        (&[("link.credits", "4")], 500),
        (&[("endpoint.write", "60ns")], 500),
    ] {
        let mut fabric = fabric(&divided(set));
        let length = Length {
            warmup,
            requests: 1_000,
        };
        fabric.run(length, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        let (links, time) = (fabric.links(), fabric.stats().time());
        let mut bytes = 0;
        for direction in fabric.graph().directions() {
            let carried = links.carried(direction);
            let (from, to) = fabric.graph().direction(direction);
            let names = [from, to].map(|node| fabric.graph().name(node));
            if !names.iter().any(|name| name.starts_with("mem")) {
                continue;
            }
            // A byte takes a nanosecond, and one packet may be on the wires at either end.
            let busy = links.busy(direction, fabric.now());
            let on_wires = Ps::from_ns(carried.bytes);
            assert!(
                on_wires.0.abs_diff(busy.0) <= 64_000,
                "{names:?}: {carried:?}, {busy}"
            );
            assert!(busy <= time, "{names:?}");
            bytes += carried.payload;
        }
        // A memory serves a line after it came and before its answer leaves: 90 ns or so.
        let served: u64 = (0..2).map(|id| fabric.served(EndpointId(id), 0)).sum();
        assert!(
            (served * 64).abs_diff(bytes) <= 8 * 64,
            "{set:?} {served} {bytes}"
        );
    }
}

/// Of each direction of half-duplex wires: the sum of both was shown for either.
#[test]
fn half_duplex_wires_are_busy_by_their_directions() {
    let fabric = run(
        &[
            ("topology.kind", "star"),
            ("requester.depth", "1"),
            ("requester.count", "1"),
            ("endpoint.count", "1"),
            ("link.duplex", "half"),
            ("link.bandwidth", "1000"),
        ],
        LENGTH,
    );
    let links = fabric.links();
    for direction in fabric.graph().directions() {
        let carried = links.carried(direction);
        let busy = links.busy(direction, fabric.now());
        assert!(
            busy.0.abs_diff(carried.bytes * 1_000) <= 64_000,
            "{busy} {carried:?}"
        );
        let both = busy + links.busy(direction.back(), fabric.now());
        let turning = links.taken(direction, fabric.now()) - both;
        assert!(turning < both, "{turning} of {both}");
        assert!(links.taken(direction, fabric.now()) >= both);
    }
}

/// One line of a controller that takes 64 us for it, in half a microsecond: 12121 % busy.
#[test]
fn a_controller_is_not_busy_beyond_the_end() {
    let set = [
        ("requester.count", "1"),
        ("requester.depth", "1"),
        ("endpoint.count", "1"),
        ("endpoint.bandwidth", "1"),
    ];
    let length = Length {
        warmup: 0,
        requests: 1,
    };
    let fabric = run(&set, length);
    // From when the line is at the memory until its response is at the host: not all the time.
    is(&fabric.bottleneck(), "requester", "r0");
    let slow = Length {
        warmup: 10,
        requests: 100,
    };
    let fabric = run(&set, slow);
    let (found, time) = (fabric.bottleneck(), fabric.stats().time());
    is(&found, "controller", "m0");
    assert!(
        found.busy <= time && found.busy * 100 > time * 98,
        "{found:?} of {time}"
    );
}

/// All requests went to one of 16 shares, and a host was said to bound them.
#[test]
fn a_full_share_of_a_controller_bounds_a_run() {
    let set = [
        ("requester.count", "1"),
        ("requester.footprint", "1MiB"),
        ("endpoint.count", "1"),
        ("endpoint.logical_devices", "16"),
        ("endpoint.bandwidth", "1000"),
        ("map.ways", "1"),
    ];
    let fabric = run(&set, LENGTH);
    let found = fabric.bottleneck();
    is(&found, "controller", "m0.0");
    assert_eq!(found.busy, fabric.stats().time());
    crate::rig::near(crate::rig::bandwidth(fabric.stats(), 64), 1000.0 / 16.0);
}

/// A packet of 4096 bytes took as long as a line: 64,000 MB/s of a controller of 1000.
#[test]
fn a_controllers_bandwidth_is_of_the_packets_data() {
    for payload in ["64", "256", "4096"] {
        let set = [
            ("requester.count", "1"),
            ("endpoint.count", "1"),
            ("endpoint.bandwidth", "1000"),
            ("link.bandwidth", "none"),
            ("packet.payload", payload),
        ];
        let fabric = run(&set, LENGTH);
        let measured = crate::rig::bandwidth(fabric.stats(), payload.parse().unwrap());
        crate::rig::near(measured, 1000.0);
    }
}

/// DRAM was never named, however long accesses waited for it.
#[test]
fn dram_that_is_waited_for_bounds_a_run() {
    for (order, depth, bandwidth, kind) in [
        ("arrival", "256", "256000", "dram"),
        ("fr-fcfs", "256", "256000", "dram"),
        ("arrival", "256", "2000", "switch"),
        ("fr-fcfs", "256", "2000", "switch"),
        ("arrival", "1", "256000", "requester"),
        ("fr-fcfs", "1", "256000", "requester"),
    ] {
        let set = [
            ("topology.kind", "star"),
            ("requester.count", "1"),
            ("requester.depth", depth),
            ("endpoint.count", "1"),
            ("endpoint.type", "dram"),
            ("endpoint.dram_channels", "1"),
            ("endpoint.dram_order", order),
            ("link.bandwidth", bandwidth),
        ];
        let fabric = run(&set, LENGTH);
        let (found, time) = (fabric.bottleneck(), fabric.stats().time());
        assert_eq!(found.kind, kind, "{order}, {depth}: {found:?}");
        assert!(found.busy <= time);
        if kind == "dram" {
            is(&found, "dram", "m0");
        }
    }
}
