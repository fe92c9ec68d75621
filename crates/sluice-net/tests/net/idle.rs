//! The latency of one request alone is the sum of its parts.

use crate::rig::{drain, fabric, run, spec};
use sluice_net::{Access, Length, Part, RequesterId};
use sluice_units::Ps;

/// One access of an idle fabric: its latency.
fn alone(set: &[(&str, &str)], is_write: bool) -> Ps {
    let mut all = vec![
        ("requester.pattern", "external"),
        ("requester.count", "1"),
        ("endpoint.count", "1"),
    ];
    all.extend(set);
    let mut fabric = fabric(&spec(&all));
    let access = Access { addr: 64, is_write };
    fabric.send(Ps(5), RequesterId(0), access, 7).unwrap();
    let done = drain(&mut fabric);
    assert_eq!(done.len(), 1);
    assert_eq!((done[0].tag, done[0].is_write), (7, is_write));
    assert_eq!(done[0].at, Ps(5) + done[0].latency);
    assert_eq!(fabric.stats().parts().total(), done[0].latency.0.into());
    fabric.balance().unwrap();
    done[0].latency
}

#[test]
fn a_bus_with_table_threes_times_takes_their_sum() {
    let bus = ("topology.kind", "bus");
    // ESF Table III: requester 10, cache 12, controller 40; a port at either end of the bus, and
    // the bus, both ways: 164 ns, and the memory.
    let unlimited = [bus, ("link.bandwidth", "none")];
    let sum = 10 + 12 + 2 * (25 + 1 + 25) + 40 + 50;
    assert_eq!(alone(&unlimited, false), Ps::from_ns(sum));
    assert_eq!(sum, 164 + 50);
    // At 64 GB/s a header of 16 bytes takes 250 ps and a line 1 ns, whichever goes which way.
    let sum = Ps::from_ns(sum) + Ps(250) + Ps(1_000);
    assert_eq!(alone(&[bus], false), sum);
    assert_eq!(alone(&[bus], true), sum);
}

#[test]
fn each_switch_adds_itself_two_ports_and_a_link() {
    // A chain with requester and endpoint on switches of their own has two, a star one.
    let sum = |switches: u64| {
        let links = switches + 1;
        let one_way = switches * 20 + links * (25 + 1 + 25);
        Ps::from_ns(10 + 12 + 40 + 50 + 2 * one_way) + Ps(links * 1_250)
    };
    assert_eq!(alone(&[("topology.kind", "star")], false), sum(1));
    assert_eq!(alone(&[("topology.kind", "chain")], false), sum(2));
    assert_eq!(alone(&[("topology.kind", "tree")], false), sum(3));
    assert_eq!(alone(&[("topology.kind", "spine-leaf")], true), sum(3));
}

#[test]
fn the_parts_are_where_they_belong() {
    let mut all = vec![
        ("requester.pattern", "external"),
        ("topology.kind", "chain"),
    ];
    all.extend([("requester.count", "1"), ("endpoint.count", "1")]);
    let mut fabric = fabric(&spec(&all));
    let access = Access {
        addr: 0,
        is_write: false,
    };
    fabric.send(Ps::ZERO, RequesterId(0), access, 0).unwrap();
    drain(&mut fabric);
    let parts = fabric.stats().parts();
    let ns = Part::ALL.map(|part| parts[part] as f64 / 1e3);
    let expected = [
        10.0, 12.0, 0.0, 300.0, 3.75, 6.0, 0.0, 80.0, 0.0, 40.0, 0.0, 50.0,
    ];
    assert_eq!(ns, expected);
    assert_eq!(fabric.stats().hops[2].count, 1);
}

#[test]
fn packets_wait_for_a_link_just_as_long_as_it_is_taken() {
    // Two reads at once of one requester: the request waits 250 ps, the data 1 ns behind the
    // first's, of which 250 ps are the request's own delay.
    let mut all = vec![("requester.pattern", "external"), ("topology.kind", "bus")];
    all.extend([("requester.count", "1"), ("endpoint.count", "1")]);
    let mut fabric = fabric(&spec(&all));
    for tag in 0..2 {
        let access = Access {
            addr: 64 * tag,
            is_write: false,
        };
        fabric.send(Ps::ZERO, RequesterId(0), access, tag).unwrap();
    }
    let done = drain(&mut fabric);
    assert_eq!(done[1].latency - done[0].latency, Ps(1_000));
    let parts = fabric.stats().parts();
    let queues = parts[Part::SwitchQueue] + parts[Part::LinkQueue];
    assert_eq!(queues, 250 + 750);
}

/// A chain may have more switches than a byte can count.
#[test]
fn hops_are_counted_beyond_a_byte() {
    let long = [
        ("topology.kind", "chain"),
        ("topology.per_switch", "1"),
        ("requester.count", "1"),
        ("endpoint.count", "300"),
        ("endpoint.capacity", "1MiB"),
    ];
    let length = Length {
        warmup: 0,
        requests: 3_000,
    };
    let fabric = run(&long, length);
    let hops: Vec<u64> = fabric.stats().hops.iter().map(|hops| hops.count).collect();
    assert_eq!(hops[..2], [0, 0]);
    assert!(hops.len() > 290, "{}", hops.len());
    assert!(hops[257..].iter().sum::<u64>() > 200);
}
