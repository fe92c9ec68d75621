//! Virtual hierarchies: a host reaches what is bound to its virtual switch, and nothing else.

use crate::rig::{drain, fabric, refused, spec};
use proptest::prelude::*;
use sluice_net::{
    Access, EndpointId, Fabric, FabricConfig, FabricSpec, Group, Length, LinkSpec, Refusal,
    RequesterId, VcsSpec,
};
use sluice_units::Ps;

/// Bytes of a logical device.
const EACH: u64 = 64 << 20;

fn group(name: &str, count: u32, set: &[(&str, &str)]) -> Group {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let count = ("count".to_owned(), count.to_string());
    Group {
        name: name.to_owned(),
        set: set.iter().map(pair).chain([count]).collect(),
        ..Group::default()
    }
}

fn link(a: &str, b: &str) -> LinkSpec {
    LinkSpec {
        ends: [a.to_owned(), b.to_owned()],
        set: Vec::new(),
    }
}

fn vcs(name: &str, host: &str, vppbs: &[&str]) -> VcsSpec {
    VcsSpec {
        name: name.to_owned(),
        switch: "sw".to_owned(),
        upstream: host.to_owned(),
        vppbs: vppbs.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// Hosts on a switch with a pooled device of four logical devices in port 8 and another that is
/// not pooled in port 9.
fn pool(hosts: u32) -> FabricSpec {
    let mut spec = spec(&[("topology.kind", "list"), ("endpoint.capacity", "256MiB")]);
    spec.requesters = vec![group("host", hosts, &[])];
    if hosts == 1 {
        spec.requesters[0].name = "host0".to_owned();
    }
    spec.endpoints = vec![
        group("pool", 1, &[("logical_devices", "4")]),
        group("own", 1, &[("capacity", "64MiB")]),
    ];
    spec.switches = vec![group("sw", 1, &[])];
    spec.links = (0..hosts)
        .map(|host| link(&format!("host{host}"), &format!("sw:{host}")))
        .chain([link("pool", "sw:8"), link("own", "sw:9")])
        .collect();
    spec
}

/// Two hosts share the pooled device.
fn shared() -> FabricSpec {
    let mut spec = pool(2);
    spec.vcs = vec![
        vcs("a", "host0", &["pool.0", "sw:8.2"]),
        vcs("b", "host1", &["sw:9", "pool.1"]),
    ];
    spec
}

fn external(mut spec: FabricSpec) -> Fabric {
    spec.raw.set("requester.pattern", "external").unwrap();
    fabric(&spec)
}

fn send(fabric: &mut Fabric, host: u32, addr: u64) -> Result<Ps, Refusal> {
    let access = Access {
        addr,
        is_write: false,
    };
    fabric.send(fabric.now(), RequesterId(host), access, 0)?;
    Ok(drain(fabric)[0].latency)
}

fn served(fabric: &Fabric) -> [u64; 5] {
    let one = |(endpoint, logical)| fabric.served(EndpointId(endpoint), logical);
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)].map(one)
}

#[test]
fn two_hosts_share_a_pooled_device_through_a_switch_of_two_hierarchies() {
    let mut fabric = external(shared());
    // Each way crosses two ports of 25 ns, and twice a link of 1 ns, with a packet of 250 ps or 1
    // ns at 64 GB/s, around 20 ns of switching. Beside that: 22 ns at the host, 40 and 50 ns at the
    // device.
    let idle = Ps(22_000 + 2 * (2 * 51_000 + 20_000) + 2 * (250 + 1_000) + 90_000);
    for (host, addr, device) in [(0, 0, 0), (0, EACH, 2), (1, 0, 4), (1, EACH, 1)] {
        let before = served(&fabric);
        // Granules of the map go round the devices of a host, in the order of its vPPBs.
        let addr = addr / EACH * 256;
        assert_eq!(send(&mut fabric, host, addr), Ok(idle), "{host} {addr:#x}");
        let after = served(&fabric);
        let more: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        let expected: Vec<u64> = (0..5).map(|at| u64::from(at == device)).collect();
        assert_eq!(more, expected, "{host} {addr:#x}");
    }
}

