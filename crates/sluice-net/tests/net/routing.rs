//! Which of several shortest ways packets take, seen from the links that carried them.

use crate::rig::{fabric, spec};
use sluice_net::{Access, Fabric, FabricSpec, Group, LinkSpec, RequesterId};
use sluice_units::Ps;

/// Switches in the middle, and so ways from the one side to the other.
const WAYS: usize = 3;
/// Time between two requests of a stream.
const STEP: Ps = Ps(2_000);
/// From sending a request to the choice of its way: its header on the host's link.
const TO_CHOICE: Ps = Ps(250);
/// MB/s of the links to the switches in the middle, and how long each takes for a header of 16 B.
const UNEQUAL: [(&str, Ps); WAYS] = [
    ("1000", Ps(16_000)),
    ("2000", Ps(8_000)),
    ("4000", Ps(4_000)),
];

fn group(name: &str, count: usize) -> Group {
    Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), count.to_string())],
        ..Group::default()
    }
}

/// Hosts on a switch, memories on another, and three switches between these two. Nothing but links
/// takes time.
fn diamond(policy: &str, edges: usize, bandwidths: [&str; WAYS]) -> FabricSpec {
    let mut spec = spec(&[
        ("topology.kind", "list"),
        ("routing.policy", policy),
        ("requester.pattern", "external"),
        ("requester.process", "0ns"),
        ("requester.cache_access", "0ns"),
        ("requester.depth", "4096"),
        ("link.latency", "0ns"),
        ("link.port_latency", "0ns"),
        ("switch.latency", "0ns"),
        ("map.ways", "1"),
        ("endpoint.capacity", "1MiB"),
    ]);
    spec.requesters = vec![group("host", edges)];
    spec.endpoints = vec![group("mem", edges)];
    spec.switches = vec![group("near", 1), group("far", 1), group("mid", WAYS)];
    let name = |what: &str, number: usize, count: usize| match count {
        1 => what.to_owned(),
        _ => format!("{what}{number}"),
    };
    let link = |a: String, b: &str| LinkSpec {
        ends: [a, b.to_owned()],
        set: Vec::new(),
    };
    for (way, bandwidth) in bandwidths.into_iter().enumerate() {
        let set = vec![("bandwidth".to_owned(), bandwidth.to_owned())];
        for end in ["near", "far"] {
            spec.links.push(LinkSpec {
                ends: [end.to_owned(), format!("mid{way}")],
                set: set.clone(),
            });
        }
    }
    for edge in 0..edges {
        spec.links.push(link(name("host", edge, edges), "near"));
        spec.links.push(link(name("mem", edge, edges), "far"));
    }
    spec
}

/// Packets that went from a switch to each of those in the middle.
fn carried(fabric: &Fabric, from: &str) -> [u64; WAYS] {
    std::array::from_fn(|way| {
        let name = |node| fabric.graph().name(node);
        let to = format!("mid{way}");
        let mut directions = fabric.graph().directions();
        let found = directions.find(|direction| {
            let (a, b) = fabric.graph().direction(*direction);
            (name(a), name(b)) == (from, to.as_str())
        });
        let direction = found.expect("the diamond has it");
        fabric.links().carried(direction).packets
    })
}

/// Sends a read, and returns the way that its request took.
fn way_of(fabric: &mut Fabric, at: Ps, host: u32, addr: u64) -> usize {
    let go_on = |fabric: &mut Fabric, until| {
        fabric.advance(until, &mut |_| ()).expect("it goes on");
    };
    go_on(fabric, at);
    let before = carried(fabric, "near");
    let access = Access {
        addr,
        is_write: false,
    };
    fabric
        .send(at, RequesterId(host), access, 0)
        .expect("there is room");
    go_on(fabric, at + TO_CHOICE);
    let after = carried(fabric, "near");
    let mut taken = (0..WAYS).filter(|way| after[*way] > before[*way]);
    let way = taken.next().expect("the request has left the first switch");
    assert_eq!(taken.next(), None, "one packet takes one way");
    way
}

