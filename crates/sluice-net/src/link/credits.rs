//! Room of receivers.

use crate::ids::PacketId;
use crate::packet::{CHANNELS, Queue, Slab};
use sluice_cxl::Channel;

/// Room of one receiver, by channel, and packets that wait for it.
pub(super) struct Credits {
    each: u32,
    left: [u32; CHANNELS],
    queues: [Queue; CHANNELS],
}

impl Credits {
    /// Makes as many credits of each channel.
    pub fn new(each: u32) -> Credits {
        Credits {
            each,
            left: [each; CHANNELS],
            queues: [Queue::default(); CHANNELS],
        }
    }

    /// Takes a credit for a packet, which waits behind the others of its channel if it gets none.
    #[inline]
    pub fn take(&mut self, packets: &mut Slab, packet: PacketId) -> bool {
        let channel = packets[packet].channel as usize;
        let can = self.left[channel] > 0 && self.queues[channel].is_empty();
        if can {
            self.left[channel] -= 1;
        } else {
            self.queues[channel].push(packets, packet);
        }
        can
    }

    /// Gives a credit back, or to the first packet that waits for it, which is returned.
    pub fn give(&mut self, packets: &Slab, channel: Channel) -> Option<PacketId> {
        let first = self.queues[channel as usize].pop(packets);
        self.left[channel as usize] += u32::from(first.is_none());
        first
    }

    /// Whether a packet waits.
    pub fn is_waited_for(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    /// Credits of each channel.
    pub fn each(&self) -> u32 {
        self.each
    }

    /// Packets that wait.
    pub fn waiting(&self, packets: &Slab) -> impl Iterator<Item = PacketId> {
        self.queues.iter().flat_map(|queue| queue.iter(packets))
    }
}
