//! What a read would find if it came to its channel some time after now.
//!
//! The answer is worked out from what is known now, and changes nothing: work that begins until
//! then, or comes to its die until then, is only looked at.

use super::Nand;
use super::ahead::Dated;
use super::flash::Origin;
use super::op::Verb;
use crate::layout::{Channel, Die};
use sluice_units::{Ppn, Ps};

/// What a read would find on its channel: the terms of SkyByte's Algorithm 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// Reads that the channel has been asked for and has not done.
    pub reads: u32,
    /// Programs, likewise.
    pub programs: u32,
    /// Erases, likewise.
    pub erases: u32,
    /// Whether the read would wait behind garbage collection on its die.
    pub gc: bool,
}

impl Nand {
    /// What a read of the page would find at `at`; `None` if the controller still holds its data.
    /// The counts are zero if nobody watches.
    ///
    /// What begins after now counts as not ended by then: an operation takes longer than an access
    /// takes to the flash array.
    pub fn outlook(&mut self, at: Ps, ppn: Ppn) -> Option<Outlook> {
        let now = self.array.horizon();
        let die = self.layout.die_of(ppn);
        let channel = self.layout.channel_of_die(die);
        if let Some(posted) = &mut self.posted {
            // Nothing is asked for before now: what began until now began whoever asks.
            posted.play(now, die, &mut self.array);
        }
        if self.is_held(at, die, ppn) {
            return None;
        }
        let [reads, programs, erases] = self.counts(now, at, channel);
        Some(Outlook {
            reads,
            programs,
            erases,
            gc: self.gc_holds(at, die),
        })
    }

    /// Reads, programs and erases of a channel that will not have ended by `at`.
    fn counts(&mut self, now: Ps, at: Ps, channel: Channel) -> [u32; 3] {
        let Some(queues) = &mut self.array.queues else {
            return [0; 3];
        };
        let posted = self.posted.as_ref();
        let end_of = |die, verb, end| posted.map_or(end, |posted| posted.end_of(die, verb, end));
        queues.retire(channel, now, end_of);
        let reserved = queues.counts(channel, at, end_of);
        let waiting = posted.map_or([0; 3], |posted| posted.counts(channel));
        let mut counts = [0, 1, 2].map(|verb| reserved[verb] + waiting[verb]);
        for dated in self.ahead.due(at) {
            let (die, verb) = self.comes_first(at, dated);
            counts[verb as usize] += u32::from(self.layout.channel_of_die(die) == channel);
        }
        counts
    }

    /// Whether a read at `at` would wait behind collection on the die.
    fn gc_holds(&self, at: Ps, die: Die) -> bool {
        if self.array.gc_holds(at, die) {
            return true;
        }
        let mut due = self.ahead.due(at).filter(|dated| {
            let (first, _) = self.comes_first(at, dated);
            first == die
        });
        let Some(posted) = &self.posted else {
            return due.any(|dated| dated.asked.op.origin == Origin::Gc);
        };
        let mut next = None;
        for dated in due {
            // What reads for a page of another die is not posted.
            let is_read = dated.asked.op.die != die;
            if is_read && dated.asked.op.origin == Origin::Gc {
                return true;
            }
            if !is_read {
                next = next.or(Some(&dated.asked));
            }
        }
        posted.gc_holds(at, die, next, &self.array)
    }

    /// The die that works first for what is asked for ahead of its time, and what that does.
    fn comes_first(&self, at: Ps, dated: &Dated) -> (Die, Verb) {
        let op = &dated.asked.op;
        match dated.source {
            Some(source) if !self.is_held(at, dated.die, source) => (dated.die, Verb::Read),
            _ => (op.die, op.verb),
        }
    }

    /// Whether the controller has the data of a page that is being written.
    fn is_held(&self, at: Ps, die: Die, ppn: Ppn) -> bool {
        let posted = self.posted.as_ref();
        posted.is_some_and(|posted| posted.holds(at, die, ppn) || self.ahead.will_hold(at, ppn))
    }
}
