//! NAND timing by reservation: a die and its channel each know when they are free next.
//!
//! Operations on a die run in the order of their requests, so a read behind an erase waits for
//! it: queueing and interference need no further rule. A die is free again as soon as a read
//! has left the cells; the transfer then takes its turn on the channel.

mod timeline;

use crate::config::Settings;
use sluice_units::Ps;
use timeline::Timeline;

/// The flash array's timing state.
pub(crate) struct Nand {
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
        Nand {
            die_free: vec![Ps::ZERO; settings.die_count() as usize],
            channels: (0..settings.channels).map(|_| Timeline::new()).collect(),
            read: settings.nand_read,
            program: settings.nand_program,
            erase: settings.nand_erase,
            transfer: settings.nand_transfer,
        }
    }

    /// When a page read from `die`, asked for at `now`, is out of the channel.
    pub fn read(&mut self, now: Ps, die: u32) -> Ps {
        let sensed = self.occupy(now, die, self.read);
        self.transfer(now, die, sensed)
    }

    /// When a page program on `die`, asked for at `now`, is finished.
    pub fn program(&mut self, now: Ps, die: u32) -> Ps {
        let start = now.max(self.die_free[die as usize]);
        let loaded = self.transfer(now, die, start);
        self.occupy(loaded, die, self.program)
    }

    /// When a block erase on `die`, asked for at `now`, is finished.
    pub fn erase(&mut self, now: Ps, die: u32) -> Ps {
        self.occupy(now, die, self.erase)
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
