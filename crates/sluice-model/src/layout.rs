//! How physical page numbers are made of die, block and page.

use crate::config::Settings;
use std::ops::Range;

/// The geometry. A PPN counts pages within a block, then blocks within a die, then dies; dies are
/// numbered with the channel running fastest.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Logical pages.
    pub lpns: u32,
    /// Dies on all channels together.
    pub dies: u32,
    pub pages_per_block: u32,
    pub blocks_per_die: u32,
    /// Free blocks at or below which a die collects garbage before it opens a block.
    pub gc_threshold: u32,
    /// Valid pages at which a die takes no further host writes.
    pub valid_max: u32,
    /// Whether every logical page starts out written, at its home.
    pub preconditioned: bool,
}

impl Layout {
    pub fn new(settings: &Settings) -> Layout {
        Layout {
            lpns: settings.pages,
            dies: settings.nand.die_count(),
            pages_per_block: settings.nand.pages_per_block,
            blocks_per_die: settings.nand.blocks_per_die,
            gc_threshold: settings.ftl.gc_threshold_blocks,
            valid_max: settings.ftl.valid_pages_per_die_max,
            preconditioned: settings.ftl.preconditioned,
        }
    }

    fn pages_per_die(&self) -> u32 {
        self.pages_per_block * self.blocks_per_die
    }

    /// Blocks on all dies together.
    pub fn blocks(&self) -> u32 {
        self.dies * self.blocks_per_die
    }

    pub fn die_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_die()
    }

    pub fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_block
    }

    pub fn die_of_block(&self, block: u32) -> u32 {
        block / self.blocks_per_die
    }

    /// The PPNs of a block.
    pub fn pages_of(&self, block: u32) -> Range<u32> {
        block * self.pages_per_block..(block + 1) * self.pages_per_block
    }

    /// Where a logical page is on a device that was written once in order: LPN `i` is the page
    /// `i / dies` of die `i % dies`.
    pub fn home_of(&self, lpn: u32) -> u32 {
        (lpn % self.dies) * self.pages_per_die() + lpn / self.dies
    }

    /// The logical page whose home this is.
    pub fn owner_of_home(&self, ppn: u32) -> Option<u32> {
        let (die, page) = (ppn / self.pages_per_die(), ppn % self.pages_per_die());
        let lpn = u64::from(page) * u64::from(self.dies) + u64::from(die);
        u32::try_from(lpn).ok().filter(|lpn| *lpn < self.lpns)
    }

    /// How many logical pages have their home on a die.
    pub fn home_pages(&self, die: u32) -> u32 {
        let whole = self.lpns / self.dies;
        whole + u32::from(die < self.lpns % self.dies)
    }
}
