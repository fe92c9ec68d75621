//! The section that SkyByte's artifact (doi:10.5281/zenodo.14660184) has of bfs-dense: two pieces
//! of the first pass, in an early level, when hardly any node is in the mask.
//!
//! The 8,525 pages of its runs (output/warmup_traces/bfs-dense-8_prefill_data.txt) say so.
//! - Sixteen stretches of 140 or 141 pages lie in an array of 2^15: two in each eighth of it, at 5
//!   and 18 % on average. That is the mask of 2^27 nodes, a byte each, of which a thread looks at
//!   571,400 in a row, twice. The first piece is followed by nothing, so its level has next to no
//!   node; the nodes of the second are from a later level, three later at least.
//! - 307 pages of an array of 8 bytes a node are each within 8 times where the second stretches
//!   are: as many nodes are in the mask there. So are 317 pages of one of 48.00 bytes a node, which
//!   are the edges: six a node, as the original's generator makes them, of 8 bytes each.
//! - 1,964 and 1,678 pages are spread over the two arrays before the mask: visited, read for each
//!   edge, and updating. 2,011 pages are spread over one of 4 bytes a node: cost, written for each
//!   node found, and the cost of the 307. So 6.6 edges a node are gone through, as many as nodes
//!   have that an edge was followed to, and 85 % lead to a node not found yet: all but the one
//!   back.
//! - *_warmup_hint_data_wlog.txt has what it writes: 3,377 lines of 3,310 pages, cost and updating
//!   for 1,700 nodes. Lines of the mask that are written stay in the caches.
//!
//! That makes 149,450 accesses, which is what the bandwidths of nthreads/avg_bandwidth_split.dat
//! come to with the times (149,300 to 149,500); and 2.3 % writes, as Figure 17 has them.
//!
//! A node takes 7 instructions: a piece is then 4.00 million. Compilers make 5 or 6 of the loop
//! with optimisation, 7 if a comparison in memory counts as two. This is guessed. So is which early
//! level the first piece is of: here it is the first one, whose only node it does not meet.
//!
//! Here the section is run through again and again, each time in another search, with the nodes of
//! the mask that follow; a thread that has done its part waits for the others.

use sluice_kernels::bfs::{Graph, INFO, NEVER, Places, Search, State, VISITS};
use sluice_kernels::share::{Frame, Phased, compare, digest};
use sluice_kernels::{KernelOptions, Mismatch, Recorder};
use sluice_units::{Bytes, Rng};
use std::ops::Range;

/// Nodes at full size.
const NODES: u64 = 1 << 27;
/// Of an edge: its end and its weight, by the space that the edges take.
const EDGE_BYTES: u64 = 8;
/// Nodes of a piece, of all threads together, at full size.
const PIECE: u64 = 8 * 571_400;
/// Of these in the mask, in the second piece, and nodes found by their edges: half of the lines
/// written.
const IN_MASK: u64 = 307;
const FOUND: u64 = 3_377 / 2;
/// Instructions for a node of the scan that touch no memory.
const WORK_NODE: u32 = 6;

/// Where the pieces of the artifact's threads begin in their parts of the mask, in rows of memory:
/// a piece of 139.5 pages that touches 141 begins in the second row of its page. Which of them meet
/// in a bank decides how long an access takes, so a scale leaves where they are in a round of all.
const STARTS: [[u64; 2]; 8] = [
    [629, 1432],
    [558, 1702],
    [381, 1745],
    [303, 1196],
    [349, 1271],
    [477, 1444],
    [331, 1462],
    [288, 1728],
];
/// Nodes in a row, and rows in a round.
const ROW: u64 = 2048;
const ROUND: u64 = 16;
/// Two rounds' pieces are side by side, the next two so many pieces further, behind the others.
const BESIDE: u64 = 2;
const FURTHER: u64 = 8;

/// Sources tried for a level that finds as many from the pieces: a short run has few of them.
const SOURCES: u64 = 512;

/// A level of a search.
struct Level {
    source: u32,
    depth: i32,
    nodes: u64,
    /// Edges from the second pieces' nodes that lead on.
    found: u64,
}

/// The kernel with `section=early`.
pub(super) struct Early {
    frame: Frame,
    search: Search,
    source: u32,
    depth: i32,
    /// Source and depth of the last round that ended.
    last: (u32, i32),
    digest: u64,
}

fn places(scale: u32, edges: u64) -> Places {
    let least = INFO.table_1_bytes() / u64::from(scale);
    Places::new(nodes(scale), edges, EDGE_BYTES, least)
}

fn nodes(scale: u32) -> u64 {
    (NODES / u64::from(scale)).max(64)
}

