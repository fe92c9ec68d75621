//! Aggregate bandwidth of the topologies, in units of a port's (ESF section V-A, Figure 10).

use crate::rig::{bandwidth, run};
use sluice_net::Length;

/// MB/s: a line takes 8 ns, so that latencies need few requests to be hidden.
const PORT: &str = "8000";

/// Reads at random of N requesters from N memories, each side on its half of the switches, two on
/// each switch.
fn ceiling(topology: &str, n: u64) -> f64 {
    let n_text = n.to_string();
    let set = [
        ("topology.kind", topology),
        ("requester.count", &n_text),
        ("endpoint.count", &n_text),
        ("requester.depth", "512"),
        ("link.bandwidth", PORT),
    ];
    let length = Length {
        warmup: 3_000 * n,
        requests: 500 * n * n,
    };
    bandwidth(run(&set, length).stats(), 64) / 8_000.0
}

fn assert_near(topology: &str, n: u64, expected: f64) {
    let measured = ceiling(topology, n);
    assert!(
        (measured / expected - 1.0).abs() < 0.02,
        "{topology} of {n} and {n}: {measured}, not {expected}"
    );
}

#[test]
fn a_chain_and_a_tree_have_one_port() {
    for n in [4, 8, 16] {
        assert_near("chain", n, 1.0);
        assert_near("tree", n, 1.0);
    }
}

#[test]
fn a_ring_has_two() {
    for n in [4, 8, 16] {
        assert_near("ring", n, 2.0);
    }
}

#[test]
fn a_spine_leaf_with_one_spine_has_half_of_n() {
    for n in [4, 8, 16] {
        assert_near("spine-leaf", n, n as f64 / 2.0);
    }
}

#[test]
fn a_fully_connected_one_has_n() {
    for n in [4, 8, 16] {
        assert_near("fully-connected", n, n as f64);
    }
}
