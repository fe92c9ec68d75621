//! The FTL's own numbering: pools of lines of pages.
//!
//! A line is what is opened, filled and collected together: a superblock, or a single block if
//! `ftl.superblock` is 1. It has a block in each plane of its pool, and its pages go round them.
//! A place is a page's number here: within its line, then by line, then by pool.

use super::factory::Factory;
use super::order::planes_in_order;
use crate::config::Settings;
use crate::layout::{Block, Layout, Plane};
use sluice_units::{Bits, Links, Lpn, Ppn, Table};

/// How places are numbered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// How many logical pages there are.
    pub lpns: u32,
    pub pools: u32,
    /// Planes of a pool, which are blocks of a line.
    pub width: u32,
    pub lines_per_pool: u32,
    pub line_pages: u32,
    /// The number, in each plane, of the first block that belongs here.
    pub first_block: u32,
}

impl Geometry {
    pub fn lines(&self) -> u32 {
        self.pools * self.lines_per_pool
    }

    pub fn pool_pages(&self) -> u32 {
        self.lines_per_pool * self.line_pages
    }

    pub fn places(&self) -> u32 {
        self.pools * self.pool_pages()
    }

    pub fn pool_of(&self, line: u32) -> u32 {
        line / self.lines_per_pool
    }

    pub fn line_of(&self, place: u32) -> u32 {
        place / self.line_pages
    }

    fn planes(&self) -> u32 {
        self.pools * self.width
    }

    /// Where a logical page is on a device that was written once, in order.
    pub fn home_of(&self, lpn: Lpn) -> u32 {
        let (row, rank) = (lpn.0 / self.planes(), lpn.0 % self.planes());
        if self.width == 1 {
            return rank * self.pool_pages() + row;
        }
        let (pool, member) = (rank / self.width, rank % self.width);
        pool * self.pool_pages() + row * self.width + member
    }

    /// The logical page whose home this is.
    pub fn owner_of_home(&self, place: u32) -> Option<Lpn> {
        let (pool, page) = (place / self.pool_pages(), place % self.pool_pages());
        let (row, member) = (page / self.width, page % self.width);
        let rank = pool * self.width + member;
        let lpn = u64::from(row) * u64::from(self.planes()) + u64::from(rank);
        u32::try_from(lpn)
            .ok()
            .filter(|lpn| *lpn < self.lpns)
            .map(Lpn)
    }

    /// How many logical pages have their home in a pool.
    pub fn home_pages(&self, pool: u32) -> u32 {
        let (rows, rest) = (self.lpns / self.planes(), self.lpns % self.planes());
        let last_row = rest.saturating_sub(pool * self.width).min(self.width);
        rows * self.width + last_row
    }
}

/// Where the blocks of each line are in the flash array.
pub(super) struct Blocks {
    geometry: Geometry,
    pages_per_block: u32,
    blocks_per_plane: u32,
    /// The planes in order of allocation.
    planes: Vec<Plane>,
    /// Per plane: its place in that order.
    ranks: Table<Plane, u32>,
    /// Places are PPNs: lines of one block, planes in the order of the layout, none replaced.
    plain: bool,
    /// Per line and plane of its pool: the block that stands in, or none for its own. Empty until a
    /// device can have bad blocks.
    replaced: Links<u32, Block>,
    /// Per plane: the first spare block. Empty if no block can fail.
    spare: Links<Plane, Block>,
    /// Per block: the next spare one of its plane.
    next_spare: Links<Block, Block>,
    /// Blocks that failed. Empty if none can.
    bad: Bits,
    /// Per pool: its lines, unless all have as many as the geometry says.
    lines: Vec<u32>,
}

impl Blocks {
    /// `may_fail` says whether blocks can ever be replaced. Those that are bad from the factory
    /// are passed over: a line has, of each of its planes, the good block of its own number.
    pub fn new(
        settings: &Settings,
        geometry: &Geometry,
        may_fail: bool,
        factory: Option<&Factory>,
    ) -> Blocks {
        let layout = Layout::new(settings);
        let planes = planes_in_order(settings);
        let in_order = (0..)
            .zip(&planes)
            .all(|(rank, plane)| Plane(rank) == *plane);
        let alone = geometry.lines_per_pool == layout.blocks_per_plane;
        let mut ranks = Table::filled(planes.len() as u32, 0);
        (0..)
            .zip(&planes)
            .for_each(|(rank, plane)| ranks[*plane] = rank);
        let all = layout.blocks();
        let blocks = if may_fail { all } else { 0 };
        let replaced = if may_fail || factory.is_some() {
            all
        } else {
            0
        };
        let mut blocks = Blocks {
            geometry: *geometry,
            pages_per_block: layout.pages_per_block,
            blocks_per_plane: layout.blocks_per_plane,
            plain: in_order && alone && geometry.width == 1 && !may_fail && factory.is_none(),
            replaced: Links::none(replaced),
            spare: Links::none(if may_fail { ranks.count() } else { 0 }),
            next_spare: Links::none(blocks),
            bad: Bits::new(blocks as usize),
            planes,
            ranks,
            lines: Vec::new(),
        };
        if let Some(factory) = factory {
            let least_bad = settings.nand.bad_blocks / settings.nand.plane_count();
            let good = layout.blocks_per_plane - least_bad;
            let behind = good - settings.ftl.data_blocks_per_plane;
            let pools = 0..geometry.pools;
            blocks.lines = pools
                .map(|pool| blocks.pass_over(pool, behind, factory))
                .collect();
        }
        blocks
    }