#[test]
fn a_host_has_no_address_of_what_is_not_in_its_hierarchy() {
    let mut fabric = external(shared());
    for host in 0..2 {
        assert!(send(&mut fabric, host, 2 * EACH - 64).is_ok());
        assert_eq!(send(&mut fabric, host, 2 * EACH), Err(Refusal::NoMemory));
    }
    let maps = |spec: &FabricSpec| {
        let config = FabricConfig::new(spec, 1).unwrap();
        [0, 1].map(|host| config.address_map(RequesterId(host)))
    };
    let [a, b] = maps(&shared());
    assert_ne!(a, b, "each sees memory of its own");
    let [a, b] = maps(&pool(2));
    assert_eq!(a, b, "both see all of it");
    let config = FabricConfig::new(&shared(), 1).unwrap();
    assert_eq!(config.requester_name(RequesterId(1)), "`host1` (vcs `b`)");
    assert_eq!(
        [0, 1].map(|host| config.reach(RequesterId(host))),
        [2 * EACH; 2]
    );
}

/// A switch with one virtual switch that has everything is one that routes by port.
#[test]
fn one_hierarchy_with_everything_changes_nothing() {
    let run = |is_virtual: bool| {
        let mut spec = pool(1);
        if is_virtual {
            let all = ["pool.0", "pool.1", "pool.2", "pool.3", "own"];
            spec.vcs = vec![vcs("all", "host0", &all)];
        }
        let mut fabric = fabric(&spec);
        let length = Length {
            warmup: 100,
            requests: 5_000,
        };
        fabric.run(length, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        (fabric.stats().hash, fabric.stats().events)
    };
    assert_eq!(run(true), run(false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(100)))]

    /// Whichever devices are bound to which host: a host's own devices serve all of its requests.
    #[test]
    fn requests_stay_in_their_hierarchy(
        owners in prop::array::uniform5(0u32..4),
        seed in 0u64..1000,
    ) {
        let names = ["pool.0", "pool.1", "pool.2", "pool.3", "own"];
        let mut spec = pool(3);
        spec.raw.set("map.granularity", "4KiB").unwrap();
        let mine = |host| names.iter().zip(owners).filter(move |(_, owner)| *owner == host);
        for host in 0..3 {
            let bound: Vec<&str> = mine(host).map(|(name, _)| *name).collect();
            spec.vcs.push(vcs(&format!("v{host}"), &format!("host{host}"), &bound));
        }
        if (0..3).any(|host| mine(host).count() == 0) {
            prop_assert!(refused(&spec).to_string().contains("it binds nothing"));
            return Ok(());
        }
        let config = FabricConfig::new(&spec, seed).unwrap();
        let mut fabric = Fabric::new(&config).unwrap();
        fabric.run(Length { warmup: 0, requests: 600 }, &mut |_| true).unwrap();
        fabric.balance().unwrap();
        let served = served(&fabric);
        let by_host = |host| (0..5).filter(|at| owners[*at] == host).map(|at| served[at]).sum();
        for (host, stats) in (0..3).zip(fabric.requester_stats()) {
            let sum: u64 = by_host(host);
            prop_assert!((stats.completed..=stats.issued).contains(&sum), "{host}: {sum}");
        }
        prop_assert_eq!(by_host(3), 0, "what is bound to nobody");
    }
}

fn says(spec: &FabricSpec, message: &str) {
    assert_eq!(refused(spec).to_string(), message);
}

#[test]
fn bindings_that_cannot_be() {
    let with = |second: VcsSpec| {
        let mut spec = shared();
        spec.vcs[1] = second;
        spec
    };
    let b = |vppbs: &[&str]| with(vcs("b", "host1", vppbs));
    says(
        &b(&["pool.2"]),
        "vcs `b`: `pool.2` is bound to vcs `a` already",
    );
    says(
        &b(&["own", "sw:9"]),
        "vcs `b`: `own` is bound to vcs `b` already",
    );
    let five = "pool.0, pool.1, pool.2, pool.3, own";
    let unknown = |name: &str| format!("vcs `b`: there is no device `{name}`; there are {five}");
    says(&b(&["pool"]), &unknown("pool"));
    says(&b(&["sw:8"]), &unknown("sw:8"));
    says(&b(&["sw:9.1"]), &unknown("sw:9.1"));
    says(
        &b(&["sw:1"]),
        "vcs `b`: there is no port with a device `1`; there are 8, 9",
    );
    says(
        &b(&["sv:9"]),
        "vcs `b`: there is no port's switch `sv`; there are sw",
    );
    says(
        &b(&[]),
        "vcs `b`: it binds nothing; give vppbs = [\"DEVICE\"]",
    );
    says(
        &with(vcs("b", "host0", &["own"])),
        "vcs `b`: `host0` is upstream of vcs `a` already",
    );
    says(
        &with(vcs("b", "host7", &["own"])),
        "vcs `b`: there is no requester `host7`; there are host0, host1",
    );
    says(
        &with(vcs("a", "host1", &["own"])),
        "vcs `a`: there are two of this name",
    );
    let mut spec = shared();
    spec.vcs.pop();
    says(
        &spec,
        "vcs `a`: `host1` is on `sw` too, and upstream of no vcs; give it a [[vcs]]",
    );
}

