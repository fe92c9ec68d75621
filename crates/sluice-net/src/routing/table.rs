//! Routing tables: at each node, for each destination, the directions on shortest ways.

use crate::graph::Graph;
use std::collections::{BTreeMap, VecDeque};

/// A choice of several directions begins at this number.
const SET: u32 = 1 << 31;

/// No way.
const NONE: u32 = u32::MAX;

/// A node that cannot reach another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable {
    pub from: u32,
    pub to: u32,
}

/// Directions of links by node and destination.
#[derive(Clone)]
pub(crate) struct Table {
    /// For each node with one link its direction, for others the row of entries.
    rows: Vec<Row>,
    destinations: usize,
    /// A direction, or the place of a set.
    entries: Vec<u32>,
    /// Sets of directions, each with its length before it.
    sets: Vec<u32>,
    known: BTreeMap<Vec<u32>, u32>,
}

#[derive(Clone, Copy)]
enum Row {
    Only(u32),
    At(u32),
}

impl Table {
    /// Shortest ways by the number of links, over switches only.
    ///
    /// # Errors
    /// The first pair of edge nodes, a requester and an endpoint, without a way that `needs` says
    /// must be there.
    pub fn shortest(graph: &Graph, needs: &dyn Fn(u32, u32) -> bool) -> Result<Table, Unreachable> {
        let leaving = graph.leaving();
        let destinations = graph.edges() as usize;
        let mut row = 0;
        let rows = leaving.iter().map(|leaving| match leaving[..] {
            [only] => Row::Only(only),
            _ => {
                row += 1;
                Row::At(row - 1)
            }
        });
        let rows: Vec<Row> = rows.collect();
        let mut table = Table {
            rows,
            destinations,
            entries: vec![NONE; row as usize * destinations],
            sets: Vec::new(),
            known: BTreeMap::new(),
        };
        for to in 0..graph.edges() {
            let distances = distances(graph, &leaving, to);
            table.fill(graph, &leaving, &distances, to);
            let strangers = if to < graph.requesters {
                graph.requesters..graph.edges()
            } else {
                0..graph.requesters
            };
            for from in strangers {
                let endpoint = from.max(to) - graph.requesters;
                if distances[from as usize] == NONE && needs(from.min(to), endpoint) {
                    return Err(Unreachable { from, to });
                }
            }
        }
        Ok(table)
    }

    fn fill(&mut self, graph: &Graph, leaving: &[Vec<u32>], distances: &[u32], to: u32) {
        for node in 0..graph.names.len() as u32 {
            let Row::At(_) = self.rows[node as usize] else {
                continue;
            };
            let here = distances[node as usize];
            let nearer = leaving[node as usize].iter().copied().filter(|direction| {
                let next = graph.direction(*direction).1;
                let passes = next == to || graph.forwards(next);
                passes && here != NONE && distances[next as usize].wrapping_add(1) == here
            });
            let nearer: Vec<u32> = nearer.collect();
            self.set(node, to, &nearer);
        }
    }

    /// Gives a node its directions for a destination.
    pub fn set(&mut self, node: u32, to: u32, directions: &[u32]) {
        let entry = match directions {
            [] => NONE,
            [only] => *only,
            many => self.set_of(many),
        };
        if let Row::At(row) = self.rows[node as usize] {
            self.entries[row as usize * self.destinations + to as usize] = entry;
        }
    }

    fn set_of(&mut self, directions: &[u32]) -> u32 {
        if let Some(place) = self.known.get(directions) {
            return *place;
        }
        let place = SET | self.sets.len() as u32;
        self.sets.push(directions.len() as u32);
        self.sets.extend_from_slice(directions);
        self.known.insert(directions.to_vec(), place);
        place
    }

    /// The directions for a destination; none if there is no way.
    #[inline]
    pub fn ways(&self, node: u32, to: u16) -> &[u32] {
        let entry = match &self.rows[node as usize] {
            Row::Only(direction) => return std::slice::from_ref(direction),
            Row::At(row) => &self.entries[*row as usize * self.destinations + usize::from(to)],
        };
        match *entry {
            NONE => &[],
            set if set & SET != 0 => {
                let start = (set & !SET) as usize + 1;
                &self.sets[start..start + self.sets[start - 1] as usize]
            }
            _ => std::slice::from_ref(entry),
        }
    }

    /// A circle of switches in which packets for a destination could go round, if there is one.
    pub fn circle(&self, graph: &Graph, to: u32) -> Option<Vec<u32>> {
        let mut state = vec![State::New; graph.names.len()];
        for start in graph.edges()..graph.names.len() as u32 {
            let mut path = Vec::new();
            if self.visit(graph, to, start, &mut state, &mut path) {
                let again = path.iter().position(|node| Some(node) == path.last());
                return Some(path.split_off(again.unwrap_or(0)));
            }
        }
        None
    }

    /// Depth first; true with the path to a switch that is on it already.
    fn visit(
        &self,
        graph: &Graph,
        to: u32,
        node: u32,
        state: &mut [State],
        path: &mut Vec<u32>,
    ) -> bool {
        match state[node as usize] {
            State::Done => return false,
            State::OnPath => {
                path.push(node);
                return true;
            }
            State::New => (),
        }
        state[node as usize] = State::OnPath;
        path.push(node);
        for direction in self.ways(node, to as u16) {
            let next = graph.direction(*direction).1;
            if graph.forwards(next) && self.visit(graph, to, next, state, path) {
                return true;
            }
        }
        path.pop();
        state[node as usize] = State::Done;
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    OnPath,
    Done,
}

/// Links from each node to a destination, by way of switches only.
fn distances(graph: &Graph, leaving: &[Vec<u32>], to: u32) -> Vec<u32> {
    let mut distances = vec![NONE; graph.names.len()];
    let mut queue = VecDeque::from([to]);
    distances[to as usize] = 0;
    while let Some(node) = queue.pop_front() {
        // Links go both ways, so what leaves a node leads to those that reach it.
        for direction in &leaving[node as usize] {
            let next = graph.direction(*direction).1;
            if distances[next as usize] == NONE {
                distances[next as usize] = distances[node as usize] + 1;
                if graph.forwards(next) {
                    queue.push_back(next);
                }
            }
        }
    }
    distances
}
