//! What nothing looks at is refused, and so is what no snoop can name.

use super::refused::{says, triangle};
use crate::rig::{refused, spec};
use sluice_net::{FabricConfig, Group, RangeSpec};

/// A parameter with a value, and other parameters with which it means something.
type Meaning = (
    (&'static str, &'static str),
    &'static [(&'static str, &'static str)],
);

const STAR: (&str, &str) = ("topology.kind", "star");
const CACHE: (&str, &str) = ("requester.cache_lines", "64");
const FILTER: (&str, &str) = ("coherence.filter", "endpoint");
const DRAM: (&str, &str) = ("endpoint.type", "dram");

const MEANINGS: &[Meaning] = &[
    (("topology.spines", "9"), &[("topology.kind", "spine-leaf")]),
    (("topology.arity", "4"), &[("topology.kind", "tree")]),
    (("topology.per_switch", "3"), &[("topology.kind", "ring")]),
    (
        ("topology.placement", "alternate"),
        &[("topology.kind", "chain")],
    ),
    (("link.turnaround", "5ns"), &[("link.duplex", "half")]),
    (("link.burst", "2"), &[("link.duplex", "half")]),
    (("coherence.entries", "7"), &[FILTER]),
    (("requester.cache_replacement", "fifo"), &[CACHE, FILTER]),
    (("requester.cache_ways", "4"), &[CACHE, FILTER]),
    (("requester.cache_clean", "notified"), &[CACHE, FILTER]),
    (
        ("requester.hot_lines", "50%"),
        &[("requester.pattern", "skewed")],
    ),
    (
        ("requester.hot_requests", "50%"),
        &[("requester.pattern", "skewed")],
    ),
    (
        ("endpoint.dram_queue", "4"),
        &[DRAM, ("endpoint.dram_order", "fr-fcfs")],
    ),
    (("endpoint.dram", "ddr4-2400"), &[DRAM]),
    (("endpoint.read", "7ns"), &[("endpoint.type", "fixed")]),
    (("packet.header", "32"), &[("packet.flits", "none")]),
    (("switch.latency", "1us"), &[]),
];

/// What means nothing is refused if it was given, and taken where it means something; what a preset
/// has for all may mean nothing.
#[test]
fn parameters_that_nothing_looks_at() {
    for ((key, value), with) in MEANINGS.iter().copied() {
        let mut one = spec(&[STAR]);
        let otherwise: &[(&str, &str)] = match key {
            "endpoint.read" => &[DRAM],
            "packet.header" => &[("packet.flits", "256b")],
            "switch.latency" => &[("topology.kind", "bus")],
            _ => &[],
        };
        for (key, value) in otherwise {
            one.raw.set(key, value).unwrap();
        }
        // As a file's table has it.
        one.raw.set(key, value).unwrap();
        FabricConfig::new(&one, 1).unwrap_or_else(|error| panic!("{error}"));
        one.set(key, value).unwrap();
        let error = refused(&one).to_string();
        let begin = format!("impossible configuration: {key} = {value}: ");
        assert!(error.starts_with(&begin), "{error}");
        let mut used = spec(&[STAR]);
        for (key, value) in with.iter().chain([&(key, value)]) {
            used.set(key, value).unwrap();
        }
        FabricConfig::new(&used, 1).unwrap_or_else(|error| panic!("{error}"));
    }
    let mut switches = spec(&[STAR]);
    switches.set("switch.count", "3").unwrap();
    refused(&switches);
    let mut groups = triangle();
    groups.requesters[0]
        .set
        .push(("hot_lines".to_owned(), "50%".to_owned()));
    says(
        &groups,
        "requester group `host`: impossible configuration: requester.hot_lines = 50%: only a \
         skewed pattern has hot lines; leave it out",
    );
}

/// Whatever the links say, or a bus: devices are where they are.
#[test]
fn devices_on_switches_that_no_leaves_have() {
    let mut listed = triangle();
    listed.set("topology.per_switch", "2").unwrap();
    says(
        &listed,
        "impossible configuration: topology.per_switch = 2: the links say what is on which \
         switch; leave it out",
    );
    let mut bus = spec(&[("topology.kind", "bus")]);
    bus.set("topology.placement", "halves").unwrap();
    says(
        &bus,
        "impossible configuration: topology.placement = halves: it has no leaves: everything is \
         in one place; leave it out",
    );
}

