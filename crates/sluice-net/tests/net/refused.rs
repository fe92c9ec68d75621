//! What cannot be is refused with one line that names it.

use crate::rig::{refused, spec};
use sluice_net::{FabricConfig, FabricSpec, Group, LinkSpec, RangeSpec, RouteSpec};

fn group(name: &str, count: u32) -> Group {
    Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), count.to_string())],
        ..Group::default()
    }
}

/// Two requesters and two memories around a triangle of switches.
pub fn triangle() -> FabricSpec {
    let mut spec = spec(&[("topology.kind", "list")]);
    spec.requesters = vec![group("host", 2)];
    spec.endpoints = vec![group("mem", 2)];
    spec.switches = vec![group("sw", 3)];
    for (a, b) in [
        ("host0", "sw0:0"),
        ("host1", "sw1:0"),
        ("mem0", "sw2:0"),
        ("mem1", "sw2:1"),
        ("sw0", "sw1"),
        ("sw1", "sw2"),
        ("sw2", "sw0"),
    ] {
        spec.links.push(link(a, b));
    }
    spec
}

fn link(a: &str, b: &str) -> LinkSpec {
    LinkSpec {
        ends: [a.to_owned(), b.to_owned()],
        set: Vec::new(),
    }
}

fn route(at: &str, to: &str, via: &str) -> RouteSpec {
    RouteSpec {
        at: at.to_owned(),
        to: to.to_owned(),
        via: vec![via.to_owned()],
    }
}

fn range(name: &str, base: u64, target: &str) -> RangeSpec {
    RangeSpec {
        name: name.to_owned(),
        base,
        size: 1 << 30,
        targets: vec![target.to_owned()],
        hosts: Vec::new(),
    }
}

pub fn says(spec: &FabricSpec, message: &str) {
    assert_eq!(refused(spec).to_string(), message);
}

#[test]
fn the_triangle_itself_can_be() {
    crate::rig::fabric(&triangle());
}

#[test]
fn a_disconnected_graph() {
    let mut spec = triangle();
    spec.links.retain(|link| link.ends[0] != "mem1");
    says(
        &spec,
        "`mem1` cannot reach `host0`: no chain of links and switches joins them",
    );
}

#[test]
fn endpoints_do_not_pass_packets_on() {
    let mut spec = triangle();
    spec.links.push(link("mem1", "mem0"));
    says(
        &spec,
        "link mem1-mem0: it joins two endpoints, and no packet goes from one to another; leave it \
         out",
    );
}

/// Links that take no time are links all the same, unlike the ends of a bus.
#[test]
fn a_topologys_link_that_takes_no_time_can_be_changed() {
    let with = |kind| {
        let mut spec = spec(&[
            ("topology.kind", kind),
            ("link.bandwidth", "none"),
            ("link.latency", "0ns"),
            ("link.port_latency", "0ns"),
        ]);
        spec.links = vec![LinkSpec {
            set: crate::rig::pairs(&[("latency", "5ns")]),
            ..link("r0", "s0")
        }];
        spec
    };
    crate::rig::fabric(&with("star"));
    says(
        &with("bus"),
        "topology `bus`: it makes its own links, and none joins `r0` and `s0`; for [[links]] of \
         your own give topology.kind = \"list\"",
    );
}

#[test]
fn more_bytes_than_addresses() {
    for arithmetic in ["modulo", "weighted"] {
        let spec = spec(&[
            ("endpoint.capacity", "2305843010287435776B"),
            ("map.arithmetic", arithmetic),
        ]);
        says(
            &spec,
            "hdm: from `m0` on, there are more bytes than 64 bits can address; give \
             endpoint.capacity less",
        );
    }
}

#[test]
fn a_routing_loop() {
    let mut spec = triangle();
    spec.routes = vec![route("sw0", "mem0", "sw1"), route("sw1", "mem0", "sw0")];
    says(
        &spec,
        "routing loop: packets for `mem0` go sw0 to sw1 to sw0; change one of the routes",
    );
}

#[test]
fn a_detour_is_no_loop() {
    let mut spec = triangle();
    spec.routes = vec![route("sw0", "mem0", "sw1")];
    crate::rig::fabric(&spec);
}

/// Switches that nothing else is joined to have no way to anything, and are in nobody's.
#[test]
fn switches_apart_are_no_loop() {
    let mut spec = triangle();
    spec.switches = vec![group("sw", 6)];
    spec.links.push(link("sw3", "sw4"));
    spec.links.push(link("sw4", "sw5"));
    spec.routes = vec![route("sw0", "mem0", "sw1")];
    crate::rig::fabric(&spec);
    spec.routes = vec![route("sw3", "mem0", "sw4"), route("sw4", "mem0", "sw3")];
    says(
        &spec,
        "routing loop: packets for `mem0` go sw3 to sw4 to sw3; change one of the routes",
    );
}

