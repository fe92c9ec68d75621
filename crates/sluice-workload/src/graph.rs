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

#[cfg(test)]
mod tests {
    use super::*;

    const VERTICES: usize = 1 << 7;

    fn load(threads: usize) -> Load {
        Load {
            scale: 7,
            edges_per_vertex: 1,
            threads,
            seed: 6,
            sources: 64,
            iterations: 4,
            validate: true,
        }
    }

    /// Distances from a vertex, by going along all edges until none is new.
    fn distances(drawn: &[(u32, u32)], source: u32) -> Vec<Option<u32>> {
        let mut found = vec![None; VERTICES];
        found[source as usize] = Some(0);
        for distance in 1.. {
            let known = found.clone();
            for (from, to) in drawn.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
                let (from, to) = (from as usize, to as usize);
                if known[from] == Some(distance - 1) && found[to].is_none() {
                    found[to] = Some(distance);
                }
            }
            if found == known {
                break;
            }
        }
        found
    }

    /// The edges of each vertex counted, and the change of one iteration after another.
    fn changes(drawn: &[(u32, u32)], iterations: u32) -> Vec<f64> {
        let mut degrees = vec![0.0; VERTICES];
        for (from, to) in drawn {
            degrees[*from as usize] += 1.0;
            degrees[*to as usize] += 1.0;
        }
        let even = 1.0 / VERTICES as f64;
        let mut ranks = vec![even; VERTICES];
        let iteration = |_| {
            let lost: f64 = (0..VERTICES)
                .filter(|v| degrees[*v] == 0.0)
                .map(|v| ranks[v])
                .sum();
            let mut next = vec![0.15 * even + 0.85 * lost * even; VERTICES];
            for (from, to) in drawn {
                let (from, to) = (*from as usize, *to as usize);
                next[to] += 0.85 * ranks[from] / degrees[from];
                next[from] += 0.85 * ranks[to] / degrees[to];
            }
            let change = next
                .iter()
                .zip(&ranks)
                .map(|(one, other)| (one - other).abs())
                .sum();
            ranks = next;
            change
        };
        (0..iterations).map(iteration).collect()
    }

    /// Of a graph so thin that most searches do not reach all of it.
    #[test]
    fn all_that_is_reported_is_that_of_the_edges_drawn() {
        let edges = Edges::new(7, 1, 6);
        let drawn: Vec<_> = (0..edges.count()).map(|edge| edges.get(edge)).collect();
        for threads in [1, 3] {
            let measured = run(&load(threads)).unwrap();
            assert_eq!(measured.wrong, [""; 0]);
            let sources: std::collections::BTreeSet<u32> = measured
                .searches
                .iter()
                .map(|search| search.source)
                .collect();
            assert_eq!(
                sources.len(),
                measured.searches.len(),
                "each from another vertex"
            );
            let mut apart = 0;
            for search in &measured.searches {
                let found = distances(&drawn, search.source);
                let reached = found.iter().flatten().count();
                let inside = drawn
                    .iter()
                    .filter(|(from, _)| found[*from as usize].is_some());
                assert_eq!(search.reached, reached as u64);
                assert_eq!(search.edges, inside.count() as u64);
                assert_eq!(Some(search.depth), found.iter().flatten().max().copied());
                assert!(search.reached > 1, "a source has a neighbour");
                apart += usize::from(reached < VERTICES / 2);
            }
            assert!(apart < measured.searches.len());
            let ranks = measured.ranks.unwrap();
            let due = *changes(&drawn, 4).last().unwrap();
            assert!(
                (ranks.change - due).abs() < 1e-12,
                "{} for {due}",
                ranks.change
            );
            assert!((ranks.sum - 1.0).abs() < 1e-12 && ranks.error.unwrap() < 1e-12);
        }
    }

    #[test]
    fn what_is_not_asked_for_takes_no_memory() {
        let bytes = |change: &dyn Fn(&mut Load)| {
            let mut load = load(1);
            change(&mut load);
            run(&load).unwrap().memory_bytes
        };
        // 129 starts of 8 bytes, and 256 ends of 4.
        let graph = 129 * 8 + 256 * 4;
        let (search, levels, ranks) = (3 * 128 * 4, 128 * 4, 3 * 128 * 8 + 8);
        assert_eq!(bytes(&|_| ()), graph + search + levels + ranks);
        assert_eq!(bytes(&|load| load.validate = false), graph + search + ranks);
        assert_eq!(bytes(&|load| load.sources = 0), graph + ranks);
        assert_eq!(bytes(&|load| load.iterations = 0), graph + search + levels);
    }
}
