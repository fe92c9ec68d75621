//! How long accesses have waited for DRAM, by its channels.

use super::external::{Answer, ExternalMemory, MemoryRequest};
use super::ids::PacketId;
use sluice_model::Op;
use sluice_model::dram::{DramLayout, Scheduled};
use sluice_units::Ps;

/// The time in which some access waited for its channel: longer than one takes that finds its bank
/// idle.
pub(super) struct Waits {
    idle: Ps,
    channels: Vec<Channel>,
}

#[derive(Clone, Copy, Default)]
struct Channel {
    /// Until when it is known that one waits; all before is counted.
    until: Ps,
    waited: Ps,
}

impl Waits {
    pub fn new(layout: &DramLayout) -> Waits {
        Waits {
            idle: layout.idle_read(),
            channels: vec![Channel::default(); layout.channels as usize],
        }
    }

    /// An access came at `now` and is done at `done_at`.
    #[inline]
    pub fn count(&mut self, channel: usize, now: Ps, done_at: Ps) {
        let channel = &mut self.channels[channel];
        let (from, until) = (now.max(channel.until), done_at - self.idle);
        if until > from {
            channel.waited += until - from;
            channel.until = until;
        }
    }

    /// Counting begins.
    pub fn begin(&mut self, now: Ps) {
        for channel in &mut self.channels {
            channel.waited = channel.until - now;
        }
    }

    /// Of the channel for which most was waited, until then.
    pub fn most(&self, until: Ps) -> Ps {
        let each = self.channels.iter();
        let each = each.map(|channel| channel.waited - (channel.until - until));
        each.max().unwrap_or_default()
    }
}

/// DRAM behind a controller that reorders.
pub(super) struct Reordered {
    dram: Scheduled,
    waits: Waits,
    /// When the request of each packet came, and to which channel.
    under_way: Vec<(Ps, usize)>,
}

impl Reordered {
    pub fn new(layout: &DramLayout, entries: usize) -> Reordered {
        Reordered {
            dram: Scheduled::new(layout, entries),
            waits: Waits::new(layout),
            under_way: Vec::new(),
        }
    }
}

impl ExternalMemory for Reordered {
    fn request(&mut self, now: Ps, request: MemoryRequest) -> Answer {
        let MemoryRequest { id, addr, is_write } = request;
        let op = if is_write { Op::Write } else { Op::Read };
        let index = id.0 as usize;
        if self.under_way.len() <= index {
            self.under_way.resize(index + 1, (Ps::ZERO, 0));
        }
        self.under_way[index] = (now, self.dram.channel_of(addr));
        self.dram.request(now, u64::from(id.0), addr, op);
        Answer::Later
    }

    fn next_at(&self) -> Option<Ps> {
        self.dram.next_at()
    }

    fn advance(&mut self, now: Ps, done: &mut dyn FnMut(PacketId)) {
        let (waits, under_way) = (&mut self.waits, &self.under_way);
        self.dram.advance(now, |id| {
            let (came, channel) = under_way[id as usize];
            waits.count(channel, came, now);
            done(PacketId(id as u32));
        });
    }

    fn begin(&mut self, now: Ps) {
        self.waits.begin(now);
    }

    fn waited(&self, until: Ps) -> Option<Ps> {
        Some(self.waits.most(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_model::dram::STANDARDS;

    #[test]
    fn what_overlaps_is_counted_once_and_within_the_counting() {
        let layout = DramLayout {
            standard: &STANDARDS[0],
            channels: 2,
            ranks: 1,
            mapping: [0, 1, 2, 3, 4, 5],
            hashes_banks: false,
            closes_rows: false,
        };
        let (mut waits, idle) = (Waits::new(&layout), layout.idle_read());
        waits.count(0, Ps(100), Ps(100) + idle);
        assert_eq!(waits.most(Ps(1_000)), Ps::ZERO);
        // From 100 to 150, to 180, and from 200 to 400.
        for (now, until) in [(100, 150), (120, 180), (130, 140), (200, 400)] {
            waits.count(0, Ps(now), Ps(until) + idle);
        }
        waits.count(1, Ps(100), Ps(220) + idle);
        assert_eq!(waits.most(Ps(1_000)), Ps(280));
        assert_eq!(waits.most(Ps(300)), Ps(180));
        waits.begin(Ps(350));
        assert_eq!(waits.most(Ps(1_000)), Ps(50));
        assert_eq!(waits.most(Ps(360)), Ps(10));
    }
}
