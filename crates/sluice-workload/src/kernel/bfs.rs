//! Breadth-first search, after Rodinia's `bfs` (OpenMP).
//!
//! Level by level, and all nodes in each: a first pass goes through the edges of the nodes in the
//! mask and marks what was not visited, a second makes the marks the next mask. A node has its
//! first edge and their number (4 bytes each), three flags of a byte and a cost of 4; an edge has 4
//! bytes. The graph is as Rodinia's generator makes them: ends drawn evenly, degrees even up to
//! twice the mean, which is 6, as its two to four edges a node in both directions make.
//!
//! Different from the original: threads take the next 64 nodes instead of blocks fixed before;
//! after a search the next one begins from another node, with the arrays cleared. A run begins with
//! the level that goes through the edges of some quarter of the nodes when one in a hundred is left
//! to be found: nearly every access looks at a flag in an array that no cache holds, and the few
//! that write are far from each other (SkyByte, Table I, and Figures 16 to 18 by what they imply:
//! 2.3 % writes, two of which make a page dirty). The first search has a source from which such a
//! level is reached.

use super::share::{Share, compare, digest};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Recorder};
use sluice_fabric::host::{Instr, Program, Step};
use sluice_units::{Bytes, Rng};

/// What the registry says.
pub(super) const INFO: KernelInfo = KernelInfo {
    name: "bfs-dense",
    meaning: "breadth-first search, level by level over all nodes of an even random graph",
    source: "Rodinia, bfs",
    published: Some((9130, 25, 1229)),
    thread_bytes: |_| 0,
    params: &[],
    make: |options| Box::new(Bfs::new(options)),
};

/// Mean edges of a node.
const DEGREE: u64 = 6;
/// Nodes in a chunk, and in a stretch that does not go through edges.
const CHUNK: u64 = 64;
/// Nodes in a stretch that does: each has up to 11 edges.
const VISITS: u64 = 64;

/// Instructions for a node of a scan that touch no memory: comparison, branch, increment,
/// comparison with the end, branch.
const WORK_NODE: u32 = 5;
/// Instructions for an edge that touch no memory: branch, increment, comparison, branch. The flag
/// is compared in memory, and the edges' end added from memory.
const WORK_EDGE: u32 = 4;
/// More for an edge to a node not visited: the cost plus one.
const WORK_FOUND: u32 = 1;

/// A run begins with the first level that leaves at most this share of the nodes to be found.
const LEFT: (u64, u64) = (1, 50);
/// The first level with at least this share of the nodes decides how a search goes on: each later
/// level follows from it. Between these two bounds some 1 % is left when a run begins.
const LEVEL: ((u64, u64), (u64, u64)) = ((11, 2000), (15, 2000));
/// Sources tried for such a level; a graph of some hundred nodes may have none.
const SOURCES: u64 = 64;

const NEVER: i32 = -1;