/// Requests far apart from one host to one memory.
fn alone(policy: &str) -> Vec<usize> {
    let mut fabric = fabric(&diamond(policy, 1, ["64000"; WAYS]));
    let apart = Ps::from_us(1);
    (0..600)
        .map(|n| way_of(&mut fabric, apart * n, 0, 0))
        .collect()
}

fn shares(ways: &[usize]) -> [usize; WAYS] {
    std::array::from_fn(|way| ways.iter().filter(|taken| **taken == way).count())
}

/// Requests so close that they wait. For each the way it took, and how long it would have waited
/// for each: a link is free again when it has sent what was given to it.
fn crowd(policy: &str) -> Vec<(usize, [Ps; WAYS])> {
    let mut fabric = fabric(&diamond(policy, 1, UNEQUAL.map(|(bandwidth, _)| bandwidth)));
    let mut free = [Ps::ZERO; WAYS];
    let mut send = |n: u64| {
        let at = STEP * n;
        let way = way_of(&mut fabric, at, 0, 0);
        let now = at + TO_CHOICE;
        let waits = free.map(|free| free.saturating_sub(now));
        free[way] = free[way].max(now) + UNEQUAL[way].1;
        (way, waits)
    };
    (0..2_000).map(&mut send).collect()
}

#[test]
fn the_shortest_wait_is_taken() {
    let taken = crowd("adaptive");
    for (n, (way, waits)) in taken.iter().enumerate() {
        let least = waits.iter().min().unwrap();
        assert_eq!(waits[*way], *least, "packet {n}: way {way} of {waits:?}");
    }
    let waited = taken.iter().filter(|(way, waits)| waits[*way] > Ps::ZERO);
    assert!(waited.count() > 1_000, "links that nobody waits for");
}

/// Two different links are drawn, so that the longest wait of all is never taken.
#[test]
fn of_two_choices_the_longest_wait_is_never_taken() {
    let taken = crowd("two-choices");
    let mut decided = 0;
    for (n, (way, waits)) in taken.iter().enumerate() {
        let others = (0..WAYS).filter(|other| other != way);
        let longest_other = others.map(|other| waits[other]).max().unwrap();
        assert!(
            waits[*way] <= longest_other,
            "packet {n}: {way} of {waits:?}"
        );
        decided += u32::from(waits[*way] < longest_other);
    }
    assert!(decided > 1_000, "waits that were all the same");
    // It is drawn, so that the shortest of all is not always among the two.
    let shortest = |(way, waits): &&(usize, [Ps; WAYS])| waits.iter().min() == Some(&waits[*way]);
    assert!(taken.iter().filter(shortest).count() < taken.len());
}

#[test]
fn ways_of_the_same_wait_are_used_alike() {
    for policy in ["spray", "adaptive"] {
        let taken = alone(policy);
        assert_eq!(shares(&taken), [200; WAYS], "{policy}");
        let all = |three: &[usize]| shares(three) == [1; WAYS];
        assert!(taken.windows(WAYS).all(all), "{policy}: in turn");
    }
    let drawn = shares(&alone("two-choices"));
    assert!(drawn.iter().all(|n| (150..250).contains(n)), "{drawn:?}");
    for policy in ["first", "split", "hash"] {
        let taken = alone(policy);
        assert!(
            taken.iter().all(|way| *way == taken[0]),
            "{policy}: one pair"
        );
    }
}

/// The way of every pair of a host and a memory, twice: by rows of hosts.
fn pairs(policy: &str) -> Vec<Vec<usize>> {
    const EDGES: u32 = 12;
    let mut fabric = fabric(&diamond(policy, EDGES as usize, ["64000"; WAYS]));
    let mut now = Ps::ZERO;
    let mut ask = |host: u32, mem: u64| {
        now += Ps::from_us(1);
        way_of(&mut fabric, now, host, mem << 20)
    };
    let mut all = || -> Vec<Vec<usize>> {
        let row = |host| (0..u64::from(EDGES)).map(|mem| ask(host, mem)).collect();
        (0..EDGES).map(row).collect()
    };
    let (first, again) = (all(), all());
    assert_eq!(first, again, "{policy}: the pair decides alone");
    first
}

