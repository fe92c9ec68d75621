//! Who sends next on a half-duplex link.

use super::graph::HalfDuplex;
use super::packet::{Queue, Slab};
use sluice_units::Ps;

/// Packets of both directions that wait for the wires.
pub(super) struct Arbiter {
    settings: HalfDuplex,
    queues: [Queue; 2],
    /// The side that sent last, and how many of its packets went one after the other.
    side: usize,
    run: u32,
    waiting: u32,
    has_sent: bool,
    /// Whether an event will come when the wires are free.
    pub is_woken: bool,
}

impl Arbiter {
    pub fn new(settings: HalfDuplex) -> Arbiter {
        Arbiter {
            settings,
            queues: [Queue::default(); 2],
            side: 0,
            run: 0,
            waiting: 0,
            has_sent: false,
            is_woken: false,
        }
    }

    /// Lets a packet of a side wait.
    pub fn wait(&mut self, packets: &mut Slab, side: usize, packet: u32) {
        self.queues[side].push(packets, packet);
        self.waiting += 1;
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// The next packet, its side, and what turning the link round takes before it. A side sends
    /// until it has no more, or as many as it may while the other waits.
    pub fn next(&mut self, packets: &Slab) -> Option<(u32, usize, Ps)> {
        let other = 1 - self.side;
        let mine = !self.queues[self.side].is_empty();
        let may_go_on = self.run < self.settings.burst || self.queues[other].is_empty();
        let side = if mine && may_go_on { self.side } else { other };
        let packet = self.queues[side].pop(packets)?;
        self.waiting -= 1;
        let turns = side != self.side && self.has_sent;
        self.run = if side == self.side { self.run + 1 } else { 1 };
        (self.side, self.has_sent) = (side, true);
        let turnaround = if turns {
            self.settings.turnaround
        } else {
            Ps::ZERO
        };
        Some((packet, side, turnaround))
    }
}
