//! The five transactions (TPC-C 2.4 to 2.8), as N-Store's program has them.

use super::Tpcc;
use super::data::{Cents, Line, NAMES, Order, key, line_row, order_row};
use super::engine::{Asked, LOG_DOUBLE, Session, Use, all};
use super::index::Entry;
use super::layout::{DISTRICTS, LINES_MAX, NEW_ORDER_AT};
use super::shape::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE,
};
use sluice_units::Rng;

/// How many orders a Stock-Level goes back.
const RECENT: u32 = 20;
/// Of a hundred Payments and Order-Statuses, those that have a name and no number (N-Store).
const BY_NAME_PAYMENT: u64 = 10;
const BY_NAME_STATUS: u64 = 20;

/// Lines of a row's numbers that a change writes, and what printing the old ones takes.
const W_YTD: (&[u64], u32) = (&[1], LOG_DOUBLE);
const D_NEXT_O_ID: (&[u64], u32) = (&[2], 0);
const D_YTD: (&[u64], u32) = (&[1, 2], LOG_DOUBLE);
const C_BALANCE_TO_COUNT: (&[u64], u32) = (&[3, 4], 2 * LOG_DOUBLE);
const C_BALANCE: (&[u64], u32) = (&[3], LOG_DOUBLE);
const O_CARRIER: (&[u64], u32) = (&[1], 0);
const OL_DELIVERY: (&[u64], u32) = (&[1], LOG_DOUBLE);
const S_QUANTITY_TO_COUNTS: (&[u64], u32) = (&[0, 2, 3], 1_000);

impl Tpcc {
    pub(super) fn new_order(&mut self, s: &mut Session, rng: &mut Rng, db: u64) {
        let sizes = self.layout.sizes;
        let district = db * DISTRICTS + rng.below(DISTRICTS);
        let customer = rng.below(sizes.customers);
        let count = 5 + rng.below(LINES_MAX - 4);
        let index = &self.data.index[db as usize];
        let w = s.find(&WAREHOUSE, &index.warehouses, db);
        let row = self.layout.warehouse.at(db);
        s.answer(&WAREHOUSE, row, w, &all(&WAREHOUSE, 1, Use::Read));
        let d = s.find(&DISTRICT, &index.districts, district);
        let row = self.layout.district.at(district);
        s.answer(&DISTRICT, row, d, &all(&DISTRICT, 2, Use::Change));
        s.change(&DISTRICT, (&index.districts, district), row, D_NEXT_O_ID);
        let wanted = key::customer(district, customer);
        let c = s.find(&CUSTOMER, &index.customers, wanted);
        let row = self.layout.customer.at(u64::from(c.value));
        let some = Asked {
            strings: 2,
            columns: 1,
            to: Use::Read,
        };
        s.answer(&CUSTOMER, row, c, &some);
        self.make_room(s, district, count as u32);
        let number = self.data.districts[district as usize].next;
        let start = self.insert_order(s, district, number, customer, count);
        for line in 0..count {
            self.order_line(s, rng, district, number, (start, line));
        }
    }

    /// The rows of an order but for its lines; the place of the first of these.
    fn insert_order(
        &mut self,
        s: &mut Session,
        district: u64,
        number: u32,
        customer: u64,
        count: u64,
    ) -> u32 {
        let sizes = self.layout.sizes;
        let row = order_row(&sizes, district, number);
        let d = &mut self.data.districts[district as usize];
        let start = d.end;
        d.next += 1;
        d.lines += count as u32;
        d.end = ((u64::from(start) + count) % sizes.lines()) as u32;
        self.data.orders[row as usize] = Order {
            customer: customer as u16,
            carrier: 0,
            lines: count as u8,
            start,
        };
        let at = self.data.rows.insert_order(row);
        let index = &mut self.data.index[key::database(district) as usize];
        let key = key::order(district, number);
        s.insert(&ORDERS, at, (&index.orders, key));
        s.enter(&mut index.orders, key, row as u32);
        let owner = key::customer(district, customer);
        s.enter(&mut index.latest, owner, row as u32);
        s.insert(&NEW_ORDER, at + NEW_ORDER_AT, (&index.new_orders, key));
        s.enter(&mut index.new_orders, key, row as u32);
        start
    }

