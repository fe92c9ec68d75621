//! How many operations each channel has been asked for and has not done.

use super::op::Verb;
use crate::layout::{Channel, Die};
use sluice_units::{Ps, Table};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most operations counted on one channel: many times any long-delay threshold.
const COUNTED_MAX: usize = 4_096;

/// The reserved operations of every channel, by the time at which they end.
pub(super) struct Queues {
    channels: Table<Channel, Counted>,
}

struct Counted {
    /// The end, the verb and the die of each.
    ends: BinaryHeap<Reverse<(Ps, Verb, Die)>>,
    counts: [u32; 3],
}

impl Queues {
    pub fn new(channels: u32) -> Queues {
        let none = |_| Counted {
            ends: BinaryHeap::with_capacity(COUNTED_MAX),
            counts: [0; 3],
        };
        Queues {
            channels: Table::from_fn(channels, none),
        }
    }

    /// Counts an operation until `end`. One too many is not counted.
    pub fn add(&mut self, channel: Channel, verb: Verb, die: Die, end: Ps) {
        let channel = &mut self.channels[channel];
        if channel.ends.len() < COUNTED_MAX {
            channel.ends.push(Reverse((end, verb, die)));
            channel.counts[verb as usize] += 1;
        }
    }

    /// Drops what has ended by `now`. `end_of` says when an operation of a die that was to end at
    /// the given time does end, if that has changed.
    pub fn retire(&mut self, channel: Channel, now: Ps, end_of: impl Fn(Die, Verb, Ps) -> Ps) {
        let channel = &mut self.channels[channel];
        while let Some(Reverse((end, verb, die))) = channel.ends.peek().copied() {
            if end > now {
                return;
            }
            channel.ends.pop();
            match end_of(die, verb, end) {
                later if later > now => channel.ends.push(Reverse((later, verb, die))),
                _ => channel.counts[verb as usize] -= 1,
            }
        }
    }

    /// Reads, programs and erases that have not ended.
    pub fn counts(&self, channel: Channel) -> [u32; 3] {
        self.channels[channel].counts
    }
}
