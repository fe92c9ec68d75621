//! The consistency conditions of TPC-C 3.3.2, and those between rows and indices.

use super::Tpcc;
use super::data::{Cents, key, line_row, order_row};
use super::layout::DISTRICTS;
use crate::Mismatch;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Says what is not as it should be.
fn same<T: PartialEq + Debug>(
    what: impl FnOnce() -> String,
    is: T,
    due: T,
) -> Result<(), Mismatch> {
    if is == due {
        return Ok(());
    }
    Err(Mismatch::new(what(), format!("{is:?}"), format!("{due:?}")))
}

impl Tpcc {
    pub(super) fn consistent(&self) -> Result<(), Mismatch> {
        for (w, ytd) in self.data.warehouse_ytd.iter().enumerate() {
            let first = w * DISTRICTS as usize;
            let districts = &self.data.districts[first..first + DISTRICTS as usize];
            let sum = districts.iter().map(|d| d.ytd).sum();
            same(|| format!("condition 1: W_YTD of warehouse {w}"), *ytd, sum)?;
        }
        // The amounts delivered of every customer, and the quantities ordered of every stock.
        let mut delivered = vec![0; self.data.customers.len()];
        let mut ordered = vec![0; self.data.stocks.len()];
        for district in 0..self.layout.sizes.districts() {
            self.district(district, &mut delivered, &mut ordered)?;
            self.latest(district)?;
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
    ) -> Result<(), Mismatch> {
        let (sizes, d) = (&self.layout.sizes, &self.data.districts[district as usize]);
        let what = |n: u32| move || format!("condition {n}: district {district}");
        let kept = u64::from(d.payments).min(sizes.orders) as usize;
        let history = &self.data.history[(district * sizes.orders) as usize..][..kept];
        let payments: Cents = history.iter().map(|amount| Cents::from(*amount)).sum();
        same(what(9), d.ytd, payments + d.forgotten)?;

        let index = &self.data.index[key::database(district) as usize];
        let mut lines = 0;
        for number in d.oldest..d.next {
            let row = order_row(sizes, district, number);
            let order = &self.data.orders[row as usize];
            let key = key::order(district, number);
            same(what(2), index.orders.find(key), Some(row as u32))?;
            let due = (order.carrier == 0).then_some(row as u32);
            same(what(5), index.new_orders.find(key), due)?;
            // Delivered in order, the new ones are the last.
            same(what(3), due.is_some(), number >= d.undelivered)?;
            let first = line_row(sizes, district, order.start, 0) as u32;
            same(what(6), index.first_lines.find(key), Some(first))?;
            lines += u32::from(order.lines);
            let owner = district * sizes.customers + u64::from(order.customer);
            for line in 0..u64::from(order.lines) {
                let row = line_row(sizes, district, order.start, line);
                let key = key::line(district, number, line);
                same(what(6), index.lines.find(key), Some(row as u32))?;
                let line = &self.data.lines[row as usize];
                same(what(7), line.delivered, order.carrier != 0)?;
                delivered[owner as usize] += Cents::from(line.amount) * i64::from(line.delivered);
                if u64::from(number) > sizes.customers {
                    let stock = key::item(sizes, key::database(district), u64::from(line.item));
                    ordered[stock as usize] += u32::from(line.quantity);
                }
            }
        }
        same(what(4), d.lines, lines)
    }

    /// A customer's latest order is the one in the index.
    fn latest(&self, district: u64) -> Result<(), Mismatch> {
        let (sizes, d) = (&self.layout.sizes, &self.data.districts[district as usize]);
        let mut seen = BTreeSet::new();
        for number in (d.oldest..d.next).rev() {
            let row = order_row(sizes, district, number);
            let customer = u64::from(self.data.orders[row as usize].customer);
            if seen.insert(customer) {
                let index = &self.data.index[key::database(district) as usize];
                let found = index.latest.find(key::customer(district, customer));
                let what = || format!("latest order of customer {customer} of {district}");
                same(what, found, Some(row as u32))?;
            }
        }
        Ok(())
    }

    /// The indices that change have a row once, and as many as there are.
    fn index_entries(&self) -> Result<(), Mismatch> {
        let sizes = &self.layout.sizes;
        for (database, index) in self.data.index.iter().enumerate() {
            let first = database as u64 * DISTRICTS;
            let (mut orders, mut new, mut lines, mut owners) = (0, 0, 0, BTreeSet::new());
            for district in first..first + DISTRICTS {
                let d = &self.data.districts[district as usize];
                orders += (d.next - d.oldest) as usize;
                new += (d.next - d.undelivered) as usize;
                lines += d.lines as usize;
                owners.extend((d.oldest..d.next).map(|number| {
                    let row = order_row(sizes, district, number);
                    (district, self.data.orders[row as usize].customer)
                }));
            }
            let due = [orders, owners.len(), new, lines, orders];
            for ((name, tree), due) in index.changing().into_iter().zip(due) {
                let rows = tree.rows();
                let apart: BTreeSet<&u32> = rows.iter().collect();
                let what = |what| move || format!("{what} of the index of {name} of {database}");
                same(what("entries"), rows.len(), due)?;
                same(what("rows"), apart.len(), due)?;
            }
        }
        Ok(())
    }
}
