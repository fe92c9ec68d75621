//! A search's arrays, and the work on a node.

use super::super::{Arena, Array, Recorder};
use super::NEVER;
use super::graph::Graph;
use sluice_units::Bytes;

/// Instructions for an edge that touch no memory: branch, increment, comparison, branch. The flag
/// is compared in memory, and the edges' end added from memory.
const WORK_EDGE: u32 = 4;
/// More for an edge to a node not visited: the cost plus one.
const WORK_FOUND: u32 = 1;

/// What a search computes with.
pub struct State {
    /// Whether the level that is gone through has the node.
    pub mask: Vec<bool>,
    /// Whether this level found it.
    pub updating: Vec<bool>,
    /// Whether it was found at all.
    pub visited: Vec<bool>,
    /// Edges from the source to it.
    pub cost: Vec<i32>,
}

/// Where the graph and the search's arrays lie.
#[derive(Clone, Copy)]
pub struct Places {
    /// First edge of each node, and their number.
    pub nodes: Array,
    /// Ends of edges.
    pub edges: Array,
    /// As [`State::mask`].
    pub mask: Array,
    /// As [`State::updating`].
    pub updating: Array,
    /// As [`State::visited`].
    pub visited: Array,
    /// As [`State::cost`].
    pub cost: Array,
    /// Whether a level found a node.
    pub stop: Array,
    /// Of all of it.
    pub footprint: Bytes,
}

/// A graph and a search of it.
pub struct Search {
    /// The nodes and edges that are searched.
    pub graph: Graph,
    /// How far the search is.
    pub state: State,
    /// Where both lie.
    pub places: Places,
}

impl Places {
    /// An edge has so many bytes. The memory is `least` at least: nobody touches what is over.
    pub fn new(nodes: u64, edges: u64, edge_bytes: u64, least: u64) -> Places {
        let mut arena = Arena::default();
        let [nodes_at, edges_at] =
            [(nodes, 8), (edges, edge_bytes)].map(|(n, b)| arena.array(n, b));
        let [mask, updating, visited] = [1; 3].map(|bytes| arena.array(nodes, bytes));
        let (cost, stop) = (arena.array(nodes, 4), arena.array(1, 1));
        arena.array(least.saturating_sub(arena.footprint().0), 1);
        Places {
            nodes: nodes_at,
            edges: edges_at,
            mask,
            updating,
            visited,
            cost,
            stop,
            footprint: arena.footprint(),
        }
    }
}

impl Places {
    /// Whether a search writes to an address: not to the graph.
    pub fn is_rewritten(&self, addr: u64) -> bool {
        addr >= self.mask.at(0)
    }
}

impl State {
    /// Nothing is found.
    pub fn new(nodes: u64) -> State {
        let flags = || vec![false; nodes as usize];
        State {
            mask: flags(),
            updating: flags(),
            visited: flags(),
            cost: vec![NEVER; nodes as usize],
        }
    }

    /// A search begins at a node.
    pub fn place(&mut self, source: u32) {
        let at = source as usize;
        (self.mask[at], self.visited[at], self.cost[at]) = (true, true, 0);
    }
}

impl Search {
    /// Does a level without a trace; what it found.
    pub fn skip_level(&mut self, level: &[u32]) -> Vec<u32> {
        let State {
            mask,
            visited,
            cost,
            ..
        } = &mut self.state;
        let mut found = Vec::new();
        for node in level {
            mask[*node as usize] = false;
            for end in self.graph.ends_of(*node) {
                let at = *end as usize;
                if !visited[at] {
                    (visited[at], mask[at]) = (true, true);
                    cost[at] = cost[*node as usize] + 1;
                    found.push(*end);
                }
            }
        }
        found
    }

    /// Goes through a node's edges if it is in the mask. `work` is what it takes to look at a node,
    /// in instructions that touch no memory.
    pub fn visit(&mut self, node: u64, work: u32, to: &mut Recorder) {
        let in_mask = to.load(self.places.mask.at(node));
        to.work(work);
        if !self.state.mask[node as usize] {
            return;
        }
        self.state.mask[node as usize] = false;
        let Places {
            nodes,
            edges,
            updating,
            visited,
            cost,
            ..
        } = self.places;
        to.store_after(self.places.mask.at(node), in_mask);
        let next = self.state.cost[node as usize] + 1;
        to.load(nodes.at(node));
        for edge in self.graph.edges(node) {
            let end = self.graph.ends[edge as usize];
            let loaded = to.load(edges.at(edge));
            to.load_after(visited.at(end.into()), loaded);
            if !self.state.visited[end as usize] {
                self.state.cost[end as usize] = next;
                self.state.updating[end as usize] = true;
                to.load(cost.at(node));
                to.work(WORK_FOUND);
                to.store_after(cost.at(end.into()), loaded);
                to.store_after(updating.at(end.into()), loaded);
            }
            // The cost just stored could be the node's numbers, for all that a compiler knows.
            to.load(nodes.at(node) + 4);
            to.load(nodes.at(node));
            to.work(WORK_EDGE);
        }
    }
}
