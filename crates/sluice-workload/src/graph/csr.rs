//! The graph as rows of neighbours.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::crew::Crew;
use super::edges::Edges;
use super::{array, cells};
use crate::error::Error;

/// Edges that a thread takes at once, and vertices whose rows it sorts at once.
const STRETCH: usize = 4096;

/// Both directions of every edge, loops and multiple edges too: compressed sparse rows.
pub(super) struct Csr {
    /// Where each row begins, and the end of the last.
    starts: Vec<AtomicU64>,
    ends: Vec<AtomicU32>,
}

impl Csr {
    /// Memory for a graph.
    pub(super) fn new(edges: &Edges) -> Result<Csr, Error> {
        // The largest array first: where it is refused, no memory was touched.
        let ends = cells(2 * edges.count() as usize, 0)?;
        let starts = array(edges.vertices() as usize + 1, || AtomicU64::new(0))?;
        Ok(Csr { starts, ends })
    }

    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.starts) + size_of_val(&*self.ends)) as u64
    }

    /// Fills in the edges: degrees first, then each edge from the end of its row on, then the rows
    /// in order, which makes them independent of the threads.
    pub(super) fn build(&mut self, edges: &Edges, crew: &Crew) {
        let each_end = |work: &(dyn Fn(u32, u32) + Sync)| {
            crew.share(edges.count() as usize, STRETCH, |stretch| {
                for (from, to) in stretch.map(|edge| edges.get(edge as u64)) {
                    work(from, to);
                    work(to, from);
                }
            });
        };
        each_end(&|from, _| {
            self.starts[from as usize].fetch_add(1, Relaxed);
        });
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start.get_mut();
            *start.get_mut() = sum;
        }
        each_end(&|from, to| {
            let place = self.starts[from as usize].fetch_sub(1, Relaxed) - 1;
            self.ends[place as usize].store(to, Relaxed);
        });
        self.sort(crew);
    }

    fn sort(&mut self, crew: &Crew) {
        let starts = &self.starts;
        let vertices = starts.len() - 1;
        let start = |vertex: usize| starts[vertex].load(Relaxed) as usize;
        let lasts = (0..vertices)
            .step_by(STRETCH)
            .map(|first| vertices.min(first + STRETCH));
        crew.parts(&mut self.ends, lasts.map(start), |from, mut part| {
            // Empty rows at the edge of two parts are sorted in either, which does no harm.
            let mut vertex = starts.partition_point(|s| s.load(Relaxed) as usize <= from) - 1;
            while !part.is_empty() {
                let len = start(vertex + 1) - start(vertex);
                let (row, rest) = part.split_at_mut(len);
                row.sort_unstable_by_key(|end| end.load(Relaxed));
                (part, vertex) = (rest, vertex + 1);
            }
        });
    }

    pub(super) fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn degree(&self, vertex: u32) -> u64 {
        let at = |place: usize| self.starts[place].load(Relaxed);
        at(vertex as usize + 1) - at(vertex as usize)
    }

    /// The neighbours of a vertex, in order.
    #[inline]
    pub(super) fn row(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let at = |place: usize| self.starts[place].load(Relaxed) as usize;
        let row = at(vertex as usize)..at(vertex as usize + 1);
        self.ends[row].iter().map(|end| end.load(Relaxed))
    }
}

/// The first vertices of a random order that have a neighbour: Graph500's sources.
pub(super) fn sources(edges: &Edges, graph: &Csr, count: usize) -> Vec<u32> {
    let connected = |vertex: &u32| graph.row(*vertex).any(|end| end != *vertex);
    let vertices = edges.shuffled("graph.sources");
    vertices.filter(connected).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a list of lists, with any number of threads.
    #[test]
    fn rows_hold_both_directions_of_every_edge_in_order() {
        let edges = Edges::new(9, 7, 3);
        let mut naive = vec![Vec::new(); 512];
        for (from, to) in (0..edges.count()).map(|edge| edges.get(edge)) {
            naive[from as usize].push(to);
            naive[to as usize].push(from);
        }
        naive.iter_mut().for_each(|row| row.sort_unstable());
        for threads in [1, 3] {
            let mut graph = Csr::new(&edges).unwrap();
            graph.build(&edges, &Crew::new(threads));
            let rows = (0..512).map(|v| graph.row(v).collect::<Vec<_>>());
            assert!(rows.eq(naive.iter().cloned()), "{threads} threads");
            assert!((0..512).all(|v| graph.degree(v) == naive[v as usize].len() as u64));
        }
    }
}
