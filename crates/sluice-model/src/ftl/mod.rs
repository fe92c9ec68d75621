//! The flash translation layer: where each logical page is, and where the next write goes.
//!
//! Page-mapped. Writes stripe over the channels first, then over the dies (CWDP order), and each
//! die appends to its own open block. When a die runs short of free blocks, garbage collection
//! empties the block with the most stale pages; it runs on the die's own time, so that later
//! reads of that die wait for it.

mod blocks;
mod map;

use crate::config::Settings;
use crate::layout::Layout;
use crate::nand::{Flash, Origin, Served};
use crate::stats::Stats;
use blocks::Blocks;
use map::Map;
use sluice_units::Ps;

/// Why a result of the flash array is taken as good.
const NO_FAILURES: &str = "a flash array without an endurance does not fail";

/// The mapping and the state of every block.
pub(crate) struct Ftl {
    layout: Layout,
    map: Map,
    blocks: Blocks,
    /// The die that the next host write goes to.
    next_die: u32,
}

impl Ftl {
    pub fn new(settings: &Settings) -> Ftl {
        let layout = Layout::new(settings);
        Ftl {
            layout,
            map: Map::new(&layout),
            blocks: Blocks::new(&layout),
            next_die: 0,
        }
    }

    /// When the page's data, asked for at `now`, is out of the flash array.
    ///
    /// A page without a place in flash (never written, or discarded) costs nothing.
    pub fn read<F: Flash>(&self, now: Ps, lpn: u32, flash: &mut F, stats: &mut Stats) -> Served {
        match self.map.place_of(lpn, &self.layout) {
            Some(ppn) => {
                stats.flash_reads += 1;
                flash.read(now, ppn, Origin::Host)
            }
            None => Served::at_once(now),
        }
    }

    /// Writes the page to a new place. Says when the flash array has taken it over; the program
    /// ends later.
    pub fn write<F: Flash>(&mut self, now: Ps, lpn: u32, flash: &mut F, stats: &mut Stats) -> Ps {
        self.unmap(lpn);
        let die = self.pick_die();
        if self.blocks.host_is_full(die) {
            self.collect(now, die, flash, stats);
        }
        let ppn = self.blocks.append_host(die);
        self.map.set(lpn, ppn);
        stats.host_programs += 1;
        stats.flash_programs += 1;
        flash.program(now, ppn, Origin::Host).expect(NO_FAILURES)
    }

    /// Forgets the page's place.
    pub fn trim(&mut self, lpn: u32) {
        self.unmap(lpn);
    }

    fn unmap(&mut self, lpn: u32) {
        if let Some(ppn) = self.map.place_of(lpn, &self.layout) {
            self.map.clear(lpn);
            self.blocks.make_stale(ppn);
        }
    }

    /// The next die in turn that may take another valid page.
    ///
    /// The limits of all dies together exceed the logical pages (checked with the configuration),
    /// so there is always one.
    fn pick_die(&mut self) -> u32 {
        let dies = self.layout.plane_count();
        let mut turn = (self.next_die..dies).chain(0..self.next_die);
        let die = turn.find(|die| self.blocks.has_room(*die));
        let die = die.expect("the dies together hold every logical page");
        self.next_die = (die + 1) % dies;
        die
    }

    /// Frees blocks of a die until it has more than the threshold.
    fn collect<F: Flash>(&mut self, now: Ps, die: u32, flash: &mut F, stats: &mut Stats) {
        while self.blocks.is_short(die) {
            let Some(victim) = self.blocks.take_victim(die) else {
                return;
            };
            for ppn in self.layout.pages_of(victim) {
                if let Some(lpn) = self.map.owner_of(ppn, &self.layout) {
                    let to = self.blocks.append_gc(die);
                    self.map.set(lpn, to);
                    flash.copy(now, ppn, to, Origin::Gc).expect(NO_FAILURES);
                    stats.flash_reads += 1;
                    stats.flash_programs += 1;
                    stats.gc_moves += 1;
                }
            }
            flash.erase(now, victim, Origin::Gc).expect(NO_FAILURES);
            stats.erases += 1;
            self.blocks.free(victim);
        }
    }

    /// For tests that watch the flash array.
    #[cfg(test)]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Panics if the mapping and the blocks contradict each other. For tests.
    #[cfg(test)]
    pub fn check(&self) {
        let mut valid = vec![0u32; self.layout.blocks() as usize];
        for lpn in 0..self.layout.lpns {
            if let Some(ppn) = self.map.place_of(lpn, &self.layout) {
                assert_eq!(
                    self.map.owner_of(ppn, &self.layout),
                    Some(lpn),
                    "owner of P{ppn}"
                );
                valid[self.layout.block_of(ppn) as usize] += 1;
            }
        }
        self.blocks.check(&valid);
    }
}

#[cfg(test)]
mod tests;
