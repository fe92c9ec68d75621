//! Ways through graphs: a search in a matrix finds how long each is.

use crate::rig::{drain, fabric, refused, spec};
use sluice_net::{
    Access, Fabric, FabricConfig, FabricSpec, Group, LinkSpec, Part, RequesterId, Shape, TOPOLOGIES,
};
use sluice_units::{Ps, Rng};

fn group(name: &str, count: usize) -> Group {
    Group {
        name: name.to_owned(),
        set: vec![("count".to_owned(), count.to_string())],
        ..Group::default()
    }
}

/// Nodes with links between them, by number: requesters, endpoints, switches.
struct Drawn {
    counts: [usize; 3],
    links: Vec<[usize; 2]>,
}

impl Drawn {
    fn new(rng: &mut Rng) -> Drawn {
        let mut below = |n: usize| rng.below(n as u64) as usize;
        let counts = [2 + below(3), 2 + below(3), 2 + below(6)];
        let edges = counts[0] + counts[1];
        let mut links = Vec::new();
        // Each edge node on a switch, some on two; switches in a row with gaps, and more links.
        for edge in 0..edges {
            for _ in 0..1 + usize::from(below(4) == 0) {
                links.push([edge, edges + below(counts[2])]);
            }
        }
        for switch in 1..counts[2] {
            if below(6) > 0 {
                links.push([edges + switch - 1, edges + switch]);
            }
            if below(3) == 0 {
                links.push([edges + switch, edges + below(switch)]);
            }
        }
        Drawn { counts, links }
    }

    fn name(&self, node: usize) -> String {
        let [requesters, endpoints, _] = self.counts;
        match node {
            _ if node < requesters => format!("host{node}"),
            _ if node < requesters + endpoints => format!("mem{}", node - requesters),
            _ => format!("sw{}", node - requesters - endpoints),
        }
    }

    fn spec(&self) -> FabricSpec {
        let mut spec = spec(&[
            ("topology.kind", "list"),
            ("requester.pattern", "external"),
            ("endpoint.capacity", "1MiB"),
            ("map.ways", "1"),
        ]);
        let [requesters, endpoints, switches] = self.counts;
        spec.requesters = vec![group("host", requesters)];
        spec.endpoints = vec![group("mem", endpoints)];
        spec.switches = vec![group("sw", switches)];
        let link = |ends: &[usize; 2]| LinkSpec {
            ends: ends.map(|node| self.name(node)),
            set: Vec::new(),
        };
        spec.links = self.links.iter().map(link).collect();
        spec
    }

    /// Links from each node to each, over switches only; none where there is no way.
    fn distances(&self) -> Vec<Vec<Option<u64>>> {
        let [requesters, endpoints, switches] = self.counts;
        let (edges, nodes) = (requesters + endpoints, requesters + endpoints + switches);
        let mut far = vec![vec![None; nodes]; nodes];
        for [a, b] in &self.links {
            (far[*a][*b], far[*b][*a]) = (Some(1), Some(1));
        }
        for middle in edges..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    let over = far[from][middle].zip(far[middle][to]);
                    let over = over.map(|(a, b)| a + b);
                    if let Some(over) =
                        over.filter(|over| far[from][to].is_none_or(|it| *over < it))
                    {
                        far[from][to] = Some(over);
                    }
                }
            }
        }
        far
    }
}

/// One read of an idle fabric.
fn latency(fabric: &mut Fabric, host: usize, addr: u64) -> Ps {
    let at = fabric.now() + Ps::from_us(1);
    let access = Access {
        addr,
        is_write: false,
    };
    let sent = fabric.send(at, RequesterId(host as u32), access, 0);
    sent.expect("there is room");
    drain(fabric)[0].latency
}

