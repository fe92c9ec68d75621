//! The method against another: successive shortest paths.

use super::super::drive::{given, run};
use super::*;
use proptest::prelude::*;
use sluice_host::MemOp;

fn simplex(seed: u64, rounds: u64, scale: u32) -> Simplex {
    Simplex::new(&KernelOptions {
        seed,
        ..given(&INFO, 2, rounds, &[], scale)
    })
}

fn cost(kernel: &Simplex) -> i64 {
    kernel.arcs.iter().map(|arc| arc.flow * arc.cost).sum()
}

/// Sends flow along the cheapest way from a node that has too much to one that has too little,
/// found by Bellman and Ford's method, until nobody has.
fn naive(kernel: &Simplex) -> i64 {
    let mut over: Vec<i64> = kernel.nodes.iter().map(|node| node.supply).collect();
    let mut flows = vec![0; kernel.real];
    while let Some(source) = over.iter().position(|over| *over > 0) {
        let mut dist = vec![i64::MAX; over.len()];
        let mut by = vec![(0, true); over.len()];
        dist[source] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (number, arc) in kernel.arcs[..kernel.real].iter().enumerate() {
                let [a, b] = arc.ends.map(|end| end as usize);
                let forward = (a, b, arc.cost, arc.capacity - flows[number], true);
                let back = (b, a, -arc.cost, flows[number], false);
                for (a, b, cost, room, is_forward) in [forward, back] {
                    if room > 0 && dist[a] < i64::MAX && dist[a] + cost < dist[b] {
                        dist[b] = dist[a] + cost;
                        by[b] = (number, is_forward);
                        changed = true;
                    }
                }
            }
        }
        let needy = (0..over.len()).filter(|n| over[*n] < 0 && dist[*n] < i64::MAX);
        let sink = needy.min_by_key(|n| dist[*n]).expect("a way for all flow");
        let mut at = sink;
        let mut way = Vec::new();
        while at != source {
            let (arc, is_forward) = by[at];
            way.push(by[at]);
            at = kernel.arcs[arc].ends[usize::from(!is_forward)] as usize;
        }
        let room = |(arc, is_forward): &(usize, bool)| match is_forward {
            true => kernel.arcs[*arc].capacity - flows[*arc],
            false => flows[*arc],
        };
        let flow = way.iter().map(room).min().unwrap_or(0);
        let flow = flow.min(over[source]).min(-over[sink]);
        for (arc, is_forward) in way {
            flows[arc] += if is_forward { flow } else { -flow };
        }
        over[source] -= flow;
        over[sink] += flow;
    }
    let arcs = kernel.arcs.iter().zip(&flows);
    arcs.map(|(arc, flow)| arc.cost * flow).sum()
}

proptest! {
    #[test]
    fn it_costs_what_successive_shortest_paths_cost(
        seed in any::<u64>(), rounds in 1u64..3, scale in 1_000u32..20_000,
    ) {
        let mut kernel = simplex(seed, rounds, scale);
        run(&mut kernel, 1);
        prop_assert_eq!(kernel.check(), Ok(()));
        prop_assert_eq!(kernel.rounds(), rounds);
        prop_assert_eq!(cost(&kernel), naive(&kernel));
    }
}

#[test]
fn every_node_keeps_its_balance_and_the_tree_its_depths() {
    let mut kernel = simplex(3, 1, 4_000);
    let (mut out, mut steps) = (Vec::new(), 0);
    while kernel.fill(0, &mut out) == Step::More {
        out.clear();
        steps += 1;
        assert_eq!(kernel.check(), Ok(()), "after {steps} stretches");
        if kernel.phase != Phase::Price {
            continue;
        }
        for node in &kernel.nodes[..kernel.root() as usize] {
            assert_eq!(node.depth, kernel.nodes[node.parent as usize].depth + 1);
            assert_eq!(kernel.reduced(&kernel.arcs[node.arc as usize]), 0);
        }
    }
    assert!(kernel.pivots > 50);
    kernel.nodes[5].potential += 1;
    assert!(kernel.check().is_err());
}

/// Each round solved the network of the first once more.
#[test]
fn a_round_has_costs_of_its_own() {
    let mut kernel = simplex(3, 3, 10_000);
    let costs = |kernel: &Simplex| {
        kernel.arcs[..kernel.real]
            .iter()
            .map(|arc| arc.cost)
            .collect()
    };
    let ends: Vec<[u32; 2]> = kernel.arcs[..kernel.real]
        .iter()
        .map(|arc| arc.ends)
        .collect();
    let mut seen: Vec<Vec<i64>> = vec![costs(&kernel)];
    let mut out = Vec::new();
    while kernel.fill(0, &mut out) == Step::More {
        out.clear();
        if kernel.rounds == seen.len() as u64 && !kernel.ended {
            seen.push(costs(&kernel));
        }
    }
    assert_eq!(kernel.rounds, 3);
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
    assert!(
        kernel
            .arcs
            .iter()
            .zip(&ends)
            .all(|(arc, ends)| arc.ends == *ends)
    );
}

/// On the way up to a next sibling, nothing waited for the parent before it.
#[test]
fn whoever_goes_through_the_tree_waits_for_each_link() {
    let mut kernel = simplex(3, 1, 1_000);
    let (mut out, mut upwards) = (Vec::new(), 0);
    loop {
        out.clear();
        let is_update = matches!(kernel.phase, Phase::Update(..));
        if kernel.fill(0, &mut out) == Step::End {
            break;
        }
        let places = (0..out.len()).filter(|at| is_update && out[*at].op == MemOp::Load);
        let places: Vec<usize> = places.collect();
        for pair in places.windows(2) {
            assert_eq!(pair[1] - pair[0], usize::from(out[pair[1]].after));
            // Nothing is stored to a node that is only passed.
            upwards += u64::from(pair[1] - pair[0] == 1);
        }
    }
    assert!(upwards > 100, "{upwards}");
}

#[test]
fn threads_do_the_same_steps() {
    let told = [1, 3].map(|threads| {
        let mut kernel = Simplex::new(&given(&INFO, threads, 1, &[], 500));
        let told = run(&mut kernel, 1);
        assert_eq!(kernel.check(), Ok(()));
        (told.loads, told.stores, told.instructions)
    });
    assert_eq!(told[0], told[1]);
}

#[test]
fn it_has_the_memory_that_was_asked_for() {
    let kernel = Simplex::new(&given(&INFO, 1, 1, &[("bytes", "8MB")], 1));
    let bytes = kernel.footprint().0;
    assert!(bytes.abs_diff(8_000_000) < 400_000, "{bytes}");
}
