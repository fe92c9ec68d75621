//! The nine tables: how many rows, how long, where, and in which indices.

use super::super::store::TreePlan;
use super::super::{Arena, Array};
use super::rows::{ALIGN, Table};
use sluice_units::Rng;

/// SkyByte Table I, in bytes.
const FOOTPRINT: u64 = 15_770_000_000;
/// Warehouses at scale 1. Rows as TPC-C has them then fill three quarters of the footprint, and
/// orders to come the rest.
const WAREHOUSES: u64 = 120;
/// Of so many warehouses the terminals of one are at work at a time. A terminal has one home
/// warehouse (TPC-C 2.4.1.1), and SkyByte's section is short (some thousand transactions): its
/// artifact reads a page of flash at 1.1 % of the off-chip accesses, ours at 1.5 %.
const AT_WORK: u64 = 30;
/// TPC-C 4.3.3.1.
const ITEMS: u64 = 100_000;
const CUSTOMERS: u64 = 3_000;
pub(super) const DISTRICTS: u64 = 10;
/// Lines of an order, on average and at most (TPC-C 2.4.1.3).
const LINES: u64 = 10;
pub(super) const LINES_MAX: u64 = 15;
/// Entries put in a node at the start.
const FILL: usize = 28;
/// The heap of all threads' records and strings at scale 1, and a thread's at least. N-Store frees
/// hardly any of them: not the records that answers are turned into (`deserialize`), nor the
/// strings of a statement's record. In SkyByte's artifact seven threads touch some 265 pages each
/// that follow each other and that no run before touched (output/warmup_traces), and nearly all
/// that its SkyByte-W programs are these pages and the pool's new ones, 40 to 64 lines of each. So
/// it has room for all that a run as long as SkyByte's allocates, and is used again after that.
const HEAP_BYTES: u64 = 128 << 20;
const SESSION_BYTES_MIN: u64 = 4 * 4096;

/// Schema pointer and length in front of every row.
pub(super) const HEADER: u64 = 16;

/// Part of a row: offset and bytes.
pub(super) type Field = (u64, u64);

/// Columns by the order and sizes of TPC-C 1.3.
pub(super) mod column {
    use super::{Field, HEADER};

    pub(crate) const W_NAME_TO_TAX: Field = (HEADER + 2, 83);
    pub(crate) const W_YTD: Field = (HEADER + 81, 8);
    pub(crate) const D_TAX: Field = (HEADER + 75, 4);
    pub(crate) const D_ADDRESS: Field = (HEADER + 3, 72);
    pub(crate) const D_YTD: Field = (HEADER + 79, 8);
    pub(crate) const D_NEXT_O_ID: Field = (HEADER + 87, 4);
    pub(crate) const C_NAME: Field = (HEADER + 5, 34);
    pub(crate) const C_ADDRESS: Field = (HEADER + 39, 95);
    pub(crate) const C_CREDIT: Field = (HEADER + 134, 14);
    pub(crate) const C_BALANCE_TO_COUNTS: Field = (HEADER + 148, 20);
    pub(crate) const C_DATA: Field = (HEADER + 168, 487);
    pub(crate) const O_ALL: Field = (HEADER, 24);
    pub(crate) const O_CARRIER: Field = (HEADER + 16, 2);
    pub(crate) const OL_ALL: Field = (HEADER, 54);
    pub(crate) const OL_ITEM: Field = (HEADER + 8, 6);
    pub(crate) const OL_DELIVERY_D: Field = (HEADER + 14, 8);
    pub(crate) const S_QUANTITY: Field = (HEADER + 6, 2);
    pub(crate) const S_YTD_TO_COUNTS: Field = (HEADER + 248, 8);
    pub(crate) const S_DATA: Field = (HEADER + 256, 50);
    pub(crate) const I_ALL: Field = (HEADER, 82);

    /// S_DIST_xx of a district.
    pub(crate) fn s_dist(district: u64) -> Field {
        (HEADER + 8 + 24 * district, 24)
    }
}

