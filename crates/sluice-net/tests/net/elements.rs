//! Links of which each has values of its own.

use crate::rig::{bandwidths, drain, fabric, near, pairs, refused, spec};
use sluice_net::{Access, EndpointId, FabricSpec, Group, LinkSpec, RequesterId};
use sluice_units::Ps;

fn link(a: &str, b: &str, set: &[(&str, &str)]) -> LinkSpec {
    LinkSpec {
        ends: [a.to_owned(), b.to_owned()],
        set: pairs(set),
    }
}

fn group(name: &str, count: &str, link: &[(&str, &str)]) -> Group {
    Group {
        name: name.to_owned(),
        set: pairs(&[("count", count)]),
        link: pairs(link),
        ..Group::default()
    }
}

/// One switch; each host reads, so that its own link, or its memory's, bounds it.
fn star() -> FabricSpec {
    let mut spec = spec(&[
        ("topology.kind", "star"),
        ("link.bandwidth", "64000"),
        ("packet.header", "0"),
        ("endpoint.count", "2"),
    ]);
    spec.requesters = vec![
        group("fast", "1", &[("bandwidth", "8000")]),
        group("slow", "1", &[("bandwidth", "2000")]),
    ];
    spec
}

#[test]
fn each_group_has_the_bandwidth_of_its_links() {
    let [fast, slow] = bandwidths(&star(), 20_000)[..] else {
        panic!("two hosts");
    };
    near(fast, 8_000.0);
    near(slow, 2_000.0);
    // The command line changes a group's.
    let mut spec = star();
    spec.set("slow.link.bandwidth", "4000").unwrap();
    near(bandwidths(&spec, 20_000)[1], 4_000.0);
    let error = spec.set("slow.link.bandwidht", "4000").unwrap_err();
    assert!(error.to_string().contains("link.bandwidht"), "{error}");
}

#[test]
fn one_link_of_a_topology_has_values_of_its_own() {
    let mut spec = star();
    spec.links = vec![link("s0", "slow", &[("bandwidth", "1000")])];
    near(bandwidths(&spec, 20_000)[1], 1_000.0);
    // The memories' links bound both hosts together; one of them is worth half as much.
    spec.links = vec![
        link("m0", "s0", &[("bandwidth", "1000")]),
        link("m1", "s0", &[("bandwidth", "1000")]),
    ];
    let sum: f64 = bandwidths(&spec, 20_000).into_iter().sum();
    near(sum, 2_000.0);
}

/// The latency of one link is in the sum, and that of the others is not.
#[test]
fn one_link_has_a_latency_of_its_own() {
    let latency = |links: Vec<LinkSpec>| {
        let mut spec = star();
        spec.raw.set("requester.pattern", "external").unwrap();
        spec.links = links;
        let mut fabric = fabric(&spec);
        let access = Access {
            addr: 0,
            is_write: false,
        };
        fabric.send(Ps::ZERO, RequesterId(0), access, 0).unwrap();
        drain(&mut fabric)[0].latency
    };
    let plain = latency(Vec::new());
    let far = link("fast", "s0", &[("bandwidth", "8000"), ("latency", "101ns")]);
    assert_eq!(latency(vec![far]), plain + Ps::from_ns(200));
    let other = link("slow", "s0", &[("latency", "101ns")]);
    assert_eq!(latency(vec![other]), plain);
}

#[test]
fn a_link_that_the_topology_has_not() {
    let mut spec = star();
    spec.links = vec![link("fast", "slow", &[])];
    assert_eq!(
        refused(&spec).to_string(),
        "topology `star`: it makes its own links, and none joins `fast` and `slow`; for [[links]] \
         of your own give topology.kind = \"list\""
    );
    let mut spec = star();
    spec.requesters[1].link = pairs(&[("duplex", "both")]);
    assert_eq!(
        refused(&spec).to_string(),
        "link slow-s0: bad value for `link.duplex`: \"both\"; expected one of full, half"
    );
}

/// Neighbouring lines are on neighbouring memories, which a granule of CXL would put on one.
#[test]
fn single_lines_are_dealt_out() {
    assert_eq!(dealt("64B", "modulo", 1), [16; 4]);
    assert_eq!(dealt("4KiB", "modulo", 1), [64, 0, 0, 0]);
}

/// A stride of as many lines as there are memories is on one of them, but for XOR arithmetic.
#[test]
fn strides_are_dealt_out_by_xor() {
    assert_eq!(dealt("64B", "modulo", 4), [64, 0, 0, 0]);
    assert_eq!(dealt("64B", "xor", 4), [16; 4]);
    assert_eq!(dealt("64B", "xor", 1), [16; 4]);
}

/// Weights 1, 2, 1 and 4: each memory has its weight of every eight lines, and of the round under
/// way what has come to it.
#[test]
fn lines_are_dealt_out_by_weights() {
    let mut spec = bus("64B", "weighted");
    spec.endpoints = [("a", "1"), ("b", "2"), ("c", "1"), ("d", "4")]
        .map(|(name, weight)| Group {
            set: pairs(&[("count", "1"), ("weight", weight)]),
            ..group(name, "1", &[])
        })
        .to_vec();
    assert_eq!(served(&spec, 64, 1), [8, 16, 8, 32]);
    assert_eq!(served(&spec, 61, 1), [8, 16, 8, 29]);
    // Every fourth line: the first of each round, and the first of d in it.
    assert_eq!(served(&spec, 16, 4), [8, 0, 0, 8]);
    spec.set("d.weight", "5").unwrap();
    assert_eq!(served(&spec, 63, 1), [7, 14, 7, 35]);
    let error = spec.set("d.weight", "0").unwrap_err().to_string();
    let message = "bad value for `endpoint.weight`: \"0\"; expected a whole number from 1 to 255";
    assert_eq!(error, message);
    spec.set("map.arithmetic", "modulo").unwrap();
    let message = "endpoint group `b`: impossible configuration: endpoint.weight = 2, \
                   map.arithmetic = modulo: only weighted interleaving has weights; give \
                   map.arithmetic = weighted";
    assert_eq!(refused(&spec).to_string(), message);
}

/// What each of four memories serves of 64 lines, each so many further than the one before.
fn dealt(granularity: &str, arithmetic: &str, stride: u64) -> Vec<u64> {
    served(&bus(granularity, arithmetic), 64, stride)
}

/// Four memories on a bus.
fn bus(granularity: &str, arithmetic: &str) -> FabricSpec {
    let mut spec = spec(&[
        ("topology.kind", "bus"),
        ("requester.count", "1"),
        ("requester.pattern", "external"),
        ("endpoint.count", "4"),
        ("map.granularity", granularity),
        ("map.arithmetic", arithmetic),
    ]);
    spec.raw.set("requester.depth", "64").unwrap();
    spec
}

fn served(spec: &FabricSpec, lines: u64, stride: u64) -> Vec<u64> {
    let mut fabric = fabric(spec);
    for line in 0..lines {
        let access = Access {
            addr: line * stride * 64,
            is_write: false,
        };
        fabric.send(Ps::ZERO, RequesterId(0), access, line).unwrap();
    }
    drain(&mut fabric);
    let ends = (0..4).map(|end| fabric.served(EndpointId(end), 0));
    ends.collect()
}
