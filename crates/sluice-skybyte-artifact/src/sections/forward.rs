//! The section that SkyByte's artifact (doi:10.5281/zenodo.14660184) has of bc: the search forwards
//! in GAP's Twitter graph, in the middle of the level that has the neighbours of the source. What
//! is known of the graph and of the lists of neighbours that threads go through is in `twitter.rs`.
//!
//! The loop is GAP's as g++ 12 with -O3 makes it: 12 instructions for an edge that leads back, 30
//! more if it is on a shortest path, 12 more if it finds its vertex, and 13 for a vertex. So
//! 172,000 edges of a hub that all lead on take 7.7 million instructions, and 522,500 of others 7.5
//! million: threads with the same number of them, as traces have. Both kinds of list together have
//! 12 % stores (Table I: 11 %), and with the artifact's 2,451,563 accesses off the chip 40 in 1,000
//! instructions (39.4).
//!
//! A scale divides lists, buffers, and the distances between them. Section follows section in the
//! same search, with the lists that come next; then another search begins, where its first section
//! does. A thread that has done its part waits for the others.

use super::twitter::{self, DEPTH, List, SECTIONS, Twitter, WRITTEN_AT};

use sluice_kernels::bc::{NEVER, State, copy_to_queue};
use sluice_kernels::share::{Frame, Phased, compare, digest};
use sluice_kernels::{Arena, Array, KernelOptions, Loaded, Mismatch, Recorder};
use sluice_units::Bytes;
use std::ops::Range;

/// Vertices in a thread's queue buffer.
const BUFFER: u64 = 16_384;
/// Edges in a stretch.
const STRETCH: u64 = 32;

/// Instructions that touch no memory, beside the entries of each step: an exchange is a load and a
/// store, and one instruction.
const WORK_VERTEX: u32 = 13 - 5;
const WORK_EDGE: u32 = 12 - 4;
const WORK_FOUND: u32 = 12 - 6 - 1;
const WORK_PATH: u32 = 30 - 12 - 2;

struct Places {
    rows: Array,
    edges: Array,
    depths: Array,
    paths: Array,
    on_path: Array,
    queue: Array,
    buffers: Array,
    /// What threads share, and for each thread a line of its stack.
    frame: Array,
    stacks: Array,
    footprint: Bytes,
}

/// What a thread has of its section: its lists, and how far it is in them.
struct Lane {
    lists: Vec<List>,
    /// Which list it is in, and with which item that begins.
    list: usize,
    first: u64,
    buffer: Vec<u32>,
}

/// The kernel with `section=forward`.
pub(super) struct Forward {
    frame: Frame,
    graph: Twitter,
    state: State,
    places: Places,
    lanes: Vec<Lane>,
    /// Entries of the queue.
    queued: u64,
    digest: u64,
}

fn buffer(scale: u32) -> u64 {
    (BUFFER / u64::from(scale)).max(16)
}

impl Places {
    fn new(options: &KernelOptions) -> Places {
        let (vertices, edges) = twitter::size(options.scale);
        let threads = u64::from(options.threads);
        let mut arena = Arena::default();
        let rows = arena.array(vertices + 1, 8);
        let on_path = arena.array(edges.div_ceil(64), 8);
        let [_deltas, _scores, queue] = [4; 3].map(|bytes| arena.array(vertices, bytes));
        // Last what sections before the first one have used.
        let edges = arena.array(edges, 4);
        let [depths, paths] = [4, 8].map(|bytes| arena.array(vertices, bytes));
        Places {
            rows,
            edges,
            depths,
            paths,
            on_path,
            queue,
            buffers: arena.array(threads * buffer(options.scale), 4),
            frame: arena.array(8, 8),
            stacks: arena.array(threads * 8, 8),
            footprint: arena.footprint(),
        }
    }
}

impl Forward {
    pub(super) fn new(options: &KernelOptions) -> Forward {
        let graph = Twitter::new(options.scale, options.threads, options.seed);
        let lane = || Lane {
            lists: vec![],
            list: 0,
            first: 0,
            buffer: vec![],
        };
        let mut forward = Forward {
            frame: Frame::new(options, 0, 1),
            state: graph.before(0),
            places: Places::new(options),
            lanes: (0..options.threads).map(|_| lane()).collect(),
            queued: 0,
            digest: 0,
            graph,
        };
        forward.begin_search();
        forward.begin();
        forward
    }

    fn begin_search(&mut self) {
        self.queued = WRITTEN_AT / u64::from(self.frame.options.scale);
        self.lanes.iter_mut().for_each(|lane| lane.buffer.clear());
    }

    fn begin(&mut self) {
        let lists = self.graph.section(self.frame.rounds, &self.state);
        for (lane, lists) in self.lanes.iter_mut().zip(lists) {
            (lane.lists, lane.list, lane.first) = (lists, 0, 0);
        }
        let graph = &self.graph;
        self.frame.share.begin_own(|thread| 0..graph.share(thread));
    }

