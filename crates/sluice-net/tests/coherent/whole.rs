//! Whole runs, checked access by access.

use proptest::prelude::*;
use sluice_net::{Fabric, FabricConfig, FabricError, FabricSpec, Group, Length};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sluice_testkit::cases(60)))]

    /// The monitor panics at the first incoherence.
    #[test]
    fn any_fabric_stays_coherent_and_loses_nothing(
        kind in one_of(&["chain", "ring", "spine-leaf", "fully-connected", "bus"]),
        requesters in one_of(&["1", "3", "8"]),
        filter in one_of(&["endpoint", "shared"]),
        victim in one_of(&["fifo", "lru", "lfi", "lifo", "mru", "block"]),
        entries in one_of(&["2", "16", "200"]),
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
        Err(error @ FabricError::Element { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
    };
    let error = refused(&[("requester.cache_lines", "64")]);
    assert!(error.contains("coherence.filter") && error.contains("requester.cache_lines"));
    let set = [
        ("requester.cache_lines", "64"),
        ("requester.cache_ways", "3"),
    ];
    assert!(refused(&set).contains("requester.cache_ways"));
}

/// Hosts with a cache, hosts that tell of clean lines, and hosts without one, on the same lines.
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