    /// Gives the lines of a pool good blocks; the last `behind` of a plane belong to the area
    /// behind the first. Says for how many lines there are some: what is left then is spare.
    fn pass_over(&mut self, pool: u32, behind: u32, factory: &Factory) -> u32 {
        let geometry = self.geometry;
        let planes = (pool * geometry.width..(pool + 1) * geometry.width)
            .map(|rank| self.planes[rank as usize]);
        let good: Vec<Vec<Block>> = planes
            .map(|plane| {
                let good: Vec<Block> = factory.good(plane).collect();
                // The area behind the first one gets the last blocks.
                match geometry.first_block {
                    0 => good[..good.len() - behind as usize].to_vec(),
                    _ => good[good.len() - behind as usize..].to_vec(),
                }
            })
            .collect();
        let fewest = good.iter().map(Vec::len).min().unwrap_or(0) as u32;
        let usable = fewest.min(geometry.lines_per_pool);
        for (member, good) in (0..).zip(&good) {
            let (own, rest) = good.split_at(usable as usize);
            for (line, block) in (pool * geometry.lines_per_pool..).zip(own) {
                let index = self.index(line, member);
                self.replaced.set(index, Some(*block));
            }
            if !self.spare.is_empty() {
                rest.iter().for_each(|block| self.add_spare(*block));
            }
        }
        usable
    }

    /// Lines of a pool that have their blocks.
    pub fn lines_of(&self, pool: u32) -> u32 {
        let own = self.lines.get(pool as usize);
        own.copied().unwrap_or(self.geometry.lines_per_pool)
    }

    fn add_spare(&mut self, block: Block) {
        let plane = self.plane_of(block);
        self.next_spare.set(block, self.spare.get(plane));
        self.spare.set(plane, Some(block));
    }

    fn plane_of(&self, block: Block) -> Plane {
        Plane(block.0 / self.blocks_per_plane)
    }

    /// The physical page of a place.
    #[inline]
    pub fn ppn_of(&self, place: u32) -> Ppn {
        if self.plain {
            return Ppn(place);
        }
        let geometry = &self.geometry;
        let (line, page) = (place / geometry.line_pages, place % geometry.line_pages);
        let block = self.block_of(line, page % geometry.width);
        Ppn(block.0 * self.pages_per_block + page / geometry.width)
    }

    /// The physical block of a line in the `member`-th plane of its pool.
    pub fn block_of(&self, line: u32, member: u32) -> Block {
        let geometry = &self.geometry;
        if !self.replaced.is_empty()
            && let Some(block) = self.replaced.get(self.index(line, member))
        {
            return block;
        }
        let (pool, own) = (geometry.pool_of(line), line % geometry.lines_per_pool);
        let plane = self.planes[(pool * geometry.width + member) as usize];
        Block(plane.0 * self.blocks_per_plane + geometry.first_block + own)
    }

    /// The place in the order of allocation of the plane with this number in the layout.
    pub fn rank_of(&self, plane: Plane) -> Option<u32> {
        self.ranks.get(plane).copied()
    }

    /// The physical block of a place.
    pub fn block_of_place(&self, place: u32) -> Block {
        Block(self.ppn_of(place).0 / self.pages_per_block)
    }

    fn index(&self, line: u32, member: u32) -> u32 {
        line * self.geometry.width + member
    }

    pub fn is_bad(&self, block: Block) -> bool {
        !self.bad.is_empty() && self.bad.has(block.index())
    }

    /// Notes that a block failed.
    pub fn mark_bad(&mut self, block: Block) {
        self.bad.set(block.index());
    }

    /// Every block that a line has or that is spare.
    #[cfg(test)]
    pub fn all(&self) -> Vec<Block> {
        let geometry = &self.geometry;
        let mut all = Vec::new();
        for pool in 0..geometry.pools {
            let first = pool * geometry.lines_per_pool;
            for line in first..first + self.lines_of(pool) {
                all.extend((0..geometry.width).map(|member| self.block_of(line, member)));
            }
        }
        for plane in self.spare.indices() {
            let next = |block: &Block| self.next_spare.get(*block);
            all.extend(std::iter::successors(self.spare.get(plane), next));
        }
        all
    }

    /// Puts spare blocks in the place of a line's bad ones. Says whether the line is whole again;
    /// if not, its good blocks become spare and the line is no more.
    pub fn mend(&mut self, line: u32) -> bool {
        let width = self.geometry.width;
        let bad = |blocks: &Blocks, member| blocks.is_bad(blocks.block_of(line, member));
        let spare = |blocks: &Blocks, member| {
            blocks
                .spare
                .get(blocks.plane_of(blocks.block_of(line, member)))
        };
        let whole = (0..width).all(|member| !bad(self, member) || spare(self, member).is_some());
        for member in 0..width {
            let block = self.block_of(line, member);
            if whole
                && self.is_bad(block)
                && let Some(instead) = spare(self, member)
            {
                self.replaced.set(self.index(line, member), Some(instead));
                self.spare
                    .set(self.plane_of(block), self.next_spare.get(instead));
            } else if !whole && !self.is_bad(block) {
                self.add_spare(block);
            }
        }
        whole
    }
}
