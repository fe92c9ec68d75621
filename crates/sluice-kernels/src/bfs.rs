//! Breadth-first search, after Rodinia's `bfs` (OpenMP).
//!
//! Level by level, and all nodes in each: a first pass goes through the edges of the nodes in the
//! mask and marks what was not visited, a second makes the marks the next mask. A node has its
//! first edge and their number (4 bytes each), three flags of a byte and a cost of 4; an edge has 4
//! bytes. The graph is as Rodinia's generator makes them: ends drawn evenly, degrees even up to
//! twice the mean, which is 6, as its two to four edges a node in both directions make.
//!
//! Different from the original: threads take the next 64 nodes instead of blocks fixed before.
//! After a search the next one begins from another node, with the arrays cleared. A run begins with
//! the level that goes through the edges of some quarter of the nodes when one node in a hundred
//! has not been found. There nearly every access looks at a flag in an array that no cache holds,
//! and the few that write are far from each other. So SkyByte's Table I has it, and Figures 16 to
//! 18 by what they imply: 2.3 % writes, two of which make a page dirty. The first search has a
//! source from which such a level is reached. Table I is of this section; that of SkyByte's
//! artifact is another.

mod graph;
mod search;

pub use graph::Graph;
pub use search::{Places, Search, State};

use super::share::{Frame, Phased, Shared, compare, digest};
use super::{KernelInfo, KernelOptions, Mismatch, Recorder};

use sluice_units::{Bytes, Rng, seed_of};
use std::ops::Range;

/// What the registry says.
pub const INFO: KernelInfo = KernelInfo {
    name: "bfs-dense",
    meaning: "breadth-first search, level by level over all nodes of an even random graph",
    source: "Rodinia, bfs",
    published: Some((9130, 25, 1229)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes,
    params: &[],
    make: |options| Box::new(Shared(Bfs::new(options))),
};

/// Mean edges of a node.
pub const DEGREE: u64 = 6;
/// Of an edge, its end.
const EDGE_BYTES: u64 = 4;
/// Nodes in a chunk, and in a stretch that does not go through edges.
const CHUNK: u64 = 64;
/// Nodes in a stretch that does: each has up to 11 edges.
pub const VISITS: u64 = 64;

/// Instructions for a node of a scan that touch no memory: comparison, branch, increment,
/// comparison with the end, branch.
const WORK_NODE: u32 = 5;

/// A run begins with the first level that leaves at most this share of the nodes to be found.
const LEFT: (u64, u64) = (1, 50);
/// The first level with at least this share of the nodes decides how a search goes on: each later
/// level follows from it. Between these two bounds some 1 % is left when a run begins.
const LEVEL: ((u64, u64), (u64, u64)) = ((11, 2000), (15, 2000));
/// Sources tried for such a level; a graph of some hundred nodes may have none.
const SOURCES: u64 = 64;

/// The cost of a node that was not found.
pub const NEVER: i32 = -1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Clear,
    Visit,
    Update,
}

struct Bfs {
    frame: Frame,
    search: Search,
    phase: Phase,
    source: u32,
    /// Whether a node was marked in this level.
    more: bool,
    /// Source and costs of the last search that ended.
    last: (u32, u64),
}

fn nodes(scale: u32) -> u64 {
    let bytes = INFO.table_1_bytes() / u64::from(scale);
    (bytes / (8 + 3 + 4 + 4 * DEGREE)).max(2)
}

fn digest_costs(costs: &[i32]) -> u64 {
    digest(costs.iter().map(|cost| *cost as u64))
}

impl Bfs {
    fn new(options: &KernelOptions) -> Bfs {
        let nodes = nodes(options.scale);
        let graph = Graph::even(nodes, options.seed);
        let mut bfs = Bfs {
            frame: Frame::new(options, nodes, CHUNK),
            search: Search {
                places: Places::new(nodes, graph.ends.len() as u64, EDGE_BYTES, 0),
                state: State::new(nodes),
                graph,
            },
            phase: Phase::Visit,
            source: 0,
            more: false,
            last: (0, 0),
        };
        bfs.skip_to_section();
        bfs
    }

