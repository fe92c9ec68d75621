//! Single requests against the sum of what they go through.

use sluice_host::{Ask, AskFor, Peer};
use sluice_net::{
    Access, Completed, EndpointId, Fabric, FabricConfig, FabricSpec, HostNews, Part, RequesterId,
};
use sluice_units::Ps;

/// Requesters on a switch, one memory on another: links of any width, 1 ns long, ports of 25 ns,
/// switches of 20 ns.
fn fabric(requesters: &str, set: &[(&str, &str)]) -> Fabric {
    let mut spec = FabricSpec::default();
    let all = [
        ("topology.kind", "chain"),
        ("topology.per_switch", "16"),
        ("requester.count", requesters),
        ("requester.pattern", "external"),
        ("requester.cache_lines", "4"),
        ("endpoint.count", "1"),
        ("link.bandwidth", "none"),
        ("link.latency", "1ns"),
        ("link.port_latency", "25ns"),
        ("coherence.filter", "endpoint"),
        ("coherence.entries", "4"),
    ];
    for (key, value) in all.iter().chain(set) {
        spec.raw
            .set(key, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let mut config = FabricConfig::new(&spec, 1).unwrap_or_else(|error| panic!("{error}"));
    config.is_checked = true;
    Fabric::new(&config).unwrap_or_else(|error| panic!("{error}"))
}

/// One access, to its end; time goes on by a microsecond before it.
fn access(fabric: &mut Fabric, requester: u32, line: u64, is_write: bool) -> Completed {
    let at = fabric.now() + Ps::from_us(1);
    let addr = line * 64;
    fabric
        .send(at, RequesterId(requester), Access { addr, is_write }, 0)
        .unwrap();
    let mut done = None;
    while let Some(next) = fabric.next_at() {
        fabric.advance(next, &mut |it| done = Some(it)).unwrap();
    }
    fabric.balance().unwrap();
    done.expect("an answer")
}

/// From end to end through two switches: three links with two ports each.
const WAY: u64 = 3 * (1 + 2 * 25) + 2 * 20;
/// Processing, cache.
const HOST: u64 = 10 + 12;
/// Controller, filter, memory.
const DEVICE: u64 = 40 + 12 + 50;

#[test]
fn a_miss_is_the_sum_of_its_parts_and_a_hit_that_of_the_host() {
    let mut fabric = fabric("1", &[]);
    assert_eq!(
        access(&mut fabric, 0, 0, false).latency,
        Ps::from_ns(HOST + WAY + DEVICE + WAY)
    );
    assert_eq!(access(&mut fabric, 0, 0, false).latency, Ps::from_ns(HOST));
    let parts = fabric.stats().parts();
    assert_eq!(parts[Part::Snoop], Ps::from_ns(12).0.into());
    assert_eq!(parts[Part::Memory], Ps::from_ns(50).0.into());
    assert_eq!(parts[Part::Held], Ps::ZERO.0.into());
}

#[test]
fn an_exclusive_line_is_written_at_once_and_a_shared_one_after_asking() {
    let mut fabric = fabric("2", &[]);
    access(&mut fabric, 0, 0, false);
    assert_eq!(access(&mut fabric, 0, 0, true).latency, Ps::from_ns(HOST));
    // The other reads: the first writes back (data through the controller to memory) and answers.
    let snoop = WAY + 12;
    let write_back = WAY + DEVICE + WAY;
    let response = WAY + 12;
    let read = access(&mut fabric, 1, 0, false).latency;
    let way_there = HOST + WAY + 40 + 12;
    let expected = way_there + snoop + write_back + response + 50 + WAY;
    assert_eq!(read, Ps::from_ns(expected));
    // Both have it: to write it takes a snoop of the other, and no memory.
    let store = access(&mut fabric, 0, 0, true).latency;
    assert_eq!(store, Ps::from_ns(way_there + snoop + response + WAY));
}

#[test]
fn a_full_filter_pays_the_whole_round_trip_of_a_snoop() {
    let mut fabric = fabric("1", &[("coherence.entries", "1")]);
    let miss = access(&mut fabric, 0, 0, false).latency;
    let second = access(&mut fabric, 0, 1, false).latency;
    // Snoop out, look-up, response back, look-up.
    assert_eq!(second - miss, Ps::from_ns(2 * WAY + 2 * 12));
    let stats = fabric.coherence_stats().unwrap();
    assert_eq!((stats.caches.invalidated, stats.agents.evictions), (1, 1));
    assert_eq!((stats.served, stats.delayed), (2, 1));
}

#[test]
fn lines_of_a_block_are_looked_up_one_after_the_other() {
    let set = [
        ("coherence.victim", "block"),
        ("coherence.block_lines", "4"),
    ];
    let mut fabric = fabric("1", &set);
    let miss = access(&mut fabric, 0, 0, false).latency;
    for line in 1..4 {
        access(&mut fabric, 0, line, false);
    }
    // Four entries, four lines: the next takes all away with one snoop.
    let next = access(&mut fabric, 0, 8, false).latency;
    assert_eq!(next - miss, Ps::from_ns(2 * WAY + 4 * 12 + 12));
    let stats = fabric.coherence_stats().unwrap();
    assert_eq!(
        (stats.agents.eviction_snoops, stats.caches.invalidated),
        (1, 4)
    );
}

#[test]
fn a_requester_without_a_cache_reads_what_the_others_wrote() {
    let mut fabric = fabric("1", &[("requester.cache_lines", "none")]);
    let read = access(&mut fabric, 0, 0, false).latency;
    assert_eq!(read, Ps::from_ns(HOST + WAY + DEVICE + WAY));
    assert_eq!(access(&mut fabric, 0, 0, true).latency, read);
    assert_eq!(access(&mut fabric, 0, 0, false).latency, read);
}

/// Lines 1 to 3 are a run, and only its last two are an aligned pair.
#[test]
fn the_shape_of_blocks_is_the_one_chosen() {
    for (shape, leave) in [("any", 3), ("aligned", 2)] {
        let set = [
            ("coherence.victim", "block"),
            ("coherence.block_lines", "4"),
            ("coherence.block_shape", shape),
        ];
        let mut fabric = fabric("1", &set);
        for line in [1, 2, 3, 20, 40] {
            access(&mut fabric, 0, line, false);
        }
        let stats = fabric.coherence_stats().unwrap();
        assert_eq!(stats.agents.eviction_snoops, 1, "{shape}");
        assert_eq!(stats.agents.evictions, leave, "{shape}");
        assert_eq!(stats.caches.invalidated, leave, "{shape}");
        // A snoop of a block is one of each of its lines.
        assert_eq!(stats.caches.snoops, 1, "{shape}");
    }
}

/// Two accesses at once, to their ends.
fn two(fabric: &mut Fabric, accesses: [(u32, u64, bool); 2]) -> Vec<Completed> {
    let at = fabric.now() + Ps::from_us(1);
    for (requester, line, is_write) in accesses {
        let addr = line * 64;
        let access = Access { addr, is_write };
        fabric.send(at, RequesterId(requester), access, 0).unwrap();
    }
    let mut done = Vec::new();
    while let Some(next) = fabric.next_at() {
        fabric.advance(next, &mut |it| done.push(it)).unwrap();
    }
    fabric.balance().unwrap();
    done
}

/// In a cache of one line the second waits for the first; then it takes what a miss does.
#[test]
fn an_access_that_waits_for_a_place_is_held_until_its_request_leaves() {
    let mut fabric = fabric("1", &[("requester.cache_lines", "1")]);
    let done = two(&mut fabric, [(0, 0, false), (0, 1, false)]);
    let trip = WAY + DEVICE + WAY;
    let latencies: Vec<Ps> = done.iter().map(|it| it.latency).collect();
    assert_eq!(latencies, [HOST + trip, HOST + 2 * trip].map(Ps::from_ns));
    let parts = fabric.stats().parts();
    assert_eq!(parts[Part::Held], Ps::from_ns(trip).0.into());
    assert_eq!(parts[Part::Memory], Ps::from_ns(2 * 50).0.into());
    assert_eq!(parts[Part::Controller], Ps::from_ns(2 * 40).0.into());
    assert_eq!(
        parts[Part::Requester] + parts[Part::Cache],
        Ps::from_ns(2 * HOST).0.into()
    );
    assert_eq!(fabric.stats().hops[2].count, 2);
}

/// Of two that write a line which both have, one loses it, and reads it when it may have it.
#[test]
fn a_line_lost_while_its_right_was_asked_for_is_read_in_a_requests_time() {
    let mut fabric = fabric("2", &[]);
    access(&mut fabric, 0, 0, false);
    access(&mut fabric, 1, 0, false);
    fabric.begin();
    two(&mut fabric, [(0, 0, true), (1, 0, true)]);
    let stats = fabric.coherence_stats().unwrap();
    assert_eq!((stats.caches.upgrades, stats.agents.conflicts), (2, 1));
    let parts = fabric.stats().parts();
    assert_eq!(
        parts[Part::Requester] + parts[Part::Cache],
        Ps::from_ns(2 * HOST).0.into()
    );
    assert_eq!(parts[Part::Memory], Ps::from_ns(50).0.into());
    assert_eq!(fabric.stats().hops[2].count, 2);
}

/// A conflict is as long as a line that is written, and carries none.
#[test]
fn a_conflict_carries_no_data() {
    let mut fabric = fabric("2", &[]);
    access(&mut fabric, 0, 0, false);
    access(&mut fabric, 1, 0, false);
    two(&mut fabric, [(0, 0, true), (1, 0, true)]);
    let agents = fabric.coherence_stats().unwrap().agents;
    assert_eq!((agents.conflicts, agents.write_backs), (1, 1));
    let graph = fabric.graph();
    let memory = graph.endpoint(EndpointId(0));
    let mut ways = graph
        .directions()
        .filter(|way| graph.direction(*way).1 == memory);
    let carried = fabric
        .links()
        .carried(ways.next().expect("a link to memory"));
    assert_eq!(carried.payload, 64);
}

/// A host that asked for a line again while it went to memory learned of that with the line only.
#[test]
fn a_line_is_written_when_memory_has_it_though_it_is_asked_for_again() {
    let mut fabric = fabric("1", &[("requester.cache_lines", "none")]);
    let (host, look_up) = (RequesterId(0), Ps::ZERO);
    let (lines, misses) = (4, 2);
    fabric.take_host(
        host,
        &Peer {
            lines,
            misses,
            look_up,
        },
    );
    let mut told = |asks: &[(AskFor, u32)]| {
        let at = fabric.now();
        for &(what, tag) in asks {
            let (addr, may_delay) = (0, false);
            let ask = Ask {
                at,
                addr,
                what,
                may_delay,
                tag,
            };
            fabric.ask(host, &ask).unwrap();
        }
        let mut told = Vec::new();
        while let Some(next) = fabric.next_at() {
            fabric.advance(next, &mut |_| ()).unwrap();
            while let Some(event) = fabric.take_event() {
                if let HostNews::Answer(tag, _) = event.what {
                    told.push((tag, event.at - at));
                }
            }
        }
        told
    };
    let trip = Ps::from_ns(WAY + DEVICE + WAY);
    assert_eq!(told(&[(AskFor::Owned, 1)]), [(1, trip)]);
    let again = told(&[(AskFor::Write, 2), (AskFor::Line, 3)]);
    assert_eq!(again, [(2, trip), (3, trip * 2)]);
}

/// Counts of all caches and agents are the sums over them: each host does the same with lines of
/// its own, so that all of them together do so often what one does.
#[test]
fn counts_are_sums_over_caches_and_agents() {
    let count = |hosts: u32| {
        let mut fabric = fabric(&hosts.to_string(), &[("coherence.entries", "64")]);
        for host in 0..hosts {
            let first = u64::from(host) * 16;
            // Misses, hits, an upgrade, and lines that leave the cache of four lines.
            for (line, is_write) in [(0, false), (0, false), (0, true), (1, true), (2, true)] {
                access(&mut fabric, host, first + line, is_write);
            }
            for line in 3..9 {
                access(&mut fabric, host, first + line, line % 2 == 0);
            }
        }
        // Each host takes a line from the next one.
        for host in 0..hosts {
            let of_next = u64::from((host + 1) % hosts) * 16 + 8;
            access(&mut fabric, host, of_next, true);
        }
        let stats = fabric.coherence_stats().unwrap();
        let (caches, agents) = (stats.caches, stats.agents);
        // Nine lines through a cache of four; of the lines taken from others, all but the first
        // find the place of a line that was taken away.
        assert_eq!(caches.evictions, 5 * u64::from(hosts) + 1);
        [
            caches.hits,
            caches.misses,
            caches.snoops,
            caches.invalidated,
            caches.write_backs,
            agents.requests,
            agents.hits,
            agents.conflict_snoops,
            agents.write_backs,
        ]
    };
    // With one host nobody is snooped.
    let (two, six) = (count(2), count(6));
    assert_eq!(two.map(|n| n * 3), six);
    assert!(two.iter().all(|n| *n > 0), "{two:?}");
}

/// A snoop for data leaves the line shared; only one that ends it counts as that.
#[test]
fn a_line_that_stays_shared_is_not_counted_as_taken_away() {
    let mut fabric = fabric("2", &[]);
    let invalidated = |fabric: &Fabric| fabric.coherence_stats().unwrap().caches.invalidated;
    access(&mut fabric, 0, 0, true);
    access(&mut fabric, 1, 0, false);
    assert_eq!(fabric.coherence_stats().unwrap().caches.snoops, 1);
    assert_eq!(invalidated(&fabric), 0, "both have it");
    access(&mut fabric, 1, 0, true);
    assert_eq!(invalidated(&fabric), 1, "one has it");
    access(&mut fabric, 0, 0, false);
    assert_eq!(invalidated(&fabric), 1);
}
