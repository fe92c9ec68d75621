//! N-Store's databases: how many, how many rows, where, and with which indices.

use super::super::{Arena, Array};
use super::index::{self, NODE_LINES};
use super::shape::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, LINE, NEW_ORDER, ORDER_LINE, ORDERS, SHAPES, STOCK, Shape,
    WAREHOUSE,
};
use super::table::{DATABASES, Table};
use sluice_units::Rng;

/// SkyByte Table I, in bytes. It is the pool that N-Store maps, of 16 GiB in the artifact: its
/// allocator wrote its last line (output/warmup_traces), and hardly more than 1 GiB was ever used.
const FOOTPRINT: u64 = 15_770_000_000;
/// Rows of a database, which is one warehouse (N-Store's `tpcc_benchmark.h`).
const ITEMS: u64 = 1_000;
const CUSTOMERS: u64 = 3_000;
pub(super) const DISTRICTS: u64 = 2;
/// An order has 5 to 14 lines there.
pub(super) const LINES_MAX: u64 = 14;
/// Twice the lines of an order, on average.
pub(super) const LINES_TWICE: u64 = 19;
/// What N-Store used before: the artifact's pool is 580 MB when its section begins, of which
/// loading made 405, and all transactions that made the rest left 11.4 KB each on the heap.
const POOL_BEFORE: u64 = 175_000_000;
const HEAP_BEFORE: u64 = 466_000_000;
/// The allocator looks for room from where something was freed last, at one allocation after the
/// other. A Delivery frees a row that was inserted some transactions ago, and all that came after
/// it is looked at again. In the artifact that is 169 pages in a row in front of the new ones.
const WALK_BYTES: u64 = 169 * 4096;

/// The heap of all threads' records and strings at scale 1, and a thread's at least. In SkyByte's
/// artifact seven threads touch some 265 pages each that follow each other and that no run before
/// touched (output/warmup_traces), and nearly all that its SkyByte-W programs are these pages and
/// the pool's new ones. So it has room for more than a run as long as SkyByte's allocates, 340,000
/// transactions' at scale 1, and is used again after that.
const HEAP_BYTES: u64 = 4_000_000_000;
/// Orders that a district keeps, for each of its first ones.
const ORDERS_KEPT: u64 = 8;
const SESSION_BYTES_MIN: u64 = 4 * 4096;
/// Lines that a thread's calls use again and again: its stack. N-Store's have 55 in a transaction.
pub(super) const STACK_LINES: u64 = 55;
/// Lines of a database for entries of its undo log, which are free again after each transaction:
/// of four each, the list's included, 20 in a New-Order.
pub(super) const LOG_LINES: u64 = 128;
/// The log entry and the list's node that were allocated with each row when it was loaded, and
/// freed. Nothing else that is allocated fits there and is looked for there.
const HOLE: u64 = 4 * LINE;
/// The node of the list of a table's rows, which an inserted row is put into.
pub(super) const LIST_LINES: u64 = 2;
/// Strings of the record that changes a customer: they are never freed. Each has 121 bytes.
pub(super) const LEAK_LINES: u64 = 3 * CUSTOMER.strings;

/// Rows of every table: those at the start, and places for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) items: u64,
    /// Customers of a district, and orders at the start.
    pub(super) customers: u64,
    /// Orders that a district keeps; before there is no place for one, the oldest goes.
    pub(super) orders: u64,
}

impl Sizes {
    fn new(scale: u32) -> Sizes {
        let customers = (CUSTOMERS / u64::from(scale)).max(10);
        Sizes {
            items: (ITEMS / u64::from(scale)).max(LINES_MAX),
            customers,
            orders: ORDERS_KEPT * customers + LINES_MAX,
        }
    }

    pub(super) fn districts(&self) -> u64 {
        DATABASES * DISTRICTS
    }

    /// Places for order lines in a district.
    pub(super) fn lines(&self) -> u64 {
        self.orders * LINES_TWICE.div_ceil(2) + LINES_MAX
    }

    /// Places of them that have lines at the start, or might.
    pub(super) fn first_lines(&self) -> u64 {
        self.customers * LINES_TWICE / 2 + LINES_MAX
    }

    /// Orders at the start that have been delivered: seven in ten.
    pub(super) fn delivered(&self) -> u64 {
        self.customers * 7 / 10
    }
}

/// Lines of rows that are inserted, with their nodes of lists. A row of NEW-ORDER comes behind its
/// order's, at `NEW_ORDER_AT`.
pub(super) struct NewLines {
    pub(super) order: u64,
    pub(super) line: u64,
    pub(super) history: u64,
}

const NEW_LINES: NewLines = NewLines {
    order: NEW_ORDER_AT / LINE + NEW_ORDER.lines() + LIST_LINES,
    line: ORDER_LINE.lines() + LIST_LINES,
    history: HISTORY.lines() + LIST_LINES,
};
pub(super) const NEW_ORDER_AT: u64 = loaded(&ORDERS);

