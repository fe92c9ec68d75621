//! Where rows are: those of the start by warehouse, in the order of loading, and what transactions
//! insert one after the other in memory that nobody used before, whatever its table.
//!
//! So N-Store's allocator has them, and so do the pages of SkyByte's artifact
//! (doi:10.5281/zenodo.14660184, output/warmup_traces): of 13,882 pages that its section touches of
//! N-Store's pool, 728 are one stretch at its end that no run before touched.

use super::super::Array;
use super::layout::{DISTRICTS, Layout, Sizes};

/// Rows lie on multiples of so many bytes.
pub(super) const ALIGN: u64 = 16;
/// A row that has no place yet.
const NOWHERE: u32 = u32::MAX;

/// Rows of the start, those of each warehouse together in its block.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) base: u64,
    /// Bytes of a warehouse with all its tables.
    pub(super) block: u64,
    /// Rows of a warehouse.
    pub(super) rows: u64,
    /// Bytes of a row.
    pub(super) bytes: u64,
}

impl Table {
    pub(super) fn at(&self, row: u64) -> u64 {
        self.base + row / self.rows * self.block + row % self.rows * self.bytes
    }
}

/// A table that grows: each district has places for rows, which it uses in turn. Some have rows
/// at the start; the others get an address with their first row and keep it.
struct Growing {
    table: Table,
    /// Places of a district: how many, and those with rows at the start.
    places: u64,
    from: u64,
    until: u64,
    /// In multiples of `ALIGN` from the beginning of the new rows.
    inserted: Vec<u32>,
}

impl Growing {
    fn new(table: Table, sizes: &Sizes, places: u64, from: u64) -> Growing {
        Growing {
            table,
            places,
            from,
            until: from + table.rows / DISTRICTS,
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
            *next += (self.table.bytes / ALIGN) as u32;
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
        Rows {
            // Orders are numbered from 1.
            orders: Growing::new(layout.order, sizes, sizes.orders, 1),
            lines: Growing::new(layout.line, sizes, sizes.lines(), 0),
            history: Growing::new(layout.history, sizes, sizes.orders, 0),
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
    use super::*;
    use std::collections::BTreeMap;

    /// Every row of every table, once and apart from all others.
    #[test]
    fn no_two_rows_overlap() {
        let layout = Layout::new(8192, 2);
        let (sizes, mut rows) = (layout.sizes, Rows::new(&layout));
        let (w, d) = (sizes.warehouses, sizes.districts());
        let mut places = BTreeMap::new();
        let mut put = |at: u64, bytes| assert_eq!(places.insert(at, bytes), None, "{at}");
        for (table, count) in [
            (layout.warehouse, w),
            (layout.district, d),
            (layout.customer, d * sizes.customers),
            (layout.stock, w * sizes.items),
        ] {
            (0..count).for_each(|row| put(table.at(row), table.bytes));
        }
        for row in 0..d * sizes.orders {
            put(rows.insert_order(row), layout.order.bytes);
            put(rows.insert_history(row), layout.history.bytes);
        }
        for row in 0..d * sizes.lines() {
            put(rows.insert_line(row), layout.line.bytes);
        }
        assert_eq!(
            rows.insert_line(d * sizes.lines() - 1),
            rows.line(d * sizes.lines() - 1)
        );
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
        assert_eq!(line, first + layout.order.bytes);
        assert_eq!(rows.insert_history(0), layout.history.at(0), "it was there");
        assert_eq!(
            (rows.order(new), rows.line(5 * sizes.lines() - 1)),
            (first, line)
        );
    }
}