    fn order_line(
        &mut self,
        s: &mut Session,
        rng: &mut Rng,
        district: u64,
        number: u32,
        (start, line): (u32, u64),
    ) {
        let sizes = self.layout.sizes;
        let db = key::database(district);
        let item = rng.below(sizes.items);
        let quantity = rng.below(10) as u8;
        let index = &mut self.data.index[db as usize];
        let wanted = key::item(&sizes, db, item);
        let i = s.find(&ITEM, &index.items, wanted);
        let row = self.layout.item.at(wanted);
        s.answer(&ITEM, row, i, &all(&ITEM, 4, Use::Read));
        let amount = u32::from(quantity) * self.data.prices[wanted as usize];

        let found = s.find(&STOCK, &index.stocks, wanted);
        let row = self.layout.stock.at(wanted);
        s.answer(&STOCK, row, found, &all(&STOCK, 5, Use::Change));
        s.change(&STOCK, (&index.stocks, wanted), row, S_QUANTITY_TO_COUNTS);
        self.data.stocks[wanted as usize].sell(quantity);

        let row = line_row(&sizes, district, start, line);
        self.data.lines[row as usize] = Line {
            item: item as u32,
            amount,
            quantity,
            delivered: false,
        };
        let at = self.data.rows.insert_line(row);
        let wanted = key::line(district, number, line);
        s.insert(&ORDER_LINE, at, (&index.lines, wanted));
        s.enter(&mut index.lines, wanted, row as u32);
        // The second index has an order's first line. That it has one is found for each other.
        let order = key::order(district, number);
        if line == 0 {
            s.enter(&mut index.first_lines, order, row as u32);
        } else {
            let known = index.first_lines.get(s.rec, order);
            assert!(known.is_some(), "an order has a first line");
        }
    }

    /// Forgets the oldest orders of a district until one of `lines` lines has room.
    fn make_room(&mut self, s: &mut Session, district: u64, lines: u32) {
        let sizes = self.layout.sizes;
        loop {
            let d = &self.data.districts[district as usize];
            let orders = u64::from(d.next - d.oldest);
            if orders < sizes.orders && u64::from(d.lines + lines) <= sizes.lines() {
                return;
            }
            self.forget(s, district);
        }
    }

    fn forget(&mut self, s: &mut Session, district: u64) {
        let sizes = self.layout.sizes;
        let number = self.data.districts[district as usize].oldest;
        let row = order_row(&sizes, district, number);
        if self.data.orders[row as usize].carrier == 0 {
            self.deliver(s, district, 1);
        }
        let Order {
            customer,
            lines,
            start,
            ..
        } = self.data.orders[row as usize];
        let index = &mut self.data.index[key::database(district) as usize];
        let owner = district * sizes.customers + u64::from(customer);
        for line in 0..u64::from(lines) {
            s.delete(&mut index.lines, key::line(district, number, line));
            let row = line_row(&sizes, district, start, line);
            let line = &self.data.lines[row as usize];
            self.data.customers[owner as usize].forgotten += Cents::from(line.amount);
            if u64::from(number) > sizes.customers {
                let stock = key::item(&sizes, key::database(district), u64::from(line.item));
                self.data.stocks[stock as usize].forgotten += u32::from(line.quantity);
            }
        }
        s.delete(&mut index.orders, key::order(district, number));
        s.delete(&mut index.first_lines, key::order(district, number));
        let latest = key::customer(district, u64::from(customer));
        if index.latest.find(latest) == Some(row as u32) {
            s.delete(&mut index.latest, latest);
        }
        let d = &mut self.data.districts[district as usize];
        d.oldest += 1;
        d.lines -= u32::from(lines);
    }