/// Bytes of a row that was loaded, with the hole behind it.
const fn loaded(shape: &Shape) -> u64 {
    shape.lines() * LINE + HOLE
}

/// Where everything is.
pub(super) struct Layout {
    pub(super) arena: Arena,
    pub(super) sizes: Sizes,
    pub(super) warehouse: Table,
    pub(super) district: Table,
    pub(super) customer: Table,
    pub(super) item: Table,
    pub(super) stock: Table,
    /// Each with its row of NEW-ORDER behind it.
    pub(super) order: Table,
    pub(super) line: Table,
    /// At the start behind its customer's row.
    pub(super) history: Table,
    pub(super) new: NewLines,
    /// Memory for what is inserted, in lines.
    pub(super) new_rows: Array,
    /// Nodes of indices to come, those of a database together.
    new_nodes: Array,
    /// Strings that are never freed, `LEAK_LINES` together.
    pub(super) leaks: Array,
    pub(super) leaks_count: u64,
    /// Lines of the pool that the allocator looks at again, and the end of what was there before.
    pub(super) walk_lines: u64,
    pub(super) old_end: u64,
    pub(super) session: Array,
    pub(super) session_bytes: u64,
    pub(super) stack: Array,
    pub(super) logs: Array,
    /// Lists of columns, by database and table.
    schemas: Array,
}

impl Layout {
    pub(super) fn new(scale: u32, threads: u32) -> Layout {
        let mut arena = Arena::default();
        let sizes = Sizes::new(scale);
        let (threads, less) = (u64::from(threads), u64::from(scale));
        let session_bytes = (HEAP_BYTES / less / threads).max(SESSION_BYTES_MIN);
        let session_bytes = session_bytes.next_multiple_of(4096);
        // What is new to a run comes first: host.start = full takes pages from the end.
        let session = arena.array(threads, session_bytes);
        let d = sizes.districts();
        let more = d * (sizes.orders - sizes.customers);
        let more_lines = d * (sizes.lines() - sizes.first_lines());
        let new = more * (NEW_LINES.order + NEW_LINES.history) + more_lines * NEW_LINES.line;
        let new_rows = arena.array(new, LINE);
        let leaks = arena.array(more, LEAK_LINES * LINE);
        let nodes: u64 = Plan::all(&sizes).iter().map(|plan| plan.more).sum();
        let new_nodes = arena.array(DATABASES * nodes, NODE_LINES * LINE);
        let (new_to_run, mut rest) = (arena.footprint().0, Arena::default());
        // Laid out once to learn how long it is, and then at the end of the footprint.
        Tables::new(&mut rest, &sizes, scale, threads);
        let target = (FOOTPRINT / less).saturating_sub(rest.footprint().0);
        arena.array(1, target.saturating_sub(new_to_run));
        let tables = Tables::new(&mut arena, &sizes, scale, threads);
        Layout {
            warehouse: tables.warehouse,
            district: tables.district,
            customer: tables.customer,
            item: tables.item,
            stock: tables.stock,
            order: tables.order,
            line: tables.line,
            history: tables.history,
            schemas: tables.schemas,
            stack: tables.stack,
            logs: tables.logs,
            new: NEW_LINES,
            new_rows,
            new_nodes,
            leaks,
            leaks_count: more,
            walk_lines: walk_bytes(scale) / LINE,
            old_end: tables.old_end,
            session,
            session_bytes,
            sizes,
            arena,
        }
    }

    /// Where a table's columns are described.
    pub(super) fn schema(&self, database: u64, shape: &Shape) -> u64 {
        let table = SHAPES.iter().position(|other| std::ptr::eq(*other, shape));
        let table = table.expect("a table's shape") as u64;
        self.schemas.at(database * SHAPES.len() as u64 + table)
    }

    /// Places of the nodes of a database's indices, in the order of `Plan::all`: those between the
    /// rows, which have no order, and those to come.
    pub(super) fn places(&self, database: u64, rng: &mut Rng) -> Vec<Vec<u64>> {
        let plans = Plan::all(&self.sizes);
        let per_database: u64 = plans.iter().map(|plan| plan.more).sum();
        let mut free: Vec<Vec<u64>> = Vec::new();
        for table in 0..TABLES {
            let count = hosted(&self.sizes, table);
            let mut nodes: Vec<u64> = (0..count)
                .map(|node| self.host(table).node(database, node))
                .collect();
            rng.shuffle(&mut nodes);
            free.push(nodes);
        }
        let mut next = database * per_database;
        let place = |plan: &Plan| {
            let nodes = &mut free[plan.host];
            let mut places = nodes.split_off(nodes.len() - plan.nodes as usize);
            places.extend((next..next + plan.more).map(|node| self.new_nodes.at(node)));
            next += plan.more;
            places
        };
        plans.iter().map(place).collect()
    }

