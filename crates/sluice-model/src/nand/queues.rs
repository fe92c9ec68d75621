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

/// The end of an operation, its verb and its die.
type End = Reverse<(Ps, Verb, Die)>;

struct Counted {
    ends: BinaryHeap<End>,
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

    /// Counts an operation until `end`, at `now`. One too many is not counted.
    pub fn add(&mut self, now: Ps, channel: Channel, verb: Verb, die: Die, end: Ps) {
        if self.channels[channel].ends.len() == COUNTED_MAX {
            self.retire(channel, now, |_, _, end| end);
        }
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

    /// Reads, programs and erases that will not have ended by `at`, with `end_of` as there.
    pub fn counts(
        &self,
        channel: Channel,
        at: Ps,
        end_of: impl Fn(Die, Verb, Ps) -> Ps,
    ) -> [u32; 3] {
        let channel = &self.channels[channel];
        let mut counts = channel.counts;
        each_until(channel.ends.as_slice(), 0, at, &mut |end, verb, die| {
            counts[verb as usize] -= u32::from(end_of(die, verb, end) <= at);
        });
        counts
    }
}

/// Looks at what was to end by `at` in the part of a heap below `place`: no more than that and the
/// places just below.
fn each_until(heap: &[End], place: usize, at: Ps, look: &mut impl FnMut(Ps, Verb, Die)) {
    match heap.get(place) {
        Some(&Reverse((end, verb, die))) if end <= at => look(end, verb, die),
        _ => return,
    }
    each_until(heap, 2 * place + 1, at, look);
    each_until(heap, 2 * place + 2, at, look);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody has to ask for what has ended to make room for what comes.
    #[test]
    fn a_long_time_without_a_question_costs_no_place() {
        let mut queues = Queues::new(1);
        let channel = Channel(0);
        for i in 0..2 * COUNTED_MAX as u64 {
            queues.add(Ps(i), channel, Verb::Read, Die(0), Ps(i + 10));
        }
        let now = Ps(2 * COUNTED_MAX as u64);
        queues.retire(channel, now, |_, _, end| end);
        let counts = |at| queues.counts(channel, now + Ps(at), |_, _, end| end);
        assert_eq!(
            (counts(0), counts(4), counts(9)),
            ([9, 0, 0], [5, 0, 0], [0; 3])
        );
        assert_eq!(counts(0), [9, 0, 0], "a look ahead changes nothing");
    }
}
