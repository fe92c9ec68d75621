//! Routing tables: at each node, for each destination, the directions on shortest ways.

use crate::graph::{Exit, Graph};
use crate::ids::{DirectionId, NodeId, PortId};
use sluice_units::{IndexType, Table};
use std::collections::BTreeMap;

/// Stands where no way leads to the destination.
const NO_WAY: DirectionId = DirectionId(u32::MAX);

/// Numbers from this one on, but for [`NO_WAY`], stand for sets of directions.
const FIRST_SET: u32 = 1 << 31;

/// A requester and an endpoint of which the one cannot reach the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreachable {
    pub from: NodeId,
    pub to: NodeId,
}

/// Directions of links by node and destination.
#[derive(Clone)]
pub(crate) struct RoutingTable {
    rows: Table<NodeId, Row>,
    destinations: usize,
    /// A direction, [`NO_WAY`], or [`FIRST_SET`] and where a set begins in `sets`.
    entries: Vec<DirectionId>,
    /// Sets of directions. What stands before each is no direction, but how many follow.
    sets: Vec<DirectionId>,
    known_sets: BTreeMap<Vec<DirectionId>, u32>,
}

/// Where the directions of a node are.
#[derive(Clone, Copy)]
enum Row {
    /// The node has one link, so that every way goes over it.
    Only(DirectionId),
    /// The row of entries.
    At(u32),
}

impl RoutingTable {
    /// Shortest ways by the number of links, over switches only.
    ///
    /// # Errors
    /// The first pair of edge nodes, a requester and an endpoint, without a way that `needs` says
    /// must be there.
    pub fn shortest(
        graph: &Graph,
        needs: &dyn Fn(NodeId, NodeId) -> bool,
    ) -> Result<RoutingTable, Unreachable> {
        let exits = graph.exits();
        let destinations = graph.edges() as usize;
        let mut rows = 0;
        let row_of = exits.values().iter().map(|exits| match exits[..] {
            [only] => Row::Only(only.direction),
            _ => {
                rows += 1;
                Row::At(rows - 1)
            }
        });
        let mut table = RoutingTable {
            rows: row_of.collect(),
            destinations,
            entries: Vec::new(),
            sets: Vec::new(),
            known_sets: BTreeMap::new(),
        };
        table.entries = vec![NO_WAY; rows as usize * destinations];
        let mut search = Search::new(graph, &exits);
        for to in NodeId::range(0..graph.edges()) {
            search.run(to);
            for node in exits.indices() {
                if let Row::At(_) = table.rows[node] {
                    table.set(node, to, search.nearer(node));
                }
            }
            let others = if to.0 < graph.requesters {
                graph.requesters..graph.edges()
            } else {
                0..graph.requesters
            };
            for from in NodeId::range(others) {
                if !search.reaches(from, to) && needs(from.min(to), from.max(to)) {
                    return Err(Unreachable { from, to });
                }
            }
        }
        Ok(table)
    }

    /// Gives a node its directions for a destination.
    pub fn set(&mut self, node: NodeId, to: NodeId, directions: &[DirectionId]) {
        let entry = match directions {
            [] => NO_WAY,
            [only] => *only,
            many => DirectionId(FIRST_SET | self.set_of(many)),
        };
        if let Row::At(row) = self.rows[node] {
            self.entries[row as usize * self.destinations + to.index()] = entry;
        }
    }

    /// Where a set begins.
    fn set_of(&mut self, directions: &[DirectionId]) -> u32 {
        if let Some(start) = self.known_sets.get(directions) {
            return *start;
        }
        let start = self.sets.len() as u32;
        self.sets.push(DirectionId(directions.len() as u32));
        self.sets.extend_from_slice(directions);
        self.known_sets.insert(directions.to_vec(), start);
        start
    }

    /// The directions for a destination; none if there is no way.
    #[inline]
    pub fn ways(&self, node: NodeId, to: PortId) -> &[DirectionId] {
        let entry = match &self.rows[node] {
            Row::Only(direction) => return std::slice::from_ref(direction),
            Row::At(row) => &self.entries[*row as usize * self.destinations + usize::from(to.0)],
        };
        match *entry {
            NO_WAY => &[],
            DirectionId(set @ FIRST_SET..) => {
                let first = (set & !FIRST_SET) as usize + 1;
                &self.sets[first..first + self.sets[first - 1].index()]
            }
            _ => std::slice::from_ref(entry),
        }
    }

