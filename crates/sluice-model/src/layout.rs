//! How physical page numbers are made of channel, chip, die, plane, block and page.

use crate::config::Settings;
use std::ops::Range;

/// The geometry of the flash array.
///
/// A PPN counts pages within a block, then blocks within a plane, then planes within a die, then
/// dies. Dies are numbered with the channel running fastest, then the chip on its channel, then
/// the die on its chip.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub channels: u32,
    /// Dies on all channels together.
    pub dies: u32,
    /// Planes of each die.
    pub planes: u32,
    pub pages_per_block: u32,
    pub blocks_per_plane: u32,
    /// Logical pages.
    pub lpns: u32,
    /// Free blocks at or below which a plane collects garbage before it opens a block.
    pub gc_threshold: u32,
    /// Valid pages at which a plane takes no further host writes.
    pub valid_max: u32,
    /// Whether every logical page starts out written, at its home.
    pub preconditioned: bool,
}

impl Layout {
    pub fn new(settings: &Settings) -> Layout {
        let nand = &settings.nand;
        Layout {
            channels: nand.channels,
            dies: nand.die_count(),
            planes: nand.planes,
            pages_per_block: nand.pages_per_block,
            blocks_per_plane: nand.blocks_per_plane,
            lpns: settings.pages,
            gc_threshold: settings.ftl.gc_threshold_blocks,
            valid_max: settings.ftl.valid_pages_per_plane_max,
            preconditioned: settings.ftl.preconditioned,
        }
    }

    pub fn pages_per_plane(&self) -> u32 {
        self.pages_per_block * self.blocks_per_plane
    }

    /// Planes of all dies together. Plane `p` is plane `p % planes` of die `p / planes`.
    pub fn plane_count(&self) -> u32 {
        self.dies * self.planes
    }

    /// Blocks on all dies together.
    pub fn blocks(&self) -> u32 {
        self.plane_count() * self.blocks_per_plane
    }

    pub fn die_of(&self, ppn: u32) -> u32 {
        ppn / (self.pages_per_plane() * self.planes)
    }

    /// The plane among all planes.
    pub fn plane_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_plane()
    }

    pub fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.pages_per_block
    }

    pub fn die_of_block(&self, block: u32) -> u32 {
        block / (self.blocks_per_plane * self.planes)
    }

    /// The plane, among all planes, of a block.
    pub fn plane_of_block(&self, block: u32) -> u32 {
        block / self.blocks_per_plane
    }

    pub fn channel_of_die(&self, die: u32) -> u32 {
        die % self.channels
    }

    /// The PPNs of a block.
    pub fn pages_of(&self, block: u32) -> Range<u32> {
        block * self.pages_per_block..(block + 1) * self.pages_per_block
    }

    /// Where a logical page is on a device that was written once in order: LPN `i` is the page
    /// `i / planes` of plane `i % planes`.
    pub fn home_of(&self, lpn: u32) -> u32 {
        let planes = self.plane_count();
        (lpn % planes) * self.pages_per_plane() + lpn / planes
    }

    /// The logical page whose home this is.
    pub fn owner_of_home(&self, ppn: u32) -> Option<u32> {
        let (plane, page) = (ppn / self.pages_per_plane(), ppn % self.pages_per_plane());
        let lpn = u64::from(page) * u64::from(self.plane_count()) + u64::from(plane);
        u32::try_from(lpn).ok().filter(|lpn| *lpn < self.lpns)
    }

    /// How many logical pages have their home on a plane.
    pub fn home_pages(&self, plane: u32) -> u32 {
        let whole = self.lpns / self.plane_count();
        whole + u32::from(plane < self.lpns % self.plane_count())
    }
}
