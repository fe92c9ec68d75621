//! The edges of a Graph500 graph, each a function of its number.

use sluice_units::Rng;

/// Corners of the recursive matrix in units of 2^-32: A, A + B and A + B + C of Graph500's 0.57,
/// 0.19, 0.19 and 0.05.
const CORNERS: [u64; 3] = [percent(57), percent(76), percent(95)];

const fn percent(share: u64) -> u64 {
    (share << 32) / 100
}

/// A list of edges that is computed, not kept: an edge can be drawn again at any time, so that
/// what was made of the list can be checked without memory for it.
pub(super) struct Edges {
    scale: u32,
    count: u64,
    seed: u64,
    names: Permutation,
}

impl Edges {
    pub(super) fn new(scale: u32, per_vertex: u64, seed: u64) -> Edges {
        Edges {
            scale,
            count: per_vertex << scale,
            seed: Rng::stream(seed, "graph.edges").next_u64(),
            names: Permutation::new(scale, seed, "graph.names"),
        }
    }

    pub(super) fn vertices(&self) -> u64 {
        1 << self.scale
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// All vertices in a random order of this name.
    pub(super) fn shuffled(&self, name: &str) -> impl Iterator<Item = u32> + use<> {
        let order = Permutation::new(self.scale, self.seed, name);
        (0..self.vertices()).map(move |at| order.of(at))
    }

    /// The two ends of an edge: a corner of the matrix is drawn for each bit of their numbers. The
    /// vertices are named anew, as Graph500 asks, so that a number does not show a degree.
    pub(super) fn get(&self, edge: u64) -> (u32, u32) {
        let mut rng = Rng::from_splitmix(self.seed.wrapping_add(edge.wrapping_mul(GOLDEN)));
        let (mut from, mut to) = (0, 0);
        let mut bits = 0;
        for level in 0..self.scale {
            bits = match level % 2 {
                0 => rng.next_u64(),
                _ => bits >> 32,
            };
            let draw = bits & u64::from(u32::MAX);
            let corner = CORNERS.iter().filter(|bound| draw >= **bound).count() as u64;
            (from, to) = (from << 1 | corner >> 1, to << 1 | corner & 1);
        }
        (self.names.of(from), self.names.of(to))
    }
}

/// Odd, and far from multiples of small powers of two: the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Rounds after which single bits have spread over all.
const ROUNDS: usize = 4;

/// A random order of all numbers of some bits, computed: each round is a bijection.
struct Permutation {
    bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    fn new(bits: u32, seed: u64, name: &str) -> Permutation {
        let mut rng = Rng::stream(seed, name);
        let keys = std::array::from_fn(|_| rng.next_u64());
        Permutation { bits, keys }
    }

    fn of(&self, number: u64) -> u32 {
        let mask = (1u64 << self.bits) - 1;
        let half = self.bits.div_ceil(2);
        let round = |x: u64, key: &u64| {
            let x = (x ^ key).wrapping_mul(GOLDEN ^ (key & !1)) & mask;
            x ^ x >> half
        };
        self.keys.iter().fold(number, round) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_vertex_has_one_name(bits in 1u32..14, seed: u64) {
            let names = Permutation::new(bits, seed, "names");
            let mut seen = vec![false; 1 << bits];
            (0..1 << bits).for_each(|x| seen[names.of(x) as usize] = true);
            prop_assert!(seen.iter().all(|seen| *seen));
        }
    }

    /// Shares of the corners, bit by bit, before the vertices are named anew.
    #[test]
    fn corners_have_graph500s_shares() {
        let mut edges = Edges::new(10, 64, 5);
        edges.names = Permutation {
            bits: 10,
            keys: [0; ROUNDS],
        };
        let names: Vec<_> = (0..1024).map(|x| edges.names.of(x)).collect();
        let number = |name| names.iter().position(|n| *n == name).expect("a bijection");
        let mut counts = [0u32; 4];
        for edge in 0..edges.count() {
            let (from, to) = edges.get(edge);
            let (from, to) = (number(from), number(to));
            (0..10).for_each(|bit| counts[(from >> bit & 1) << 1 | (to >> bit & 1)] += 1);
        }
        for (count, share) in counts.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
            // Five standard deviations of 655,360 draws.
            let measured = f64::from(count) / 655_360.0;
            assert!((measured - share).abs() < 0.0031, "{measured} for {share}");
        }
    }
}