    /// A circle of switches in which packets for a destination could go round, if there is one.
    pub fn circle(&self, graph: &Graph, to: NodeId) -> Option<Vec<NodeId>> {
        let mut visits = Table::filled(graph.nodes(), Visit::None);
        for start in NodeId::range(graph.edges()..graph.nodes()) {
            let mut path = Vec::new();
            if self.visit(graph, to, start, &mut visits, &mut path) {
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
        to: NodeId,
        node: NodeId,
        visits: &mut Table<NodeId, Visit>,
        path: &mut Vec<NodeId>,
    ) -> bool {
        match visits[node] {
            Visit::Done => return false,
            Visit::OnPath => {
                path.push(node);
                return true;
            }
            Visit::None => (),
        }
        visits[node] = Visit::OnPath;
        path.push(node);
        for direction in self.ways(node, to.port_id()) {
            let next = graph.direction(*direction).1;
            if graph.forwards(next) && self.visit(graph, to, next, visits, path) {
                return true;
            }
        }
        path.pop();
        visits[node] = Visit::Done;
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    None,
    OnPath,
    Done,
}

/// The distance of a node that was not reached.
const UNREACHED: u32 = u32::MAX;

/// Breadth first from one destination after the other, over switches only.
///
/// A search ends after the level at which the last node was reached that needs directions: a switch
/// or an edge node with several links. Where each switch is joined to each, it looks at the links
/// of one of them instead of all.
struct Search<'a> {
    graph: &'a Graph,
    exits: &'a Table<NodeId, Vec<Exit>>,
    /// Nodes to be reached.
    wanted: u32,
    /// Links from each node to the destination.
    distances: Table<NodeId, u32>,
    /// The directions of each node that lead nearer to the destination.
    nearer: Table<NodeId, Vec<DirectionId>>,
    /// Nodes of the level that is looked at, and of the next one.
    level: Vec<NodeId>,
    next: Vec<NodeId>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, exits: &'a Table<NodeId, Vec<Exit>>) -> Search<'a> {
        let mut search = Search {
            graph,
            exits,
            wanted: 0,
            distances: Table::filled(graph.nodes(), UNREACHED),
            nearer: Table::filled(graph.nodes(), Vec::new()),
            level: Vec::new(),
            next: Vec::new(),
        };
        let wanted = exits.indices().filter(|node| search.is_wanted(*node));
        search.wanted = wanted.count() as u32;
        search
    }

    fn is_wanted(&self, node: NodeId) -> bool {
        match self.exits[node].len() {
            0 => false,
            1 => self.graph.forwards(node),
            _ => true,
        }
    }

    /// Looks for ways to `to`.
    fn run(&mut self, to: NodeId) {
        self.distances.values_mut().fill(UNREACHED);
        self.nearer.values_mut().iter_mut().for_each(Vec::clear);
        self.distances[to] = 0;
        let mut left = self.wanted - u32::from(self.is_wanted(to));
        self.level.clear();
        self.level.push(to);
        let mut distance = 0;
        while left > 0 && !self.level.is_empty() {
            distance += 1;
            left -= self.look_at_level(distance);
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear();
        }
    }

    /// Reaches what lies `distance` links from the destination; says how many of it are wanted.
    fn look_at_level(&mut self, distance: u32) -> u32 {
        let mut found = 0;
        for node in &self.level {
            // Links go both ways, so what leaves a node leads to those that reach it.
            for exit in &self.exits[*node] {
                if self.distances[exit.to] == UNREACHED {
                    self.distances[exit.to] = distance;
                    found += u32::from(self.is_wanted(exit.to));
                    if self.graph.forwards(exit.to) {
                        self.next.push(exit.to);
                    }
                }
                if self.distances[exit.to] == distance {
                    self.nearer[exit.to].push(exit.direction.back());
                }
            }
        }
        found
    }

    /// The directions of a node that lead nearer, in the order of the links.
    fn nearer(&mut self, node: NodeId) -> &[DirectionId] {
        self.nearer[node].sort_unstable();
        &self.nearer[node]
    }

    /// Whether an edge node reaches the destination: one with a single link by the node at its end.
    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        let passes = |node| node == to || self.graph.forwards(node);
        let mut ends = self.exits[from].iter().map(|exit| exit.to);
        ends.any(|end| passes(end) && self.distances[end] != UNREACHED)
    }
}