#[test]
fn a_route_by_no_neighbour() {
    let mut spec = triangle();
    spec.routes = vec![route("sw0", "mem0", "host1")];
    says(
        &spec,
        "route at sw0 to mem0: there is no neighbour on the way `host1`; there are host0, sw1, sw2",
    );
}

#[test]
fn flits_that_do_not_carry_what_is_asked() {
    let mut spec = triangle();
    spec.raw.set("packet.flits", "68b").unwrap();
    spec.raw.set("coherence.filter", "shared").unwrap();
    says(
        &spec,
        "impossible configuration: packet.flits = 68b, coherence.filter = shared: 68-byte flits \
         carry no back-invalidation; choose longer ones",
    );
    let mut spec = triangle();
    spec.raw.set("packet.flits", "256b").unwrap();
    spec.raw.set("packet.payload", "256").unwrap();
    says(
        &spec,
        "impossible configuration: packet.flits = 256b, packet.payload = 256: a message of CXL.mem \
         carries a line of 64 bytes; give packet.payload = 64",
    );
}

/// Bandwidth was counted that no memory had served.
#[test]
fn packets_of_more_than_memory_serves() {
    let payload = ("packet.payload", "4096");
    crate::rig::fabric(&spec(&[payload]));
    for other in [
        ("endpoint.type", "dram"),
        ("endpoint.type", "external"),
        ("coherence.filter", "endpoint"),
    ] {
        let error = refused(&spec(&[payload, other])).to_string();
        assert!(error.contains("packet.payload = 4096"), "{error}");
        crate::rig::fabric(&spec(&[other]));
    }
}

#[test]
fn overlapping_ranges() {
    let mut spec = triangle();
    spec.ranges = vec![range("low", 0, "mem0"), range("high", 0x3000_0000, "mem1")];
    says(
        &spec,
        "hdm: decoders `low` and `high` overlap: `low` ends at 0x40000000, `high` begins at \
         0x30000000",
    );
}

#[test]
fn a_range_over_no_endpoint() {
    let mut spec = triangle();
    spec.ranges = vec![range("low", 0, "mem7")];
    says(
        &spec,
        "range `low`: there is no endpoint `mem7`; there are mem0, mem1",
    );
}

#[test]
fn a_port_used_twice() {
    let mut spec = triangle();
    spec.links[3] = link("mem1", "sw2:0");
    says(
        &spec,
        "port 0 of `sw2` is used twice: by link mem0-sw2 and by link mem1-sw2",
    );
}

#[test]
fn a_port_that_the_switch_has_not() {
    let mut spec = triangle();
    spec.raw.set("switch.ports", "3").unwrap();
    says(
        &spec,
        "`sw2` has 3 ports, but link sw2-sw0 needs port 3; raise switch.ports, or `ports` of its \
         group",
    );
}

/// A group's own number was ignored.
#[test]
fn the_ports_of_a_group_of_switches() {
    let mut spec = triangle();
    spec.switches[0]
        .set
        .push(("ports".to_owned(), "3".to_owned()));
    says(
        &spec,
        "`sw2` has 3 ports, but link sw2-sw0 needs port 3; raise switch.ports, or `ports` of its \
         group",
    );
    spec.raw.set("switch.ports", "3").unwrap();
    spec.switches[0].set[1].1 = "4".to_owned();
    crate::rig::fabric(&spec);
}

/// A bus counted as two switches, of which one had no port for the 257th requester.
#[test]
fn ends_of_a_bus_and_hosts_own_ports_are_no_switches() {
    let of = |spec: &FabricSpec| FabricConfig::new(spec, 1).unwrap_or_else(|e| panic!("{e}"));
    let bus = of(&spec(&[
        ("topology.kind", "bus"),
        ("requester.count", "300"),
    ]));
    assert_eq!(bus.switches(), 0);
    assert!(bus.graph.links.iter().all(|link| link.ports == [None; 2]));
    let mut servers = spec(&[("topology.kind", "star"), ("switch.ports", "3")]);
    servers.endpoints = vec![group("mem", 1)];
    servers.requesters = vec![group("near", 1)];
    for far in ["one", "two", "three", "four"] {
        servers.requesters.push(Group {
            socket: Some("near".to_owned()),
            ..group(far, 1)
        });
    }
    assert_eq!(of(&servers).switches(), 1);
}

