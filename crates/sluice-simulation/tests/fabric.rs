//! The object of a fabric against its requests one by one, and against its own counters.

use serde_json::Value;
use sluice_net::{Fabric, FabricConfig, FabricSpec, Group, Length};
use sluice_results::{FabricParts, to_json};
use sluice_simulation::fabric_figures;
use std::collections::BTreeSet;

fn group(name: &str, set: &[(&str, &str)]) -> Group {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Group {
        name: name.to_owned(),
        set: set.iter().map(pair).collect(),
        ..Group::default()
    }
}

/// A fabric that ran, its settings, and the latency of each request that counted, in ns.
struct Ran {
    fabric: Fabric,
    object: Value,
    latencies: Vec<Vec<f64>>,
}

fn ran(set: &[(&str, &str)], groups: Vec<Group>) -> Ran {
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.raw.set(key, value).unwrap();
    }
    spec.requesters = groups;
    let config = FabricConfig::new(&spec, 1).unwrap();
    let mut fabric = Fabric::new(&config).unwrap();
    let length = Length {
        warmup: 3_000,
        requests: 40_000,
    };
    let mut latencies = vec![Vec::new(); config.graph.requesters as usize];
    let mut done = |it: sluice_net::Completed| {
        latencies[it.requester.index()].push(it.latency.0 as f64 / 1e3);
    };
    fabric.run_with(length, &mut |_| true, &mut done).unwrap();
    fabric.balance().unwrap();
    let object = to_json(&fabric_figures(&fabric, &config));
    Ran {
        fabric,
        object,
        latencies,
    }
}

/// Hosts of which one asks for nothing, on links of which some are busy.
fn star(more: &[(&str, &str)]) -> Ran {
    let base = [
        ("topology.kind", "star"),
        ("endpoint.count", "3"),
        ("requester.pattern", "skewed"),
        ("requester.footprint", "64KiB"),
        ("link.bandwidth", "16000"),
    ];
    let groups = vec![
        group("few", &[("count", "1"), ("depth", "1")]),
        group(
            "many",
            &[("count", "2"), ("depth", "200"), ("reads", "70%")],
        ),
        group("none", &[("count", "1"), ("pattern", "external")]),
    ];
    ran(&[&base[..], more].concat(), groups)
}

