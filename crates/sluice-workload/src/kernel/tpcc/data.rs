//! The rows, and the database at the start (TPC-C 4.3.3).

use super::super::store::Tree;
use super::layout::{DISTRICTS, Layout, Sizes};
use super::rows::Rows;
use sluice_units::Rng;

/// Money in cents.
pub(super) type Cents = i64;

/// W_YTD and D_YTD at the start.
pub(super) const WAREHOUSE_YTD: Cents = 30_000_000;
pub(super) const DISTRICT_YTD: Cents = 3_000_000;
/// C_YTD_PAYMENT at the start; C_BALANCE is as much below zero.
const CUSTOMER_YTD: Cents = 1_000;
/// H_AMOUNT at the start.
const HISTORY_AMOUNT: u32 = 1_000;
/// Last names (TPC-C 4.3.2.3).
pub(super) const NAMES: u64 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct District {
    pub(super) ytd: Cents,
    /// D_NEXT_O_ID.
    pub(super) next: u32,
    /// The oldest order kept.
    pub(super) oldest: u32,
    /// The place after the newest order's lines.
    pub(super) end: u32,
    /// Lines kept.
    pub(super) lines: u32,
    /// Payments ever.
    pub(super) payments: u32,
    /// Sum of payments whose rows have been used again.
    pub(super) forgotten: Cents,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Customer {
    pub(super) balance: Cents,
    pub(super) ytd: Cents,
    /// Sum of delivered lines that are not kept any more.
    pub(super) forgotten: Cents,
    pub(super) last: u16,
    pub(super) payments: u16,
    pub(super) deliveries: u16,
    pub(super) bad_credit: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Stock {
    pub(super) quantity: u8,
    pub(super) orders: u16,
    pub(super) remote: u16,
    pub(super) ytd: u32,
    /// Sum of quantities in lines that are not kept any more.
    pub(super) forgotten: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Order {
    pub(super) customer: u16,
    /// 0 if not delivered.
    pub(super) carrier: u8,
    pub(super) lines: u8,
    /// The place of the first line among those of the district.
    pub(super) start: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    pub(super) item: u32,
    pub(super) amount: u32,
    pub(super) supply: u16,
    pub(super) quantity: u8,
    pub(super) delivered: bool,
}

/// The indices, as in TPC-C's keys and N-Store's second index on names.
pub(super) struct Index {
    pub(super) warehouses: Tree,
    pub(super) districts: Tree,
    pub(super) customers: Tree,
    pub(super) names: Tree,
    pub(super) items: Tree,
    pub(super) stocks: Tree,
    pub(super) orders: Tree,
    /// A customer's orders, the latest first.
    pub(super) latest: Tree,
    pub(super) new_orders: Tree,
    pub(super) lines: Tree,
}

pub(super) struct Data {
    pub(super) warehouse_ytd: Vec<Cents>,
    pub(super) districts: Vec<District>,
    pub(super) customers: Vec<Customer>,
    pub(super) prices: Vec<u32>,
    pub(super) stocks: Vec<Stock>,
    pub(super) orders: Vec<Order>,
    pub(super) lines: Vec<Line>,
    /// H_AMOUNT.
    pub(super) history: Vec<u32>,
    pub(super) index: Index,
    pub(super) rows: Rows,
}

/// Keys of the indices.
pub(super) mod key {
    use super::{DISTRICTS, NAMES};

    pub(crate) fn customer(district: u64, customer: u64) -> u64 {
        district << 16 | customer
    }

    /// Of customers with one name, in the order of their first names.
    pub(crate) fn name(district: u64, last: u64, customer: u64) -> u64 {
        (district * NAMES + last) << 16 | customer
    }

    pub(crate) fn stock(warehouse: u64, item: u64) -> u64 {
        warehouse << 32 | item
    }

    pub(crate) fn order(district: u64, order: u32) -> u64 {
        district << 32 | u64::from(order)
    }

    pub(crate) fn latest(district: u64, customer: u64, order: u32) -> u64 {
        (district << 12 | customer) << 32 | u64::from(u32::MAX - order)
    }

    pub(crate) fn line(district: u64, order: u32, line: u64) -> u64 {
        self::order(district, order) << 4 | line
    }

    pub(crate) fn warehouse(district: u64) -> u64 {
        district / DISTRICTS
    }
}

/// The place of an order's row.
pub(super) fn order_row(sizes: &Sizes, district: u64, order: u32) -> u64 {
    district * sizes.orders + u64::from(order) % sizes.orders
}

/// The place of the row of a line.
pub(super) fn line_row(sizes: &Sizes, district: u64, start: u32, line: u64) -> u64 {
    district * sizes.lines() + (u64::from(start) + line) % sizes.lines()
}

impl Data {
    pub(super) fn load(layout: &Layout, seed: u64) -> Data {
        let sizes = &layout.sizes;
        let (w, d) = (sizes.warehouses, sizes.districts());
        let mut rng = Rng::stream(seed, "tpcc.load");
        let mut data = Data {
            warehouse_ytd: vec![WAREHOUSE_YTD; w as usize],
            districts: Vec::new(),
            customers: Vec::new(),
            prices: (0..sizes.items)
                .map(|_| 100 + rng.below(9_901) as u32)
                .collect(),
            stocks: (0..w * sizes.items).map(|_| stock(&mut rng)).collect(),
            orders: vec![Order::default(); (d * sizes.orders) as usize],
            lines: vec![Line::default(); (d * sizes.lines()) as usize],
            history: vec![0; (d * sizes.orders) as usize],
            index: index(layout),
            rows: Rows::new(layout),
        };
        let mut keys = Keys::default();
        (0..d).for_each(|district| data.load_district(sizes, district, &mut keys, &mut rng));
        let plan = &layout.index;
        keys.names.sort_unstable();
        keys.latest.sort_unstable();
        data.index.names = Tree::build(plan.names, keys.names.into_iter());
        data.index.orders = Tree::build(plan.orders, keys.orders.into_iter());
        data.index.latest = Tree::build(plan.latest, keys.latest.into_iter());
        data.index.new_orders = Tree::build(plan.new_orders, keys.new_orders.into_iter());
        data.index.lines = Tree::build(plan.lines, keys.lines.into_iter());
        data
    }

    fn load_district(&mut self, sizes: &Sizes, district: u64, keys: &mut Keys, rng: &mut Rng) {
        let mut row = District {
            ytd: DISTRICT_YTD,
            next: sizes.customers as u32 + 1,
            oldest: 1,
            end: 0,
            lines: 0,
            payments: sizes.customers as u32,
            // What the rows of this history, one a customer, leave of the year's sum.
            forgotten: DISTRICT_YTD - Cents::from(HISTORY_AMOUNT) * sizes.customers as Cents,
        };
        let mut customers: Vec<u64> = (0..sizes.customers).collect();
        rng.shuffle(&mut customers);
        for customer in 0..sizes.customers {
            let last = if customer < NAMES {
                customer
            } else {
                nurand(rng, 255, 0, NAMES - 1)
            };
            let at = self.customers.len() as u32;
            keys.names.push((key::name(district, last, customer), at));
            self.customers.push(Customer {
                balance: -CUSTOMER_YTD,
                ytd: CUSTOMER_YTD,
                forgotten: 0,
                last: last as u16,
                payments: 1,
                deliveries: 0,
                bad_credit: rng.below(10) == 0,
            });
            self.history[order_row(sizes, district, customer as u32) as usize] = HISTORY_AMOUNT;
            let number = customer as u32 + 1;
            self.load_order(
                sizes,
                district,
                number,
                customers[customer as usize],
                keys,
                rng,
            );
            let order = &self.orders[order_row(sizes, district, number) as usize];
            row.end = order.start + u32::from(order.lines);
            row.lines = row.end;
        }
        self.districts.push(row);
    }

    fn load_order(
        &mut self,
        sizes: &Sizes,
        district: u64,
        number: u32,
        customer: u64,
        keys: &mut Keys,
        rng: &mut Rng,
    ) {
        let row = order_row(sizes, district, number);
        let delivered = u64::from(number) <= sizes.delivered();
        // 5 to 15 lines, and the same sum in every district: the places are counted.
        let lines = if number % 2 == 1 {
            5 + rng.below(11)
        } else {
            20 - keys.odd
        };
        keys.odd = lines;
        let start = if number == 1 { 0 } else { keys.end };
        keys.end = start + lines as u32;
        for line in 0..lines {
            let at = line_row(sizes, district, start, line);
            keys.lines
                .push((key::line(district, number, line), at as u32));
            self.lines[at as usize] = Line {
                item: rng.below(sizes.items) as u32,
                amount: if delivered {
                    0
                } else {
                    1 + rng.below(999_999) as u32
                },
                supply: key::warehouse(district) as u16,
                quantity: 5,
                delivered,
            };
        }
        keys.orders.push((key::order(district, number), row as u32));
        keys.latest
            .push((key::latest(district, customer, number), row as u32));
        if !delivered {
            keys.new_orders
                .push((key::order(district, number), row as u32));
        }
        self.orders[row as usize] = Order {
            customer: customer as u16,
            carrier: if delivered {
                1 + rng.below(10) as u8
            } else {
                0
            },
            lines: lines as u8,
            start,
        };
    }
}

/// Entries of the indices that depend on the rows.
#[derive(Default)]
struct Keys {
    names: Vec<(u64, u32)>,
    orders: Vec<(u64, u32)>,
    latest: Vec<(u64, u32)>,
    new_orders: Vec<(u64, u32)>,
    lines: Vec<(u64, u32)>,
    /// Lines of the order before, and the place after them.
    odd: u64,
    end: u32,
}

fn stock(rng: &mut Rng) -> Stock {
    Stock {
        quantity: 10 + rng.below(91) as u8,
        ..Stock::default()
    }
}

/// Indices whose rows are numbered as their keys; the others are empty.
fn index(layout: &Layout) -> Index {
    let (sizes, plan) = (&layout.sizes, &layout.index);
    let count = |rows: u64| (0..rows).map(|row| (row, row as u32));
    let nested = |outer: u64, inner: u64, key: fn(u64, u64) -> u64| {
        let rows = (0..outer).flat_map(move |o| (0..inner).map(move |i| (o, i)));
        rows.map(move |(o, i)| (key(o, i), (o * inner + i) as u32))
    };
    let (w, d) = (sizes.warehouses, sizes.districts());
    let none = || std::iter::empty();
    Index {
        warehouses: Tree::build(plan.warehouses, count(w)),
        districts: Tree::build(plan.districts, count(d)),
        customers: Tree::build(plan.customers, nested(d, sizes.customers, key::customer)),
        items: Tree::build(plan.items, count(sizes.items)),
        stocks: Tree::build(plan.stocks, nested(w, sizes.items, key::stock)),
        names: Tree::build(plan.names, none()),
        orders: Tree::build(plan.orders, none()),
        latest: Tree::build(plan.latest, none()),
        new_orders: Tree::build(plan.new_orders, none()),
        lines: Tree::build(plan.lines, none()),
    }
}

/// TPC-C 2.1.6, with the constant C = A / 2.
pub(super) fn nurand(rng: &mut Rng, a: u64, from: u64, to: u64) -> u64 {
    let range = to - from + 1;
    ((rng.below(a + 1) | (from + rng.below(range))) + a / 2) % range + from
}
