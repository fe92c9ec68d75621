//! Fabrics for tests, by their parameters.

use sluice_net::{Completed, Fabric, FabricConfig, FabricError, FabricSpec, FabricStats, Length};

/// A description with these values.
pub fn spec(set: &[(&str, &str)]) -> FabricSpec {
    let mut spec = FabricSpec::default();
    for (key, value) in set {
        spec.raw
            .set(key, value)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    spec
}

/// Values of an element's own.
pub fn pairs(set: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    set.iter().map(pair).collect()
}

/// MB/s of data of each requester, over so many requests of all after a tenth of them.
pub fn bandwidths(spec: &FabricSpec, requests: u64) -> Vec<f64> {
    let mut fabric = fabric(spec);
    let length = Length {
        warmup: requests / 10,
        requests,
    };
    fabric.run(length, &mut |_| true).unwrap();
    fabric.balance().unwrap();
    let time = fabric.stats().time().0 as f64;
    let each = fabric.requester_stats();
    let each = each.map(|stats| (stats.completed * 64) as f64 / time * 1e6);
    each.collect()
}

/// Equal within 2 %.
pub fn near(measured: f64, expected: f64) {
    let ratio = measured / expected;
    assert!((ratio - 1.0).abs() < 0.02, "{measured}, not {expected}");
}

/// A fabric of a description that can be.
pub fn fabric(spec: &FabricSpec) -> Fabric {
    let config = FabricConfig::new(spec, 1).unwrap_or_else(|error| panic!("{error}"));
    Fabric::new(&config).unwrap_or_else(|error| panic!("{error}"))
}

/// Why a description cannot be.
pub fn refused(spec: &FabricSpec) -> FabricError {
    match FabricConfig::new(spec, 1) {
        Ok(_) => panic!("a fabric that cannot be was taken"),
        Err(error) => error,
    }
}

/// Runs, and checks the books.
pub fn run(set: &[(&str, &str)], length: Length) -> Fabric {
    let mut fabric = fabric(&spec(set));
    fabric
        .run(length, &mut |_| true)
        .unwrap_or_else(|error| panic!("{error}"));
    fabric.balance().unwrap_or_else(|error| panic!("{error}"));
    fabric
}

/// Advances until nothing happens any more.
pub fn drain(fabric: &mut Fabric) -> Vec<Completed> {
    let mut completed = Vec::new();
    while let Some(next) = fabric.next_at() {
        fabric
            .advance(next, &mut |done| completed.push(done))
            .unwrap_or_else(|error| panic!("{error}"));
    }
    completed
}

/// Bytes of data a second, in MB/s.
pub fn bandwidth(stats: &FabricStats, payload: u64) -> f64 {
    (stats.completed() * payload) as f64 / stats.time().0 as f64 * 1e6
}
