//! The consistency conditions of TPC-C 3.3.2, and those between rows and indices.

use super::Tpcc;
use super::data::{Cents, key, line_row, order_row};
use super::layout::DISTRICTS;
use std::fmt::Debug;

/// Says what is not as it should be.
fn same<T: PartialEq + Debug>(what: impl FnOnce() -> String, is: T, due: T) -> Result<(), String> {
    if is == due {
        return Ok(());
    }
    Err(format!("{}: {is:?}, expected {due:?}", what()))
}

impl Tpcc {
    pub(super) fn consistent(&self) -> Result<(), String> {
        for (w, ytd) in self.data.warehouse_ytd.iter().enumerate() {
            let first = w * DISTRICTS as usize;
            let districts = &self.data.districts[first..first + DISTRICTS as usize];
            let sum = districts.iter().map(|d| d.ytd).sum();
            same(|| format!("condition 1: W_YTD of warehouse {w}"), *ytd, sum)?;
        }
        // Of every customer the amounts delivered, of every stock the quantities ordered.
        let mut delivered = vec![0; self.data.customers.len()];
        let mut ordered = vec![0; self.data.stocks.len()];
        for district in 0..self.layout.sizes.districts() {
            self.district(district, &mut delivered, &mut ordered)?;
        }
        for (at, customer) in self.data.customers.iter().enumerate() {
            let is = customer.balance + customer.ytd;
            let due = delivered[at] + customer.forgotten;
            same(|| format!("condition 12: customer {at}"), is, due)?;
        }
        for (at, stock) in self.data.stocks.iter().enumerate() {
            let due = ordered[at] + stock.forgotten;
            same(|| format!("S_YTD of stock {at}"), stock.ytd, due)?;
        }
        self.index_entries()
    }

    fn district(
        &self,
        district: u64,
        delivered: &mut [Cents],
        ordered: &mut [u32],
    ) -> Result<(), String> {
        let (sizes, d) = (&self.layout.sizes, &self.data.districts[district as usize]);
        let what = |n: u32| move || format!("condition {n}: district {district}");
        let kept = u64::from(d.payments).min(sizes.orders) as usize;
        let history = &self.data.history[(district * sizes.orders) as usize..][..kept];
        let payments: Cents = history.iter().map(|amount| Cents::from(*amount)).sum();
        same(what(9), d.ytd, payments + d.forgotten)?;

        let (mut new, mut lines) = (0, 0);
        for number in d.oldest..d.next {
            let row = order_row(sizes, district, number);
            let order = &self.data.orders[row as usize];
            let key = key::order(district, number);
            same(what(2), self.data.index.orders.find(key), Some(row as u32))?;
            let due = (order.carrier == 0).then_some(row as u32);
            same(what(5), self.data.index.new_orders.find(key), due)?;
            // Delivered in order, the new ones are the last.
            same(what(3), due.is_some() || new == 0, true)?;
            new += u32::from(due.is_some());
            lines += u32::from(order.lines);
            let owner = district * sizes.customers + u64::from(order.customer);
            for line in 0..u64::from(order.lines) {
                let row = line_row(sizes, district, order.start, line);
                let key = key::line(district, number, line);
                same(what(6), self.data.index.lines.find(key), Some(row as u32))?;
                let line = &self.data.lines[row as usize];
                same(what(7), line.delivered, order.carrier != 0)?;
                delivered[owner as usize] += Cents::from(line.amount) * i64::from(line.delivered);
                if u64::from(number) > sizes.customers {
                    let stock = u64::from(line.supply) * sizes.items + u64::from(line.item);
                    ordered[stock as usize] += u32::from(line.quantity);
                }
            }
        }
        same(what(4), d.lines, lines)
    }

    /// The indices that change have no more entries than there are rows, and in order.
    fn index_entries(&self) -> Result<(), String> {
        let districts = &self.data.districts;
        let orders: usize = districts.iter().map(|d| (d.next - d.oldest) as usize).sum();
        let lines: usize = districts.iter().map(|d| d.lines as usize).sum();
        let new = self
            .data
            .orders
            .iter()
            .filter(|o| o.lines > 0 && o.carrier == 0);
        let index = &self.data.index;
        let trees = [
            ("orders", &index.orders, orders),
            ("latest orders", &index.latest, orders),
            ("new orders", &index.new_orders, new.count()),
            ("order lines", &index.lines, lines),
        ];
        for (name, tree, due) in trees {
            let entries = tree.entries();
            same(
                || format!("entries of the index of {name}"),
                entries.len(),
                due,
            )?;
            let ascending = entries.is_sorted_by(|a, b| a.0 < b.0);
            same(|| format!("order of the index of {name}"), ascending, true)?;
        }
        Ok(())
    }
}