    /// A thread's item: an edge, and before the first of a list its vertex.
    fn item(&mut self, thread: usize, item: u64, to: &mut Recorder) {
        let lane = &mut self.lanes[thread];
        while item - lane.first == lane.lists[lane.list].ends.len() as u64 {
            (lane.first, lane.list) = (item, lane.list + 1);
        }
        let list = &lane.lists[lane.list];
        let at = item - lane.first;
        let (vertex, edge, end) = (list.vertex, list.edge + at, list.ends[at as usize]);
        if let Some(entry) = list.entry.filter(|_| at == 0) {
            self.places.vertex(vertex.into(), entry, to);
        }
        self.edge(thread, vertex, edge, end, to);
    }

    fn edge(&mut self, thread: usize, vertex: u32, edge: u64, end: u32, to: &mut Recorder) {
        let (found, on_path) = self.state.forward(vertex, edge, end, DEPTH);
        to.load(self.places.frame.at(0));
        let loaded = to.load(self.places.edges.at(edge));
        to.load(self.places.frame.at(1));
        to.load_after(self.places.depths.at(end.into()), loaded);
        to.work(WORK_EDGE);
        if found {
            self.found(thread, edge, end, loaded, to);
        }
        if on_path {
            let stack = self.places.stacks.at(thread as u64 * 8);
            self.places.on_path([vertex, end], edge, stack, loaded, to);
        }
    }

    /// A depth is exchanged, and the vertex goes into the thread's buffer.
    fn found(&mut self, thread: usize, edge: u64, end: u32, after: Loaded, to: &mut Recorder) {
        let length = buffer(self.frame.options.scale);
        let depth = self.places.depths.at(end.into());
        to.load_after(depth, after);
        to.store_after(depth, after);
        to.load(self.places.edges.at(edge));
        if self.lanes[thread].buffer.len() as u64 == length {
            self.flush(thread, to);
        }
        let buffer = &mut self.lanes[thread].buffer;
        let at = thread as u64 * length + buffer.len() as u64;
        buffer.push(end);
        to.store(self.places.buffers.at(at));
        to.load(self.places.frame.at(0));
        to.load(self.places.frame.at(1));
        to.load_after(depth, after);
        to.work(WORK_FOUND);
    }

    /// The buffer goes to the queue.
    fn flush(&mut self, thread: usize, to: &mut Recorder) {
        let buffer = &mut self.lanes[thread].buffer;
        let length = buffer.len() as u64;
        let places = &self.places;
        let (queued, end) = (self.queued, self.graph.vertices / 8 * 8);
        let held = (places.buffers, thread as u64 * length, length);
        copy_to_queue(held, (places.queue, |at| (queued + at) % end), to);
        self.queued += length;
        buffer.clear();
    }
}

impl Places {
    /// Its entry of the queue, and where its row begins and ends.
    fn vertex(&self, vertex: u64, entry: u64, to: &mut Recorder) {
        to.load(self.frame.at(2));
        to.load(self.frame.at(3));
        let from = to.load(self.queue.at(entry));
        to.load_after(self.rows.at(vertex + 1), from);
        to.load_after(self.rows.at(vertex), from);
        to.work(WORK_VERTEX);
    }

    /// The edge's bit and the count of paths are each read, and then exchanged.
    fn on_path(
        &self,
        [vertex, end]: [u32; 2],
        edge: u64,
        stack: u64,
        after: Loaded,
        to: &mut Recorder,
    ) {
        to.load(self.frame.at(4));
        to.store(stack);
        to.load(stack);
        to.load(self.frame.at(5));
        let bit = self.on_path.at(edge / 64);
        to.load(bit);
        to.load(bit);
        to.store(bit);
        to.load(self.frame.at(6));
        let end_of = to.load(self.edges.at(edge));
        to.load(self.frame.at(7));
        to.load(self.paths.at(vertex.into()));
        let sum = self.paths.at(end.into());
        to.load_after(sum, end_of);
        to.load_after(sum, after);
        to.store_after(sum, after);
        to.work(WORK_PATH);
    }
}

/// What a section's lists lead to, and which of their edges are on a shortest path.
fn digest_of<'a>(lists: impl Iterator<Item = &'a List>, state: &State) -> u64 {
    digest(lists.flat_map(|list| {
        list.ends.iter().zip(list.edge..).flat_map(|(end, edge)| {
            let at = *end as usize;
            let (depth, paths) = (state.depths[at], state.paths[at]);
            [depth as u64, paths.to_bits(), state.is_on_path(edge).into()]
        })
    }))
}

/// A section as the textbook has it: first the vertices that are found, then the paths.
fn plain_section(lists: &[Vec<List>], state: &mut State) {
    for end in lists.iter().flatten().flat_map(|list| &list.ends) {
        if state.depths[*end as usize] == NEVER {
            state.depths[*end as usize] = DEPTH;
        }
    }
    for list in lists.iter().flatten() {
        for (end, edge) in list.ends.iter().zip(list.edge..) {
            if state.depths[*end as usize] == DEPTH {
                state.paths[*end as usize] += state.paths[list.vertex as usize];
                state.on_path.set(edge as usize);
            }
        }
    }
}