/// The nodes of a bus have none, and what was given for them was ignored.
#[test]
fn links_of_nodes_on_a_bus() {
    let link = crate::rig::pairs(&[("bandwidth", "100")]);
    for at in 0..2 {
        let mut spec = spec(&[("topology.kind", "bus")]);
        (spec.requesters, spec.endpoints) = (vec![group("host", 2)], vec![group("mem", 2)]);
        let groups = [&mut spec.requesters, &mut spec.endpoints];
        groups.into_iter().nth(at).unwrap()[0]
            .link
            .clone_from(&link);
        let name = ["host", "mem"][at];
        says(
            &spec,
            &format!(
                "topology `bus`: the nodes of group `{name}` are on it without links of their \
                 own, so link.bandwidth = 100 means nothing; give it to [link], which is the bus"
            ),
        );
    }
}

/// It passed the check, and the run panicked.
#[test]
fn a_route_by_nobody() {
    let mut spec = triangle();
    spec.routes = vec![RouteSpec {
        via: Vec::new(),
        ..route("sw0", "mem0", "")
    }];
    says(
        &spec,
        "route at sw0 to mem0: impossible configuration: via = []: packets would have no way; \
         name a neighbour, or leave the route out",
    );
}

/// 16 GiB were there, and nothing said so.
#[test]
fn more_capacity_than_the_dram_has() {
    let mut spec = triangle();
    spec.raw.set("endpoint.type", "dram").unwrap();
    spec.raw.set("endpoint.capacity", "16GiB").unwrap();
    crate::rig::fabric(&spec);
    spec.raw.set("endpoint.capacity", "17GiB").unwrap();
    says(
        &spec,
        "endpoint group `mem`: impossible configuration: endpoint.capacity = 17GiB, endpoint.dram \
         = ddr5-4800, endpoint.dram_channels = 2, endpoint.dram_ranks = 1: that DRAM has 16GiB; \
         give at most that, or more ranks",
    );
}

#[test]
fn an_unknown_device_type() {
    let mut spec = triangle();
    let typed = ("type".to_owned(), "dramm".to_owned());
    spec.endpoints[0].set.push(typed);
    says(
        &spec,
        "endpoint group `mem`: bad value for `endpoint.type`: \"dramm\" (did you mean dram?); \
         expected one of fixed, dram, device, external",
    );
}

#[test]
fn a_link_to_nobody_and_one_to_itself() {
    let mut spec = triangle();
    spec.links.push(link("host0", "sw9"));
    says(
        &spec,
        "link host0-sw9: there is no node `sw9`; there are host0, host1, mem0, mem1, sw0, sw1, sw2",
    );
    spec.links.pop();
    spec.links.push(link("sw1", "sw1"));
    says(&spec, "link sw1-sw1: it joins a node with itself");
}

#[test]
fn two_nodes_of_one_name() {
    let mut spec = triangle();
    spec.switches.push(group("host0", 1));
    says(
        &spec,
        "two nodes are called `host0`: give each group of nodes a name of its own",
    );
}

#[test]
fn more_edge_ports_than_12_bits_number() {
    let spec = spec(&[("requester.count", "1000"), ("endpoint.count", "3097")]);
    says(
        &spec,
        "4097 requesters and endpoints, but port ids have 12 bits: 4096 at most",
    );
}

#[test]
fn switches_of_a_topology_that_makes_its_own() {
    let mut spec = spec(&[("topology.kind", "ring")]);
    spec.switches = vec![group("sw", 1)];
    says(
        &spec,
        "topology `ring`: it makes its own; for [[switches]] give topology.kind = \"list\"",
    );
}

/// Two lines are the least that can be drawn from, and all that is mapped the most.
#[test]
fn a_footprint_of_one_line_or_beyond_the_map() {
    let with = |bytes: &str| spec(&[("requester.footprint", bytes), ("endpoint.count", "1")]);
    crate::rig::fabric(&with("128B"));
    for bytes in ["64B", "900TiB"] {
        let error = refused(&with(bytes)).to_string();
        assert!(error.contains("requester.footprint is"), "{error}");
        assert!(error.contains("give it from 128B to that"), "{error}");
    }
}

/// Of 16 names all are shown, of more the first 16.
#[test]
fn a_message_shows_sixteen_names() {
    for (count, more) in [(15, false), (16, false), (17, true)] {
        let mut spec = spec(&[("topology.kind", "star")]);
        spec.endpoints = vec![group("mem", count)];
        spec.ranges = vec![range("all", 0, "nowhere")];
        let error = refused(&spec).to_string();
        let last = format!("mem{}", count.min(16) - 1);
        assert!(error.contains(&last), "{error}");
        assert_eq!(error.contains(", .."), more, "{error}");
        assert!(!error.contains("mem16"), "{error}");
    }
}