impl Early {
    pub(super) fn new(options: &KernelOptions) -> Early {
        let nodes = nodes(options.scale);
        let graph = Graph::mutual(nodes, options.seed);
        let mut early = Early {
            frame: Frame::new(options, 0, 1),
            search: Search {
                places: places(options.scale, graph.ends.len() as u64),
                state: State::new(nodes),
                graph,
            },
            source: 0,
            depth: 0,
            last: (0, 0),
            digest: 0,
        };
        early.begin();
        early
    }

    /// Nodes of a thread that has any.
    fn part(&self) -> u64 {
        (nodes(self.frame.options.scale) / u64::from(self.frame.options.threads)).max(1)
    }

    /// Nodes of a piece, of a thread.
    fn piece(&self) -> u64 {
        let of_all = u64::from(self.frame.options.scale) * u64::from(self.frame.options.threads);
        (PIECE / of_all).clamp(1, self.part())
    }

    /// Where in a thread's nodes a piece of a round begins.
    fn start(&self, round: u64, thread: u64, second: bool) -> u64 {
        let rows = STARTS[(thread % 8) as usize][usize::from(second)];
        let of_all = u64::from(self.frame.options.scale) * u64::from(self.frame.options.threads);
        let scaled = rows * 8 / of_all / ROUND * ROUND + rows % ROUND;
        // Where in a row is not known.
        let mut rng = Rng::stream(self.frame.options.seed ^ thread, "bfs row");
        let shift = round / BESIDE * FURTHER + round % BESIDE;
        (scaled * ROW + rng.below(ROW) + shift * self.piece()) % self.part()
    }

    /// Where in a thread's nodes an item of a round is: both pieces, one after the other.
    fn offset(&self, starts: [u64; 2], item: u64) -> u64 {
        let piece = self.piece();
        (starts[usize::from(item >= piece)] + item % piece) % self.part()
    }

    /// Whether the node is in the first piece of a round, or in the second, of any thread.
    fn is_in_piece(&self, round: u64, second: bool, node: u32) -> bool {
        let part = self.part();
        let (thread, at) = (u64::from(node) / part, u64::from(node) % part);
        let start = self.start(round, thread, second);
        thread < self.frame.options.threads.into() && (at + part - start) % part < self.piece()
    }

    /// The level of some source that has nearly as many nodes as the artifact's, and finds as many
    /// from the second pieces.
    fn level(&mut self) -> Level {
        let mut rng = Rng::stream(self.frame.options.seed ^ self.frame.rounds, "bfs source");
        let scale = u64::from(self.frame.options.scale);
        let wanted = ((FOUND + scale / 2) / scale).max(1);
        let size = self.search.graph.nodes() * IN_MASK / PIECE;
        let mut best = None;
        for _ in 0..SOURCES {
            let source = rng.below(self.search.graph.nodes()) as u32;
            if self.is_in_piece(self.frame.rounds, false, source) {
                continue;
            }
            let level = self.level_from(source, size);
            let off = level.nodes.abs_diff(size);
            let rank = (off * 10 > size, level.found.abs_diff(wanted), off);
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, level));
            }
        }
        let source = rng.below(self.search.graph.nodes()) as u32;
        best.map_or_else(|| self.level_from(source, size), |(_, level)| level)
    }

    /// The level of a search that is nearest to so many nodes. Leaves the arrays clear.
    fn level_from(&mut self, source: u32, size: u64) -> Level {
        self.search.state.place(source);
        let mut levels = vec![vec![source]];
        while (levels[levels.len() - 1].len() as u64) < size {
            let next = self.search.skip_level(&levels[levels.len() - 1]);
            if next.is_empty() {
                break;
            }
            levels.push(next);
        }
        let off = |level: &[u32]| (level.len() as u64).abs_diff(size);
        let last = levels.len() - 1;
        let before = last > 0 && off(&levels[last - 1]) < off(&levels[last]);
        let depth = last - usize::from(before);
        let nodes = levels[depth].len() as u64;
        let found = self.found_by(&levels[depth], depth as i32);
        self.clear(&levels);
        Level {
            source,
            depth: depth as i32,
            nodes,
            found,
        }
    }

    /// Edges from nodes of the second pieces that lead to the next level.
    fn found_by(&self, level: &[u32], depth: i32) -> u64 {
        let cost = &self.search.state.cost;
        let in_piece = |node: &&u32| self.is_in_piece(self.frame.rounds, true, **node);
        let ends = |node: &u32| self.search.graph.ends_of(*node).iter();
        let ends = level.iter().filter(in_piece).flat_map(ends);
        let leads = |end: &&u32| !(0..=depth).contains(&cost[**end as usize]);
        ends.filter(leads).count() as u64
    }

    fn clear(&mut self, levels: &[Vec<u32>]) {
        let state = &mut self.search.state;
        for at in levels.iter().flatten().map(|node| *node as usize) {
            (state.mask[at], state.visited[at]) = (false, false);
            state.cost[at] = NEVER;
        }
    }

    /// Begins a round: a search from another node, done without a trace up to its level.
    fn begin(&mut self) {
        let Level { source, depth, .. } = self.level();
        (self.source, self.depth) = (source, depth);
        self.search.state.place(source);
        let mut level = vec![source];
        for _ in 0..depth {
            level = self.search.skip_level(&level);
        }
        // Of more threads than nodes those at the end have none.
        let (items, part, nodes) = (2 * self.piece(), self.part(), self.search.graph.nodes());
        let has_part = |thread| (thread + 1) * part <= nodes;
        let own = |thread| 0..if has_part(thread) { items } else { 0 };
        self.frame.share.begin_own(own);
    }
}

