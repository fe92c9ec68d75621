//! Servers of two sockets: what goes through the port of the other one.

use crate::rig::{bandwidths, drain, fabric, near, pairs, refused, spec};
use proptest::prelude::*;
use sluice_net::{
    Access, Fabric, FabricConfig, FabricSpec, Group, Length, LinkSpec, RequesterId, TOPOLOGIES,
};
use sluice_units::Ps;

fn group(name: &str, count: &str) -> Group {
    Group {
        name: name.to_owned(),
        set: pairs(&[("count", count)]),
        ..Group::default()
    }
}

/// Requesters at the home sockets, and as many at other sockets of the same servers.
fn servers(count: &str, set: &[(&str, &str)]) -> FabricSpec {
    let mut spec = spec(set);
    let far = Group {
        socket: Some("near".to_owned()),
        ..group("far", count)
    };
    spec.requesters = vec![group("near", count), far];
    spec
}

/// The latency of one request of an idle fabric, and the switches on its way.
fn alone(spec: &FabricSpec, requester: u32, is_write: bool) -> (Ps, Vec<u64>) {
    let mut fabric = fabric(spec);
    let access = Access { addr: 0, is_write };
    fabric
        .send(Ps::ZERO, RequesterId(requester), access, 1)
        .unwrap();
    let done = drain(&mut fabric);
    assert_eq!(done.len(), 1);
    assert_eq!(fabric.stats().parts().total(), done[0].latency.0.into());
    fabric.balance().unwrap();
    let hops = fabric.stats().hops.iter().map(|hops| hops.count);
    (done[0].latency, hops.collect())
}

/// A header of 16 bytes goes one way and a line of 64 the other: 8 ns and 32 ns at 2 GB/s.
#[test]
fn another_socket_adds_its_link_both_ways() {
    for topology in TOPOLOGIES {
        let set = [
            ("topology.kind", topology.name),
            ("requester.pattern", "external"),
            ("endpoint.count", "1"),
            ("socket.bandwidth", "2000"),
        ];
        let mut one = spec(&set[..3]);
        one.set("requester.count", "1").unwrap();
        for is_write in [false, true] {
            let plain = alone(&one, 0, is_write);
            let both = servers("1", &set);
            assert_eq!(alone(&both, 0, is_write), plain, "{}", topology.name);
            let (latency, hops) = alone(&both, 1, is_write);
            assert_eq!(latency, plain.0 + Ps::from_ns(2 * 22 + 8 + 32));
            assert_eq!(hops, plain.1, "{}", topology.name);
            let mut unlimited = both;
            unlimited.set("socket.bandwidth", "none").unwrap();
            unlimited.set("socket.latency", "70ns").unwrap();
            let (latency, _) = alone(&unlimited, 1, is_write);
            assert_eq!(latency, plain.0 + Ps::from_ns(140));
        }
    }
}

/// Reads: a line comes back for each, so data fill the slowest link on their way.
#[test]
fn sockets_share_a_port_and_each_has_no_more_than_its_own_link() {
    let with = |port: &str, socket: &str, near: &str| {
        let mut spec = servers(
            "1",
            &[
                ("topology.kind", "star"),
                ("packet.header", "0"),
                ("endpoint.count", "4"),
                ("requester.depth", "1024"),
                ("socket.bandwidth", socket),
            ],
        );
        spec.requesters[0].link = pairs(&[("bandwidth", port)]);
        spec.requesters[0].set.extend(pairs(&[("pattern", near)]));
        bandwidths(&spec, 40_000)
    };
    near(with("32000", "5000", "external")[1], 5_000.0);
    near(with("4000", "5000", "external")[1], 4_000.0);
    let both = with("20000", "5000", "random");
    near(both[0], 15_000.0);
    near(both[1], 5_000.0);
    let both = with("8000", "none", "random");
    near(both[0] + both[1], 8_000.0);
}