    pub(super) fn payment(&mut self, s: &mut Session, rng: &mut Rng, db: u64) {
        let sizes = self.layout.sizes;
        let district = db * DISTRICTS + rng.below(DISTRICTS);
        let amount = 100 + rng.below(499_901) as u32;
        let cents = Cents::from(amount);
        let c = self.customer(s, rng, district, BY_NAME_PAYMENT);
        let owner = self.layout.customer.at(u64::from(c.value));
        s.answer(&CUSTOMER, owner, c, &all(&CUSTOMER, 9, Use::Read));

        let index = &self.data.index[db as usize];
        let w = s.find(&WAREHOUSE, &index.warehouses, db);
        let row = self.layout.warehouse.at(db);
        s.answer(&WAREHOUSE, row, w, &all(&WAREHOUSE, 4, Use::Change));
        s.change(&WAREHOUSE, (&index.warehouses, db), row, W_YTD);
        self.data.warehouse_ytd[db as usize] += cents;

        let d = s.find(&DISTRICT, &index.districts, district);
        let row = self.layout.district.at(district);
        s.answer(&DISTRICT, row, d, &all(&DISTRICT, 4, Use::Change));
        s.change(&DISTRICT, (&index.districts, district), row, D_YTD);

        let customer = &mut self.data.customers[c.value as usize];
        customer.balance -= cents;
        customer.ytd += cents;
        customer.payments = customer.payments.wrapping_add(1);
        s.leak(&CUSTOMER, self.done);
        let number = u64::from(c.value) % sizes.customers;
        let by_number = (&index.customers, key::customer(district, number));
        s.change(&CUSTOMER, by_number, owner, C_BALANCE_TO_COUNT);

        let d = &mut self.data.districts[district as usize];
        let slot = order_row(&sizes, district, d.payments);
        if u64::from(d.payments) >= sizes.orders {
            d.forgotten += Cents::from(self.data.history[slot as usize]);
        }
        d.payments += 1;
        d.ytd += cents;
        self.data.history[slot as usize] = amount;
        // N-Store's index has one row for a customer, and it keeps no other; ours is kept.
        let at = self.data.rows.insert_history(slot);
        let index = &self.data.index[db as usize];
        s.insert(&HISTORY, at, (&index.histories, by_number.1));
    }

    /// A customer by number, or the first that has a name.
    fn customer(&self, s: &mut Session, rng: &mut Rng, district: u64, by_name: u64) -> Entry {
        let sizes = &self.layout.sizes;
        let index = &self.data.index[key::database(district) as usize];
        if rng.below(100) >= by_name {
            let wanted = key::customer(district, rng.below(sizes.customers));
            return s.find(&CUSTOMER, &index.customers, wanted);
        }
        let last = rng.below(NAMES.min(sizes.customers));
        s.find(&CUSTOMER, &index.names, key::name(district, last))
    }

    /// N-Store's second index of lines has one for an order, and so it answers with one.
    pub(super) fn order_status(&mut self, s: &mut Session, rng: &mut Rng, db: u64) {
        let district = db * DISTRICTS + rng.below(DISTRICTS);
        let c = self.customer(s, rng, district, BY_NAME_STATUS);
        let row = self.layout.customer.at(u64::from(c.value));
        s.answer(&CUSTOMER, row, c, &all(&CUSTOMER, 0, Use::Print));
        let customer = u64::from(c.value) % self.layout.sizes.customers;
        let index = &self.data.index[db as usize];
        let wanted = key::customer(district, customer);
        let Some(order) = s.seek(&ORDERS, &index.latest, wanted) else {
            return;
        };
        let row = self.data.rows.order(u64::from(order.value));
        s.answer(&ORDERS, row, order, &all(&ORDERS, 1, Use::Read));
        let d = &self.data.districts[district as usize];
        let number = d.number(&self.layout.sizes, district, u64::from(order.value));
        self.first_line(s, district, number, Use::Print);
    }

