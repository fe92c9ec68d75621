//! Kronecker graphs, row by row.

use sluice_units::Rng;
use std::ops::Range;

/// Neighbours of each vertex, in order.
///
/// The recursive matrix has GAP's corners 0.57, 0.19, 0.19 and 0.05. Given a vertex, the bits of a
/// neighbour are independent, so that rows are drawn one after the other and nothing has to be
/// sorted into place. A vertex whose number has `ones` ones has its share 0.76^zeros x 0.24^ones of
/// all edges. A neighbour has a one in 0.25 of the places where the vertex has a zero, and in
/// 0.05/0.24 of the others.
///
/// Different from GAP's:
///
/// - Vertices keep the numbers that they are drawn with, so that those of many edges are near each
///   other, as after GAP's relabelling by degree. SkyByte's section has such page locality: few
///   off-chip accesses wait for flash (II-C, Figure 17).
/// - The two directions of an edge are drawn apart, so that the graph is directed, with degrees as
///   in the symmetric one.
/// - An edge may be there twice.
/// - Any number of vertices is possible, as the matrix of the next power of two is folded.
pub(crate) struct Kronecker {
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// Bits of a neighbour of `vertex`, each with the probability that its place there has.
fn neighbour(vertex: u32, rng: &mut Rng) -> u32 {
    let mut words = || {
        let bits = rng.next_u64();
        ((bits >> 32) as u32, bits as u32)
    };
    let ((a, b), (c, d), (e, f), (g, h)) = (words(), words(), words(), words());
    // A quarter of the bits, and where the vertex has a one 1 - 0.25 x 0.6875 of them.
    a & b & !(vertex & c & d & (e | (f & (g | h))))
}

impl Kronecker {
    /// About `degree` edges from each of the vertices, on average.
    pub(crate) fn new(vertices: u64, degree: u64, seed: u64) -> Kronecker {
        let mut rng = Rng::stream(seed, "kronecker");
        let bits = vertices.max(2).next_power_of_two().ilog2();
        let mask = (1u64 << bits) - 1;
        let fold = |name: u64| (name * vertices) >> bits;
        let edges = vertices * degree;
        let shares = shares(bits, edges);
        let mut starts = vec![0];
        let mut ends = Vec::with_capacity((edges + edges / 100) as usize);
        for name in 0..=mask {
            let vertex = name as u32;
            let share = shares[vertex.count_ones() as usize] + (rng.next_u64() >> 32);
            for _ in 0..share >> 32 {
                let end = u64::from(neighbour(vertex, &mut rng)) & mask;
                ends.push(fold(end) as u32);
            }
            // The last name that folds into this vertex ends its row.
            if name == mask || fold(name + 1) != fold(name) {
                ends[starts[starts.len() - 1] as usize..].sort_unstable();
                starts.push(ends.len() as u32);
            }
        }
        Kronecker { starts, ends }
    }

    /// Vertices in a row, with edges both ways.
    #[cfg(test)]
    pub(crate) fn line(vertices: u32) -> Kronecker {
        let around = |v: u32| [v.wrapping_sub(1), v + 1];
        let row = |v| around(v).into_iter().filter(|end| *end < vertices);
        let (mut starts, mut ends) = (vec![0], vec![]);
        for vertex in 0..vertices {
            ends.extend(row(vertex));
            starts.push(ends.len() as u32);
        }
        Kronecker { starts, ends }
    }

    /// How many vertices it has.
    pub(crate) fn vertices(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// How many edges it has.
    pub(crate) fn edges(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The numbers of a vertex's edges.
    pub(crate) fn row(&self, vertex: u32) -> Range<u64> {
        let at = vertex as usize;
        self.starts[at].into()..self.starts[at + 1].into()
    }

    /// Where an edge leads.
    pub(crate) fn end(&self, edge: u64) -> u32 {
        self.ends[edge as usize]
    }
}

/// Edges of a vertex by the ones in its number, in units of 2^-32.
fn shares(bits: u32, edges: u64) -> Vec<u64> {
    let share = |ones: u32| {
        let factors = (0..bits).map(|bit| if bit < ones { 0.24 } else { 0.76 });
        let share = factors.fold(edges as f64, |share, factor| share * factor);
        (share * 4_294_967_296.0) as u64
    };
    (0..=bits).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_as_many_as_asked_for_and_rows_in_order() {
        for vertices in [1000, 4096, 5000] {
            let graph = Kronecker::new(vertices, 32, 1);
            assert_eq!(graph.vertices(), vertices);
            assert!(graph.edges().abs_diff(vertices * 32) * 50 < vertices * 32);
            let row = |v| graph.row(v).map(|e| graph.end(e)).collect::<Vec<_>>();
            assert!((0..vertices as u32).all(|v| row(v).is_sorted()));
        }
    }

    /// The corners of the matrix, counted over all bits.
    #[test]
    fn corners_are_those_of_gap() {
        let mut rng = Rng::stream(3, "corners");
        let (mut zeros, mut ones) = (0, 0);
        for _ in 0..20_000 {
            zeros += neighbour(0, &mut rng).count_ones();
            ones += neighbour(u32::MAX, &mut rng).count_ones();
        }
        let share = |count: u32| f64::from(count) / 640_000.0;
        assert!(
            (share(zeros) - 0.19 / 0.76).abs() < 0.003,
            "{}",
            share(zeros)
        );
        assert!((share(ones) - 0.05 / 0.24).abs() < 0.003, "{}", share(ones));
    }

    #[test]
    fn few_vertices_have_most_edges() {
        let graph = Kronecker::new(1 << 14, 32, 1);
        let mut degrees: Vec<_> = (0..1 << 14).map(|v| graph.row(v).count()).collect();
        degrees.sort_unstable();
        let most: usize = degrees[(1 << 14) * 9 / 10..].iter().sum();
        assert!(
            most as u64 * 2 > graph.edges(),
            "{most} of {}",
            graph.edges()
        );
    }
}