fn number(object: &Value, place: &str) -> f64 {
    let value = object.pointer(place).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no number {place} in {object:#}"))
}

fn near(ours: f64, expected: f64, what: &str) {
    let slack = expected.abs() * 0.004;
    assert!(
        (ours - expected).abs() <= slack,
        "{what}: {ours}, not {expected}"
    );
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn latencies_are_those_of_the_requests() {
    let ran = star(&[]);
    let mut all = ran.latencies.concat();
    all.sort_by(f64::total_cmp);
    let count = all.len();
    assert_eq!(number(&ran.object, "/requests"), count as f64);
    assert_eq!(number(&ran.object, "/latency_ns/count"), count as f64);
    for (name, per_mille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)] {
        let rank = (count * per_mille).div_ceil(1_000);
        let place = format!("/latency_ns/{name}");
        near(number(&ran.object, &place), all[rank - 1], name);
    }
    // Percentiles that are all the same would prove nothing.
    let of = |name| number(&ran.object, &format!("/latency_ns/{name}"));
    assert!(of("p50") < of("p90") && of("p90") * 1.01 < of("p99"));
    assert!(
        of("p99") * 1.01 < of("p999"),
        "{}",
        ran.object["latency_ns"]
    );
    assert_eq!(of("max"), all[count - 1]);
    near(of("mean"), mean(&all), "mean");
    near(number(&ran.object, "/latency_min_ns"), all[0], "least");
    let parts = ran.object["latency_parts_ns"].as_object().unwrap();
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    near(sum, mean(&all), "parts");
    let named = serde_json::from_value(ran.object["latency_parts_ns"].clone());
    let named: FabricParts<Option<f64>> = named.unwrap();
    for (name, value) in named.named() {
        assert_eq!(parts[name].as_f64(), value, "{name}");
    }
    let names: BTreeSet<&str> = named.named().map(|(name, _)| name).into();
    assert_eq!(names.len(), parts.len());
}

/// Requests by the number of switches on their way, and their parts, make up all of them.
#[test]
fn groups_by_hops_make_up_the_whole() {
    let ran = star(&[("topology.kind", "chain"), ("topology.per_switch", "2")]);
    let hops = &ran.object["hops"];
    let list = |place: &str| hops.pointer(place).unwrap().as_array().unwrap().clone();
    let parts = hops["parts_ns"].as_object().unwrap();
    let (mut requests, mut sum, mut groups) = (0.0, 0.0, 0);
    for (index, count) in list("/requests").iter().enumerate() {
        let latency = &list("/latency_ns")[index];
        let Some(latency) = latency.as_f64() else {
            assert_eq!(*count, 0);
            continue;
        };
        let each: f64 = parts.values().filter_map(|part| part[index].as_f64()).sum();
        near(each, latency, "parts of a group");
        let count = count.as_f64().unwrap();
        (requests, sum, groups) = (requests + count, sum + count * latency, groups + 1);
    }
    let all = ran.latencies.concat();
    assert_eq!(requests, all.len() as f64);
    near(sum / requests, mean(&all), "mean");
    assert!(groups > 1, "{hops}");
}

/// A sum over requesters, and one that asked for nothing has no mean.
#[test]
fn each_requester_is_told_by_itself() {
    let ran = star(&[]);
    let rows = ran.object["requesters"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for (row, latencies) in rows.iter().zip(&ran.latencies) {
        assert_eq!(row["requests"], latencies.len());
        if latencies.is_empty() {
            assert_eq!(row["name"], "none");
            assert!(row["latency_mean_ns"].is_null(), "{row}");
        } else {
            near(
                number(row, "/latency_mean_ns"),
                mean(latencies),
                "a requester",
            );
        }
    }
    assert!(
        rows.iter()
            .filter(|row| row["latency_mean_ns"].is_null())
            .count()
            == 1
    );
}

#[test]
fn all_links_are_told_and_the_busiest_is_one_of_them() {
    let ran = star(&[]);
    let told = ran.object["links"].as_array().unwrap();
    let graph = ran.fabric.graph();
    assert_eq!(told.len(), graph.links.len());
    for (row, link) in told.iter().zip(&graph.links) {
        let ends = link.ends.map(|end| graph.name(end).to_owned());
        assert_eq!(row["ends"], Value::from(ends.to_vec()));
        let busy = [0, 1].map(|way| number(row, &format!("/busy/{way}")));
        near(number(row, "/utility"), mean(&busy), "utility");
    }
    let most = told
        .iter()
        .map(|row| number(row, "/utility"))
        .fold(0.0, f64::max);
    assert_eq!(number(&ran.object, "/busiest_link/utility"), most);
    assert!(told.iter().any(|row| number(row, "/utility") < most / 2.0));
}

/// What coherence cost, from the counters of caches and agents.
#[test]
fn coherence_is_told_as_it_was_counted() {
    let ran = star(&[
        ("coherence.filter", "endpoint"),
        ("coherence.entries", "32"),
        ("requester.cache_lines", "64"),
        ("requester.cache_ways", "4"),
    ]);
    let stats = ran.fabric.coherence_stats().unwrap();
    let told = &ran.object["coherence"];
    let expected = stats.waited.0 as f64 / 1e3 / stats.served as f64;
    near(number(told, "/agent_wait_mean_ns"), expected, "agents");
    // The filter is looked into at least, which takes 12 ns.
    assert!(expected >= 12.0);
    let (caches, agents) = (stats.caches, stats.agents);
    for (key, count) in [
        ("cache_hits", caches.hits),
        ("cache_misses", caches.misses),
        ("invalidated_lines", caches.invalidated),
        ("write_backs", caches.write_backs),
        ("filter_requests", agents.requests),
        ("filter_evictions", agents.evictions),
        ("conflict_snoops", agents.conflict_snoops),
        ("delayed_requests", stats.delayed),
    ] {
        assert_eq!(told[key], count, "{key}");
        assert!(count > 0, "{key}");
    }
    // Requests that the caches had are answered, and all others go on.
    let answered = caches.hits + caches.misses;
    assert!(answered as f64 >= number(&ran.object, "/requests"));
    assert!(star(&[]).object["coherence"].is_null());
    // No requester asks: there is no mean.
    let idle = vec![group("none", &[("count", "1"), ("pattern", "external")])];
    let set = [("coherence.filter", "endpoint")];
    let ran = ran_nothing(&set, idle);
    assert!(ran["coherence"]["agent_wait_mean_ns"].is_null(), "{ran:#}");
}

/// The object of a fabric before its first request.
fn ran_nothing(set: &[(&str, &str)], groups: Vec<Group>) -> Value {
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.raw.set(key, value).unwrap();
    }
    spec.requesters = groups;
    let config = FabricConfig::new(&spec, 1).unwrap();
    to_json(&fabric_figures(&Fabric::new(&config).unwrap(), &config))
}
