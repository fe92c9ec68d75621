//! Whole runs, checked access by access.

use proptest::prelude::*;
use sluice_net::{Fabric, FabricConfig, FabricSpec, Group, Length};

fn spec(set: &[(&str, &str)]) -> FabricSpec {
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.raw
            .set(key, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    spec
}

fn run(set: &[(&str, &str)], requests: u64) -> Fabric {
    run_spec(&spec(set), requests)
}

fn run_spec(spec: &FabricSpec, requests: u64) -> Fabric {
    let mut config = FabricConfig::new(spec, 1).unwrap_or_else(|error| panic!("{error}"));
    config.is_checked = true;
    let mut fabric = Fabric::new(&config).unwrap();
    let length = Length {
        warmup: requests / 4,
        requests,
    };
    fabric
        .run(length, &mut |_| true)
        .unwrap_or_else(|error| panic!("{error}"));
    fabric.balance().unwrap_or_else(|error| panic!("{error}"));
    fabric
}

fn one_of(values: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(values)
}

/// Entries of a filter, and those of a set.
const ENTRIES: [(&str, &str); 6] = [
    ("2", "full"),
    ("2", "1"),
    ("16", "full"),
    ("16", "4"),
    ("200", "full"),
    ("200", "8"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(60)))]

    /// The monitor panics at the first incoherence.
    #[test]
    fn any_fabric_stays_coherent_and_loses_nothing(
        kind in one_of(&["chain", "ring", "spine-leaf", "fully-connected", "bus"]),
        requesters in one_of(&["1", "3", "8"]),
        filter in one_of(&["endpoint", "shared"]),
        victim in one_of(&["fifo", "lru", "lfi", "lifo", "mru", "block"]),
        (entries, ways) in prop::sample::select(&ENTRIES[..]),
        extends in one_of(&["block", "any"]),
        lines in one_of(&["none", "4", "64"]),
        clean in one_of(&["silent", "notified"]),
        trackers in one_of(&["1", "5", "64"]),
        duplex in one_of(&["full", "half"]),
        credits in one_of(&["none", "2"]),
    ) {
        let set = [
            ("topology.kind", kind),
            ("requester.count", requesters),
            ("requester.depth", "8"),
            ("requester.reads", "60%"),
            ("requester.pattern", "skewed"),
            ("requester.footprint", "8KiB"),
            ("requester.cache_lines", lines),
            ("requester.cache_ways", if lines == "none" { "full" } else { "2" }),
            ("requester.cache_clean", clean),
            ("endpoint.count", "4"),
            ("coherence.filter", filter),
            ("coherence.victim", victim),
            ("coherence.entries", entries),
            ("coherence.ways", ways),
            ("coherence.block_extends", extends),
            ("coherence.trackers", trackers),
            ("link.duplex", duplex),
            ("link.credits", credits),
        ];
        let fabric = run(&set, 3_000);
        prop_assert!(fabric.stats().completed() >= 3_000);
        let stats = fabric.coherence_stats().unwrap();
        let asked = stats.caches.hits + stats.caches.misses;
        prop_assert!(lines == "none" || asked >= 3_000);
    }
}

#[test]
fn a_run_is_repeatable() {
    let set = [
        ("requester.pattern", "skewed"),
        ("requester.footprint", "64KiB"),
        ("requester.cache_lines", "200"),
        ("coherence.filter", "shared"),
        ("coherence.entries", "200"),
    ];
    let hash = || run(&set, 20_000).stats().hash;
    assert_eq!(hash(), hash());
}

#[test]
fn a_cache_that_nothing_keeps_coherent_is_refused() {
    let refused = |set: &[(&str, &str)]| match FabricConfig::new(&spec(set), 1) {
        Ok(_) => panic!("a fabric that cannot be was taken"),
        Err(error) => error.to_string(),
    };
    let error = refused(&[("requester.cache_lines", "64")]);
    assert!(error.contains("coherence.filter") && error.contains("requester.cache_lines"));
    let set = [
        ("requester.cache_lines", "64"),
        ("requester.cache_ways", "3"),
    ];
    assert!(refused(&set).contains("requester.cache_ways"));
    let set = [("coherence.entries", "64"), ("coherence.ways", "3")];
    assert!(refused(&set).contains("coherence.ways"));
}