    /// Begins a search from a node of its own.
    fn place_source(&mut self, attempt: u64) {
        let seed = seed_of(self.frame.options.seed, self.frame.rounds);
        let mut rng = Rng::stream(seed, "bfs source");
        (0..attempt).for_each(|_| _ = rng.next_u64());
        self.source = rng.below(self.search.graph.nodes()) as u32;
        self.search.state.place(self.source);
    }

    /// Does all before the section without a trace.
    fn skip_to_section(&mut self) {
        let nodes = self.search.graph.nodes();
        let (least, most) = LEVEL;
        let share = |(part, whole): (u64, u64)| nodes * part / whole;
        let mut found = 0;
        let mut level = Vec::new();
        for attempt in 0..SOURCES {
            self.search.state = State::new(nodes);
            self.place_source(attempt);
            (level, found) = (vec![self.source], 1);
            while !level.is_empty() && (level.len() as u64) < share(least) {
                level = self.search.skip_level(&level);
                found += level.len() as u64;
            }
            if (share(least)..=share(most)).contains(&(level.len() as u64)) {
                break;
            }
        }
        while nodes - found > share(LEFT) {
            let next = self.search.skip_level(&level);
            if next.is_empty() {
                break;
            }
            found += next.len() as u64;
            level = next;
        }
    }

    /// Clears the arrays of 32 nodes, 32 bytes with a store.
    fn clear(&mut self, nodes: std::ops::Range<u64>, to: &mut Recorder) {
        let range = nodes.start as usize..nodes.end as usize;
        self.search.state.mask[range.clone()].fill(false);
        self.search.state.updating[range.clone()].fill(false);
        self.search.state.visited[range.clone()].fill(false);
        self.search.state.cost[range].fill(NEVER);
        let Places {
            mask,
            updating,
            visited,
            cost,
            ..
        } = self.search.places;
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

    fn update(&mut self, node: u64, to: &mut Recorder) {
        to.load(self.search.places.updating.at(node));
        to.work(WORK_NODE);
        let at = node as usize;
        if self.search.state.updating[at] {
            self.search.state.mask[at] = true;
            self.search.state.visited[at] = true;
            self.search.state.updating[at] = false;
            self.more = true;
            let Places {
                updating,
                visited,
                mask,
                stop,
                ..
            } = self.search.places;
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
}

impl Phased for Bfs {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn rewrites(&self, addr: u64) -> bool {
        self.search.places.is_rewritten(addr)
    }

    fn footprint(&self) -> Bytes {
        self.search.places.footprint
    }

    fn stretch(&self) -> u64 {
        match self.phase {
            Phase::Visit => VISITS,
            Phase::Clear | Phase::Update => CHUNK,
        }
    }

    fn work(&mut self, _: u32, items: Range<u64>, to: &mut Recorder) {
        match self.phase {
            Phase::Clear => self.clear(items, to),
            Phase::Visit => items.for_each(|node| self.search.visit(node, WORK_NODE, to)),
            Phase::Update => items.for_each(|node| self.update(node, to)),
        }
    }

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
                self.frame.end_round();
                self.last = (self.source, digest_costs(&self.search.state.cost));
                Phase::Clear
            }
        };
        self.frame.share.begin(self.search.graph.nodes(), CHUNK);
    }

    fn check(&self) -> Result<(), Mismatch> {
        if self.frame.rounds == 0 {
            return Ok(());
        }
        let (source, ours) = self.last;
        let plain = digest_costs(&self.search.graph.costs(source));
        compare("bfs-dense", self.frame.rounds, ours, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::options;
    use super::*;

    #[test]
    fn footprint_is_that_of_table_1() {
        crate::drive::assert_footprint(&INFO, |scale| {
            Places::new(nodes(scale), nodes(scale) * DEGREE, EDGE_BYTES, 0).footprint
        });
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
            let nodes = bfs.search.graph.nodes() as usize;
            let left = nodes - count(&bfs.search.state.visited);
            let level = count(&bfs.search.state.mask);
            assert!(
                (nodes / 200..nodes / 50).contains(&left),
                "{left} of {nodes} are left at 1:{scale}"
            );
            assert!(level > nodes / 8, "{level} of {nodes} at 1:{scale}");
        }
    }
}
