//! The five transactions (TPC-C 2.4 to 2.8).

use super::super::store::Entry;
use super::data::{Cents, Line, NAMES, Order, key, line_row, nurand, order_row};
use super::engine::Session;
use super::layout::{DISTRICTS, NEW_ORDER, column};
use super::{ROUND, Tpcc};
use sluice_units::Rng;

/// Sorting the items of a Stock-Level, and throwing out those that are there twice.
const DISTINCT: u32 = 40;
/// Orders that a Stock-Level looks at.
const RECENT: u32 = 20;

impl Tpcc {
    pub(super) fn new_order(&mut self, s: &mut Session, rng: &mut Rng) {
        let sizes = self.layout.sizes;
        let district = sizes.home_district(rng, self.done / ROUND);
        let customer = nurand(rng, 1023, 0, sizes.customers - 1);
        let count = 5 + rng.below(11);
        let unknown_item = rng.below(100) == 0;
        let (layout, index) = (&self.layout, &self.data.index);
        let warehouse = key::warehouse(district);
        let w = s.find(&index.warehouses, warehouse);
        s.read(
            layout.warehouse.at(warehouse),
            w.loaded,
            &[column::W_NAME_TO_TAX],
        );
        let c = s.find(&index.customers, key::customer(district, customer));
        let row = layout.customer.at(u64::from(c.value));
        s.read(row, c.loaded, &[column::C_NAME, column::C_CREDIT]);
        let d = s.find(&index.districts, district);
        let row = layout.district.at(district);
        s.read(row, d.loaded, &[column::D_TAX, column::D_NEXT_O_ID]);
        if unknown_item {
            self.give_up(s, rng, count);
            return;
        }
        s.statement();
        s.write(row, d.loaded, &[column::D_NEXT_O_ID]);
        self.make_room(s, district, count as u32);
        let number = self.data.districts[district as usize].next;
        let start = self.insert_order(s, district, number, customer, count);
        for line in 0..count {
            self.order_line(s, rng, district, number, (start, line));
        }
    }

    /// One New-Order in a hundred finds, at its last item, that it does not exist (TPC-C 2.4.1.4).
    fn give_up(&mut self, s: &mut Session, rng: &mut Rng, count: u64) {
        let items = self.layout.sizes.items;
        for _ in 1..count {
            let item = nurand(rng, 8191, 0, items - 1);
            let i = s.find(&self.data.index.items, item);
            s.read(self.layout.item.at(item), i.loaded, &[column::I_ALL]);
        }
        s.statement();
        let found = self.data.index.items.get(s.rec, items);
        assert!(found.is_none(), "items are numbered below {items}");
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
        let index = &mut self.data.index;
        let at = self.data.rows.insert_order(row);
        s.insert(at, column::O_ALL);
        let key = key::order(district, number);
        index.orders.insert(s.rec, key, row as u32);
        index
            .latest
            .insert(s.rec, key::latest(district, customer, number), row as u32);
        s.insert(at + NEW_ORDER, (16, 8));
        index.new_orders.insert(s.rec, key, row as u32);
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
        let item = nurand(rng, 8191, 0, sizes.items - 1);
        let home = key::warehouse(district);
        let remote = rng.below(100) == 0;
        let supply = if remote {
            other(rng, home, sizes.warehouses)
        } else {
            home
        };
        let quantity = 1 + rng.below(10) as u8;
        let i = s.find(&self.data.index.items, item);
        s.read(self.layout.item.at(item), i.loaded, &[column::I_ALL]);
        let amount = u32::from(quantity) * self.data.prices[i.value as usize];

        let found = s.find(&self.data.index.stocks, key::stock(supply, item));
        let row = self.layout.stock.at(u64::from(found.value));
        let read = [
            column::S_QUANTITY,
            column::s_dist(district % DISTRICTS),
            column::S_DATA,
        ];
        s.read(row, found.loaded, &read);
        let again = s.find(&self.data.index.stocks, key::stock(supply, item));
        s.write(
            row,
            again.loaded,
            &[column::S_QUANTITY, column::S_YTD_TO_COUNTS],
        );
        let stock = &mut self.data.stocks[found.value as usize];
        let enough = stock.quantity >= quantity + 10;
        stock.quantity = if enough {
            stock.quantity
        } else {
            stock.quantity + 91
        } - quantity;
        stock.ytd += u32::from(quantity);
        stock.orders = stock.orders.wrapping_add(1);
        stock.remote = stock.remote.wrapping_add(u16::from(remote));

        let row = line_row(&sizes, district, start, line);
        self.data.lines[row as usize] = Line {
            item: item as u32,
            amount,
            supply: supply as u16,
            quantity,
            delivered: false,
        };
        s.insert(self.data.rows.insert_line(row), column::OL_ALL);
        let key = key::line(district, number, line);
        self.data.index.lines.insert(s.rec, key, row as u32);
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
        let found = s.find(&self.data.index.orders, key::order(district, number));
        s.read(self.data.rows.order(row), found.loaded, &[column::O_ALL]);
        let Order {
            customer,
            lines,
            start,
            ..
        } = self.data.orders[row as usize];
        let owner = district * sizes.customers + u64::from(customer);
        for line in 0..u64::from(lines) {
            s.delete(
                &mut self.data.index.lines,
                key::line(district, number, line),
            );
            let row = line_row(&sizes, district, start, line);
            let line = &self.data.lines[row as usize];
            self.data.customers[owner as usize].forgotten += Cents::from(line.amount);
            if u64::from(number) > sizes.customers {
                let stock = u64::from(line.supply) * sizes.items + u64::from(line.item);
                self.data.stocks[stock as usize].forgotten += u32::from(line.quantity);
            }
        }
        s.delete(&mut self.data.index.orders, key::order(district, number));
        let latest = key::latest(district, u64::from(customer), number);
        s.delete(&mut self.data.index.latest, latest);
        let d = &mut self.data.districts[district as usize];
        d.oldest += 1;
        d.lines -= u32::from(lines);
    }

