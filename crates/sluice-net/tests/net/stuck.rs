//! Packets that wait for each other's credits for ever, while others go on.

use crate::rig::{self, pairs, spec};
use sluice_net::{FabricSpec, Group, Length, LinkSpec, Standstill};

fn group(name: &str, set: &[(&str, &str)]) -> Group {
    Group {
        name: name.to_owned(),
        set: pairs(set),
        ..Group::default()
    }
}

/// A ring of switches with a host and a memory each, and beside it a host with a memory of its own.
fn ring_and_one(credits: &str) -> FabricSpec {
    let mut spec = spec(&[
        ("topology.kind", "list"),
        ("map.ways", "1"),
        ("endpoint.capacity", "1MiB"),
        ("link.credits", credits),
    ]);
    spec.requesters = vec![
        group(
            "alone",
            &[("count", "1"), ("footprint", "1MiB"), ("depth", "1")],
        ),
        group("host", &[("count", "6")]),
    ];
    spec.endpoints = vec![
        group("own", &[("count", "1")]),
        group("mem", &[("count", "6")]),
    ];
    spec.switches = vec![group("s", &[("count", "6")])];
    let mut link = |a: &str, b: &str| {
        spec.links.push(LinkSpec {
            ends: [a.to_owned(), b.to_owned()],
            set: Vec::new(),
        });
    };
    for number in 0..6 {
        let switch = format!("s{number}");
        link(&format!("host{number}"), &switch);
        link(&format!("mem{number}"), &switch);
        link(&switch, &format!("s{}", (number + 1) % 6));
    }
    link("alone", "own");
    link("alone", "s0");
    link("own", "s0");
    spec
}

/// The ring's packets wait for each other for ever, and the host beside them goes on: the run had
/// ended as if nothing were wrong.
#[test]
fn a_deadlock_of_a_part_is_found_at_the_end() {
    let length = Length {
        warmup: 0,
        requests: 50_000,
    };
    let mut watch = |_: u64| true;
    let mut fabric = rig::fabric(&ring_and_one("1"));
    let Err(Standstill::Stuck(before)) = fabric.run(length, &mut watch) else {
        panic!("six hosts wait for ever");
    };
    assert_eq!(before.packets, 6 * 64, "all requests of the ring");
    let ways = (0..6).map(|n| format!("s{} to s{n}", (n + 1) % 6));
    for way in ways {
        assert!(before.links.contains(&way), "{before}");
    }
    assert!(!before.links.contains("alone"), "{before}");
    let counted = fabric.stats().completed();
    assert!(fabric.in_flight() > 0 && counted >= 50_000);
    // It is for ever: of the requests after that none is of the ring.
    let Err(Standstill::Stuck(after)) = fabric.run(length, &mut watch) else {
        panic!("and still do");
    };
    assert_eq!(
        (after.packets, &after.links),
        (before.packets, &before.links)
    );
    let each: Vec<u64> = fabric.requester_stats().map(|it| it.completed).collect();
    assert_eq!(each, [50_000, 0, 0, 0, 0, 0, 0]);
    // Who stops a run wants no result.
    let mut stop = |_: u64| false;
    assert_eq!(fabric.run(length, &mut stop), Ok(()));
}

/// With room for all that can be under way, packets wait and come.
#[test]
fn packets_that_wait_are_not_stuck_while_credits_come() {
    let length = Length {
        warmup: 0,
        requests: 20_000,
    };
    for credits in ["64", "400", "none"] {
        let mut fabric = rig::fabric(&ring_and_one(credits));
        assert_eq!(fabric.run(length, &mut |_| true), Ok(()), "{credits}");
    }
}
