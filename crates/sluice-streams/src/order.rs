//! In which order a chase visits its nodes. Shared by the real program and by the access
//! stream that stands for it, so that both visit the same pages.

use sluice_units::{Rng, seed_of};

const ORDER_STREAM: &str = "chase.order";
/// 2^64 divided by the golden ratio: spreads neighbouring numbers over all bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// How a chase walks its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChaseOrder {
    /// In address order, over and over.
    Sequential,
    /// Along one random cycle through all nodes, the same in each pass.
    Cycle,
    /// Independent uniform choices: a pass may visit a node twice and miss another.
    Uniform,
}

impl ChaseOrder {
    /// The name in parameters and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ChaseOrder::Sequential => "sequential",
            ChaseOrder::Cycle => "random",
            ChaseOrder::Uniform => "uniform",
        }
    }
}

/// The random stream of one thread's order: every thread has its own.
#[must_use]
pub fn rng(seed: u64, thread: u64) -> Rng {
    thread_rng(seed, thread, ORDER_STREAM)
}

/// One thread's stream of the component `name`.
pub fn thread_rng(seed: u64, thread: u64, name: &str) -> Rng {
    Rng::stream(seed_of(seed, thread), name)
}

/// Makes `next` one random cycle through all its indices (Sattolo 1986): `next[i]` follows `i`.
///
/// Every one of the (n-1)! cycles is equally likely.
///
/// # Panics
/// If there are more indices than a `u32` can name.
pub fn cycle(next: &mut [u32], rng: &mut Rng) {
    assert!(u32::try_from(next.len()).is_ok());
    for (i, cell) in next.iter_mut().enumerate() {
        *cell = i as u32;
    }
    for i in (1..next.len()).rev() {
        let j = rng.below(i as u64) as usize;
        next.swap(i, j);
    }
}

/// Independent uniform node choices.
#[derive(Clone, Debug)]
pub struct UniformWalk {
    rng: Rng,
    nodes: u64,
}

impl UniformWalk {
    /// The walk of one thread over `nodes` nodes.
    #[must_use]
    pub fn new(seed: u64, thread: u64, nodes: u64) -> Self {
        Self {
            rng: rng(seed, thread),
            nodes,
        }
    }

    /// The next node.
    ///
    /// `loaded` is a value made of the last load, zero when memory is right: it makes this
    /// choice depend on that load. Whatever it is, the result is a node.
    #[inline(always)]
    pub fn next_node(&mut self, loaded: u64) -> u64 {
        let draw = self.rng.next_u64() ^ loaded;
        ((u128::from(draw) * u128::from(self.nodes)) >> 64) as u64
    }
}

/// What a node of a uniform walk holds: never zero, so that a lost page shows.
#[inline(always)]
#[must_use]
pub fn uniform_tag(node: u64) -> u64 {
    node.wrapping_mul(GOLDEN) | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cycle_goes_through_every_node_once(len in 1_usize..3_000, seed: u64) {
            let mut next = vec![0; len];
            cycle(&mut next, &mut rng(seed, 0));
            let mut at = 0;
            for step in 1..=len {
                at = next[at] as usize;
                prop_assert_eq!(at == 0, step == len, "{} of {} steps", step, len);
            }
        }

        #[test]
        fn uniform_choices_stay_inside(nodes in 1_u64..u64::MAX, loaded: u64, seed: u64) {
            let mut walk = UniformWalk::new(seed, 1, nodes);
            prop_assert!(walk.next_node(loaded) < nodes);
        }
    }

    #[test]
    fn all_cycles_of_four_are_equally_likely() {
        let mut counts = std::collections::BTreeMap::<Vec<u32>, u32>::new();
        let rounds = 60_000;
        for seed in 0..rounds {
            let mut next = vec![0; 4];
            cycle(&mut next, &mut rng(seed, 0));
            *counts.entry(next).or_default() += 1;
        }
        assert_eq!(counts.len(), 6, "(4-1)! cycles");
        let expected = rounds as f64 / 6.0;
        let chi2: f64 = counts
            .values()
            .map(|n| (f64::from(*n) - expected).powi(2) / expected)
            .sum();
        assert!(
            chi2 < 20.5,
            "chi-square {chi2} with 5 degrees of freedom, p = 0.001"
        );
    }

    /// What a node holds goes into the choice of the next, and no node is chosen more for it.
    #[test]
    fn all_nodes_are_equally_likely_whatever_they_hold() {
        const NODES: u64 = 64;
        let mut walk = UniformWalk::new(5, 0, NODES);
        let (mut counts, mut at) = (vec![0_u32; NODES as usize], 0);
        let mut steps = std::collections::BTreeMap::<u64, std::collections::BTreeSet<u64>>::new();
        for _ in 0..64_000 {
            let next = walk.next_node(uniform_tag(at));
            steps.entry(at).or_default().insert(next);
            counts[next as usize] += 1;
            at = next;
        }
        let chi2: f64 = counts
            .iter()
            .map(|n| (f64::from(*n) - 1_000.0).powi(2) / 1_000.0)
            .sum();
        // Mean 63, deviation 11.2.
        assert!(chi2 < 63.0 + 4.0 * 11.2, "{chi2}");
        assert!(steps.values().all(|next| next.len() == NODES as usize));
        let mut other = UniformWalk::new(5, 0, 1 << 40);
        let mut same = UniformWalk::new(5, 0, 1 << 40);
        assert_ne!(
            other.next_node(uniform_tag(1)),
            same.next_node(uniform_tag(2))
        );
    }

    #[test]
    fn tags_are_odd_and_differ() {
        let tags: std::collections::BTreeSet<u64> = (0..5_000).map(uniform_tag).collect();
        assert_eq!(tags.len(), 5_000);
        assert!(tags.iter().all(|tag| tag % 2 == 1));
    }

    #[test]
    fn threads_and_seeds_differ() {
        let first = |seed, thread| UniformWalk::new(seed, thread, 1 << 40).next_node(0);
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(3, 2), first(3, 2));
    }
}