struct Graph {
    /// The first edge of each node, and the end.
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// The search's arrays.
struct State {
    mask: Vec<bool>,
    updating: Vec<bool>,
    visited: Vec<bool>,
    cost: Vec<i32>,
}

struct Places {
    nodes: Array,
    edges: Array,
    mask: Array,
    updating: Array,
    visited: Array,
    cost: Array,
    stop: Array,
    footprint: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Clear,
    Visit,
    Update,
}

struct Bfs {
    options: KernelOptions,
    graph: Graph,
    state: State,
    places: Places,
    phase: Phase,
    share: Share,
    source: u32,
    /// Whether a node was marked in this level.
    more: bool,
    rounds: u64,
    ended: bool,
    /// Source and costs of the last search that ended.
    last: (u32, u64),
}

fn nodes(scale: u32) -> u64 {
    let bytes = INFO.table_1_bytes() / u64::from(scale);
    (bytes / (8 + 3 + 4 + 4 * DEGREE)).max(2)
}

impl Places {
    fn new(nodes: u64, edges: u64) -> Places {
        let mut arena = Arena::default();
        Places {
            nodes: arena.array(nodes, 8),
            edges: arena.array(edges, 4),
            mask: arena.array(nodes, 1),
            updating: arena.array(nodes, 1),
            visited: arena.array(nodes, 1),
            cost: arena.array(nodes, 4),
            stop: arena.array(1, 1),
            footprint: arena.footprint(),
        }
    }
}

impl Graph {
    fn new(nodes: u64, seed: u64) -> Graph {
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

    fn edges(&self, node: u64) -> std::ops::Range<u64> {
        self.starts[node as usize].into()..self.starts[node as usize + 1].into()
    }

    fn nodes(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The costs from a node, by a queue.
    fn costs(&self, source: u32) -> Vec<i32> {
        let mut cost = vec![NEVER; self.nodes() as usize];
        let mut queue = vec![source];
        cost[source as usize] = 0;
        let mut at = 0;
        while at < queue.len() {
            let node = queue[at];
            for edge in self.edges(node.into()) {
                let end = self.ends[edge as usize];
                if cost[end as usize] == NEVER {
                    cost[end as usize] = cost[node as usize] + 1;
                    queue.push(end);
                }
            }
            at += 1;
        }
        cost
    }
}

impl State {
    fn new(nodes: u64) -> State {
        let flags = || vec![false; nodes as usize];
        State {
            mask: flags(),
            updating: flags(),
            visited: flags(),
            cost: vec![NEVER; nodes as usize],
        }
    }
}

fn digest_costs(costs: &[i32]) -> u64 {
    digest(costs.iter().map(|cost| *cost as u64))
}

impl Bfs {
    fn new(options: &KernelOptions) -> Bfs {
        let nodes = nodes(options.scale);
        let graph = Graph::new(nodes, options.seed);
        let mut bfs = Bfs {
            options: options.clone(),
            places: Places::new(nodes, graph.ends.len() as u64),
            graph,
            state: State::new(nodes),
            phase: Phase::Visit,
            share: Share::new(options.threads, nodes, CHUNK),
            source: 0,
            more: false,
            rounds: 0,
            ended: false,
            last: (0, 0),
        };
        bfs.skip_to_section();
        bfs
    }

    /// Begins a search from a node of its own.
    fn place_source(&mut self, attempt: u64) {
        let mut rng = Rng::stream(self.options.seed ^ self.rounds, "bfs source");
        (0..attempt).for_each(|_| _ = rng.next_u64());
        self.source = rng.below(self.graph.nodes()) as u32;
        let at = self.source as usize;
        self.state.mask[at] = true;
        self.state.visited[at] = true;
        self.state.cost[at] = 0;
    }

    /// Does all before the section without a trace.
    fn skip_to_section(&mut self) {
        let nodes = self.graph.nodes();
        let (least, most) = LEVEL;
        let share = |(part, whole): (u64, u64)| nodes * part / whole;
        let mut found = 0;
        let mut level = Vec::new();
        for attempt in 0..SOURCES {
            self.state = State::new(nodes);
            self.place_source(attempt);
            (level, found) = (vec![self.source], 1);
            while !level.is_empty() && (level.len() as u64) < share(least) {
                level = self.skip_level(&level);
                found += level.len() as u64;
            }
            if (share(least)..=share(most)).contains(&(level.len() as u64)) {
                break;
            }
        }
        while nodes - found > share(LEFT) {
            let next = self.skip_level(&level);
            if next.is_empty() {
                break;
            }
            found += next.len() as u64;
            level = next;
        }
    }

    /// Does a level without a trace; what it found.
    fn skip_level(&mut self, level: &[u32]) -> Vec<u32> {
        let State {
            mask,
            visited,
            cost,
            ..
        } = &mut self.state;
        let mut found = Vec::new();
        for node in level {
            mask[*node as usize] = false;
            for edge in self.graph.edges(u64::from(*node)) {
                let end = self.graph.ends[edge as usize];
                if !visited[end as usize] {
                    visited[end as usize] = true;
                    mask[end as usize] = true;
                    cost[end as usize] = cost[*node as usize] + 1;
                    found.push(end);
                }
            }
        }
        found
    }

    /// Clears the arrays of 32 nodes, 32 bytes with a store.
    fn clear(&mut self, nodes: std::ops::Range<u64>, to: &mut Recorder) {
        let range = nodes.start as usize..nodes.end as usize;
        self.state.mask[range.clone()].fill(false);
        self.state.updating[range.clone()].fill(false);
        self.state.visited[range.clone()].fill(false);
        self.state.cost[range].fill(NEVER);
        let Places {
            mask,
            updating,
            visited,
            cost,
            ..
        } = self.places;
        for node in nodes.clone().step_by(32) {
            for flags in [mask, updating, visited] {
                to.store(flags.at(node));
            }
        }
        for node in nodes.step_by(8) {
            to.store(cost.at(node));
            to.work(1);
        }
    }

    fn visit(&mut self, node: u64, to: &mut Recorder) {
        let in_mask = to.load(self.places.mask.at(node));
        to.work(WORK_NODE);
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

    fn update(&mut self, node: u64, to: &mut Recorder) {
        to.load(self.places.updating.at(node));
        to.work(WORK_NODE);
        let at = node as usize;
        if self.state.updating[at] {
            self.state.mask[at] = true;
            self.state.visited[at] = true;
            self.state.updating[at] = false;
            self.more = true;
            let Places {
                updating,
                visited,
                mask,
                stop,
                ..
            } = self.places;
            for address in [
                mask.at(node),
                visited.at(node),
                stop.at(0),
                updating.at(node),
            ] {
                to.store(address);
            }
        }
    }

    /// All threads are at the barrier.
    fn advance(&mut self) {
        self.phase = match self.phase {
            Phase::Clear => {
                self.place_source(0);
                Phase::Visit
            }
            Phase::Visit => {
                self.more = false;
                Phase::Update
            }
            Phase::Update if self.more => Phase::Visit,
            Phase::Update => {
                self.rounds += 1;
                self.ended = self.rounds == self.options.rounds;
                self.last = (self.source, digest_costs(&self.state.cost));
                Phase::Clear
            }
        };
        self.share.begin(self.graph.nodes(), CHUNK);
    }
}

impl Program for Bfs {
    fn footprint(&self) -> Bytes {
        self.places.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    /// The graph does not.
    fn rewrites(&self, addr: u64) -> bool {
        addr >= self.places.mask.at(0)
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.ended {
            return Step::End;
        }
        let most = match self.phase {
            Phase::Visit => VISITS,
            Phase::Clear | Phase::Update => CHUNK,
        };
        let Some(piece) = self.share.piece(thread, most) else {
            if self.share.arrive() {
                self.advance();
            }
            return Step::Barrier;
        };
        let mut to = Recorder::new(out);
        match self.phase {
            Phase::Clear => self.clear(piece, &mut to),
            Phase::Visit => piece.for_each(|node| self.visit(node, &mut to)),
            Phase::Update => piece.for_each(|node| self.update(node, &mut to)),
        }
        Step::More
    }
}

impl Kernel for Bfs {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn check(&self) -> Result<(), String> {
        if self.rounds == 0 {
            return Ok(());
        }
        let (source, ours) = self.last;
        let plain = digest_costs(&self.graph.costs(source));
        compare("bfs-dense", self.rounds, ours, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::options;
    use super::*;

    #[test]
    fn footprint_is_that_of_table_1() {
        super::super::assert_footprint(&INFO, |scale| {
            Places::new(nodes(scale), nodes(scale) * DEGREE).footprint
        });
    }

    #[test]
    fn graph_has_the_edges_that_the_footprint_counts() {
        for nodes in [2, 1000, 1001] {
            assert_eq!(Graph::new(nodes, 3).ends.len() as u64, nodes * DEGREE);
        }
    }

    /// Most edges lead to nodes that were visited, whatever the size: few accesses write.
    #[test]
    fn a_run_begins_when_one_node_in_a_hundred_is_left() {
        for (scale, seed) in [(256, 1), (300, 1), (512, 2), (700, 3)] {
            let bfs = Bfs::new(&KernelOptions {
                scale,
                seed,
                ..options(8, 1, 0)
            });
            let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
            let nodes = bfs.graph.nodes() as usize;
            let left = nodes - count(&bfs.state.visited);
            let level = count(&bfs.state.mask);
            assert!(
                (nodes / 200..nodes / 50).contains(&left),
                "{left} of {nodes} are left at 1:{scale}"
            );
            assert!(level > nodes / 8, "{level} of {nodes} at 1:{scale}");
        }
    }
}
