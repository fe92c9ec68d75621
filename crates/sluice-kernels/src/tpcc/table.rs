//! Where the rows of the start are: table by table as they were loaded, by all databases at once,
//! with the nodes of the indices that grew between them.

use super::super::Arena;
use super::index::NODE_LINES;
use super::shape::LINE;

/// N-Store has a database for each executor, and its table of pointers room for seven of TPC-C's.
/// The artifact's lists have seven threads' heaps, and the pool as long as seven databases are.
pub const DATABASES: u64 = 7;
pub(super) const NODE_BYTES: u64 = NODE_LINES * LINE;

/// Rows of the start: the first of every database, then the second of every one.
#[derive(Clone, Copy)]
pub(super) struct Table {
    base: u64,
    /// Rows of a database.
    pub(super) rows: u64,
    /// Bytes of a row and what lies behind it.
    bytes: u64,
    /// After so many rows of each database comes a node for each.
    per: u64,
}

impl Table {
    /// A table of `rows` in each database, and `nodes` between them.
    pub(super) fn new(arena: &mut Arena, rows: u64, bytes: u64, nodes: u64) -> Table {
        let per = (rows / nodes.max(1)).max(1);
        // A few rows have more than one node each.
        let between = rows.div_ceil(per).max(nodes);
        let all = rows * bytes + between * NODE_BYTES;
        Table {
            base: arena.array(DATABASES, all).at(0),
            rows,
            bytes,
            per,
        }
    }

    /// A row; those of a database follow each other.
    pub(super) fn at(&self, row: u64) -> u64 {
        let (database, row) = (row / self.rows, row % self.rows);
        let nodes = row / self.per * DATABASES * NODE_BYTES;
        self.base + (row * DATABASES + database) * self.bytes + nodes
    }

    /// A node of a database.
    pub(super) fn node(&self, database: u64, node: u64) -> u64 {
        let rows = ((node + 1) * self.per).min(self.rows) * DATABASES * self.bytes;
        self.base + rows + (node * DATABASES + database) * NODE_BYTES
    }

    /// Another row behind each.
    pub(super) fn behind(&self, bytes: u64) -> Table {
        Table {
            base: self.base + bytes,
            ..*self
        }
    }
}
