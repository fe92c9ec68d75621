//! Random graphs, and what a search of them comes to.

use super::{DEGREE, NEVER};
use sluice_units::Rng;
use std::ops::Range;

/// Edges that the original's generator draws for a node; each is one of the other node, too.
const DRAWN: Range<u64> = 2..5;

pub(super) struct Graph {
    /// The first edge of each node, and the end.
    starts: Vec<u32>,
    pub(super) ends: Vec<u32>,
}

impl Graph {
    /// Degrees even up to twice the mean, ends drawn evenly.
    pub(super) fn even(nodes: u64, seed: u64) -> Graph {
        let mut rng = Rng::stream(seed, "bfs");
        let mut starts = vec![0];
        // Two nodes have two mean degrees together, so that the size does not depend on the seed.
        let mut end = 0;
        for node in 0..nodes {
            let degree = match node % 2 {
                _ if node + 1 == nodes && node % 2 == 0 => DEGREE,
                0 => 1 + rng.below(2 * DEGREE - 1),
                _ => 2 * DEGREE - u64::from(starts[node as usize] - starts[node as usize - 1]),
            };
            end += degree as u32;
            starts.push(end);
        }
        let mut ends = Vec::with_capacity(end as usize);
        while ends.len() < end as usize {
            let bits = rng.next_u64();
            for half in [bits >> 32, bits & 0xffff_ffff] {
                ends.push(((half * nodes) >> 32) as u32);
            }
        }
        ends.truncate(end as usize);
        Graph { starts, ends }
    }

    /// As the original's generator makes them: two to four edges drawn for each node, which lead
    /// both ways.
    pub(super) fn mutual(nodes: u64, seed: u64) -> Graph {
        let mut starts = vec![0; nodes as usize + 1];
        draw(nodes, seed, &mut |node, end| {
            starts[node as usize + 1] += 1;
            starts[end as usize + 1] += 1;
        });
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut ends = vec![0; sum as usize];
        draw(nodes, seed, &mut |node, end| {
            for (from, to) in [(node, end), (end, node)] {
                ends[next[from as usize] as usize] = to;
                next[from as usize] += 1;
            }
        });
        Graph { starts, ends }
    }

    pub(super) fn edges(&self, node: u64) -> Range<u64> {
        self.starts[node as usize].into()..self.starts[node as usize + 1].into()
    }

    /// Where a node's edges lead.
    pub(super) fn ends_of(&self, node: u32) -> &[u32] {
        let edges = self.edges(node.into());
        &self.ends[edges.start as usize..edges.end as usize]
    }

    pub(super) fn nodes(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The costs from a node, by a queue.
    pub(super) fn costs(&self, source: u32) -> Vec<i32> {
        let mut cost = vec![NEVER; self.nodes() as usize];
        let mut queue = vec![source];
        cost[source as usize] = 0;
        let mut at = 0;
        while at < queue.len() {
            let node = queue[at];
            for end in self.ends_of(node) {
                if cost[*end as usize] == NEVER {
                    cost[*end as usize] = cost[node as usize] + 1;
                    queue.push(*end);
                }
            }
            at += 1;
        }
        cost
    }
}

/// Tells each edge that is drawn, the same ones each time.
fn draw(nodes: u64, seed: u64, to: &mut dyn FnMut(u32, u32)) {
    let mut rng = Rng::stream(seed, "bfs mutual");
    for node in 0..nodes as u32 {
        for _ in 0..DRAWN.start + rng.below(DRAWN.end - DRAWN.start) {
            to(node, rng.below(nodes) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_graph_has_the_edges_that_the_footprint_counts() {
        for nodes in [2, 1000, 1001] {
            assert_eq!(Graph::even(nodes, 3).ends.len() as u64, nodes * DEGREE);
        }
    }

    #[test]
    fn each_edge_of_a_mutual_graph_leads_back() {
        let graph = Graph::mutual(3000, 3);
        assert!((graph.ends.len() as u64).abs_diff(3000 * DEGREE) < 400);
        let count = |from: u32, to: u32| graph.ends_of(from).iter().filter(|e| **e == to).count();
        for node in 0..3000 {
            assert!(graph.ends_of(node).len() >= 2);
            for end in graph.ends_of(node) {
                assert_eq!(count(node, *end), count(*end, node));
            }
        }
    }
}
