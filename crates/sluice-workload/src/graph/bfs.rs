//! Breadth-first search, level by level.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use super::crew::Crew;
use super::csr::Csr;
use super::{NONE, cells};
use crate::error::Error;

/// Vertices that a thread takes at once.
const STRETCH: usize = 64;
/// Vertices that a thread finds before it adds them to the queue.
const BUFFER: usize = 256;

/// The arrays of a search.
pub(super) struct Search {
    parents: Vec<AtomicU32>,
    depths: Vec<AtomicU32>,
    /// Vertices in the order in which they were found, level after level.
    queue: Vec<AtomicU32>,
    found: AtomicUsize,
}

impl Search {
    pub(super) fn new(vertices: usize) -> Result<Search, Error> {
        Ok(Search {
            parents: cells(vertices, NONE)?,
            depths: cells(vertices, NONE)?,
            queue: cells(vertices, NONE)?,
            found: AtomicUsize::new(0),
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        3 * size_of_val(&*self.parents) as u64
    }

    /// Searches from a vertex, and returns the depth of the last that it reached.
    pub(super) fn run(&mut self, graph: &Csr, source: u32, crew: &Crew) -> u32 {
        crew.share(graph.vertices(), 4096, |stretch| {
            for vertex in stretch {
                self.parents[vertex].store(NONE, Relaxed);
                self.depths[vertex].store(NONE, Relaxed);
            }
        });
        self.parents[source as usize].store(source, Relaxed);
        self.depths[source as usize].store(0, Relaxed);
        self.queue[0].store(source, Relaxed);
        *self.found.get_mut() = 1;
        let (mut from, mut depth) = (0, 0);
        loop {
            let to = *self.found.get_mut();
            let level = &self.queue[from..to];
            crew.share(level.len(), STRETCH, |stretch| {
                self.visit(graph, &level[stretch], depth + 1);
            });
            if *self.found.get_mut() == to {
                return depth;
            }
            (from, depth) = (to, depth + 1);
        }
    }

    /// Goes along the edges of some vertices of a level; those at `depth` come next.
    fn visit(&self, graph: &Csr, level: &[AtomicU32], depth: u32) {
        let mut buffer = [0; BUFFER];
        let mut len = 0;
        for vertex in level.iter().map(|vertex| vertex.load(Relaxed)) {
            for end in graph.row(vertex) {
                let cell = &self.depths[end as usize];
                let mut known = cell.load(Relaxed);
                if known == NONE {
                    match cell.compare_exchange(NONE, depth, Relaxed, Relaxed) {
                        Ok(_) => {
                            (buffer[len], known) = (end, depth);
                            len += 1;
                        }
                        Err(other) => known = other,
                    }
                }
                let parent = &self.parents[end as usize];
                if known == depth && parent.load(Relaxed) > vertex {
                    parent.fetch_min(vertex, Relaxed);
                }
                if len == BUFFER {
                    self.enqueue(&buffer);
                    len = 0;
                }
            }
        }
        self.enqueue(&buffer[..len]);
    }

    fn enqueue(&self, found: &[u32]) {
        let at = self.found.fetch_add(found.len(), Relaxed);
        let places = &self.queue[at..at + found.len()];
        places
            .iter()
            .zip(found)
            .for_each(|(place, vertex)| place.store(*vertex, Relaxed));
    }

    /// The parent of each vertex: of the source itself, of one not reached [`NONE`].
    pub(super) fn tree(&self) -> &[AtomicU32] {
        &self.parents
    }

    /// Vertices reached, and ends of edges at them.
    pub(super) fn extent(&self, graph: &Csr) -> (u64, u64) {
        let reached = &self.queue[..self.found.load(Relaxed)];
        let degrees = reached.iter().map(|v| graph.degree(v.load(Relaxed)));
        (reached.len() as u64, degrees.sum())
    }
}
