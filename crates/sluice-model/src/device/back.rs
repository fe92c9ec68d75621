//! What is behind the cache: the translation layer and the flash array.

use super::contents::Contents;
use crate::config::Settings;
use crate::ftl::Ftl;
use crate::nand::Nand;
use crate::parts::Parts;
use crate::stats::Stats;
use sluice_units::Ps;

/// Pages by their logical number, with the time that it takes to get at them.
///
/// The times given may go back: an access that waited to be taken in asks for a later moment than
/// the one that comes after it.
pub(super) struct Back {
    ftl: Ftl,
    nand: Nand,
    pub contents: Contents,
}

/// The flash array that the FTL works on.
#[cfg(not(test))]
macro_rules! flash {
    ($back:expr) => {
        &mut $back.nand
    };
}

/// The same, watched.
#[cfg(test)]
macro_rules! flash {
    ($back:expr) => {
        &mut super::contents::Watched {
            layout: $back.ftl.layout(),
            nand: &mut $back.nand,
            contents: &mut $back.contents,
        }
    };
}

impl Back {
    pub fn new(settings: &Settings, seed: u64) -> Back {
        Back {
            ftl: Ftl::new(settings),
            nand: Nand::new(settings, seed),
            contents: Contents::new(),
        }
    }

    /// Nothing will be asked for before `now`.
    pub fn pass(&mut self, now: Ps) {
        self.nand.pass(now);
    }

    /// When the page, asked for at `at`, is out of the flash array. Adds what it waited for.
    pub fn read(&mut self, at: Ps, lpn: u32, parts: &mut Parts, stats: &mut Stats) -> Ps {
        #[cfg(test)]
        self.contents.forget_read();
        let served = self.ftl.read(at, lpn, flash!(self), stats);
        parts.flash_queue += served.queue;
        parts.flash_gc += served.gc;
        parts.flash_service += served.service;
        self.nand.count(stats);
        served.done_at
    }

    /// Writes the page behind the cache. Nobody waits for the program.
    pub fn write(&mut self, at: Ps, lpn: u32, stats: &mut Stats) {
        #[cfg(test)]
        self.contents.lift(lpn);
        self.ftl.write(at, lpn, flash!(self), stats);
        self.nand.count(stats);
    }

    /// The page has no contents any more.
    pub fn trim(&mut self, lpn: u32) {
        self.ftl.trim(lpn);
    }

    /// Panics if the mapping and the blocks contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        self.ftl.check();
    }
}