    pub(super) fn payment(&mut self, s: &mut Session, rng: &mut Rng) {
        let sizes = self.layout.sizes;
        let district = sizes.home_district(rng, self.done / ROUND);
        let home = key::warehouse(district);
        let theirs = match rng.below(100) {
            0..85 => district,
            _ => other(rng, home, sizes.warehouses) * DISTRICTS + rng.below(DISTRICTS),
        };
        let amount = 100 + rng.below(499_901) as u32;
        let cents = Cents::from(amount);
        let layout = &self.layout;

        let w = s.find(&self.data.index.warehouses, home);
        s.read(
            layout.warehouse.at(home),
            w.loaded,
            &[column::W_NAME_TO_TAX],
        );
        s.statement();
        s.write(layout.warehouse.at(home), w.loaded, &[column::W_YTD]);
        self.data.warehouse_ytd[home as usize] += cents;

        let d = s.find(&self.data.index.districts, district);
        s.read(layout.district.at(district), d.loaded, &[column::D_ADDRESS]);
        s.statement();
        s.write(layout.district.at(district), d.loaded, &[column::D_YTD]);

        let c = self.customer(s, rng, theirs);
        let row = self.layout.customer.at(u64::from(c.value));
        s.read(
            row,
            c.loaded,
            &[
                column::C_NAME,
                column::C_ADDRESS,
                column::C_BALANCE_TO_COUNTS,
            ],
        );
        s.statement();
        let customer = &mut self.data.customers[c.value as usize];
        customer.balance -= cents;
        customer.ytd += cents;
        customer.payments = customer.payments.wrapping_add(1);
        s.write(row, c.loaded, &[column::C_BALANCE_TO_COUNTS]);
        if customer.bad_credit {
            s.write(row, c.loaded, &[column::C_DATA]);
        }

        let d = &mut self.data.districts[district as usize];
        let slot = order_row(&sizes, district, d.payments);
        if u64::from(d.payments) >= sizes.orders {
            d.forgotten += Cents::from(self.data.history[slot as usize]);
        }
        d.payments += 1;
        d.ytd += cents;
        self.data.history[slot as usize] = amount;
        s.insert(self.data.rows.insert_history(slot), (16, 46));
    }

    /// Six times in ten by last name: the middle one of those that have it (TPC-C 2.5.2.2).
    fn customer(&mut self, s: &mut Session, rng: &mut Rng, district: u64) -> Entry {
        let sizes = self.layout.sizes;
        if rng.below(100) >= 60 {
            let customer = nurand(rng, 1023, 0, sizes.customers - 1);
            return s.find(
                &self.data.index.customers,
                key::customer(district, customer),
            );
        }
        let last = nurand(rng, 255, 0, NAMES.min(sizes.customers) - 1);
        let (from, to) = (
            key::name(district, last, 0),
            key::name(district, last, 0xffff),
        );
        s.statement();
        self.found.clear();
        self.data.index.names.scan(s.rec, from, to, |_, entry| {
            self.found.push(entry);
            true
        });
        for entry in &self.found {
            let row = self.layout.customer.at(u64::from(entry.value));
            s.read(row, entry.loaded, &[column::C_NAME]);
        }
        self.found[self.found.len().div_ceil(2) - 1]
    }