/// Rows of every table: those at the start, and places for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) warehouses: u64,
    pub(super) items: u64,
    /// Customers of a district, and orders at the start.
    pub(super) customers: u64,
    /// Orders that a district keeps; before there is no place for one, the oldest goes.
    pub(super) orders: u64,
}

impl Sizes {
    /// At scale s warehouses are fewer by s^1/3, and items, customers and orders of a district by
    /// s^2/3: so the small tables shrink nearly as the caches do.
    fn new(scale: u32, orders: u64) -> Sizes {
        let root = root(u64::from(scale));
        let less = |count: u64| count * 1_000_000 / (root * root);
        Sizes {
            warehouses: (WAREHOUSES * 1_000 / root).max(2),
            items: less(ITEMS).max(LINES_MAX),
            customers: less(CUSTOMERS).max(10),
            orders,
        }
    }

    pub(super) fn districts(&self) -> u64 {
        self.warehouses * DISTRICTS
    }

    /// The home warehouse of a terminal at work: one of some neighbours, which move on by one with
    /// each round. At first they are the last ones, which were loaded last.
    pub(super) fn home(&self, rng: &mut Rng, round: u64) -> u64 {
        let at_work = (self.warehouses / AT_WORK).max(1);
        self.warehouses - 1 - (round + rng.below(at_work)) % self.warehouses
    }

    /// A district of such a terminal.
    pub(super) fn home_district(&self, rng: &mut Rng, round: u64) -> u64 {
        self.home(rng, round) * DISTRICTS + rng.below(DISTRICTS)
    }

    /// Places for order lines in a district.
    pub(super) fn lines(&self) -> u64 {
        self.orders * LINES + LINES_MAX
    }

    /// Places of them that have lines at the start, or might.
    pub(super) fn first_lines(&self) -> u64 {
        self.customers * LINES + LINES_MAX
    }

    /// Orders at the start that have been delivered: seven in ten.
    pub(super) fn delivered(&self) -> u64 {
        self.customers * 7 / 10
    }
}

/// A thousand times the cube root.
fn root(scale: u64) -> u64 {
    let mut root = 1_000_u64;
    while (root + 1).pow(3) <= scale * 1_000_000_000 {
        root += 1;
    }
    root
}

/// Where everything is.
pub(super) struct Layout {
    pub(super) arena: Arena,
    pub(super) sizes: Sizes,
    pub(super) warehouse: Table,
    pub(super) district: Table,
    pub(super) customer: Table,
    pub(super) item: Array,
    pub(super) stock: Table,
    /// Each with its row of NEW-ORDER behind it.
    pub(super) order: Table,
    pub(super) line: Table,
    pub(super) history: Table,
    /// Memory for what is inserted, in multiples of `ALIGN`.
    pub(super) new_rows: Array,
    pub(super) session: Array,
    pub(super) session_bytes: u64,
    pub(super) index: Plans,
}

/// Where the indices are.
pub(super) struct Plans {
    pub(super) warehouses: TreePlan,
    pub(super) districts: TreePlan,
    pub(super) customers: TreePlan,
    pub(super) names: TreePlan,
    pub(super) items: TreePlan,
    pub(super) stocks: TreePlan,
    pub(super) orders: TreePlan,
    pub(super) latest: TreePlan,
    pub(super) new_orders: TreePlan,
    pub(super) lines: TreePlan,
}

impl Layout {
    /// With as many places for orders as the footprint has room for.
    pub(super) fn new(scale: u32, threads: u32) -> Layout {
        let target = FOOTPRINT / u64::from(scale);
        // The heap comes on top: the tables do not depend on how many threads there are.
        let session = HEAP_BYTES / u64::from(scale) / u64::from(threads);
        let session = session.max(SESSION_BYTES_MIN).next_multiple_of(4096);
        let with = |orders, threads| Layout::with(Sizes::new(scale, orders), (threads, session));
        let fits = |orders| with(orders, 0).arena.footprint().0 <= target;
        let least = Sizes::new(scale, 0).customers + LINES_MAX;
        let (mut low, mut high) = (least, least * 8);
        while high - low > 1 {
            let mid = low.midpoint(high);
            *(if fits(mid) { &mut low } else { &mut high }) = mid;
        }
        with(low, threads)
    }

