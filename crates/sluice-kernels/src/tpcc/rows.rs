//! Where rows are. Those of the start lie table by table as they were loaded, by all databases at
//! once, with the nodes of the indices that grew between them. Those that transactions insert lie
//! one after the other in memory that nobody used before, whatever their table and database.
//!
//! N-Store's allocator places them so, and so do the pages of SkyByte's artifact
//! (doi:10.5281/zenodo.14660184, output/warmup_traces). Of N-Store's pool its section touches
//! 13,882 pages. Of these, 728 are one stretch at the pool's end that no run before touched, and
//! 5,051 of the others have no neighbour.

use super::super::Array;
use super::layout::{DISTRICTS, Layout, Sizes};
use super::table::Table;

/// A row that has no place yet.
const NOWHERE: u32 = u32::MAX;

/// A table that grows: each district has places for rows, which it uses in turn. Some have rows
/// at the start; the others get an address with their first row and keep it.
struct Growing {
    table: Table,
    /// Places of a district: how many, and those with rows at the start.
    places: u64,
    from: u64,
    until: u64,
    /// Lines of a new row.
    lines: u64,
    /// In lines from the beginning of the new rows.
    inserted: Vec<u32>,
}

impl Growing {
    fn new(table: Table, sizes: &Sizes, lines: u64, places: u64, from: u64) -> Growing {
        Growing {
            table,
            places,
            from,
            until: from + table.rows / DISTRICTS,
            lines,
            inserted: vec![NOWHERE; (sizes.districts() * places) as usize],
        }
    }

    fn at(&self, row: u64, new: Array) -> u64 {
        let (district, place) = (row / self.places, row % self.places);
        if (self.from..self.until).contains(&place) {
            return (self.table).at(district * (self.until - self.from) + place - self.from);
        }
        let inserted = self.inserted[row as usize];
        debug_assert!(inserted != NOWHERE, "row {row} was never inserted");
        new.at(u64::from(inserted))
    }

    /// The address of a row that is put into its place, which is the next new one if the place
    /// never had a row.
    fn insert(&mut self, row: u64, new: Array, next: &mut u32) -> u64 {
        let place = row % self.places;
        if !(self.from..self.until).contains(&place) && self.inserted[row as usize] == NOWHERE {
            self.inserted[row as usize] = *next;
            *next += self.lines as u32;
        }
        self.at(row, new)
    }
}

/// The tables that grow.
pub(super) struct Rows {
    orders: Growing,
    lines: Growing,
    history: Growing,
    new: Array,
    next: u32,
}

impl Rows {
    pub(super) fn new(layout: &Layout) -> Rows {
        let sizes = &layout.sizes;
        let growing = |table, lines, places, from| Growing::new(table, sizes, lines, places, from);
        Rows {
            // Orders are numbered from 1.
            orders: growing(layout.order, layout.new.order, sizes.orders, 1),
            lines: growing(layout.line, layout.new.line, sizes.lines(), 0),
            history: growing(layout.history, layout.new.history, sizes.orders, 0),
            new: layout.new_rows,
            next: 0,
        }
    }

    pub(super) fn order(&self, row: u64) -> u64 {
        self.orders.at(row, self.new)
    }

    pub(super) fn line(&self, row: u64) -> u64 {
        self.lines.at(row, self.new)
    }

    /// Lines that were inserted.
    pub(super) fn inserted(&self) -> u64 {
        u64::from(self.next)
    }

    pub(super) fn insert_order(&mut self, row: u64) -> u64 {
        self.orders.insert(row, self.new, &mut self.next)
    }

    pub(super) fn insert_line(&mut self, row: u64) -> u64 {
        self.lines.insert(row, self.new, &mut self.next)
    }

    pub(super) fn insert_history(&mut self, row: u64) -> u64 {
        self.history.insert(row, self.new, &mut self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Data;
    use super::super::shape::{CUSTOMER, DISTRICT, ITEM, LINE, STOCK, WAREHOUSE};
    use super::super::table::{DATABASES, NODE_BYTES};
    use super::*;
    use std::collections::BTreeMap;

    /// Every row of every table, once and apart from all others, and every node at the start.
    #[test]
    fn no_two_rows_overlap() {
        let layout = Layout::new(8192, 2);
        let (sizes, mut rows) = (layout.sizes, Rows::new(&layout));
        let d = sizes.districts();
        let mut places = BTreeMap::new();
        let mut put = |at: u64, bytes| assert_eq!(places.insert(at, bytes), None, "{at}");
        for (table, count, bytes) in [
            (layout.warehouse, DATABASES, WAREHOUSE.lines() * LINE),
            (layout.district, d, DISTRICT.lines() * LINE),
            (
                layout.customer,
                d * sizes.customers,
                CUSTOMER.lines() * LINE,
            ),
            (layout.item, DATABASES * sizes.items, ITEM.lines() * LINE),
            (layout.stock, DATABASES * sizes.items, STOCK.lines() * LINE),
        ] {
            (0..count).for_each(|row| put(table.at(row), bytes));
        }
        for row in 0..d * sizes.orders {
            put(rows.insert_order(row), layout.new.order * LINE);
            put(rows.insert_history(row), layout.new.history * LINE);
        }
        for row in 0..d * sizes.lines() {
            put(rows.insert_line(row), layout.new.line * LINE);
        }
        let data = Data::load(&layout, 1);
        let trees = data.index.iter().flat_map(|index| index.changing());
        for node in trees.flat_map(|(_, tree)| tree.places()) {
            put(*node, NODE_BYTES);
        }
        let mut end = 0;
        for (at, bytes) in places {
            assert!(at >= end, "{at} lies before {end}");
            end = at + bytes;
        }
        assert!(end <= layout.arena.footprint().0);
    }

    #[test]
    fn what_is_inserted_follows_in_new_memory() {
        let layout = Layout::new(8192, 2);
        let (sizes, mut rows) = (layout.sizes, Rows::new(&layout));
        let new = sizes.customers + 1;
        let first = rows.insert_order(new);
        assert_eq!(first, layout.new_rows.at(0));
        let line = rows.insert_line(5 * sizes.lines() - 1);
        assert_eq!(line, first + layout.new.order * LINE);
        assert_eq!(rows.insert_history(0), layout.history.at(0), "it was there");
        assert_eq!(
            (rows.order(new), rows.line(5 * sizes.lines() - 1)),
            (first, line)
        );
    }

    #[test]
    fn databases_lie_beside_each_other() {
        let layout = Layout::new(16, 8);
        let items = layout.sizes.items;
        let next = layout.stock.at(items) - layout.stock.at(0);
        assert_eq!(
            layout.stock.at(2 * items + 3) - layout.stock.at(items + 3),
            next
        );
    }
}