#[test]
fn switches_that_cannot_be_divided() {
    let mut spec = shared();
    spec.switches.push(group("sx", 1, &[]));
    spec.links.push(link("sw", "sx"));
    says(
        &spec,
        "vcs `a`: `sw` is joined with the switch `sx`; a switch with virtual hierarchies has hosts \
         and devices only",
    );
    spec.links.pop();
    spec.vcs[0].switch = "sx".to_owned();
    says(
        &spec,
        "vcs `a`: `host0` has no link to `sx`; an upstream port is one link",
    );
    let mut spec = shared();
    spec.links.push(link("host0", "sw"));
    says(
        &spec,
        "vcs `a`: `host0` has more than one link to `sw`; an upstream port is one link",
    );
}

/// Devices on a switch of their own, which a virtual switch elsewhere cannot bind; hosts without a
/// hierarchy reach them as ever, and those with one do not.
#[test]
fn other_switches_route_by_port() {
    let mut spec = shared();
    spec.requesters.push(group("free", 1, &[]));
    spec.endpoints
        .push(group("far", 1, &[("capacity", "64MiB")]));
    spec.switches.push(group("sx", 1, &[]));
    spec.links.extend([link("free", "sx"), link("far", "sx")]);
    let mut fabric = external(spec.clone());
    let free = 2;
    assert!(send(&mut fabric, free, EACH - 64).is_ok());
    assert_eq!(send(&mut fabric, free, EACH), Err(Refusal::NoMemory));
    assert_eq!(served(&fabric), [0; 5]);
    spec.vcs[1].vppbs.push("far".to_owned());
    says(
        &spec,
        "vcs `b`: `far` is not on `sw`, so no vPPB can have it",
    );
    // Memory of the host's own is in its map beside the hierarchy's.
    spec.vcs[1].vppbs.pop();
    spec.links.push(link("host1", "far"));
    let config = FabricConfig::new(&spec, 1).unwrap();
    assert_eq!(
        [0, 1].map(|host| config.reach(RequesterId(host))),
        [2 * EACH, 3 * EACH]
    );
}

#[test]
fn ranges_are_a_hosts_own() {
    use sluice_net::RangeSpec;
    let range = |name: &str, host: &str, target: &str| RangeSpec {
        name: name.to_owned(),
        base: 0,
        size: EACH,
        targets: vec![target.to_owned()],
        hosts: vec![host.to_owned()],
    };
    let mut spec = shared();
    spec.ranges = vec![
        range("low", "host0", "pool.2"),
        range("low", "host1", "own"),
    ];
    let mut fabric = external(spec.clone());
    assert!(send(&mut fabric, 0, 0).is_ok() && send(&mut fabric, 1, 0).is_ok());
    assert_eq!(served(&fabric), [0, 0, 1, 0, 1]);
    spec.ranges[1] = range("low", "host1", "pool.2");
    says(
        &spec,
        "hdm: range `low`: `host1` has vcs `b` and cannot reach `pool.2`, which is bound to vcs \
         `a`; name the range's hosts, or bind it to theirs",
    );
    spec.ranges[1] = range("low", "host1", "pool.3");
    says(
        &spec,
        "hdm: range `low`: `host1` has vcs `b` and cannot reach `pool.3`, which is bound to none; \
         name the range's hosts, or bind it to theirs",
    );
    spec.ranges[1] = range("low", "host9", "own");
    says(
        &spec,
        "range `low`: there is no requester `host9`; there are host0, host1",
    );
    spec.ranges.pop();
    says(&spec, "hdm: no range has `host1` among its hosts");
}