#[test]
fn oblivious_policies_deal_pairs_out() {
    assert_eq!(shares(&pairs("first").concat()), [144, 0, 0]);
    for row in pairs("split") {
        assert_eq!(shares(&row), [4; WAYS], "each host has all ways alike");
        let next = |pair: &[usize]| pair[1] == (pair[0] + 1) % WAYS;
        assert!(row.windows(2).all(next), "{row:?}");
    }
    let hashed = pairs("hash");
    let shares = shares(&hashed.concat());
    assert!(shares.iter().all(|n| (30..70).contains(n)), "{shares:?}");
    assert!(
        hashed.iter().any(|row| row != &hashed[0]),
        "the host counts"
    );
}

/// Back from the memories: what packets of the same kind took of each way.
fn answers(set: &[(&str, &str)], is_write: bool) -> [u64; WAYS] {
    let mut spec = diamond("spray", 1, ["64000"; WAYS]);
    for (key, value) in set {
        spec.raw.set(key, value).unwrap();
    }
    let mut fabric = fabric(&spec);
    for n in 0..600 {
        let at = Ps::from_us(1) * n;
        fabric.advance(at, &mut |_| ()).unwrap();
        let addr = n * 64;
        let access = Access { addr, is_write };
        fabric.send(at, RequesterId(0), access, 0).unwrap();
    }
    crate::rig::drain(&mut fabric);
    carried(&fabric, "far")
}

/// Completions of coherent requests keep their order, so that they share one way. Nothing else has
/// to: data goes all ways, and so do completions where no coherence rests on them.
#[test]
fn only_completions_of_coherent_requests_share_a_way() {
    assert_eq!(answers(&[], true), [200; WAYS], "completions of writes");
    assert_eq!(answers(&[], false), [200; WAYS], "data of reads");
    let coherent = [
        ("coherence.filter", "endpoint"),
        ("requester.cache_lines", "1024"),
        ("requester.cache_ways", "8"),
    ];
    // Each load that misses is answered with its data and a completion.
    let mut shares = answers(&coherent, false);
    shares.sort_unstable();
    let [least, middle, most] = shares;
    assert_eq!(least + middle + most, 2 * 600);
    assert!(least > 100 && middle > 100, "data on one way: {shares:?}");
    assert!(most >= 600, "completions on several ways: {shares:?}");
}

/// A packet that waits for a credit waits longer than any behind packets. So its link is the last
/// choice, but only while a packet waits.
#[test]
fn a_link_without_credits_is_the_last_choice() {
    let mut spec = diamond("adaptive", 1, ["64000", "1000", "1000"]);
    let first = spec.links.iter_mut().find(|link| link.ends[1] == "mid0");
    let set = &mut first.expect("the diamond has it").set;
    // A credit is known to be free a millisecond after it was given back.
    set.push(("credits".to_owned(), "1".to_owned()));
    set.push(("latency".to_owned(), "1ms".to_owned()));
    let mut fabric = fabric(&spec);
    let mut ways = |count: u64| {
        for tag in 0..count {
            let access = Access {
                addr: 0,
                is_write: false,
            };
            let at = fabric.now() + STEP;
            fabric.advance(at, &mut |_| ()).unwrap();
            fabric.send(at, RequesterId(0), access, tag).unwrap();
        }
        let until = fabric.now() + TO_CHOICE;
        fabric.advance(until, &mut |_| ()).unwrap();
        carried(&fabric, "near")
    };
    // The first takes the credit. The next two find links that are as free, and come before in
    // turn; then these are busy, and the first link is free.
    assert_eq!(ways(3), [1, 1, 1]);
    // One waits for a credit from now on, and all others for the slow links.
    assert_eq!(ways(9), [1, 5, 5]);
}