/// Of nodes and their costs.
fn digest_found(nodes: impl Iterator<Item = u64>, cost: &[i32]) -> u64 {
    digest(nodes.flat_map(|node| [node, cost[node as usize] as u64]))
}

impl Phased for Early {
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
        VISITS
    }

    fn work(&mut self, thread: u32, items: Range<u64>, to: &mut Recorder) {
        let own = u64::from(thread);
        let starts = [false, true].map(|second| self.start(self.frame.rounds, own, second));
        for item in items {
            let node = own * self.part() + self.offset(starts, item);
            if item < self.piece() {
                // Of the first level, whose node is in no piece.
                to.load(self.search.places.mask.at(node));
                to.work(WORK_NODE);
            } else {
                self.search.visit(node, WORK_NODE, to);
            }
        }
    }

    fn advance(&mut self) {
        let state = &self.search.state;
        let nodes = 0..self.search.graph.nodes();
        let found = nodes.filter(|node| state.updating[*node as usize]);
        self.last = (self.source, self.depth);
        self.digest = digest_found(found, &state.cost);
        self.frame.end_round();
        if !self.frame.share.ended {
            self.search.state = State::new(self.search.graph.nodes());
            self.begin();
        }
    }

    /// Which nodes were found, by the costs of the whole search and the edges that lead back.
    fn check(&self) -> Result<(), Mismatch> {
        let Some(round) = self.frame.rounds.checked_sub(1) else {
            return Ok(());
        };
        let (source, depth) = self.last;
        let cost = self.search.graph.costs(source);
        let leads =
            |from: &u32| cost[*from as usize] == depth && self.is_in_piece(round, true, *from);
        let found = (0..self.search.graph.nodes()).filter(|node| {
            cost[*node as usize] == depth + 1
                && self.search.graph.ends_of(*node as u32).iter().any(leads)
        });
        let plain = digest_found(found, &cost);
        compare("bfs-dense", self.frame.rounds, self.digest, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_kernels::Kernel;
    use sluice_kernels::bfs::DEGREE;
    use sluice_kernels::drive::{assert_footprint, options, run};
    use sluice_kernels::share::Shared;

    fn section(threads: u32, scale: u32, rounds: u64) -> Shared<Early> {
        Shared(Early::new(&options(threads, scale, rounds)))
    }

    #[test]
    fn any_number_of_threads_finds_what_the_whole_search_does() {
        for (threads, scale) in [(1, 4_000), (3, 4_000), (8, 4_000), (24, 2_000)] {
            // Further than to the end of a part.
            let mut early = section(threads, scale, 15);
            let told = run(&mut early, 1 + threads as usize % 3);
            assert_eq!((early.rounds(), early.check()), (15, Ok(())), "{threads}");
            let whole = 15 * 2 * (PIECE / u64::from(scale)) * (1 + u64::from(WORK_NODE));
            assert!(told.instructions.abs_diff(whole) * 50 < whole, "{threads}");
            early.0.digest ^= 1;
            assert!(early.check().is_err());
        }
    }

    /// Of which nobody needs the graph.
    fn at_scale(scale: u32) -> Early {
        let Shared(mut early) = section(8, 4_000, 1);
        early.frame.options.scale = scale;
        early
    }

    /// A page is new for some rounds.
    #[test]
    fn pieces_of_some_rounds_never_meet() {
        let early = at_scale(16);
        for thread in 0..8 {
            let starts = |round| [false, true].map(|second| early.start(round, thread, second));
            let mut starts: Vec<_> = (0..6).flat_map(starts).collect();
            starts.sort_unstable();
            assert!(
                starts
                    .windows(2)
                    .all(|pair| pair[1] - pair[0] >= early.piece())
            );
            assert!(starts[11] + early.piece() <= early.part());
        }
    }

    #[test]
    fn footprint_is_that_of_table_1() {
        assert_footprint(&INFO, |scale| {
            places(scale, nodes(scale) * DEGREE).footprint
        });
    }
}
