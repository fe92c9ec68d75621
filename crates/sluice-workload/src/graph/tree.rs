//! Is it a breadth-first tree? The five rules of Graph500.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::crew::Crew;
use super::edges::Edges;
use super::{NONE, cells};
use crate::error::Error;

/// Edges that a thread takes at once.
const STRETCH: usize = 4096;
/// In a level: the edge to the parent was met.
const MET: u32 = 1 << 31;

/// Each vertex's distance from the source along the tree. Found from the parents alone, so that
/// nothing of the search is taken at its word.
pub(super) struct Levels {
    cells: Vec<AtomicU32>,
}

impl Levels {
    pub(super) fn new(vertices: usize) -> Result<Levels, Error> {
        let cells = cells(vertices, NONE)?;
        Ok(Levels { cells })
    }

    pub(super) fn bytes(&self) -> u64 {
        size_of_val(&*self.cells) as u64
    }

    /// Checks that the parents are a breadth-first tree of the graph that has these edges: a tree
    /// without cycles (1), of edges of the graph (5) between neighbouring levels (2), that no edge
    /// leaves (4) or shortens (3).
    pub(super) fn validate(
        &mut self,
        tree: &[AtomicU32],
        source: u32,
        edges: &Edges,
        crew: &Crew,
    ) -> Result<(), NoTree> {
        self.climb(tree, source)?;
        let wrong = AtomicU64::new(u64::MAX);
        crew.share(edges.count() as usize, STRETCH, |stretch| {
            for edge in stretch {
                let (from, to) = edges.get(edge as u64);
                if !self.meets(tree, from, to) {
                    wrong.fetch_min(edge as u64, Relaxed);
                }
            }
        });
        let first = wrong.into_inner();
        if first < edges.count() {
            let (from, to) = edges.get(first);
            return Err(NoTree {
                root: source,
                fault: self.fault(from, to),
            });
        }
        let unmet = |(vertex, cell): &(usize, &AtomicU32)| {
            let level = cell.load(Relaxed);
            level != NONE && level & MET == 0 && *vertex != source as usize
        };
        match self.cells.iter().enumerate().find(unmet) {
            Some((vertex, _)) => Err(NoTree {
                root: source,
                fault: Fault::NoEdge {
                    vertex,
                    parent: tree[vertex].load(Relaxed),
                },
            }),
            None => Ok(()),
        }
    }

    /// Finds the level of every vertex in the tree; each is climbed from at most twice.
    fn climb(&mut self, tree: &[AtomicU32], source: u32) -> Result<(), NoTree> {
        let parent = |vertex: u32| tree[vertex as usize].load(Relaxed);
        self.cells
            .iter_mut()
            .for_each(|cell| *cell.get_mut() = NONE);
        if parent(source) != source {
            return Err(NoTree {
                root: source,
                fault: Fault::Root,
            });
        }
        *self.cells[source as usize].get_mut() = 0;
        let named = (0..tree.len() as u32).filter(|vertex| parent(*vertex) != NONE);
        for vertex in named {
            let (mut at, mut steps) = (vertex, 0);
            while *self.cells[at as usize].get_mut() == NONE {
                let up = parent(at);
                if up as usize >= tree.len() || steps == tree.len() as u32 {
                    return Err(NoTree {
                        root: source,
                        fault: Fault::Lost(vertex),
                    });
                }
                (at, steps) = (up, steps + 1);
            }
            let mut level = *self.cells[at as usize].get_mut() + steps;
            at = vertex;
            while *self.cells[at as usize].get_mut() == NONE {
                *self.cells[at as usize].get_mut() = level;
                (at, level) = (parent(at), level - 1);
            }
        }
        Ok(())
    }

    /// Whether an edge may be there: both ends unreached, or on levels at most one apart.
    fn meets(&self, tree: &[AtomicU32], from: u32, to: u32) -> bool {
        let level = |vertex: u32| self.cells[vertex as usize].load(Relaxed);
        let (a, b) = (level(from), level(to));
        if a == NONE || b == NONE {
            return a == b;
        }
        for (child, up, level) in [(from, to, a), (to, from, b)] {
            if level & MET == 0 && tree[child as usize].load(Relaxed) == up {
                self.cells[child as usize].fetch_or(MET, Relaxed);
            }
        }
        (a & !MET).abs_diff(b & !MET) <= 1
    }

    /// What is wrong with an edge that may not be there.
    fn fault(&self, from: u32, to: u32) -> Fault {
        let end = |vertex: u32| End {
            vertex,
            level: match self.cells[vertex as usize].load(Relaxed) {
                NONE => None,
                level => Some(level & !MET),
            },
        };
        Fault::Edge(end(from), end(to))
    }
}

/// Why parents are no breadth-first tree.
#[derive(Debug, thiserror::Error)]
#[error("search from {root}: {fault}")]
pub(super) struct NoTree {
    root: u32,
    fault: Fault,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("it is not its own parent")]
    Root,
    #[error("vertex {0} does not lead to the source")]
    Lost(u32),
    #[error("no edge from vertex {vertex} to its parent {parent}")]
    NoEdge { vertex: usize, parent: u32 },
    #[error("an edge joins {0}, and {1}")]
    Edge(End, End),
}