    fn with(sizes: Sizes, (threads, session_bytes): (u32, u64)) -> Layout {
        let mut arena = Arena::default();
        let (w, d) = (sizes.warehouses, sizes.districts());
        let customers = d * sizes.customers;
        let (orders, lines) = (d * sizes.orders, d * sizes.lines());
        // What is new to a run comes first: host.start = full takes pages from the end.
        let session = arena.array(u64::from(threads), session_bytes);
        let new_orders = d * (sizes.orders - sizes.customers);
        let new_lines = d * (sizes.lines() - sizes.first_lines());
        let new = new_orders * (ORDER + HISTORY) + new_lines * LINE;
        let new_rows = arena.array(new / ALIGN, ALIGN);
        let mut tree = |initial, rows| TreePlan::new(&mut arena, initial, FILL, rows);
        let index = Plans {
            warehouses: tree(w, w),
            districts: tree(d, d),
            customers: tree(customers, customers),
            names: tree(customers, customers),
            items: tree(sizes.items, sizes.items),
            stocks: tree(w * sizes.items, w * sizes.items),
            orders: tree(customers, orders),
            latest: tree(customers, orders),
            new_orders: tree(customers - d * sizes.delivered(), orders),
            lines: tree(customers * LINES, lines),
        };
        let mut block = Block::default();
        let mut warehouse = block.table(1, row(89));
        let mut district = block.table(DISTRICTS, row(95));
        let per_district = |rows| DISTRICTS * rows;
        let mut customer = block.table(per_district(sizes.customers), row(655));
        let mut history = block.table(per_district(sizes.customers), HISTORY);
        let mut order = block.table(per_district(sizes.customers), ORDER);
        let mut line = block.table(per_district(sizes.first_lines()), LINE);
        let mut stock = block.table(sizes.items, row(306));
        let blocks = arena.array(w, block.bytes.next_multiple_of(4096));
        for table in [
            &mut warehouse,
            &mut district,
            &mut customer,
            &mut history,
            &mut order,
            &mut line,
            &mut stock,
        ] {
            table.base += blocks.at(0);
            table.block = blocks.at(1) - blocks.at(0);
        }
        Layout {
            warehouse,
            district,
            customer,
            item: arena.array(sizes.items, row(82)),
            stock,
            order,
            line,
            history,
            new_rows,
            session,
            session_bytes,
            sizes,
            index,
            arena,
        }
    }
}

/// Bytes of a row of TPC-C 1.3 behind its header.
const fn row(bytes: u64) -> u64 {
    (HEADER + bytes).next_multiple_of(ALIGN)
}

/// The same of the tables that grow. A row of NEW-ORDER comes behind its order's.
pub(super) const NEW_ORDER: u64 = row(24);
const ORDER: u64 = NEW_ORDER + row(8);
const LINE: u64 = row(54);
const HISTORY: u64 = row(46);

/// A warehouse as it is laid out.
#[derive(Default)]
struct Block {
    bytes: u64,
}

impl Block {
    fn table(&mut self, rows: u64, bytes: u64) -> Table {
        let base = self.bytes;
        self.bytes += rows * bytes;
        Table {
            base,
            block: 0,
            rows,
            bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn terminals_at_work_move_on_and_reach_all_warehouses() {
        let sizes = Sizes::new(1, 3_015);
        let rng = &mut Rng::stream(3, "tpcc.test");
        let mut at_work = |round| -> BTreeSet<u64> {
            (0..1_000)
                .map(|_| sizes.home_district(rng, round) / DISTRICTS)
                .collect()
        };
        assert_eq!(at_work(0), (116..120).collect());
        assert_eq!(at_work(1), (115..119).collect());
        assert_eq!(at_work(119), [0, 119, 118, 117].into());
    }
}