    pub(super) fn order_status(&mut self, s: &mut Session, rng: &mut Rng) {
        let district = self.layout.sizes.home_district(rng, self.done / ROUND);
        let c = self.customer(s, rng, district);
        let row = self.layout.customer.at(u64::from(c.value));
        s.read(
            row,
            c.loaded,
            &[column::C_NAME, column::C_BALANCE_TO_COUNTS],
        );
        let customer = u64::from(c.value) % self.layout.sizes.customers;
        let newest = key::latest(district, customer, u32::MAX);
        s.statement();
        let index = &self.data.index;
        let Some(order) = index
            .latest
            .first(s.rec, newest, newest | u64::from(u32::MAX))
        else {
            return;
        };
        let number = u32::MAX - order.key as u32;
        let row = self.data.rows.order(u64::from(order.value));
        s.read(row, order.loaded, &[column::O_ALL]);
        self.lines_of(s, district, number, number);
        for entry in &self.found {
            s.statement();
            s.read(
                self.data.rows.line(u64::from(entry.value)),
                entry.loaded,
                &[column::OL_ALL],
            );
            let line = &self.data.lines[entry.value as usize];
            self.answers = self.answers.wrapping_add(u64::from(line.amount));
        }
    }

    /// Looks up the lines of a district's orders `from` to `to`.
    fn lines_of(&mut self, s: &mut Session, district: u64, from: u32, to: u32) {
        self.found.clear();
        let (from, to) = (key::line(district, from, 0), key::line(district, to, 15));
        self.data.index.lines.scan(s.rec, from, to, |_, entry| {
            self.found.push(entry);
            true
        });
    }

    pub(super) fn delivery(&mut self, s: &mut Session, rng: &mut Rng) {
        let warehouse = self.layout.sizes.home(rng, self.done / ROUND);
        let carrier = 1 + rng.below(10) as u8;
        for district in warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS {
            self.deliver(s, district, carrier);
        }
    }

    /// Delivers the oldest new order of a district, if there is one.
    fn deliver(&mut self, s: &mut Session, district: u64, carrier: u8) {
        let sizes = self.layout.sizes;
        s.statement();
        let (from, to) = (key::order(district, 0), key::order(district, u32::MAX));
        let Some(oldest) = self.data.index.new_orders.first(s.rec, from, to) else {
            return;
        };
        let number = oldest.key as u32;
        s.delete(&mut self.data.index.new_orders, oldest.key);
        let found = s.find(&self.data.index.orders, oldest.key);
        let order = &mut self.data.orders[found.value as usize];
        let row = self.data.rows.order(u64::from(found.value));
        order.carrier = carrier;
        let customer = u64::from(order.customer);
        s.write(row, found.loaded, &[column::O_CARRIER]);

        self.lines_of(s, district, number, number);
        let mut sum = 0;
        for entry in &self.found {
            let line = &mut self.data.lines[entry.value as usize];
            line.delivered = true;
            sum += Cents::from(line.amount);
            let row = self.data.rows.line(u64::from(entry.value));
            s.statement();
            s.read(row, entry.loaded, &[column::OL_ALL]);
            s.write(row, entry.loaded, &[column::OL_DELIVERY_D]);
        }
        let c = s.find(
            &self.data.index.customers,
            key::customer(district, customer),
        );
        let row = self.layout.customer.at(u64::from(c.value));
        s.write(row, c.loaded, &[column::C_BALANCE_TO_COUNTS]);
        let customer = &mut self.data.customers[(district * sizes.customers + customer) as usize];
        customer.balance += sum;
        customer.deliveries = customer.deliveries.wrapping_add(1);
    }

    pub(super) fn stock_level(&mut self, s: &mut Session, rng: &mut Rng) {
        let district = self.layout.sizes.home_district(rng, self.done / ROUND);
        let threshold = 10 + rng.below(11) as u8;
        let d = s.find(&self.data.index.districts, district);
        s.read(
            self.layout.district.at(district),
            d.loaded,
            &[column::D_NEXT_O_ID],
        );
        let next = self.data.districts[district as usize].next;
        self.lines_of(s, district, next.saturating_sub(RECENT), next - 1);
        let mut items = Vec::with_capacity(self.found.len());
        for entry in &self.found {
            s.statement();
            s.read(
                self.data.rows.line(u64::from(entry.value)),
                entry.loaded,
                &[column::OL_ITEM],
            );
            items.push(u64::from(self.data.lines[entry.value as usize].item));
            s.rec.work(DISTINCT);
        }
        items.sort_unstable();
        items.dedup();
        let warehouse = key::warehouse(district);
        for item in items {
            let found = s.find(&self.data.index.stocks, key::stock(warehouse, item));
            let row = self.layout.stock.at(u64::from(found.value));
            s.read(row, found.loaded, &[column::S_QUANTITY]);
            let low = self.data.stocks[found.value as usize].quantity < threshold;
            self.answers = self.answers.wrapping_add(u64::from(low));
        }
    }
}

/// Another warehouse.
fn other(rng: &mut Rng, home: u64, warehouses: u64) -> u64 {
    (home + 1 + rng.below(warehouses - 1)) % warehouses
}