/// An end of an edge, and its distance from the source if it was reached.
#[derive(Debug)]
struct End {
    vertex: u32,
    level: Option<u32>,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "vertex {}, of level {level}", self.vertex),
            None => write!(f, "vertex {}, which was not reached", self.vertex),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bfs::Search;
    use super::super::csr::{Csr, sources};
    use super::*;
    use std::collections::VecDeque;

    struct Rig {
        edges: Edges,
        graph: Csr,
        search: Search,
        source: u32,
    }

    /// Of few edges, so that some vertices are not reached and the levels are several.
    fn rig(threads: usize, per_vertex: u64) -> Rig {
        let edges = Edges::new(9, per_vertex, 11);
        let mut graph = Csr::new(&edges).unwrap();
        let crew = Crew::new(threads);
        graph.build(&edges, &crew);
        let source = sources(&edges, &graph, 1)[0];
        let mut search = Search::new(512).unwrap();
        search.run(&graph, source, &crew);
        Rig {
            edges,
            graph,
            search,
            source,
        }
    }

    fn parents(rig: &Rig) -> Vec<u32> {
        let tree = rig.search.tree();
        tree.iter().map(|parent| parent.load(Relaxed)).collect()
    }

    fn validate(rig: &Rig, parents: &[u32]) -> Result<(), NoTree> {
        let tree: Vec<_> = parents.iter().copied().map(AtomicU32::new).collect();
        let mut levels = Levels::new(512).unwrap();
        levels.validate(&tree, rig.source, &rig.edges, &Crew::new(2))
    }

    /// Depths by a queue, over the edges as they were drawn.
    fn naive(rig: &Rig) -> Vec<u32> {
        let mut depths = vec![NONE; 512];
        depths[rig.source as usize] = 0;
        let mut queue = VecDeque::from([rig.source]);
        let drawn: Vec<_> = (0..rig.edges.count()).map(|e| rig.edges.get(e)).collect();
        while let Some(at) = queue.pop_front() {
            for (from, to) in &drawn {
                for (here, there) in [(*from, *to), (*to, *from)] {
                    if here == at && depths[there as usize] == NONE {
                        depths[there as usize] = depths[at as usize] + 1;
                        queue.push_back(there);
                    }
                }
            }
        }
        depths
    }

    #[test]
    fn the_search_is_right_with_any_number_of_threads() {
        for per_vertex in [1, 16] {
            let one = rig(1, per_vertex);
            let depths = naive(&one);
            assert_eq!(parents(&one), parents(&rig(3, per_vertex)));
            assert!(validate(&one, &parents(&one)).is_ok());
            for (vertex, parent) in parents(&one).into_iter().enumerate() {
                // The least neighbour of the level before; the source is its own.
                let before = |end: &u32| depths[*end as usize].wrapping_add(1) == depths[vertex];
                let least = match depths[vertex] {
                    NONE => NONE,
                    0 => one.source,
                    _ => one.graph.row(vertex as u32).find(before).unwrap(),
                };
                assert_eq!(parent, least, "vertex {vertex}");
            }
        }
    }

    /// The message about the first edge that may not be there, if these are the levels.
    fn first_fault(rig: &Rig, levels: &[u32]) -> String {
        let level = |end: u32| levels[end as usize];
        let drawn = (0..rig.edges.count()).map(|edge| rig.edges.get(edge));
        let mut wrong = drawn.filter(|(from, to)| level(*from).abs_diff(level(*to)) > 1);
        let (from, to) = wrong.next().unwrap();
        let [from, to] = [from, to].map(|end| match level(end) {
            NONE => format!("vertex {end}, which was not reached"),
            level => format!("vertex {end}, of level {level}"),
        });
        format!("search from {}: an edge joins {from}, and {to}", rig.source)
    }

    #[test]
    fn each_broken_rule_is_told() {
        let rig = rig(1, 1);
        let (right, depths) = (parents(&rig), naive(&rig));
        let at = |depth| depths.iter().position(|d| *d == depth).unwrap();
        let told = |vertex: usize, parent: usize| {
            let mut wrong = right.clone();
            wrong[vertex] = parent as u32;
            validate(&rig, &wrong).unwrap_err().to_string()
        };
        // A cycle, a hole, a vertex that is nobody's, a source that has a parent.
        assert!(told(at(2), at(2)).contains("does not lead to the source"));
        let leaf = (0..512).find(|v| depths[*v] == 3 && !right.contains(&(*v as u32)));
        let with_leaf_at = |level: u32| {
            let mut levels = depths.clone();
            levels[leaf.unwrap()] = level;
            first_fault(&rig, &levels)
        };
        assert_eq!(told(leaf.unwrap(), NONE as usize), with_leaf_at(NONE));
        assert!(told(at(2), 700).contains("does not lead to the source"));
        assert!(told(rig.source as usize, at(1)).contains("not its own parent"));
        // A parent of the right level without an edge, and one too deep.
        let stranger = (0..512u32).find(|v| {
            depths[*v as usize] == 2 && !rig.graph.row(leaf.unwrap() as u32).any(|end| end == *v)
        });
        assert!(told(leaf.unwrap(), stranger.unwrap() as usize).contains("no edge from vertex"));
        assert_eq!(told(leaf.unwrap(), at(4)), with_leaf_at(5));
    }
}
