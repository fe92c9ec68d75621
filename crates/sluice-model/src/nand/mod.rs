//! NAND timing by reservation: a die and its channel each know when they are free next.
//!
//! Operations on a die run in the order of their requests, so a read behind an erase waits for
//! it: queueing and interference need no further rule. A die is free again as soon as a read
//! has left the cells; the transfer then takes its turn on the channel.

mod flash;
mod spans;
mod timeline;

use crate::config::Settings;
use crate::layout::Layout;
pub(crate) use flash::Flash;
pub use flash::{BadBlock, Origin, Served};
use sluice_units::Ps;
use spans::Spans;
use timeline::Timeline;

/// The flash array's timing state.
pub(crate) struct Nand {
    layout: Layout,
    dies: Vec<Die>,
    channels: Vec<Timeline>,
    read: Ps,
    program: Ps,
    erase: Ps,
    transfer: Ps,
}

#[derive(Clone, Default)]
struct Die {
    /// When it has done all it was asked for.
    free_at: Ps,
    /// Until when collection has it, some time after now.
    gc_until: Ps,
    gc: Spans,
}

impl Die {
    /// Takes `time` of the die after all it has to do, and says when that ends.
    fn occupy(&mut self, now: Ps, from: Ps, time: Ps, origin: Origin) -> Ps {
        let start = from.max(self.free_at);
        self.free_at = start + time;
        if origin == Origin::Gc {
            self.gc.add(now, start, self.free_at);
            self.gc_until = self.free_at;
        }
        self.free_at
    }
}

impl Nand {
    pub fn new(settings: &Settings) -> Nand {
        let layout = Layout::new(settings);
        Nand {
            layout,
            dies: vec![Die::default(); layout.dies as usize],
            channels: (0..settings.nand.channels)
                .map(|_| Timeline::new())
                .collect(),
            read: settings.nand.read,
            program: settings.nand.program,
            erase: settings.nand.erase,
            transfer: settings.nand.transfer,
        }
    }

    fn transfer(&mut self, now: Ps, die: u32, earliest: Ps) -> Ps {
        if self.transfer == Ps::ZERO {
            return earliest;
        }
        let channel = self.layout.channel_of_die(die);
        self.channels[channel as usize].reserve(now, earliest, self.transfer)
    }
}

impl Flash for Nand {
    fn read(&mut self, now: Ps, ppn: u32, origin: Origin) -> Served {
        let at = self.layout.die_of(ppn);
        let die = &mut self.dies[at as usize];
        let start = now.max(die.free_at);
        let gc = match die.gc_until > now {
            true => die.gc.within(now, start),
            false => Ps::ZERO,
        };
        let sensed = die.occupy(now, start, self.read, origin);
        let done_at = self.transfer(now, at, sensed);
        let service = self.read + self.transfer;
        Served {
            done_at,
            queue: done_at - now - gc - service,
            gc,
            service,
        }
    }

    fn program(&mut self, now: Ps, ppn: u32, origin: Origin) -> Result<Ps, BadBlock> {
        let at = self.layout.die_of(ppn);
        let start = now.max(self.dies[at as usize].free_at);
        let loaded = self.transfer(now, at, start);
        self.dies[at as usize].occupy(now, loaded, self.program, origin);
        Ok(now)
    }

    fn copy(&mut self, now: Ps, from: u32, to: u32, origin: Origin) -> Result<Ps, BadBlock> {
        self.read(now, from, origin);
        self.program(now, to, origin)
    }

    fn erase(&mut self, now: Ps, block: u32, origin: Origin) -> Result<Ps, BadBlock> {
        let at = self.layout.die_of_block(block);
        self.dies[at as usize].occupy(now, now, self.erase, origin);
        Ok(now)
    }
}
