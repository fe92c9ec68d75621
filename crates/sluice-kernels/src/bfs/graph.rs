//! Random graphs, and what a search of them comes to.

use super::{DEGREE, NEVER};
use sluice_units::Rng;
use std::ops::Range;

/// Edges that the original's generator draws for a node; each is one of the other node, too.
const DRAWN: Range<u64> = 2..5;

/// Nodes, and where their edges lead.
pub struct Graph {
    /// The first edge of each node, and the end.
    starts: Vec<u32>,
    /// The node at the end of each edge.
    pub ends: Vec<u32>,
}

impl Graph {
    /// Degrees even up to twice the mean, ends drawn evenly.
    pub fn even(nodes: u64, seed: u64) -> Graph {
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
    pub fn mutual(nodes: u64, seed: u64) -> Graph {
        let parts = Parts::draw(nodes, seed);
        let mut starts = Vec::with_capacity(nodes as usize + 1);
        starts.push(0);
        let mut ends = vec![0; parts.edges.len()];
        for part in 0..parts.starts.len() - 1 {
            let edges = &parts.edges[parts.starts[part]..parts.starts[part + 1]];
            let first = (part as u64) << PART_BITS;
            let count = (nodes - first).min(1 << PART_BITS) as usize;
            sort_part(edges, count, &mut starts, &mut ends);
        }
        Graph { starts, ends }
    }

    /// A node's edges.
    pub fn edges(&self, node: u64) -> Range<u64> {
        self.starts[node as usize].into()..self.starts[node as usize + 1].into()
    }

    /// Where a node's edges lead.
    pub fn ends_of(&self, node: u32) -> &[u32] {
        let edges = self.edges(node.into());
        &self.ends[edges.start as usize..edges.end as usize]
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The costs from a node, by a queue.
    pub fn costs(&self, source: u32) -> Vec<i32> {
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

/// Nodes whose edges are sorted together: few enough to stay in a cache.
const PART_BITS: u32 = 16;

/// Edges in the order in which they were drawn, by parts of the nodes that they leave.
struct Parts {
    /// Where each part's edges begin, and the end.
    starts: Vec<usize>,
    /// Its node in the part, and the node at its other end.
    edges: Vec<(u16, u32)>,
}

impl Parts {
    fn draw(nodes: u64, seed: u64) -> Parts {
        let parts = nodes.div_ceil(1 << PART_BITS) as usize;
        let mut starts = vec![0; parts + 1];
        draw(nodes, seed, &mut |from, _| {
            starts[(from >> PART_BITS) as usize + 1] += 1
        });
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut edges = vec![(0, 0); sum];
        draw(nodes, seed, &mut |from, to| {
            let place = &mut next[(from >> PART_BITS) as usize];
            edges[*place] = (from as u16, to);
            *place += 1;
        });
        Parts { starts, edges }
    }
}

/// Puts the edges of so many nodes behind those that are there.
fn sort_part(edges: &[(u16, u32)], count: usize, starts: &mut Vec<u32>, ends: &mut [u32]) {
    let mut next = vec![0; count + 1];
    for (node, _) in edges {
        next[usize::from(*node) + 1] += 1;
    }
    next[0] = starts[starts.len() - 1];
    for node in 0..count {
        next[node + 1] += next[node];
    }
    starts.extend(&next[1..]);
    for (node, end) in edges {
        let place = &mut next[usize::from(*node)];
        ends[*place as usize] = *end;
        *place += 1;
    }
}

/// Calls `to` with each edge that is drawn, from both of its ends, the same ones each time.
fn draw(nodes: u64, seed: u64, to: &mut impl FnMut(u32, u32)) {
    let mut rng = Rng::stream(seed, "bfs mutual");
    for node in 0..nodes as u32 {
        for _ in 0..DRAWN.start + rng.below(DRAWN.end - DRAWN.start) {
            let end = rng.below(nodes) as u32;
            to(node, end);
            to(end, node);
        }
    }
}
