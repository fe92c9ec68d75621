//! Random fabrics whose requests all come back: what the links carried and the memories served is
//! what the caches and the agents say that they sent.

use sluice_net::{
    Access, EndpointId, Fabric, FabricConfig, FabricSpec, Group, Length, RequesterId, Source,
};
use sluice_units::Rng;

/// Requests of each requester, lines that all share, and writes of ten requests.
const REQUESTS: u64 = 250;
const LINES: u64 = 48;
const WRITES: u64 = 4;

/// What a requester asks for.
struct Asks {
    rng: Rng,
    left: u64,
}

impl Asks {
    fn of(seed: u64, requester: usize) -> Asks {
        Asks {
            rng: Rng::stream(seed, &format!("requester {requester}")),
            left: REQUESTS,
        }
    }
}

impl Source for Asks {
    fn next(&mut self) -> Option<Access> {
        self.left = self.left.checked_sub(1)?;
        Some(Access {
            addr: self.rng.below(LINES) * 64,
            is_write: self.rng.below(10) < WRITES,
        })
    }
}

/// What a parameter may be.
type Choices = (&'static str, &'static [&'static str]);

const CHOICES: &[Choices] = &[
    (
        "topology.kind",
        &["chain", "ring", "tree", "fully-connected", "star", "bus"],
    ),
    (
        "routing.policy",
        &["first", "split", "hash", "spray", "adaptive", "two-choices"],
    ),
    ("requester.depth", &["1", "2", "9", "40"]),
    ("requester.process", &["0ns", "10ns"]),
    ("requester.cache_access", &["0ns", "12ns"]),
    ("requester.cache_clean", &["silent", "notified"]),
    ("requester.cache_replacement", &["lru", "fifo"]),
    ("endpoint.type", &["fixed", "fixed", "dram"]),
    ("endpoint.dram_order", &["arrival", "fr-fcfs"]),
    ("endpoint.controller", &["0ns", "40ns"]),
    ("endpoint.count", &["1", "2", "4"]),
    ("endpoint.bandwidth", &["none", "2000"]),
    ("endpoint.logical_devices", &["1", "1", "2"]),
    ("coherence.filter", &["endpoint", "shared"]),
    (
        "coherence.victim",
        &["fifo", "lru", "lfi", "lifo", "mru", "block"],
    ),
    ("coherence.entries", &["1", "2", "12", "24", "64"]),
    ("coherence.ways", &["1", "full"]),
    ("coherence.block_lines", &["1", "2", "3", "4"]),
    ("coherence.block_shape", &["aligned", "any"]),
    ("coherence.block_extends", &["block", "any"]),
    ("coherence.trackers", &["1", "2", "5", "64"]),
    ("coherence.lookup", &["0ns", "12ns"]),
    ("link.duplex", &["full", "full", "half"]),
    ("link.credits", &["none", "none", "1", "3"]),
    ("link.latency", &["0ns", "1ns"]),
    ("link.port_latency", &["0ns", "25ns"]),
    ("link.bandwidth", &["none", "4000", "64000"]),
    ("map.granularity", &["64B", "128B", "256B", "256B"]),
    ("map.arithmetic", &["modulo", "xor", "weighted"]),
];

fn described(rng: &mut Rng) -> FabricSpec {
    let mut one_of = |of: &[&'static str]| of[rng.below(of.len() as u64) as usize];
    let mut set: Vec<(&str, &str)> = CHOICES.iter().map(|(key, of)| (*key, one_of(of))).collect();
    set.extend([
        ("requester.pattern", "external"),
        ("endpoint.capacity", "64KiB"),
        ("packet.flits", "256b"),
    ]);
    // Of several ways, completions take one.
    if set[0].1 == "star" {
        set[0].1 = "spine-leaf";
        set.push(("topology.spines", "3"));
    }
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.raw
            .set(key, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    for number in 0..1 + rng.below(4) {
        let mut group = Group {
            name: format!("g{number}"),
            set: vec![("count".to_owned(), (1 + rng.below(2)).to_string())],
            ..Group::default()
        };
        if let Some(lines) = ["4", "12", "32"].get(rng.below(4) as usize) {
            let ways = ["1", "2", "full"][rng.below(3) as usize];
            for (key, value) in [("cache_lines", *lines), ("cache_ways", ways)] {
                group.set.push((key.to_owned(), value.to_owned()));
            }
        }
        if number == 1 && spec.requesters[0].set[0] == group.set[0] && rng.below(2) == 0 {
            group.socket = Some("g0".to_owned());
        }
        spec.requesters.push(group);
    }
    spec
}

/// Until all has come back that can, and nothing is under way any more.
fn run(seed: u64, mut config: FabricConfig) {
    config.is_checked = true;
    let mut fabric = Fabric::new(&config).unwrap();
    let requesters = config.requesters.len();
    for number in 0..requesters {
        let source = Box::new(Asks::of(seed, number));
        fabric.replay(RequesterId(number as u32), source);
    }
    let length = Length {
        warmup: 0,
        requests: REQUESTS * requesters as u64,
    };
    fabric
        .run(length, &mut |_| true)
        .unwrap_or_else(|error| panic!("{seed}: {error}"));
    while let Some(next) = fabric.next_at() {
        let advanced = fabric.advance(next, &mut |_| ());
        advanced.unwrap_or_else(|error| panic!("{seed}: {error}"));
    }
    fabric.end();
    fabric
        .balance()
        .unwrap_or_else(|error| panic!("{seed}: {error}"));
    assert_eq!(fabric.stats().completed(), length.requests, "{seed}");
    compare(seed, &fabric, &config);
}

/// Writes of requesters without a cache.
fn plain_writes(seed: u64, config: &FabricConfig) -> u64 {
    let all = config.requesters.iter().enumerate();
    let plain = all.filter(|(_, it)| it.cache.is_none());
    let writes = plain.map(|(number, _)| {
        let mut source = Asks::of(seed, number);
        let all = std::iter::from_fn(|| source.next());
        all.filter(|access| access.is_write).count() as u64
    });
    writes.sum()
}

fn compare(seed: u64, fabric: &Fabric, config: &FabricConfig) {
    let stats = fabric.coherence_stats().unwrap();
    let (caches, agents) = (stats.caches, stats.agents);
    let with_cache = config.requesters.iter().filter(|it| it.cache.is_some());
    let asked = REQUESTS * with_cache.count() as u64;
    assert_eq!(caches.hits + caches.misses, asked, "{seed}");
    let snoops = agents.eviction_snoops + agents.conflict_snoops;
    assert_eq!(caches.snoops, snoops, "{seed}");
    assert_eq!(caches.write_backs, agents.write_backs, "{seed}");
    assert_eq!(stats.served, agents.requests, "{seed}");
    let writes = plain_writes(seed, config);
    let reads = agents.requests - writes - caches.upgrades;
    let dirty = writes + agents.write_backs;
    let served = (0..)
        .zip(&config.endpoints)
        .map(|(number, endpoint)| {
            let all = 0..endpoint.logical_devices as u8;
            let served = all.map(|logical| fabric.served(EndpointId(number), logical));
            served.sum::<u64>()
        })
        .sum::<u64>();
    assert_eq!(served, reads + dirty, "{seed}");
    // Messages by channel.
    let all = [
        agents.requests - writes + agents.clean_evictions,
        dirty + agents.conflicts,
        snoops,
        agents.requests + agents.write_backs + agents.clean_evictions + agents.conflicts,
        reads,
        snoops,
    ];
    let bytes = all.iter().zip(config.sizes.bytes);
    let bytes: Vec<u64> = bytes.map(|(count, size)| count * u64::from(size)).collect();
    let sum = |side: usize, of: &[u64]| of[3 * side..3 * side + 3].iter().sum::<u64>();
    let expected = [dirty, reads].map(|data| 64 * data);
    let expected = [0, 1].map(|side| (sum(side, &all), sum(side, &bytes), expected[side]));
    assert_eq!(at_endpoints(fabric), expected, "{seed}");
}

/// Packets, bytes and bytes of data to the endpoints and from them.
fn at_endpoints(fabric: &Fabric) -> [(u64, u64, u64); 2] {
    let graph = fabric.graph();
    let mut sums = [(0, 0, 0); 2];
    for direction in graph.directions() {
        let (from, to) = graph.direction(direction);
        let it = fabric.links().carried(direction);
        for (sum, end) in sums.iter_mut().zip([to, from]) {
            if (graph.requesters..graph.edges()).contains(&end.0) {
                sum.0 += it.packets;
                sum.1 += it.bytes;
                sum.2 += it.payload;
            }
        }
    }
    sums
}

#[test]
fn what_is_sent_is_what_caches_and_agents_say() {
    let seeds = 0..u64::from(sluice_testkit::cases(150));
    let all = seeds.end;
    let mut taken = 0;
    for seed in seeds {
        let mut rng = Rng::stream(seed, "fabrics");
        // Blocks of lines that hosts have apart are refused.
        if let Ok(config) = FabricConfig::new(&described(&mut rng), seed) {
            run(seed, config);
            taken += 1;
        }
    }
    assert!(taken > all * 3 / 4, "{taken} of {all}");
}
