//! PageRank by pulling along sorted rows.

use sluice_units::Rng;

use super::crew::Crew;
use super::csr::Csr;
use super::edges::Edges;
use super::{Ranked, array};
use crate::error::Error;

/// Page and Brin's: a step in so many hundred follows an edge.
const DAMPING: f64 = 0.85;
/// Vertices that a thread takes at once, and whose ranks are added up together.
const STRETCH: usize = 4096;
/// How far sums of the same numbers in another order may be apart, of 1: far above what rounding
/// does, and far below what a lost page or a wrong edge does.
const TOLERANCE: f64 = 1e-9;

/// The arrays of PageRank.
pub(super) struct Ranks {
    ranks: Vec<f64>,
    /// Each vertex's rank before the last iteration, over its degree.
    shares: Vec<f64>,
    /// What the last iteration gave to every vertex alike.
    base: f64,
    spare: Vec<f64>,
    /// Sums over each stretch of vertices.
    sums: Vec<f64>,
}

impl Ranks {
    pub(super) fn new(vertices: usize) -> Result<Ranks, Error> {
        Ok(Ranks {
            ranks: array(vertices, || 0.0)?,
            shares: array(vertices, || 0.0)?,
            base: 0.0,
            spare: array(vertices, || 0.0)?,
            sums: array(vertices.div_ceil(STRETCH), || 0.0)?,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        (3 * size_of_val(&*self.ranks) + size_of_val(&*self.sums)) as u64
    }

    /// Iterates from even ranks, and returns what the last iteration changed.
    pub(super) fn run(&mut self, graph: &Csr, iterations: u32, crew: &Crew) -> f64 {
        let even = 1.0 / graph.vertices() as f64;
        self.ranks.fill(even);
        let mut change = 0.0;
        for _ in 0..iterations {
            // The rank of vertices without edges goes to all alike, so that none is lost.
            let dangling = self.share_out(graph, crew);
            self.base = ((1.0 - DAMPING) + DAMPING * dangling) * even;
            change = self.gather(graph, crew);
        }
        change
    }

    /// Divides ranks by degrees; returns the rank of vertices without an edge to pass it on.
    fn share_out(&mut self, graph: &Csr, crew: &Crew) -> f64 {
        let ranks = &self.ranks;
        stretches(
            crew,
            &mut self.shares,
            &mut self.sums,
            |vertex, share| match graph.degree(vertex as u32) {
                0 => {
                    *share = 0.0;
                    ranks[vertex]
                }
                degree => {
                    *share = ranks[vertex] / degree as f64;
                    0.0
                }
            },
        )
    }

    /// Adds up the shares of each vertex's neighbours; the answer is the sum of the changes.
    fn gather(&mut self, graph: &Csr, crew: &Crew) -> f64 {
        let (shares, base) = (&self.shares, self.base);
        stretches(crew, &mut self.ranks, &mut self.sums, |vertex, rank| {
            let row = graph.row(vertex as u32);
            let sum: f64 = row.map(|end| shares[end as usize]).sum();
            let before = std::mem::replace(rank, base + DAMPING * sum);
            (*rank - before).abs()
        })
    }

    pub(super) fn sum(&self) -> f64 {
        let stretch = |ranks: &[f64]| ranks.iter().sum::<f64>();
        self.ranks.chunks(STRETCH).map(stretch).sum()
    }

    pub(super) fn checksum(&self) -> u64 {
        let mix = |hash: u64, rank: &f64| Rng::from_splitmix(hash ^ rank.to_bits()).next_u64();
        self.ranks.iter().fold(0, mix)
    }

    /// Does the last iteration once more, by pushing along the edges as they are drawn, and returns
    /// the largest relative difference.
    pub(super) fn error(&mut self, edges: &Edges) -> f64 {
        self.spare.fill(0.0);
        for (from, to) in (0..edges.count()).map(|edge| edges.get(edge)) {
            self.spare[to as usize] += self.shares[from as usize];
            self.spare[from as usize] += self.shares[to as usize];
        }
        let pushed = self.spare.iter().map(|sum| self.base + DAMPING * sum);
        let differences = self.ranks.iter().zip(pushed).map(|(rank, pushed)| {
            // A difference that is not a number is as far off as any.
            let difference = (rank - pushed).abs() / pushed;
            if difference.is_nan() {
                f64::INFINITY
            } else {
                difference
            }
        });
        differences.fold(0.0, f64::max)
    }
}

/// Calls `work` for each element, and adds up its answers: within stretches first, so that the sum
/// does not depend on the threads.
fn stretches(
    crew: &Crew,
    array: &mut [f64],
    sums: &mut [f64],
    work: impl Fn(usize, &mut f64) -> f64 + Sync,
) -> f64 {
    let mut parts: Vec<_> = array.chunks_mut(STRETCH).zip(&mut *sums).collect();
    let ends = 1..=parts.len();
    crew.parts(&mut parts, ends, |first, parts| {
        for (number, (part, sum)) in (first..).zip(parts) {
            let each = (number * STRETCH..).zip(part.iter_mut());
            **sum = each.map(|(vertex, element)| work(vertex, element)).sum();
        }
    });
    sums.iter().sum()
}

/// What is wrong with ranks.
pub(super) fn wrong(ranked: &Ranked) -> Vec<String> {
    let mut wrong = Vec::new();
    if (ranked.sum - 1.0).abs() > TOLERANCE || ranked.sum.is_nan() {
        wrong.push(format!("the ranks add up to {}, not to 1", ranked.sum));
    }
    if let Some(error) = ranked.error.filter(|error| *error > TOLERANCE) {
        wrong.push(format!(
            "the last iteration, along the edges as drawn, differs by {error:e}"
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERTICES: usize = 1 << 8;

    fn rig(threads: usize) -> (Edges, Csr, Ranks) {
        // Some of the vertices have no edge.
        let edges = Edges::new(8, 2, 4);
        let crew = Crew::new(threads);
        let mut graph = Csr::new(&edges).unwrap();
        graph.build(&edges, &crew);
        let mut ranks = Ranks::new(VERTICES).unwrap();
        ranks.run(&graph, 15, &crew);
        (edges, graph, ranks)
    }

    /// Powers of the whole matrix, made from the edges as they were drawn.
    fn dense(edges: &Edges) -> Vec<f64> {
        let mut counts = vec![vec![0.0; VERTICES]; VERTICES];
        for (from, to) in (0..edges.count()).map(|edge| edges.get(edge)) {
            counts[from as usize][to as usize] += 1.0;
            counts[to as usize][from as usize] += 1.0;
        }
        let even = 1.0 / VERTICES as f64;
        for row in &mut counts {
            let degree: f64 = row.iter().sum();
            let step = |count| if degree == 0.0 { even } else { count / degree };
            row.iter_mut()
                .for_each(|cell| *cell = 0.15 * even + 0.85 * step(*cell));
        }
        let mut ranks = vec![even; VERTICES];
        for _ in 0..15 {
            let into = |to: usize| {
                (0..VERTICES)
                    .map(|from| ranks[from] * counts[from][to])
                    .sum()
            };
            ranks = (0..VERTICES).map(into).collect();
        }
        ranks
    }

    #[test]
    fn ranks_are_those_of_the_dense_matrix() {
        let (edges, graph, mut ranks) = rig(1);
        assert!((0..VERTICES as u32).any(|vertex| graph.degree(vertex) == 0));
        for (rank, expected) in ranks.ranks.iter().zip(dense(&edges)) {
            assert!((rank - expected).abs() < 1e-14, "{rank} {expected}");
        }
        assert!((ranks.sum() - 1.0).abs() < 1e-12);
        assert!(ranks.error(&edges) < 1e-12);
        let (_, _, three) = rig(3);
        assert_eq!(ranks.checksum(), three.checksum(), "to the last bit");
    }

    #[test]
    fn a_rank_that_is_not_its_own_is_found() {
        let (edges, _, mut ranks) = rig(1);
        let right = ranks.ranks[77];
        for wrong in [right * 1.000_001, 0.0, f64::NAN] {
            ranks.ranks[77] = wrong;
            assert!(ranks.error(&edges) > TOLERANCE, "{wrong}");
        }
    }

    #[test]
    fn ranks_that_do_not_add_up_or_differ_are_told() {
        let told = |sum, error| {
            wrong(&Ranked {
                sum,
                change: 0.0,
                checksum: 0,
                error,
                wall_ns: 1,
            })
        };
        assert_eq!(told(1.0 + 0.9e-9, Some(0.9e-9)), [""; 0]);
        assert_eq!(told(1.0 - 0.9e-9, None), [""; 0]);
        for sum in [1.0 + 1.1e-9, 1.0 - 1.1e-9, f64::NAN] {
            let told = told(sum, Some(0.0));
            assert_eq!(told.len(), 1, "{sum}");
            assert!(told[0].starts_with("the ranks add up to "), "{told:?}");
        }
        for error in [1.1e-9, f64::INFINITY] {
            let told = told(1.0, Some(error));
            assert_eq!(told.len(), 1, "{error}");
            assert!(told[0].contains("as drawn, differs by "), "{told:?}");
        }
        assert_eq!(told(0.5, Some(1.0)).len(), 2);
    }

    /// Each bit of each rank, and the order.
    #[test]
    fn a_checksum_is_of_every_bit_in_order() {
        let (_, _, mut ranks) = rig(1);
        let mut seen = std::collections::BTreeSet::from([ranks.checksum()]);
        for bit in 0..64 {
            for vertex in [0, 100, VERTICES - 1] {
                let right = ranks.ranks[vertex];
                ranks.ranks[vertex] = f64::from_bits(right.to_bits() ^ 1 << bit);
                assert!(seen.insert(ranks.checksum()), "bit {bit} of {vertex}");
                ranks.ranks[vertex] = right;
            }
        }
        ranks.ranks.reverse();
        assert!(seen.insert(ranks.checksum()));
    }
}