#[test]
fn packets_take_shortest_ways() {
    let (mut taken, mut cut) = (0, 0);
    for seed in 0..200 {
        let drawn = Drawn::new(&mut Rng::stream(seed, "graphs"));
        let [requesters, endpoints, _] = drawn.counts;
        let far = drawn.distances();
        let pairs = (0..requesters).flat_map(|host| (0..endpoints).map(move |mem| (host, mem)));
        let mut missing = pairs
            .clone()
            .filter(|(host, mem)| far[*host][requesters + mem].is_none());
        if missing.clone().next().is_some() {
            cut += 1;
            let error = refused(&drawn.spec()).to_string();
            let named = missing.any(|(host, mem)| {
                let (host, mem) = (format!("`host{host}`"), format!("`mem{mem}`"));
                error.contains(&host) && error.contains(&mem)
            });
            assert!(named && error.contains("cannot reach"), "{seed}: {error}");
            continue;
        }
        taken += 1;
        let mut fabric = fabric(&drawn.spec());
        for (host, mem) in pairs {
            let links = far[host][requesters + mem].expect("there is a way");
            // Ends, then for each link ports, wires and packets, for each switch its own, twice.
            let alone = Ps::from_ns(10 + 12 + 40 + 50 + 2 * links * 51 + 2 * (links - 1) * 20)
                + Ps(1_250) * links;
            let addr = (mem as u64) << 20;
            assert_eq!(
                latency(&mut fabric, host, addr),
                alone,
                "{seed}: {host} to {mem}"
            );
        }
        // Each request is counted under the switches on its way.
        let of = |switches: usize| {
            let mut all = (0..requesters).flat_map(|host| {
                let far = &far;
                (0..endpoints).map(move |mem| far[host][requesters + mem])
            });
            let links = Some(switches as u64 + 1);
            let same = all.by_ref().filter(|it| *it == links);
            same.count() as u64
        };
        for (switches, hops) in fabric.stats().hops.iter().enumerate() {
            assert_eq!(hops.count, of(switches), "{seed}: over {switches} switches");
            let crossed = Ps::from_ns(2 * 20 * switches as u64) * hops.count;
            assert_eq!(hops.parts[Part::Switch], crossed.0.into(), "{seed}");
        }
    }
    assert!(taken > 50 && cut > 20, "{taken} {cut}");
}

/// Ports that are named keep their numbers; the others take the lowest that are left, in the order
/// of the links.
#[test]
fn ports_without_a_number_take_the_lowest_left() {
    let mut spec = spec(&[("topology.kind", "list")]);
    spec.requesters = vec![group("host", 4)];
    spec.endpoints = vec![group("mem", 3)];
    spec.switches = vec![group("sw", 2)];
    for (a, b) in [
        ("host0", "sw0"),
        ("host1", "sw0:1"),
        ("sw0", "host2"),
        ("mem0", "sw0:4"),
        ("host3", "sw1"),
        ("mem1", "sw0:0"),
        ("sw1:0", "sw0"),
        ("mem2", "sw1"),
    ] {
        spec.links.push(LinkSpec {
            ends: [a.to_owned(), b.to_owned()],
            set: Vec::new(),
        });
    }
    let config = FabricConfig::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
    let ports: Vec<_> = config.graph.links.iter().map(|link| link.ports).collect();
    let none = None;
    assert_eq!(
        ports,
        [
            [none, Some(2)],
            [none, Some(1)],
            [Some(3), none],
            [none, Some(4)],
            [none, Some(1)],
            [none, Some(0)],
            [Some(0), Some(5)],
            [none, Some(2)],
        ]
    );
    // Six ports are enough, five are not.
    spec.raw.set("switch.ports", "6").unwrap();
    fabric(&spec);
    spec.raw.set("switch.ports", "5").unwrap();
    let error = refused(&spec).to_string();
    assert!(error.contains("`sw0` has 5 ports"), "{error}");
    // A port that is named is one of those that there are.
    spec.raw.set("switch.ports", "6").unwrap();
    spec.links[3].ends[1] = "sw0:6".to_owned();
    let error = refused(&spec).to_string();
    assert!(error.contains("needs port 6"), "{error}");
    // What is no switch has no numbers: any was taken, and meant nothing.
    for (number, side, end) in [(5, 0, "mem1:0"), (2, 1, "host2:3")] {
        let mut spec = spec.clone();
        spec.links[3].ends[1] = "sw0:4".to_owned();
        spec.links[number].ends[side] = end.to_owned();
        let error = refused(&spec).to_string();
        assert!(
            error.contains(end) && error.contains("only switches have ports"),
            "{error}"
        );
    }
}

#[test]
fn nodes_of_a_kind_are_not_joined_with_each_other() {
    let hosts = "it joins two requesters; put a switch between them";
    let memories = "it joins two endpoints, and no packet goes from one to another; leave it out";
    for (a, b, why) in [
        ("host0", "host1", Some(hosts)),
        ("host1", "host0", Some(hosts)),
        ("host1", "mem0", None),
        ("mem0", "mem1", Some(memories)),
    ] {
        let mut spec = spec(&[("topology.kind", "list")]);
        spec.requesters = vec![group("host", 2)];
        spec.endpoints = vec![group("mem", 2)];
        spec.switches = vec![group("sw", 1)];
        spec.switches[0].name = "sw".to_owned();
        let link = |a: &str, b: &str| LinkSpec {
            ends: [a.to_owned(), b.to_owned()],
            set: Vec::new(),
        };
        let edges = ["host0", "host1", "mem0", "mem1"];
        spec.links = edges.map(|edge| link(edge, "sw")).to_vec();
        spec.links.push(link(a, b));
        let Some(why) = why else {
            fabric(&spec);
            continue;
        };
        assert_eq!(refused(&spec).to_string(), format!("link {a}-{b}: {why}"));
    }
}

