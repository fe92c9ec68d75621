//! What is behind the cache: the translation layer and the flash array.

use super::contents::Contents;
use crate::config::Settings;
use crate::ftl::{Ftl, Placement, WearReport};
use crate::layout::Place;
use crate::nand::{Nand, Origin, Outlook, ProgramEnd};
use crate::parts::Parts;
use crate::stats::Stats;
use crate::write_log::Programmed;
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

impl Back {
    pub fn new(settings: &Settings, seed: u64) -> Back {
        let ftl = Ftl::new(settings, seed);
        Back {
            contents: Contents::of(&ftl, settings, seed),
            nand: Nand::new(settings, seed),
            ftl,
        }
    }

    /// See [`Nand::retime`].
    pub fn retime(&mut self, settings: &Settings) {
        self.nand.retime(settings);
    }

    /// Nothing will be asked for before `now`. What idle dies had the time for until then is done
    /// in the background.
    #[inline]
    pub fn pass(&mut self, now: Ps, stats: &mut Stats) {
        if self.ftl.is_due(now) {
            self.ftl
                .advance(now, &mut self.contents.over(&mut self.nand), stats);
        }
        self.nand.pass(now);
    }

    /// When the flash array has done what it has been asked for.
    pub fn idle_at(&self) -> Ps {
        self.nand.at_rest()
    }

    /// When the page, asked for at `at`, is out of the flash array. Adds what it waited for.
    pub fn read(&mut self, at: Ps, lpn: u32, parts: &mut Parts, stats: &mut Stats) -> Ps {
        self.contents.forget_read();
        let served = self.ftl.read(
            at,
            lpn,
            Origin::Host,
            &mut self.contents.over(&mut self.nand),
            stats,
        );
        parts.flash_queue += served.queue;
        parts.flash_gc += served.gc;
        parts.flash_service += served.service;
        self.nand.count(stats);
        served.done_at
    }

    /// Counts from now on what each channel has been asked for. Allocates.
    pub fn watch_queues(&mut self) {
        self.nand.watch();
    }

    /// What a read of the page would find at `at`; nothing if it has no place in flash.
    pub fn outlook(&mut self, at: Ps, lpn: u32) -> Outlook {
        let ppn = self.ftl.ppn_of(lpn);
        ppn.map_or_else(Outlook::default, |ppn| self.nand.outlook(at, ppn))
    }

    /// Whether the page has a place in flash.
    pub fn is_mapped(&self, lpn: u32) -> bool {
        self.ftl.ppn_of(lpn).is_some()
    }

    /// Writes the page behind the cache. Nobody waits for the program.
    pub fn write(&mut self, at: Ps, lpn: u32, stats: &mut Stats) {
        self.write_to(at, lpn, Placement::default(), stats);
    }

    /// The same, to where the host wants it.
    pub fn write_to(&mut self, at: Ps, lpn: u32, placement: Placement, stats: &mut Stats) {
        self.contents.lift(lpn);
        // A refusal is counted, and `is_read_only` says so from then on.
        let _ = self.ftl.write(
            at,
            lpn,
            placement,
            Origin::Host,
            &mut self.contents.over(&mut self.nand),
            stats,
        );
        self.nand.count(stats);
    }

    /// When the page is out of the flash array for compaction of the write log.
    pub fn read_for_log(&mut self, at: Ps, lpn: u32, stats: &mut Stats) -> Ps {
        let served = self.ftl.read(
            at,
            lpn,
            Origin::Log,
            &mut self.contents.over(&mut self.nand),
            stats,
        );
        self.nand.count(stats);
        served.done_at
    }

    /// Writes the page for compaction of the write log. A refusal is counted, as for the host.
    pub fn write_for_log(&mut self, at: Ps, lpn: u32, stats: &mut Stats) -> Programmed {
        let placement = Placement::default();
        let written = self.ftl.write(
            at,
            lpn,
            placement,
            Origin::Log,
            &mut self.contents.over(&mut self.nand),
            stats,
        );
        self.nand.count(stats);
        let ppn = self.ftl.ppn_of(lpn).filter(|_| written.is_ok());
        Programmed {
            ppn: ppn.unwrap_or_default(),
            end: ppn.map_or(ProgramEnd::At(at), |ppn| self.nand.program_end(at, ppn)),
        }
    }

    /// When a program ends, as far as is known at `at`.
    pub fn program_end(&mut self, at: Ps, ppn: u32) -> ProgramEnd {
        self.nand.program_end(at, ppn)
    }

    /// The page has no contents any more.
    pub fn trim(&mut self, at: Ps, lpn: u32, stats: &mut Stats) {
        self.ftl
            .trim(at, lpn, &mut self.contents.over(&mut self.nand), stats);
    }

    /// Whether the flash array has such a plane.
    pub fn has_place(&self, place: Place) -> bool {
        self.ftl.has_place(place)
    }

    /// Whether too many blocks failed for another write.
    pub fn is_read_only(&self) -> bool {
        self.ftl.is_read_only()
    }

    /// How worn the blocks are.
    pub fn wear(&self) -> WearReport {
        self.ftl.wear()
    }

    /// What flash has of a page: zeros if nothing.
    #[cfg(test)]
    pub fn in_flash(&self, lpn: u32) -> Option<u64> {
        match self.ftl.ppn_of(lpn) {
            Some(ppn) => self.contents.of_flash(ppn),
            None => Some(super::contents::ZEROS),
        }
    }

    /// Panics if the mapping and the blocks contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        self.ftl.check();
    }
}
