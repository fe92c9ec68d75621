//! NAND timing by reservation: a die and its channel each know when they are free next.
//!
//! Operations on a die run in the order of their requests, so a read behind an erase waits for
//! it: queueing and interference need no further rule. A die is free again as soon as a read
//! has left the cells; the transfer then takes its turn on the channel.

mod timeline;

use crate::config::Settings;
use crate::layout::Layout;
use sluice_units::Ps;
use timeline::Timeline;

/// What the FTL asks of a flash array. Each answers when the operation, asked for at `now`, ends.
pub(crate) trait Flash {
    /// Reads a page, until it is out of the channel.
    fn read(&mut self, now: Ps, ppn: u32) -> Ps;

    /// Programs a page with data from the host.
    fn program(&mut self, now: Ps, ppn: u32) -> Ps;

    /// Reads a page and programs another with it.
    fn copy(&mut self, now: Ps, from: u32, to: u32) -> Ps {
        self.read(now, from);
        self.program(now, to)
    }

    /// Erases a block.
    fn erase(&mut self, now: Ps, block: u32) -> Ps;
}

/// The flash array's timing state.
pub(crate) struct Nand {
    layout: Layout,
    /// Per die: when it has done all it was asked for.
    die_free: Vec<Ps>,
    channels: Vec<Timeline>,
    read: Ps,
    program: Ps,
    erase: Ps,
    transfer: Ps,
}

impl Nand {
    pub fn new(settings: &Settings) -> Nand {
        let layout = Layout::new(settings);
        Nand {
            layout,
            die_free: vec![Ps::ZERO; layout.dies as usize],
            channels: (0..settings.nand.channels)
                .map(|_| Timeline::new())
                .collect(),
            read: settings.nand.read,
            program: settings.nand.program,
            erase: settings.nand.erase,
            transfer: settings.nand.transfer,
        }
    }

    fn occupy(&mut self, from: Ps, die: u32, time: Ps) -> Ps {
        let free = &mut self.die_free[die as usize];
        *free = from.max(*free) + time;
        *free
    }

    fn transfer(&mut self, now: Ps, die: u32, earliest: Ps) -> Ps {
        if self.transfer == Ps::ZERO {
            return earliest;
        }
        // Dies are numbered with the channel running fastest.
        let channel = die as usize % self.channels.len();
        self.channels[channel].reserve(now, earliest, self.transfer)
    }
}

impl Flash for Nand {
    fn read(&mut self, now: Ps, ppn: u32) -> Ps {
        let die = self.layout.die_of(ppn);
        let sensed = self.occupy(now, die, self.read);
        self.transfer(now, die, sensed)
    }

    fn program(&mut self, now: Ps, ppn: u32) -> Ps {
        let die = self.layout.die_of(ppn);
        let start = now.max(self.die_free[die as usize]);
        let loaded = self.transfer(now, die, start);
        self.occupy(loaded, die, self.program)
    }

    fn erase(&mut self, now: Ps, block: u32) -> Ps {
        self.occupy(now, self.layout.die_of_block(block), self.erase)
    }
}