/// Bytes on the link between two nodes, both ways together.
fn carried(fabric: &Fabric, a: &str, b: &str) -> u64 {
    let graph = fabric.graph();
    let links = (0..graph.links.len() as u32).map(sluice_net::LinkId);
    let name = format!("link {a}-{b}");
    let mut found = links.filter(|link| graph.link_name(*link) == name);
    let link = found.next().unwrap_or_else(|| panic!("no {name}"));
    let ways = link.directions().map(|way| fabric.links().carried(way));
    ways.iter().map(|carried| carried.bytes).sum()
}

#[test]
fn each_server_has_a_port_of_its_own() {
    let set = [
        ("topology.kind", "star"),
        ("requester.pattern", "external"),
        ("endpoint.count", "1"),
    ];
    let mut spec = servers("3", &set);
    let other = Group {
        socket: Some("near".to_owned()),
        ..group("other", "3")
    };
    spec.requesters.push(other);
    let mut fabric = fabric(&spec);
    let access = Access {
        addr: 64,
        is_write: false,
    };
    // far1 and other1 are the fifth and the eighth.
    for requester in [4, 7] {
        fabric
            .send(Ps::ZERO, RequesterId(requester), access, 1)
            .unwrap();
    }
    assert_eq!(drain(&mut fabric).len(), 2);
    for server in 0..3 {
        let root = format!("near{server}.root");
        let own = u64::from(server == 1);
        assert_eq!(carried(&fabric, &root, "s0"), own * 2 * 80);
        assert_eq!(carried(&fabric, &format!("near{server}"), &root), 0);
        for socket in ["far", "other"] {
            let bytes = carried(&fabric, &format!("{socket}{server}"), &root);
            assert_eq!(bytes, own * 80);
        }
    }
}

/// Sockets made by hand: a switch of no latency where they meet.
fn by_hand(count: u32, set: &[(&str, &str)]) -> FabricSpec {
    let mut by_hand = spec(set);
    by_hand.set("topology.kind", "list").unwrap();
    let name = |name: &str, number: u32| match count {
        1 => name.to_owned(),
        _ => format!("{name}{number}"),
    };
    let link = |a: String, b: String, set: &[(&str, &str)]| LinkSpec {
        ends: [a, b],
        set: pairs(set),
    };
    let raw = FabricSpec::default().raw;
    let value = |key: &str| {
        let given = set.iter().find(|(given, _)| *given == key);
        given.map_or_else(|| raw.get(key).unwrap(), |(_, value)| (*value).to_owned())
    };
    let (bandwidth, latency) = (value("socket.bandwidth"), value("socket.latency"));
    for number in 0..count {
        let root = name("root", number);
        let nothing = [
            ("bandwidth", "none"),
            ("latency", "0ns"),
            ("port_latency", "0ns"),
        ];
        let mut between = nothing;
        between[0].1 = &bandwidth;
        between[1].1 = &latency;
        by_hand.links.extend([
            link(root.clone(), "s".to_owned(), &[]),
            link(name("near", number), root.clone(), &nothing),
            link(name("far", number), root, &between),
        ]);
    }
    let endpoints: u32 = value("endpoint.count").parse().unwrap();
    for number in 0..endpoints {
        let end = format!("m{number}");
        by_hand.links.push(link(end, "s".to_owned(), &[]));
    }
    let count = count.to_string();
    by_hand.requesters = vec![group("near", &count), group("far", &count)];
    let mut root = group("root", &count);
    root.set.push(("latency".to_owned(), "0ns".to_owned()));
    by_hand.switches = vec![group("s", "1"), root];
    for key in ["socket.latency", "socket.bandwidth"] {
        let usual = raw.get(key).unwrap();
        by_hand.set(key, &usual).unwrap();
    }
    by_hand
}

