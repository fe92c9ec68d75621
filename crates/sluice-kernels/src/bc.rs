//! Betweenness centrality, after GAP's `bc`: Brandes' algorithm from a few sources.
//!
//! A search forwards, level by level over a queue, counts the shortest paths to each vertex and
//! keeps a bit for each edge on one; then the levels backwards gather what depends on each vertex
//! into its score. Element sizes are GAP's: rows of 8 bytes, edges 4, depths 4, path counts 8,
//! dependencies and scores 4, queue 4, a bit for an edge. The graph has 32 edges a vertex, GAP's
//! default of 16 in both directions.
//!
//! Different from the original: the graph, as `kronecker.rs` says; the threads' queue buffers hold
//! 2048 vertices instead of 16384, less than a stretch of instructions; a chunk is taken vertex by
//! vertex. A run begins on the way back, in the level that has the neighbours of hubs: reads of
//! paths and dependencies all over two arrays, edges in order, and two writes for each vertex. So
//! few writes, and the 98.6 % of the off-chip accesses that 2 GiB of host memory serve, are what
//! SkyByte's section has (Figure 17 by what it implies). The first search has a source from which
//! there is such a level. The section of SkyByte's artifact is another, in another graph.

mod brandes;
mod skip;

pub use brandes::{NEVER, State, copy_to_queue};

use super::kronecker::Kronecker;
use super::share::{Share, compare};
use super::{Arena, Array, Kernel, KernelInfo, KernelOptions, Loaded, Mismatch, Recorder};
use brandes::{add_source, digest_scores};
use sluice_host::{Instr, Program, Step};
use sluice_units::{Bytes, Rng, seed_of};
use std::ops::Range;

/// What the registry says.
pub const INFO: KernelInfo = KernelInfo {
    name: "bc",
    meaning: "betweenness centrality of a Kronecker graph: Brandes, forwards and backwards",
    source: "GAP, bc",
    published: Some((8180, 11, 394)),
    thread_bytes: |_| 0,
    own_bytes: |_, bytes, _| bytes,
    params: &[],
    make: |options| Box::new(Bc::new(options)),
};

/// Mean edges of a vertex, GAP's default in both directions. The two arrays that are not read in
/// order, paths and dependencies, are then a little more than the device's DRAM.
const DEGREE: u64 = 32;
/// Vertices that a thread takes at once.
const CHUNK: u64 = 64;
/// Vertices in a thread's queue buffer.
const BUFFER: usize = 2048;
/// Entries after which a stretch ends.
const STRETCH: usize = 1024;

/// Instructions for a vertex that touch no memory: bounds of its row, the loop over the queue.
const WORK_VERTEX: u32 = 6;
/// Forwards, for an edge: extension, two comparisons and branches, the loop's increment and branch.
const WORK_FORWARD: u32 = 7;
/// For a vertex found: operands of the exchange, its branch, the buffer's length and bound.
const WORK_FOUND: u32 = 6;
/// For a shortest path: the bit's word and mask (6) and exchange (3); the sum and exchange (6).
const WORK_PATH: u32 = 15;
/// Backwards, for an edge: the bit's word and mask (4), test and branch, the loop.
const WORK_BACKWARD: u32 = 8;
/// For a shortest path: division, sum, product, sum and four conversions.
const WORK_GATHER: u32 = 8;

struct Places {
    rows: Array,
    edges: Array,
    depths: Array,
    paths: Array,
    on_path: Array,
    deltas: Array,
    scores: Array,
    queue: Array,
    buffers: Array,
    footprint: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Clear,
    Forward,
    Backward,
}

/// What a thread is at.
#[derive(Clone, Default)]
struct Lane {
    vertex: u32,
    row: Range<u64>,
    under_way: bool,
    delta: f32,
    buffer: Vec<u32>,
}

struct Bc {
    options: KernelOptions,
    graph: Kronecker,
    state: State,
    places: Places,
    lanes: Vec<Lane>,
    phase: Phase,
    share: Share,
    /// Where each level begins in the queue.
    levels: Vec<usize>,
    /// The level that is done.
    level: usize,
    rounds: u64,
    /// Which of the sources tried the first round has.
    first_source: u64,
    ended: bool,
    digest: u64,
}

fn vertices(scale: u32) -> u64 {
    let bytes = INFO.table_1_bytes() / u64::from(scale);
    let vertex = 8 + 4 * DEGREE + DEGREE / 8 + 4 + 8 + 4 + 4 + 4;
    (bytes / vertex).max(64)
}

