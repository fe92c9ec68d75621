//! Hosts of the program at requesters: what each has asked for, and what its news mean.

use sluice_cxl::coherence::State;
use sluice_host::{AskFor, Reply};
use sluice_net::{HostEvent, HostNews};
use sluice_units::Ps;
use std::collections::BTreeMap;

/// Something that a host of the program's learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// When.
    pub at: Ps,
    /// The requester that the host is at.
    pub requester: u32,
    /// The line's first byte.
    pub addr: u64,
    /// What the host called what it asked for; 0 for a snoop.
    pub tag: u32,
    /// What has happened.
    pub what: Event,
}

/// What has happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It has come, to be read.
    Line,
    /// It has come, to be written as well.
    Owned,
    /// A long-delay message has come instead of it.
    Delayed,
    /// Memory has it.
    Written,
    /// A snoop has left it to be read alone.
    Shared,
    /// A snoop has taken it.
    Gone,
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Asked {
    what: AskFor,
    addr: u64,
}

/// A host of the program's.
struct Seat {
    misses: u32,
    /// By its tag.
    asked: BTreeMap<u32, Asked>,
    /// How many of these are lines to come.
    to_come: u32,
}

/// The hosts, by their requesters.
#[derive(Default)]
pub struct Seats(BTreeMap<u32, Seat>);

impl Seats {
    /// A host takes its place.
    pub fn take(&mut self, requester: u32, misses: u32) {
        let seat = Seat {
            misses,
            asked: BTreeMap::new(),
            to_come: 0,
        };
        self.0.insert(requester, seat);
    }

    /// Whether a host is at the requester.
    pub fn has(&self, requester: u32) -> bool {
        self.0.contains_key(&requester)
    }

    /// The requesters with hosts.
    pub fn requesters(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }

    /// What hosts have asked for and not learnt.
    pub fn asked(&self) -> u64 {
        self.0.values().map(|seat| seat.asked.len() as u64).sum()
    }

    /// Whether a host's tag is that of something under way.
    pub fn is_used(&self, requester: u32, tag: u32) -> bool {
        let seat = self.0.get(&requester);
        seat.is_some_and(|seat| seat.asked.contains_key(&tag))
    }

    /// Whether a host can ask for a line.
    pub fn has_room(&self, requester: u32) -> bool {
        let seat = self.0.get(&requester);
        seat.is_some_and(|seat| seat.to_come < seat.misses)
    }

    /// A host has asked for something that is answered.
    pub fn ask(&mut self, requester: u32, tag: u32, what: AskFor, addr: u64) {
        if let Some(seat) = self.0.get_mut(&requester) {
            seat.asked.insert(tag, Asked { what, addr });
            seat.to_come += u32::from(is_line(what));
        }
    }

    /// What the host learns.
    pub fn learn(&mut self, event: &HostEvent) -> Option<Learnt> {
        let requester = event.requester.0;
        let (tag, addr, what) = match event.what {
            HostNews::Snoop(addr, State::Invalid) => (0, addr, Event::Gone),
            HostNews::Snoop(addr, _) => (0, addr, Event::Shared),
            HostNews::Answer(tag, reply) => {
                let seat = self.0.get_mut(&requester)?;
                let asked = seat.asked.remove(&tag)?;
                seat.to_come -= u32::from(is_line(asked.what));
                (tag, asked.addr, answer(asked.what, &reply))
            }
        };
        let at = event.at;
        Some(Learnt {
            at,
            requester,
            addr,
            tag,
            what,
        })
    }
}

fn is_line(what: AskFor) -> bool {
    matches!(what, AskFor::Line | AskFor::Owned)
}

fn answer(asked: AskFor, reply: &Reply) -> Event {
    match asked {
        AskFor::Write | AskFor::Drop => Event::Written,
        _ if reply.delayed => Event::Delayed,
        AskFor::Owned => Event::Owned,
        AskFor::Line => Event::Line,
    }
}
