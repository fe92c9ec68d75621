//! The rows, and the databases at the start (TPC-C 4.3.3, and N-Store's numbers).

use super::index::Index as Tree;
use super::layout::{DISTRICTS, LINES_TWICE, Layout, Sizes};
use super::rows::Rows;
use super::table::DATABASES;
use sluice_units::Rng;

/// Money in cents.
pub(super) type Cents = i64;

/// W_YTD and D_YTD at the start.
const WAREHOUSE_YTD: Cents = DISTRICTS as Cents * DISTRICT_YTD;
const DISTRICT_YTD: Cents = 3_000_000;
/// C_YTD_PAYMENT at the start; C_BALANCE is as much below zero.
const CUSTOMER_YTD: Cents = 1_000;
/// H_AMOUNT at the start.
const HISTORY_AMOUNT: u32 = 1_000;
/// Last names: N-Store's are one letter or digit over and over.
pub(super) const NAMES: u64 = 62;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct District {
    pub(super) ytd: Cents,
    /// D_NEXT_O_ID.
    pub(super) next: u32,
    /// The oldest order kept, and the oldest that is not delivered.
    pub(super) oldest: u32,
    pub(super) undelivered: u32,
    /// The place after the newest order's lines.
    pub(super) end: u32,
    /// Lines kept.
    pub(super) lines: u32,
    /// Payments ever.
    pub(super) payments: u32,
    /// Sum of payments whose rows have been used again.
    pub(super) forgotten: Cents,
}

