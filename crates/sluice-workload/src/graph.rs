//! Breadth-first search and PageRank on a Kronecker graph of Graph500, each answer checked.
//!
//! Nothing depends on the number of threads: rows of the graph are sorted, the parent of a vertex
//! is its least neighbour of the level before, and sums are added up in the order of the vertices.
//! With one thread the accesses are the same every time, too. All arrays come from the allocator,
//! as any program's do, before the first of them is used.

mod bfs;
mod crew;
mod csr;
mod edges;
mod pagerank;
mod tree;

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::error::Error;
use bfs::Search;
use crew::Crew;
use csr::Csr;
use edges::Edges;
use pagerank::Ranks;
use tree::Levels;

/// No vertex: it was not reached.
const NONE: u32 = u32::MAX;

/// What to run: checked by the command line.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Two to this power are the vertices.
    pub scale: u32,
    /// Edges drawn for each vertex, on average.
    pub edges_per_vertex: u64,
    pub threads: usize,
    /// Seed of the graph and of the sources.
    pub seed: u64,
    /// Searches, each from another vertex.
    pub sources: usize,
    /// Iterations of PageRank.
    pub iterations: u32,
    /// Whether the answers are checked against the edges, drawn again.
    pub validate: bool,
}

/// What one search from a source found, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Searched {
    /// Where it began.
    pub source: u32,
    /// Vertices that it reached, the source too.
    pub reached: u64,
    /// Edges between them: those that Graph500 counts.
    pub edges: u64,
    /// Most edges from the source to a vertex.
    pub depth: u32,
    /// Wall time in nanoseconds.
    pub wall_ns: u64,
}

/// What PageRank computed, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Ranked {
    /// Sum of the ranks.
    pub sum: f64,
    /// What the last iteration changed, in all.
    pub change: f64,
    /// Hash of all ranks in order.
    pub checksum: u64,
    /// Largest relative difference from the same iteration along the edges as they were drawn.
    pub error: Option<f64>,
    /// Wall time of all iterations in nanoseconds.
    pub wall_ns: u64,
}

/// What was measured and found.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Bytes of all arrays.
    pub memory_bytes: u64,
    /// Wall time of making the graph, in nanoseconds.
    pub build_ns: u64,
    /// The searches in order: fewer than asked for when fewer vertices have a neighbour.
    pub searches: Vec<Searched>,
    /// PageRank, when iterations were asked for.
    pub ranks: Option<Ranked>,
    /// What was wrong, in words; nothing when all answers were right.
    pub wrong: Vec<String>,
}

/// Makes the graph and runs both algorithms on it.
///
/// # Errors
/// When there is not enough memory: nothing was begun then.
pub fn run(load: &Load) -> Result<Measured, Error> {
    let edges = Edges::new(load.scale, load.edges_per_vertex, load.seed);
    let mut memory = Memory::new(&edges, load)?;
    let memory_bytes = memory.bytes();
    let crew = Crew::new(load.threads);
    let started = Instant::now();
    memory.graph.build(&edges, &crew);
    let build_ns = nanoseconds(started);
    let mut wrong = Vec::new();
    let sources = csr::sources(&edges, &memory.graph, load.sources);
    let search = |source| searched(&mut memory, source, &edges, &crew, &mut wrong);
    let searches = sources.into_iter().map(search).collect();
    let ranks = memory.ranks.as_mut().map(|ranks| {
        let ranked = ranked(ranks, &memory.graph, load, &edges, &crew);
        wrong.extend(pagerank::wrong(&ranked));
        ranked
    });
    Ok(Measured {
        memory_bytes,
        build_ns,
        searches,
        ranks,
        wrong,
    })
}

/// Everything that a run needs.
struct Memory {
    graph: Csr,
    search: Option<Search>,
    levels: Option<Levels>,
    ranks: Option<Ranks>,
}

impl Memory {
    fn new(edges: &Edges, load: &Load) -> Result<Memory, Error> {
        let vertices = edges.vertices() as usize;
        let searching = load.sources > 0;
        let ranking = load.iterations > 0;
        Ok(Memory {
            graph: Csr::new(edges)?,
            search: searching.then(|| Search::new(vertices)).transpose()?,
            levels: (searching && load.validate)
                .then(|| Levels::new(vertices))
                .transpose()?,
            ranks: ranking.then(|| Ranks::new(vertices)).transpose()?,
        })
    }

    fn bytes(&self) -> u64 {
        self.graph.bytes()
            + self.search.as_ref().map_or(0, Search::bytes)
            + self.levels.as_ref().map_or(0, Levels::bytes)
            + self.ranks.as_ref().map_or(0, Ranks::bytes)
    }
}

fn searched(
    memory: &mut Memory,
    source: u32,
    edges: &Edges,
    crew: &Crew,
    wrong: &mut Vec<String>,
) -> Searched {
    let search = memory.search.as_mut().expect("memory for as many sources");
    let started = Instant::now();
    let depth = search.run(&memory.graph, source, crew);
    let wall_ns = nanoseconds(started);
    if let Some(levels) = &mut memory.levels {
        let found = levels.validate(search.tree(), source, edges, crew);
        wrong.extend(found.err().map(|why| why.to_string()));
    }
    let (reached, ends) = search.extent(&memory.graph);
    Searched {
        source,
        reached,
        edges: ends / 2,
        depth,
        wall_ns,
    }
}

fn ranked(ranks: &mut Ranks, graph: &Csr, load: &Load, edges: &Edges, crew: &Crew) -> Ranked {
    let started = Instant::now();
    let change = ranks.run(graph, load.iterations, crew);
    let wall_ns = nanoseconds(started);
    Ranked {
        sum: ranks.sum(),
        change,
        checksum: ranks.checksum(),
        error: load.validate.then(|| ranks.error(edges)),
        wall_ns,
    }
}

/// `len` elements from the allocator, each made by `with`.
fn array<T>(len: usize, with: impl FnMut() -> T) -> Result<Vec<T>, Error> {
    let mut array = Vec::new();
    array.try_reserve_exact(len).map_err(|error| {
        let what = format!("an array of {len} elements of {} bytes", size_of::<T>());
        Error::system(what)(std::io::Error::other(error))
    })?;
    array.resize_with(len, with);
    Ok(array)
}

fn cells(len: usize, value: u32) -> Result<Vec<AtomicU32>, Error> {
    array(len, || AtomicU32::new(value))
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}