impl Places {
    fn new(vertices: u64, edges: u64, threads: u32) -> Places {
        let mut arena = Arena::default();
        // From depths to deltas in the order in which a search clears them.
        Places {
            rows: arena.array(vertices + 1, 8),
            edges: arena.array(edges, 4),
            depths: arena.array(vertices, 4),
            paths: arena.array(vertices, 8),
            on_path: arena.array(edges.div_ceil(64), 8),
            deltas: arena.array(vertices, 4),
            scores: arena.array(vertices, 4),
            queue: arena.array(vertices, 4),
            buffers: arena.array(u64::from(threads) * BUFFER as u64, 4),
            footprint: arena.footprint(),
        }
    }
}

impl Bc {
    fn new(options: &KernelOptions) -> Bc {
        let graph = Kronecker::new(vertices(options.scale), DEGREE, options.seed);
        let mut bc = Bc {
            options: options.clone(),
            state: State::new(graph.vertices(), graph.edges()),
            places: Places::new(graph.vertices(), graph.edges(), options.threads),
            graph,
            lanes: vec![Lane::default(); options.threads as usize],
            phase: Phase::Forward,
            share: Share::new(options.threads, 1, CHUNK),
            levels: vec![],
            level: 0,
            rounds: 0,
            first_source: 0,
            ended: false,
            digest: 0,
        };
        bc.skip_to_section();
        bc
    }

    /// A vertex that has an edge.
    fn source(&self, round: u64) -> u32 {
        let mut rng = Rng::stream(seed_of(self.options.seed, round), "bc source");
        let attempt = if round == 0 { self.first_source } else { 0 };
        (0..attempt).for_each(|_| _ = rng.next_u64());
        loop {
            let vertex = rng.below(self.graph.vertices()) as u32;
            if !self.graph.row(vertex).is_empty() {
                return vertex;
            }
        }
    }

    fn begin_search(&mut self) {
        let source = self.source(self.rounds);
        self.state.depths[source as usize] = 0;
        self.state.paths[source as usize] = 1.0;
        self.state.queue.push(source);
        (self.levels, self.level) = (vec![0, 1], 0);
        self.begin(Phase::Forward);
    }

    /// The level's part of the queue.
    fn window(&self) -> Range<usize> {
        self.levels[self.level]..self.levels[self.level + 1]
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        match phase {
            Phase::Clear => {
                let bytes = self.places.scores.at(0) - self.places.depths.at(0);
                self.share.begin(bytes / 4096, CHUNK);
            }
            Phase::Forward | Phase::Backward => {
                self.share.begin(self.window().len() as u64, CHUNK);
            }
        }
    }

    /// All threads are at the barrier.
    fn advance(&mut self) {
        match self.phase {
            Phase::Clear => self.begin_search(),
            Phase::Forward if self.state.queue.len() > self.levels[self.level + 1] => {
                self.levels.push(self.state.queue.len());
                self.level += 1;
                self.begin(Phase::Forward);
            }
            Phase::Forward => self.begin(Phase::Backward),
            Phase::Backward if self.level > 0 => {
                self.level -= 1;
                self.begin(Phase::Backward);
            }
            Phase::Backward => {
                self.rounds += 1;
                self.ended = self.rounds == self.options.rounds;
                self.digest = digest_scores(&self.state.scores);
                self.state.clear();
                self.begin(Phase::Clear);
            }
        }
    }

    /// A page of the arrays, 32 bytes with a store.
    fn clear(&self, page: u64, to: &mut Recorder) {
        let base = self.places.depths.at(0) + page * 4096;
        for at in (0..4096).step_by(32) {
            to.store(base + at);
            to.work(u32::from(at % 64 == 0));
        }
    }

    /// The next vertex of a thread, if the level has one.
    fn take(&mut self, thread: u32, to: &mut Recorder) -> bool {
        let Some(piece) = self.share.piece(thread, 1) else {
            return false;
        };
        let at = self.window().start as u64 + piece.start;
        let vertex = self.state.queue[at as usize];
        let lane = &mut self.lanes[thread as usize];
        (lane.vertex, lane.row) = (vertex, self.graph.row(vertex));
        (lane.under_way, lane.delta) = (true, 0.0);
        let from = to.load(self.places.queue.at(at));
        to.load_after(self.places.rows.at(vertex.into()), from);
        to.load_after(self.places.rows.at(u64::from(vertex) + 1), from);
        to.work(WORK_VERTEX);
        true
    }

    fn forward(&mut self, thread: u32, edge: u64, to: &mut Recorder) {
        let vertex = self.lanes[thread as usize].vertex;
        let end = self.graph.end(edge);
        let depth = self.level as i32 + 1;
        let (found, on_path) = self.state.forward(vertex, edge, end, depth);
        let loaded = to.load(self.places.edges.at(edge));
        let there = self.places.depths.at(end.into());
        to.load_after(there, loaded);
        to.work(WORK_FORWARD);
        if found {
            self.push(thread, end, loaded, to);
        }
        if on_path {
            // The bit and the sum are each read, and then exchanged.
            let bit = self.places.on_path.at(edge / 64);
            to.load(bit);
            to.load(bit);
            to.store(bit);
            let sum = self.places.paths.at(end.into());
            to.load(self.places.paths.at(vertex.into()));
            to.load_after(sum, loaded);
            to.load_after(sum, loaded);
            to.work(WORK_PATH);
            to.store_after(sum, loaded);
        }
    }

