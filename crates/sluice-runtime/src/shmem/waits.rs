//! Threads that wait for their pages, in the order of their moments.

use std::collections::BTreeMap;

/// A thread that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// When to map its page.
    pub act_ns: u64,
    /// When it missed.
    pub access_ns: u64,
    /// What the model says it takes.
    pub modelled_ns: u64,
    /// Which process it belongs to, by its place in the server's table.
    pub place: usize,
    /// First address of the mapping.
    pub start: usize,
    /// Which page of the device it waits for.
    pub lpn: u64,
    /// Whether it stores.
    pub is_store: bool,
    /// The page was not in the cache, or still on its way there.
    pub is_miss: bool,
}

/// All that wait. Of those for the same moment the first comes first.
///
/// A handler of one process keeps its few in a table instead: its queue is bounded, and what is to
/// be done first changes while they wait.
#[derive(Debug, Default)]
pub struct Waits {
    /// By the moment and the number of those before.
    order: BTreeMap<(u64, u64), Wait>,
    count: u64,
}

impl Waits {
    /// One more thread waits.
    pub fn push(&mut self, wait: Wait) {
        self.put_off(wait, wait.act_ns);
    }

    /// One more, to be looked at later than it asks for.
    pub fn put_off(&mut self, wait: Wait, until_ns: u64) {
        self.count += 1;
        self.order.insert((until_ns, self.count), wait);
    }

    /// The first moment.
    pub fn next_ns(&self) -> Option<u64> {
        self.order.first_key_value().map(|((act_ns, _), _)| *act_ns)
    }

    /// The first, if its moment has come.
    pub fn pop_due(&mut self, now: u64) -> Option<Wait> {
        self.next_ns().filter(|act_ns| *act_ns <= now)?;
        self.order.pop_first().map(|(_, wait)| wait)
    }

    /// No thread of a process waits any more.
    pub fn forget(&mut self, place: usize) {
        self.order.retain(|_, wait| wait.place != place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(act_ns: u64, place: usize, lpn: u64) -> Wait {
        Wait {
            act_ns,
            access_ns: 0,
            modelled_ns: 0,
            place,
            start: 0,
            lpn,
            is_store: false,
            is_miss: true,
        }
    }

    #[test]
    fn moments_come_in_their_order() {
        let mut waits = Waits::default();
        for (n, (at, place)) in [(30, 1), (10, 1), (20, 2), (10, 2), (15, 1)]
            .into_iter()
            .enumerate()
        {
            waits.push(wait(at, place, n as u64));
        }
        assert_eq!(waits.next_ns(), Some(10));
        assert_eq!(waits.pop_due(9), None);
        waits.forget(2);
        let due: Vec<u64> = std::iter::from_fn(|| waits.pop_due(20))
            .map(|w| w.lpn)
            .collect();
        assert_eq!(due, [1, 4]);
        waits.push(wait(5, 3, 9));
        let due: Vec<u64> = std::iter::from_fn(|| waits.pop_due(100))
            .map(|w| w.lpn)
            .collect();
        assert_eq!(due, [9, 0]);
        assert_eq!(waits.next_ns(), None);
    }
}