/// Where its links end at a socket's way in, a home still has no ports that a link could name.
#[test]
fn ports_of_a_home_are_refused() {
    let mut spec = servers("1", &[("topology.kind", "list"), ("endpoint.count", "2")]);
    let links = |near: &str| {
        [(near, "m0"), ("m1", near)].map(|(a, b)| LinkSpec {
            ends: [a.to_owned(), b.to_owned()],
            set: Vec::new(),
        })
    };
    spec.links = links("near").to_vec();
    assert_eq!(fabric(&spec).graph().links.len(), 4);
    spec.links = links("near:5").to_vec();
    let error = refused(&spec).to_string();
    assert!(
        error.contains("link near:5-m0: only switches have ports"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Under load each requester has the same requests at the same times.
    #[test]
    fn sockets_are_what_a_list_makes_of_them(
        count in 1_u32..4,
        endpoints in 1_u32..4,
        latency in 0_u64..200,
        bandwidth in prop::sample::select(vec!["none", "900", "7000", "64000"]),
        reads in prop::sample::select(vec!["none", "50%", "100%"]),
        filter in prop::sample::select(vec!["none", "shared"]),
    ) {
        let (latency, endpoints) = (format!("{latency}ns"), endpoints.to_string());
        let set = [
            ("topology.kind", "star"),
            ("endpoint.count", endpoints.as_str()),
            ("requester.depth", "8"),
            ("requester.reads", reads),
            ("requester.footprint", "64KiB"),
            ("requester.cache_lines", if filter == "none" { "none" } else { "64" }),
            ("coherence.filter", filter),
            ("coherence.entries", "256"),
            ("socket.latency", latency.as_str()),
            ("socket.bandwidth", bandwidth),
        ];
        let length = Length { warmup: 100, requests: 2_000 };
        let told = [servers(&count.to_string(), &set), by_hand(count, &set)].map(|spec| {
            let mut config = FabricConfig::new(&spec, 1).unwrap();
            // Of coherent memory, every state of every line, and every load.
            config.is_checked = true;
            let mut fabric = Fabric::new(&config).unwrap();
            fabric.run(length, &mut |_| true).unwrap();
            fabric.balance().unwrap();
            let each = fabric.requester_stats();
            let each: Vec<_> = each.map(|stats| (stats.completed, stats.latency)).collect();
            (fabric.stats().time(), each)
        });
        prop_assert_eq!(&told[0], &told[1]);
    }
}

#[test]
fn what_cannot_be_a_socket_is_refused() {
    let star = [("topology.kind", "star")];
    let said = |spec: &FabricSpec| refused(spec).to_string();
    let socket = |home: &str| {
        let mut spec = servers("2", &star);
        spec.requesters[1].socket = Some(home.to_owned());
        spec
    };
    for home in ["neer", "far"] {
        assert_eq!(
            said(&socket(home)),
            format!(
                "requester group `far`: impossible configuration: socket = {home}: no group of \
                 requesters with a port of its own; there are near"
            )
        );
    }
    let mut more = servers("2", &star);
    more.set("far.count", "3").unwrap();
    assert!(said(&more).contains("there are 3 and 2"), "{}", said(&more));
    let mut linked = servers("2", &star);
    linked.requesters[1].link = pairs(&[("bandwidth", "1000")]);
    let told = said(&linked);
    assert!(
        told.contains("link.bandwidth = 1000 means nothing"),
        "{told}"
    );
    let mut listed = servers("2", &[("topology.kind", "list")]);
    listed.switches = vec![group("s", "1")];
    listed.links = vec![LinkSpec {
        ends: ["far0".to_owned(), "s".to_owned()],
        set: Vec::new(),
    }];
    let told = said(&listed);
    assert!(told.contains("link far0-s"), "{told}");
    assert!(told.contains("is joined with its home alone"), "{told}");
    for (key, value) in [("socket.latency", "1ns"), ("socket.bandwidth", "none")] {
        let told = said(&spec(&[("topology.kind", "star"), (key, value)]));
        assert!(
            told.contains("no group of requesters has a socket"),
            "{told}"
        );
    }
    let mut divided = servers("1", &star);
    divided.vcs = vec![sluice_net::VcsSpec::default()];
    let told = said(&divided);
    assert!(told.contains("leave out either"), "{told}");
}