/// Hosts with a cache, hosts that notify of clean lines, and hosts without a cache, on the same
/// lines.
#[test]
fn hosts_of_all_kinds_share_lines() {
    let mut spec = spec(&[
        ("coherence.filter", "endpoint"),
        ("coherence.entries", "64"),
        ("requester.footprint", "8KiB"),
        ("requester.reads", "60%"),
        ("requester.depth", "8"),
    ]);
    let group = |name: &str, set: &[(&str, &str)]| Group {
        name: name.to_owned(),
        set: set
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..Group::default()
    };
    spec.requesters = vec![
        group("cached", &[("count", "2"), ("cache_lines", "64")]),
        group(
            "telling",
            &[
                ("count", "2"),
                ("cache_lines", "16"),
                ("cache_clean", "notified"),
            ],
        ),
        group("plain", &[("count", "2")]),
    ];
    let fabric = run_spec(&spec, 30_000);
    assert!(fabric.requester_stats().all(|host| host.completed > 1_000));
    let stats = fabric.coherence_stats().unwrap();
    assert!(stats.agents.conflict_snoops > 1_000 && stats.agents.clean_evictions > 100);
}

/// Half a cache of two ways, and half a filter, hold what is contiguous, however its lines are
/// dealt out over devices.
#[test]
fn sets_are_picked_by_the_addresses_of_hosts() {
    for (endpoints, filter) in [("1", "endpoint"), ("8", "endpoint"), ("8", "shared")] {
        let set = [
            ("topology.kind", "bus"),
            ("requester.count", "1"),
            ("requester.depth", "8"),
            ("requester.pattern", "stream"),
            ("requester.footprint", "32KiB"),
            ("requester.cache_lines", "1024"),
            ("requester.cache_ways", "2"),
            ("endpoint.count", endpoints),
            ("coherence.filter", filter),
            ("coherence.entries", "1024"),
            ("coherence.ways", "2"),
        ];
        let stats = run(&set, 8_000).coherence_stats().unwrap();
        assert!(
            stats.caches.hits >= 8_000,
            "{endpoints} {filter}: {stats:?}"
        );
        assert_eq!(stats.caches.misses, 0, "{endpoints} {filter}");
    }
}

/// Of a stream over `lines`, how many lines left the filter of 64 entries, and in how many snoops.
fn evicted(lines: u64, set: &[(&str, &str)]) -> (u64, u64) {
    let footprint = format!("{}B", lines * 64);
    let mut all = vec![
        ("requester.count", "1"),
        ("requester.depth", "1"),
        ("requester.pattern", "stream"),
        ("requester.footprint", &*footprint),
        ("requester.cache_lines", "64"),
        ("endpoint.count", "1"),
        ("coherence.filter", "shared"),
        ("coherence.entries", "64"),
    ];
    all.extend(set);
    let agents = run(&all, 40 * lines).coherence_stats().unwrap().agents;
    (agents.evictions, agents.eviction_snoops)
}

/// 65 lines in turn over 64 entries evict each other all, where oldest leave; in sets of one way
/// only the first and the last share an entry.
#[test]
fn sets_keep_to_themselves() {
    let requests = 40 * 65;
    let (all, _) = evicted(65, &[]);
    assert_eq!(all, requests);
    let (two, _) = evicted(65, &[("coherence.ways", "1")]);
    assert_eq!(two, 2 * 40);
    // Sets of eight: nine lines take turns in one of eight sets.
    let (nine, _) = evicted(65, &[("coherence.ways", "8")]);
    assert_eq!(nine, 9 * 40);
}

/// A stream's oldest lines are neighbours: four leave with one snoop.
#[test]
fn any_policy_takes_neighbours_along() {
    let lru = ("coherence.victim", "lru");
    let (one, snoops) = evicted(128, &[lru]);
    assert_eq!(one, snoops);
    let (four, snoops) = evicted(128, &[lru, ("coherence.block_extends", "any")]);
    assert_eq!(four, 4 * snoops);
}

/// What a filter keeps of lines is of those that came in, not of all that there are.
#[test]
fn a_filter_takes_no_room_for_lines_that_nobody_asks_for() {
    let large = [
        ("coherence.filter", "endpoint"),
        ("coherence.victim", "lfi"),
        ("coherence.entries", "32"),
        ("requester.cache_lines", "64"),
        ("endpoint.capacity", "64TiB"),
    ];
    let stats = run(&large, 2_000).coherence_stats().unwrap();
    assert!(stats.agents.evictions > 100, "{stats:?}");
}