/// Switches of a tree by level, the leaves first.
fn levels(mut leaves: u32, arity: u32) -> Vec<u32> {
    let mut levels = vec![leaves];
    while leaves > 1 {
        leaves = leaves.div_ceil(arity);
        levels.push(leaves);
    }
    levels
}

/// What is joined with what, by the words of each topology.
fn joins(name: &str, leaves: u32, shape: &Shape) -> (u32, Vec<[u32; 2]>) {
    let mut joins = Vec::new();
    let mut switches = leaves;
    match name {
        "chain" | "ring" => {
            (1..leaves).for_each(|leaf| joins.push([leaf - 1, leaf]));
            if name == "ring" && leaves > 2 {
                joins.push([0, leaves - 1]);
            }
        }
        "tree" => {
            let levels = levels(leaves, shape.arity);
            let mut first = 0;
            for level in &levels[..levels.len() - 1] {
                let above = first + level;
                (0..*level).for_each(|it| joins.push([first + it, above + it / shape.arity]));
                first = above;
            }
            switches = levels.iter().sum();
        }
        "spine-leaf" => {
            switches += shape.spines;
            for leaf in 0..leaves {
                (leaves..switches).for_each(|spine| joins.push([leaf, spine]));
            }
        }
        "fully-connected" => {
            for leaf in 0..leaves {
                (0..leaf).for_each(|other| joins.push([other, leaf]));
            }
        }
        _ => panic!("{name} has no leaves"),
    }
    joins.sort_unstable();
    (switches, joins)
}

/// The leaf of each requester, then of each endpoint: places on leaves are dealt out one after the
/// other, in turn or the requesters first and the endpoints from a leaf of their own.
fn places(shape: &Shape) -> (u32, Vec<u32>) {
    let (mut requesters, mut endpoints) = (Vec::new(), Vec::new());
    let mut place = 0;
    let mut take = || {
        place += 1;
        (place - 1) / shape.per_switch
    };
    if shape.alternates {
        for turn in 0..shape.requesters.max(shape.endpoints) {
            if turn < shape.requesters {
                requesters.push(take());
            }
            if turn < shape.endpoints {
                endpoints.push(take());
            }
        }
    } else {
        (0..shape.requesters).for_each(|_| requesters.push(take()));
        place = place.next_multiple_of(shape.per_switch);
        let mut take = || {
            place += 1;
            (place - 1) / shape.per_switch
        };
        (0..shape.endpoints).for_each(|_| endpoints.push(take()));
    }
    let all = [requesters, endpoints].concat();
    (all.iter().max().map_or(0, |last| last + 1), all)
}

#[test]
fn topologies_are_what_their_words_say() {
    let mut rng = Rng::stream(8, "shapes");
    for number in 0..300 {
        let shape = Shape {
            requesters: 1 + rng.below(20) as u32,
            endpoints: 1 + rng.below(20) as u32,
            per_switch: 1 + rng.below(5) as u32,
            alternates: rng.below(2) == 0,
            spines: 1 + rng.below(3) as u32,
            arity: 2 + rng.below(3) as u32,
        };
        let (leaves, switch_of) = places(&shape);
        for topology in TOPOLOGIES {
            let mut made = (topology.build)(&shape);
            let name = topology.name;
            assert_eq!(made.is_bus, name == "bus");
            let devices = shape.requesters + shape.endpoints;
            if name == "star" || name == "bus" {
                let side = |device| u32::from(name == "bus" && device >= shape.requesters);
                let sides: Vec<u32> = (0..devices).map(side).collect();
                assert_eq!(made.switch_of, sides);
                assert_eq!(made.switches, 1 + u32::from(name == "bus"));
                assert_eq!(made.joins.len() as u32, made.switches - 1);
                continue;
            }
            made.joins.iter_mut().for_each(|join| join.sort_unstable());
            made.joins.sort_unstable();
            let expected = joins(name, leaves, &shape);
            assert_eq!(
                (made.switches, made.joins),
                expected,
                "{number}: {name} {shape:?}"
            );
            assert_eq!(made.switch_of, switch_of, "{number}: {name} {shape:?}");
        }
    }
}