    /// Reads the first line of an order.
    fn first_line(&mut self, s: &mut Session, district: u64, number: u32, to: Use) {
        let index = &self.data.index[key::database(district) as usize];
        let line = s.find(
            &ORDER_LINE,
            &index.first_lines,
            key::order(district, number),
        );
        let row = self.data.rows.line(u64::from(line.value));
        s.answer(&ORDER_LINE, row, line, &all(&ORDER_LINE, 1, to));
        let line = &self.data.lines[line.value as usize];
        self.answers = self.answers.wrapping_add(u64::from(line.amount));
    }

    pub(super) fn delivery(&mut self, s: &mut Session, rng: &mut Rng, db: u64) {
        let carrier = 1 + rng.below(10) as u8;
        for district in db * DISTRICTS..(db + 1) * DISTRICTS {
            self.deliver(s, district, carrier);
        }
    }

    /// Delivers the oldest new order of a district, if there is one.
    fn deliver(&mut self, s: &mut Session, district: u64, carrier: u8) {
        let sizes = self.layout.sizes;
        let number = self.data.districts[district as usize].undelivered;
        let wanted = key::order(district, number);
        let index = &mut self.data.index[key::database(district) as usize];
        let Some(oldest) = s.seek(&NEW_ORDER, &index.new_orders, wanted) else {
            return;
        };
        self.data.districts[district as usize].undelivered += 1;
        let row = self.data.rows.order(u64::from(oldest.value));
        let asked = &all(&NEW_ORDER, 1, Use::Read);
        s.answer(&NEW_ORDER, row + NEW_ORDER_AT, oldest, asked);
        s.delete(&mut index.new_orders, wanted);
        let found = s.find(&ORDERS, &index.orders, wanted);
        s.answer(&ORDERS, row, found, &all(&ORDERS, 1, Use::Read));
        s.change(&ORDERS, (&index.orders, wanted), row, O_CARRIER);
        let order = &mut self.data.orders[found.value as usize];
        order.carrier = carrier;
        let (customer, start) = (u64::from(order.customer), order.start);
        // N-Store delivers an order's first line alone.
        let mut sum = 0;
        for line in 0..u64::from(order.lines) {
            let place = line_row(&sizes, district, start, line);
            let row = self.data.rows.line(place);
            let wanted = key::line(district, number, line);
            s.change(&ORDER_LINE, (&index.lines, wanted), row, OL_DELIVERY);
            let line = &mut self.data.lines[place as usize];
            line.delivered = true;
            sum += Cents::from(line.amount);
        }
        let wanted = key::customer(district, customer);
        let c = s.find(&CUSTOMER, &index.customers, wanted);
        let row = self.layout.customer.at(u64::from(c.value));
        s.answer(&CUSTOMER, row, c, &all(&CUSTOMER, 4, Use::Change));
        s.change(&CUSTOMER, (&index.customers, wanted), row, C_BALANCE);
        let customer = &mut self.data.customers[c.value as usize];
        customer.balance += sum;
        customer.deliveries = customer.deliveries.wrapping_add(1);
    }

    /// N-Store's reads one line of an order twenty back, then looks for an item that is numbered as
    /// the order is. There is none, and it ends.
    pub(super) fn stock_level(&mut self, s: &mut Session, rng: &mut Rng, db: u64) {
        let district = db * DISTRICTS + rng.below(DISTRICTS);
        let index = &self.data.index[db as usize];
        let d = s.find(&DISTRICT, &index.districts, district);
        let row = self.layout.district.at(district);
        s.answer(&DISTRICT, row, d, &all(&DISTRICT, 1, Use::Read));
        let d = &self.data.districts[district as usize];
        let number = d.next.saturating_sub(RECENT).max(d.oldest);
        self.first_line(s, district, number, Use::Read);
        let index = &self.data.index[db as usize];
        let stock = s.seek(&STOCK, &index.stocks, u64::from(u32::MAX));
        self.answers = self.answers.wrapping_add(u64::from(stock.is_some()));
    }
}