    fn host(&self, table: usize) -> &Table {
        [
            &self.item,
            &self.warehouse,
            &self.customer,
            &self.order,
            &self.line,
            &self.stock,
        ][table]
    }
}

/// Tables that have nodes between their rows, in the order of `Layout::host`.
const TABLES: usize = 6;

/// Nodes of all indices that a table has between its rows.
fn hosted(sizes: &Sizes, table: usize) -> u64 {
    let all = Plan::all(sizes);
    let here = all.iter().filter(|plan| plan.host == table);
    here.map(|plan| plan.nodes).sum()
}

/// An index: the table that its nodes were loaded with, how many nodes, and how many to come.
struct Plan {
    host: usize,
    nodes: u64,
    more: u64,
}

impl Plan {
    /// Of warehouses, districts, customers, names, histories, items, stocks, orders, a customer's
    /// latest order, new orders, lines, and an order's first line.
    fn all(sizes: &Sizes) -> [Plan; 12] {
        let rows = |per_district| DISTRICTS * per_district;
        let fixed = |host, entries| (host, entries, 0);
        [
            fixed(1, 1),
            fixed(1, DISTRICTS),
            fixed(2, rows(sizes.customers)),
            fixed(2, rows(sizes.customers)),
            fixed(2, rows(sizes.customers)),
            fixed(0, sizes.items),
            fixed(5, sizes.items),
            (3, rows(sizes.customers), rows(sizes.orders)),
            (3, rows(sizes.customers), rows(sizes.customers)),
            (3, rows(sizes.customers), rows(sizes.orders)),
            (4, rows(sizes.first_lines()), rows(sizes.lines())),
            (4, rows(sizes.customers), rows(sizes.orders)),
        ]
        .map(|(host, entries, most)| Plan {
            host,
            nodes: index::nodes(entries),
            more: if most == 0 { 0 } else { index::grown(most) },
        })
    }
}

/// What is there at the start, in the order of loading.
struct Tables {
    warehouse: Table,
    district: Table,
    customer: Table,
    item: Table,
    stock: Table,
    order: Table,
    line: Table,
    history: Table,
    old_end: u64,
    schemas: Array,
    stack: Array,
    logs: Array,
}

/// What the allocator looks at again: caches are divided by the scale, and so is this.
fn walk_bytes(scale: u32) -> u64 {
    (WALK_BYTES / u64::from(scale)).max(8 * LINE)
}

impl Tables {
    fn new(arena: &mut Arena, sizes: &Sizes, scale: u32, threads: u64) -> Tables {
        let less = u64::from(scale);
        arena.array(1, HEAP_BEFORE / less);
        let per_district = |rows| DISTRICTS * rows;
        let nodes = |table| hosted(sizes, table);
        let shapes = SHAPES.len() as u64;
        let widest = SHAPES.iter().map(|shape| shape.schema_bytes()).max();
        let schemas = arena.array(
            DATABASES * shapes,
            widest.unwrap_or(0).next_multiple_of(LINE),
        );
        let order = NEW_ORDER_AT + loaded(&NEW_ORDER);
        let with_history = loaded(&CUSTOMER) + loaded(&HISTORY);
        let mut table = |rows, bytes, nodes| Table::new(arena, rows, bytes, nodes);
        let item = table(sizes.items, loaded(&ITEM), nodes(0));
        let warehouse = table(1, loaded(&WAREHOUSE), nodes(1));
        let district = table(DISTRICTS, loaded(&DISTRICT), 0);
        let customer = table(per_district(sizes.customers), with_history, nodes(2));
        let order = table(per_district(sizes.customers), order, nodes(3));
        let line = table(
            per_district(sizes.first_lines()),
            loaded(&ORDER_LINE),
            nodes(4),
        );
        let stock = table(sizes.items, loaded(&STOCK), nodes(5));
        let grown = (POOL_BEFORE / less).max(walk_bytes(scale));
        let old_end = arena.array(1, grown).at(0) + grown / LINE * LINE;
        Tables {
            old_end,
            history: customer.behind(loaded(&CUSTOMER)),
            stack: arena.array(threads, STACK_LINES * LINE),
            logs: arena.array(DATABASES, LOG_LINES * LINE),
            warehouse,
            district,
            customer,
            item,
            stock,
            order,
            line,
            schemas,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-Store, run and measured: 67.3 MB of its pool for one database, 58 for each of seven.
    #[test]
    fn a_database_is_as_long_as_n_stores() {
        let mut arena = Arena::default();
        Tables::new(&mut arena, &Sizes::new(1), 1, 8);
        let loaded = arena.footprint().0 - HEAP_BEFORE - POOL_BEFORE;
        let each = loaded as f64 / DATABASES as f64 / 1e6;
        assert!((57.0..75.0).contains(&each), "{each} MB");
    }
}
