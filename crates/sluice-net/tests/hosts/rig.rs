//! A host on a link of its own, as a fabric.

use sluice_host::{Host, HostConfig, HostStats, Program};
use sluice_model::Device;
use sluice_net::{
    EndpointId, Fabric, FabricConfig, FabricSpec, Group, HostGroup, Hosts, LinkSpec, RequesterId,
};
use sluice_units::Ps;

/// A group of one node.
pub fn group(name: &str) -> Group {
    Group {
        name: name.to_owned(),
        ..Group::default()
    }
}

/// Nodes without times of their own.
pub fn idle(settings: &[(&str, &str)]) -> FabricSpec {
    let mut spec = FabricSpec::default();
    let all = [
        ("topology.kind", "list"),
        ("requester.count", "1"),
        ("endpoint.count", "1"),
        ("endpoint.type", "external"),
        ("endpoint.capacity", "1GiB"),
        ("endpoint.controller", "0ns"),
        ("link.latency", "0ns"),
        ("link.port_latency", "0ns"),
        ("link.bandwidth", "none"),
        ("packet.flits", "68b"),
    ];
    for (key, value) in all.iter().chain(settings) {
        spec.set(key, value).unwrap();
    }
    spec
}

/// One host, one endpoint, and a link.
pub fn direct(settings: &[(&str, &str)]) -> FabricSpec {
    let mut spec = idle(settings);
    let host = Group {
        host: Some(HostGroup::default()),
        ..group("host")
    };
    (spec.requesters, spec.endpoints) = (vec![host], vec![group("device")]);
    spec.links.push(LinkSpec {
        ends: ["host".to_owned(), "device".to_owned()],
        set: Vec::new(),
    });
    spec
}

/// Runs to the end of the program.
pub fn run(
    host: &HostConfig,
    device: Device,
    settings: &[(&str, &str)],
    program: &mut dyn Program,
) -> HostStats {
    let config = FabricConfig::new(&direct(settings), 1).unwrap();
    let mut fabric = Fabric::new(&config).unwrap();
    fabric.put_device(EndpointId(0), device, Ps::ZERO);
    let mut hosts = Hosts::new(fabric);
    hosts.seat(RequesterId(0), 0, Host::with_port(host, program));
    hosts.fabric_mut().begin();
    while hosts.step(&mut |_| ()).unwrap() {}
    hosts.fabric().balance().unwrap();
    assert_eq!(hosts.fabric().in_flight(), 0);
    let device = hosts.device(EndpointId(0)).unwrap();
    device.balance().unwrap();
    let stats = hosts.hosts().next().unwrap().1.results();
    // Every request of the host is the link's, and the time of each is in one of its parts.
    assert_eq!(
        hosts.fabric().stats().completed(),
        stats.memory.requests.total()
    );
    let time = &stats.memory.access_time;
    assert_eq!(
        time.accesses + stats.memory.long_delays,
        stats.memory.requests.total()
    );
    assert_eq!(u128::from(time.total().0), stats.memory.latency.sum());
    stats
}
