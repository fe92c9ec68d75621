//! Where the time of a request went.

use sluice_units::Ps;
use std::ops::{AddAssign, Index, IndexMut};

/// A part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The requester's processing.
    Requester,
    /// The local cache.
    Cache,
    /// Waiting at the requester for another of its requests: for the same line, for a place in
    /// its cache, for a completion after the data; or for its cache, busy with snoops.
    Held,
    /// Ports at the ends of links.
    Port,
    /// From a packet's first bit on a link to its last.
    Serialisation,
    /// From the last bit sent to the last received.
    Propagation,
    /// Waiting for a link at a requester or an endpoint.
    LinkQueue,
    /// On its way through switches.
    Switch,
    /// Waiting for a link at a switch.
    SwitchQueue,
    /// The endpoint's controller.
    Controller,
    /// At the coherency agent: its filter, and waiting for turns, entries and snoops.
    Snoop,
    /// The endpoint's memory.
    Memory,
}

/// How many parts there are.
pub const PARTS: usize = 12;

impl Part {
    /// Every part, in order.
    pub const ALL: [Part; PARTS] = [
        Part::Requester,
        Part::Cache,
        Part::Held,
        Part::Port,
        Part::Serialisation,
        Part::Propagation,
        Part::LinkQueue,
        Part::Switch,
        Part::SwitchQueue,
        Part::Controller,
        Part::Snoop,
        Part::Memory,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Requester => "requester",
            Part::Cache => "cache",
            Part::Held => "held",
            Part::Port => "port",
            Part::Serialisation => "serialisation",
            Part::Propagation => "propagation",
            Part::LinkQueue => "link_queue",
            Part::Switch => "switch",
            Part::SwitchQueue => "switch_queue",
            Part::Controller => "controller",
            Part::Snoop => "snoop",
            Part::Memory => "memory",
        }
    }
}

/// Times by part. The sum of a request's parts is its latency, to the picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([Ps; PARTS]);

impl Parts {
    /// The time of the access, to which its parts add up.
    pub fn total(&self) -> Ps {
        self.0.into_iter().sum()
    }
}

/// Times of many requests by part, ps. Of any number: 64 bits hold 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSums([u128; PARTS]);

impl PartSums {
    /// The time of all requests.
    pub fn total(&self) -> u128 {
        self.0.into_iter().sum()
    }
}

impl Index<Part> for PartSums {
    type Output = u128;

    #[inline]
    fn index(&self, part: Part) -> &u128 {
        &self.0[part as usize]
    }
}

impl AddAssign<Parts> for PartSums {
    #[inline]
    fn add_assign(&mut self, one: Parts) {
        for (sum, part) in self.0.iter_mut().zip(one.0) {
            *sum += u128::from(part.0);
        }
    }
}

impl AddAssign for PartSums {
    fn add_assign(&mut self, other: PartSums) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum += part;
        }
    }
}

impl Index<Part> for Parts {
    type Output = Ps;

    #[inline]
    fn index(&self, part: Part) -> &Ps {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Parts {
    #[inline]
    fn index_mut(&mut self, part: Part) -> &mut Ps {
        &mut self.0[part as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A year of waiting, by many requests together. The sum had begun again after 213 days.
    #[test]
    fn sums_are_of_any_length() {
        let day = Ps::from_ms(86_400_000);
        let mut one = Parts::default();
        (one[Part::LinkQueue], one[Part::Memory]) = (day, Ps(1));
        let (mut sums, mut twice) = (PartSums::default(), PartSums::default());
        (0..365).for_each(|_| sums += one);
        (0..2).for_each(|_| twice += sums);
        assert_eq!(sums[Part::LinkQueue], 365 * u128::from(day.0));
        assert_eq!(twice.total(), 2 * 365 * (u128::from(day.0) + 1));
        assert!(sums.total() > u128::from(u64::MAX));
    }
}