    /// A vertex found: its depth is exchanged, and it goes into the thread's buffer.
    fn push(&mut self, thread: u32, end: u32, loaded: Loaded, to: &mut Recorder) {
        let there = self.places.depths.at(end.into());
        to.load_after(there, loaded);
        to.store_after(there, loaded);
        let buffer = &mut self.lanes[thread as usize].buffer;
        let at = u64::from(thread) * BUFFER as u64 + buffer.len() as u64;
        to.work(WORK_FOUND);
        to.store(self.places.buffers.at(at));
        buffer.push(end);
        if buffer.len() == BUFFER {
            self.flush(thread, to);
        }
    }

    /// The thread's buffer goes to the queue.
    fn flush(&mut self, thread: u32, to: &mut Recorder) {
        let buffer = &mut self.lanes[thread as usize].buffer;
        let start = self.state.queue.len() as u64;
        let places = &self.places;
        let held = (
            places.buffers,
            u64::from(thread) * BUFFER as u64,
            buffer.len() as u64,
        );
        copy_to_queue(held, (places.queue, |at| start + at), to);
        self.state.queue.append(buffer);
    }

    fn backward(&mut self, thread: u32, edge: u64, to: &mut Recorder) {
        to.load(self.places.on_path.at(edge / 64));
        to.work(WORK_BACKWARD);
        if self.state.is_on_path(edge) {
            let end = self.graph.end(edge);
            let lane = &mut self.lanes[thread as usize];
            lane.delta = self.state.gather(lane.vertex, end, lane.delta);
            let loaded = to.load(self.places.edges.at(edge));
            to.load(self.places.paths.at(lane.vertex.into()));
            to.load_after(self.places.paths.at(end.into()), loaded);
            to.load_after(self.places.deltas.at(end.into()), loaded);
            to.work(WORK_GATHER);
        }
    }

    fn vertex_done(&mut self, thread: u32, to: &mut Recorder) {
        let lane = &mut self.lanes[thread as usize];
        lane.under_way = false;
        if self.phase == Phase::Backward {
            self.state.scored(lane.vertex, lane.delta);
            to.store(self.places.deltas.at(lane.vertex.into()));
            to.load(self.places.scores.at(lane.vertex.into()));
            to.work(1);
            to.store(self.places.scores.at(lane.vertex.into()));
        }
    }

    /// Goes on with a thread's edges; whether there were any.
    fn edges(&mut self, thread: u32, to: &mut Recorder) -> bool {
        while to.len() < STRETCH {
            if !self.lanes[thread as usize].under_way && !self.take(thread, to) {
                break;
            }
            match self.lanes[thread as usize].row.next() {
                Some(edge) if self.phase == Phase::Forward => self.forward(thread, edge, to),
                Some(edge) => self.backward(thread, edge, to),
                None => self.vertex_done(thread, to),
            }
        }
        if to.is_empty() {
            self.flush(thread, to);
        }
        !to.is_empty()
    }
}

impl Program for Bc {
    fn footprint(&self) -> Bytes {
        self.places.footprint
    }

    fn threads(&self) -> u32 {
        self.options.threads
    }

    /// The graph does not.
    fn rewrites(&self, addr: u64) -> bool {
        addr >= self.places.depths.at(0)
    }

    fn fill(&mut self, thread: u32, out: &mut Vec<Instr>) -> Step {
        if self.ended {
            return Step::End;
        }
        let mut to = Recorder::new(out);
        let any = match self.phase {
            Phase::Clear => match self.share.piece(thread, 4) {
                Some(pages) => {
                    pages.for_each(|page| self.clear(page, &mut to));
                    true
                }
                None => false,
            },
            Phase::Forward | Phase::Backward => self.edges(thread, &mut to),
        };
        if any {
            return Step::More;
        }
        if self.share.arrive() {
            self.advance();
        }
        Step::Barrier
    }
}

impl Kernel for Bc {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn check(&self) -> Result<(), Mismatch> {
        if self.rounds == 0 {
            return Ok(());
        }
        let mut scores = vec![0.0; self.graph.vertices() as usize];
        for round in 0..self.rounds {
            add_source(&self.graph, self.source(round), &mut scores);
        }
        compare("bc", self.rounds, self.digest, digest_scores(&scores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprint_is_that_of_table_1() {
        crate::drive::assert_footprint(&INFO, |scale| {
            Places::new(vertices(scale), vertices(scale) * DEGREE, 24).footprint
        });
    }
}