impl Phased for Forward {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// The graph does not.
    fn rewrites(&self, addr: u64) -> bool {
        let before = self.places.on_path.at(0)..self.places.edges.at(0);
        before.contains(&addr) || addr >= self.places.depths.at(0)
    }

    fn footprint(&self) -> Bytes {
        self.places.footprint
    }

    fn stretch(&self) -> u64 {
        STRETCH
    }

    fn work(&mut self, thread: u32, items: Range<u64>, to: &mut Recorder) {
        items.for_each(|item| self.item(thread as usize, item, to));
    }

    fn advance(&mut self) {
        let lists = self.lanes.iter().flat_map(|lane| &lane.lists);
        self.digest = digest_of(lists, &self.state);
        self.frame.end_round();
        if self.frame.share.ended {
            return;
        }
        if self.frame.rounds.is_multiple_of(SECTIONS) {
            self.state = self.graph.before(self.frame.rounds / SECTIONS);
            self.begin_search();
        }
        self.begin();
    }

    /// The sections of the last round's search, one after the other.
    fn check(&self) -> Result<(), Mismatch> {
        let Some(last) = self.frame.rounds.checked_sub(1) else {
            return Ok(());
        };
        let first = last / SECTIONS * SECTIONS;
        let mut state = self.graph.before(last / SECTIONS);
        let mut plain = 0;
        for section in first..=last {
            let lists = self.graph.section(section, &state);
            plain_section(&lists, &mut state);
            plain = digest_of(lists.iter().flatten(), &state);
        }
        compare("bc", self.frame.rounds, self.digest, plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_kernels::Kernel;
    use sluice_kernels::bc::INFO;
    use sluice_kernels::drive::{assert_footprint, options, run};
    use sluice_kernels::share::Shared;

    fn section(threads: u32, scale: u32, rounds: u64) -> Shared<Forward> {
        Shared(Forward::new(&options(threads, scale, rounds)))
    }

    #[test]
    fn any_number_of_threads_finds_what_the_textbook_does() {
        for (threads, scale) in [(1, 2_000), (3, 1_000), (8, 1_000), (24, 500)] {
            // Some of another search.
            let rounds = SECTIONS + 2;
            let mut forward = section(threads, scale, rounds);
            run(&mut forward, 1 + threads as usize % 3);
            assert_eq!((forward.rounds(), forward.check()), (rounds, Ok(())));
            let end = forward.0.lanes[0].lists[0].ends[0];
            for broken in [
                |state: &mut State, end: u32| state.paths[end as usize] += 1.0,
                |state: &mut State, end: u32| state.depths[end as usize] = NEVER,
                |state: &mut State, _| state.on_path.clear_all(),
            ] {
                let mut state = State::new(1, 1);
                state.depths.clone_from(&forward.0.state.depths);
                state.paths.clone_from(&forward.0.state.paths);
                state.on_path.clone_from(&forward.0.state.on_path);
                broken(&mut state, end);
                let lists = forward.0.lanes.iter().flat_map(|lane| &lane.lists);
                let digest = digest_of(lists, &state);
                let told = std::mem::replace(&mut forward.0.digest, digest);
                assert!(forward.check().is_err());
                forward.0.digest = told;
            }
        }
    }

    /// Counted by hand from the loop that the compiler makes.
    #[test]
    fn a_section_has_the_accesses_and_instructions_of_its_loop() {
        let mut forward = section(8, 1_000, 1);
        let lists = forward.0.graph.section(0, &forward.0.state);
        let lists: Vec<_> = lists.iter().flatten().collect();
        let mut state = forward.0.graph.before(0);
        let (mut found, mut paths) = (0, 0);
        for (list, end) in lists
            .iter()
            .flat_map(|list| list.ends.iter().map(move |end| (list, end)))
        {
            let (is_found, on_path) = state.forward(list.vertex, 0, *end, DEPTH);
            (found, paths) = (found + u64::from(is_found), paths + u64::from(on_path));
        }
        let edges = 8 / 2 * (forward.0.graph.share(0) + forward.0.graph.share(1));
        let begun = lists.iter().filter(|list| list.entry.is_some()).count() as u64;
        let told = run(&mut forward, 1);
        let left: u64 = forward.0.lanes.iter().map(|l| l.buffer.len() as u64).sum();
        let copied = (found - left) / 8;
        assert!(copied > 0);
        let loads = 4 * edges + 5 * found + 11 * paths + 5 * begun + copied;
        let stores = 2 * found + 3 * paths + copied;
        assert_eq!((told.loads, told.stores), (loads, stores));
        let instructions = 12 * (edges + found) + 30 * paths + 13 * begun + 3 * copied;
        assert_eq!(told.instructions, instructions);
    }

    #[test]
    fn footprint_is_that_of_table_1() {
        assert_footprint(&INFO, |scale| Places::new(&options(24, scale, 0)).footprint);
    }
}
