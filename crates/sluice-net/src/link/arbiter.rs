//! Which end of a half-duplex link sends next.

use crate::graph::HalfDuplex;
use crate::ids::{DirectionId, PacketId};
use crate::packet::{Queue, Slab};
use sluice_units::Ps;

/// Packets of both directions that wait for the wires.
pub(super) struct Arbiter {
    settings: HalfDuplex,
    /// By the end of the link at which they are.
    queues: [Queue; 2],
    /// The end that sent last, and how many of its packets went one after the other.
    side: usize,
    run: u32,
    waiting: u32,
    has_sent: bool,
    /// Whether an event will come when the wires are free.
    is_woken: bool,
}

/// The packet that has the wires.
pub(super) struct Grant {
    pub packet: PacketId,
    /// The end that sends it.
    pub side: usize,
    /// What turning the link round takes before it.
    pub turnaround: Ps,
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

    /// Lets a packet wait for a direction.
    pub fn wait(&mut self, packets: &mut Slab, direction: DirectionId, packet: PacketId) {
        self.queues[direction.side()].push(packets, packet);
        self.waiting += 1;
    }

    /// Packets that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Whether an event is needed that lets the next packet have the wires. It is then taken to
    /// come.
    pub fn needs_event(&mut self) -> bool {
        self.waiting > 0 && !std::mem::replace(&mut self.is_woken, true)
    }

    /// The event has come: the next packet has the wires. A side sends until it has no more, or as
    /// many as it may while the other waits.
    pub fn grant(&mut self, packets: &Slab) -> Option<Grant> {
        self.is_woken = false;
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
        Some(Grant {
            packet,
            side,
            turnaround,
        })
    }
}