impl District {
    /// The number of an order that is kept, by its row.
    pub(super) fn number(&self, sizes: &Sizes, district: u64, row: u64) -> u32 {
        let (orders, oldest) = (sizes.orders, u64::from(self.oldest));
        let place = row - district * orders;
        (oldest + (place + orders - oldest % orders) % orders) as u32
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Customer {
    pub(super) balance: Cents,
    pub(super) ytd: Cents,
    /// Sum of delivered lines that are not kept any more.
    pub(super) forgotten: Cents,
    pub(super) payments: u16,
    pub(super) deliveries: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Stock {
    pub(super) quantity: u8,
    pub(super) orders: u16,
    pub(super) ytd: u32,
    /// Sum of quantities in lines that are not kept any more.
    pub(super) forgotten: u32,
}

impl Stock {
    /// An order of so many (TPC-C 2.4.2.2).
    pub(super) fn sell(&mut self, quantity: u8) {
        let refill = if self.quantity >= quantity + 10 {
            0
        } else {
            91
        };
        self.quantity = self.quantity + refill - quantity;
        self.ytd += u32::from(quantity);
        self.orders = self.orders.wrapping_add(1);
    }
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
    pub(super) quantity: u8,
    pub(super) delivered: bool,
}

/// The indices of a database: those of N-Store, and one of new orders by number.
pub(super) struct Index {
    pub(super) warehouses: Tree,
    pub(super) districts: Tree,
    pub(super) customers: Tree,
    /// The first customer with a name.
    pub(super) names: Tree,
    /// The first row of a customer.
    pub(super) histories: Tree,
    pub(super) items: Tree,
    pub(super) stocks: Tree,
    pub(super) orders: Tree,
    /// A customer's latest order.
    pub(super) latest: Tree,
    pub(super) new_orders: Tree,
    pub(super) lines: Tree,
    /// The first line of an order.
    pub(super) first_lines: Tree,
}

impl Index {
    /// The indices that change.
    pub(super) fn changing(&self) -> [(&'static str, &Tree); 5] {
        [
            ("orders", &self.orders),
            ("latest orders", &self.latest),
            ("new orders", &self.new_orders),
            ("order lines", &self.lines),
            ("first lines", &self.first_lines),
        ]
    }
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
    /// By database.
    pub(super) index: Vec<Index>,
    pub(super) rows: Rows,
}

/// Keys of the indices.
pub(super) mod key {
    use super::{DISTRICTS, NAMES, Sizes};

    pub(crate) fn database(district: u64) -> u64 {
        district / DISTRICTS
    }

    pub(crate) fn customer(district: u64, customer: u64) -> u64 {
        district << 16 | customer
    }

    pub(crate) fn name(district: u64, last: u64) -> u64 {
        district * NAMES + last
    }

    /// Of an item and its stock; their rows, too.
    pub(crate) fn item(sizes: &Sizes, database: u64, item: u64) -> u64 {
        database * sizes.items + item
    }

    pub(crate) fn order(district: u64, order: u32) -> u64 {
        district << 32 | u64::from(order)
    }

    pub(crate) fn line(district: u64, order: u32, line: u64) -> u64 {
        self::order(district, order) << 4 | line
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
        let (items, d) = (DATABASES * sizes.items, sizes.districts());
        let mut rng = Rng::stream(seed, "tpcc.load");
        let mut data = Data {
            warehouse_ytd: vec![WAREHOUSE_YTD; DATABASES as usize],
            districts: Vec::new(),
            customers: Vec::new(),
            prices: (0..items).map(|_| 100 + rng.below(9_901) as u32).collect(),
            stocks: (0..items).map(|_| stock(&mut rng)).collect(),
            orders: vec![Order::default(); (d * sizes.orders) as usize],
            lines: vec![Line::default(); (d * sizes.lines()) as usize],
            history: vec![0; (d * sizes.orders) as usize],
            index: Vec::new(),
            rows: Rows::new(layout),
        };
        for database in 0..DATABASES {
            let mut keys = Keys::default();
            for district in database * DISTRICTS..(database + 1) * DISTRICTS {
                data.load_district(sizes, district, &mut keys, &mut rng);
            }
            data.index.push(index(layout, database, keys, &mut rng));
        }
        data
    }

    fn load_district(&mut self, sizes: &Sizes, district: u64, keys: &mut Keys, rng: &mut Rng) {
        let mut row = District {
            ytd: DISTRICT_YTD,
            next: sizes.customers as u32 + 1,
            oldest: 1,
            undelivered: sizes.delivered() as u32 + 1,
            end: 0,
            lines: 0,
            payments: sizes.customers as u32,
            // What the rows of this history, one a customer, leave of the year's sum.
            forgotten: DISTRICT_YTD - Cents::from(HISTORY_AMOUNT) * sizes.customers as Cents,
        };
        let mut customers: Vec<u64> = (0..sizes.customers).collect();
        rng.shuffle(&mut customers);
        for customer in 0..sizes.customers {
            let at = self.customers.len() as u32;
            if customer < NAMES {
                keys.names.push((key::name(district, customer), at));
            }
            let slot = order_row(sizes, district, customer as u32);
            self.history[slot as usize] = HISTORY_AMOUNT;
            keys.customers.push((key::customer(district, customer), at));
            self.customers.push(Customer {
                balance: -CUSTOMER_YTD,
                ytd: CUSTOMER_YTD,
                forgotten: 0,
                payments: 1,
                deliveries: 0,
            });
            let number = customer as u32 + 1;
            let owner = customers[customer as usize];
            self.load_order(sizes, district, (number, owner), keys, rng);
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
        (number, customer): (u32, u64),
        keys: &mut Keys,
        rng: &mut Rng,
    ) {
        let row = order_row(sizes, district, number);
        let delivered = u64::from(number) <= sizes.delivered();
        // 5 to 14 lines, and the same sum in every district: the places are counted.
        let lines = if number % 2 == 1 {
            5 + rng.below(10)
        } else {
            LINES_TWICE - keys.odd
        };
        keys.odd = lines;
        let start = if number == 1 { 0 } else { keys.end };
        keys.end = start + lines as u32;
        for line in 0..lines {
            let at = line_row(sizes, district, start, line);
            keys.lines
                .push((key::line(district, number, line), at as u32));
            let amount = 1 + rng.below(999_999) as u32;
            self.lines[at as usize] = Line {
                item: rng.below(sizes.items) as u32,
                amount: if delivered { 0 } else { amount },
                quantity: 5,
                delivered,
            };
        }
        let first = line_row(sizes, district, start, 0);
        keys.first_lines
            .push((key::order(district, number), first as u32));
        keys.orders.push((key::order(district, number), row as u32));
        keys.latest
            .push((key::customer(district, customer), row as u32));
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

/// Entries of the indices of a database that depend on the rows.
#[derive(Default)]
struct Keys {
    customers: Vec<(u64, u32)>,
    names: Vec<(u64, u32)>,
    orders: Vec<(u64, u32)>,
    latest: Vec<(u64, u32)>,
    new_orders: Vec<(u64, u32)>,
    lines: Vec<(u64, u32)>,
    first_lines: Vec<(u64, u32)>,
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

fn index(layout: &Layout, database: u64, keys: Keys, rng: &mut Rng) -> Index {
    let items = layout.sizes.items;
    let mut places = layout.places(database, rng).into_iter();
    let mut tree = |entries: Vec<(u64, u32)>| {
        let places = places.next().expect("a plan for each index");
        Tree::build(places, entries.into_iter())
    };
    let same = |from: u64, count: u64| (from..from + count).map(|n| (n, n as u32)).collect();
    Index {
        warehouses: tree(same(database, 1)),
        districts: tree(same(database * DISTRICTS, DISTRICTS)),
        customers: tree(keys.customers.clone()),
        names: tree(keys.names),
        histories: tree(keys.customers),
        items: tree(same(database * items, items)),
        stocks: tree(same(database * items, items)),
        orders: tree(keys.orders),
        latest: tree(keys.latest),
        new_orders: tree(keys.new_orders),
        lines: tree(keys.lines),
        first_lines: tree(keys.first_lines),
    }
}