/// Lines that are dealt out one by one are adjacent on a device alone. Aligned blocks of them had
/// been taken, which no snoop of CXL can name.
#[test]
fn blocks_of_lines_that_hosts_have_apart() {
    let blocks = [
        ("coherence.filter", "endpoint"),
        ("coherence.victim", "block"),
        ("requester.cache_lines", "64"),
    ];
    for (granularity, lines, shape, count, is_refused) in [
        ("64B", "4", "aligned", "4", true),
        ("64B", "2", "aligned", "4", true),
        ("128B", "4", "aligned", "4", true),
        ("128B", "3", "aligned", "4", false),
        ("256B", "4", "aligned", "4", false),
        ("64B", "1", "aligned", "4", false),
        ("64B", "4", "any", "4", false),
        ("64B", "4", "aligned", "1", false),
    ] {
        let given = [
            ("map.granularity", granularity),
            ("coherence.block_lines", lines),
            ("coherence.block_shape", shape),
            ("endpoint.count", count),
        ];
        let spec = spec(&[&blocks[..], &given].concat());
        let made = FabricConfig::new(&spec, 1).map(|_| ());
        let what = format!("{granularity}, {lines} lines, {shape}, {count} endpoints: {made:?}");
        assert_eq!(made.is_err(), is_refused, "{what}");
        if let Err(error) = made {
            let error = error.to_string();
            assert!(error.contains("map.granularity = "), "{error}");
        }
    }
}

/// What is an aligned block on a device is one at the hosts. Logical devices and ranges that begin
/// amid one had been taken.
#[test]
fn blocks_of_lines_that_begin_elsewhere_at_hosts() {
    let lines = |count: u64| 64 * count;
    // Lines of each of two logical devices; where each range begins, and its lines; of a block.
    for (each, first, second, block, is_refused) in [
        (64, [0, 64], [64, 64], "4", false),
        (65, [0, 64], [64, 64], "4", true),
        (66, [0, 64], [64, 64], "4", true),
        (66, [0, 64], [64, 64], "2", false),
        (65, [0, 64], [64, 64], "1", false),
        (128, [0, 61], [64, 64], "4", true),
        (128, [0, 62], [64, 64], "4", true),
        (128, [0, 62], [64, 64], "2", false),
        (128, [0, 60], [64, 64], "4", false),
    ] {
        let capacity = format!("{}B", lines(2 * each));
        let mut spec = spec(&[
            ("coherence.filter", "shared"),
            ("coherence.block_extends", "any"),
            ("coherence.block_lines", block),
            ("map.granularity", "64B"),
            ("endpoint.count", "1"),
            ("endpoint.logical_devices", "2"),
            ("endpoint.capacity", &capacity),
        ]);
        let range = |name: &str, [base, size]: [u64; 2], target: &str| RangeSpec {
            name: name.to_owned(),
            base: lines(base),
            size: lines(size),
            targets: vec![target.to_owned()],
            hosts: Vec::new(),
        };
        // The second range of a device goes on where the first has ended.
        let other = if each < 128 { "m0.1" } else { "m0.0" };
        spec.ranges = vec![range("one", first, "m0.0"), range("two", second, other)];
        let made = FabricConfig::new(&spec, 1).map(|_| ());
        let what = format!("{each} {first:?} {second:?} {block}: {made:?}");
        assert_eq!(made.is_err(), is_refused, "{what}");
        if let Err(error) = made {
            let error = error.to_string();
            let block = if block == "4" { "256B" } else { "128B" };
            assert!(
                error.starts_with("hdm: `two`: address 0x1000 is byte 0x"),
                "{error}"
            );
            assert!(error.contains(&format!("blocks of {block} ")), "{error}");
            spec.raw.set("coherence.block_shape", "any").unwrap();
            FabricConfig::new(&spec, 1).unwrap();
        }
    }
}

/// It had been taken, and nothing was changed.
#[test]
fn a_value_for_all_groups_of_which_each_has_another() {
    let mut spec = spec(&[]);
    let of = |name: &str, depth: &str| Group {
        name: name.to_owned(),
        set: vec![("depth".to_owned(), depth.to_owned())],
        ..Group::default()
    };
    spec.requesters = vec![of("fast", "8"), of("slow", "1")];
    spec.set("requester.depth", "4").unwrap();
    says(
        &spec,
        "impossible configuration: requester.depth = 4: every requester group has its own; give \
         it to one, as GROUP.depth, or leave it out",
    );
    // One that has none has that of all.
    spec.requesters[1].set.clear();
    FabricConfig::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
}
