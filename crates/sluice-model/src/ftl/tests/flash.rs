//! A flash array that keeps contents instead of time, and fails where the test says.

use super::*;
use crate::layout::Block;
use crate::nand::BadBlock;
use std::collections::BTreeSet;

/// Per PPN the (LPN, version) programmed there. Refuses what a real array would not survive.
pub struct Contents {
    cells: Vec<Option<(u32, u32)>>,
    layout: Layout,
    /// What the host's next program holds.
    pub from_host: (u32, u32),
    /// Erases that a block survives.
    pub endurance: u32,
    erases: Vec<u32>,
    failed: Vec<bool>,
    /// Bad from the factory.
    pub bad: BTreeSet<Block>,
    /// Of this many programs about one fails; 0 for none.
    pub program_failure: u64,
    rng: Rng,
}

impl Contents {
    pub fn new(settings: &Settings) -> Contents {
        let layout = Layout::new(settings);
        let blocks = layout.blocks() as usize;
        let bad = factory_bad_blocks(settings, SEED);
        Contents {
            cells: vec![None; blocks * layout.pages_per_block as usize],
            layout,
            from_host: (0, 0),
            endurance: u32::MAX,
            erases: vec![0; blocks],
            failed: (0..blocks as u32)
                .map(|block| bad.contains(&Block(block)))
                .collect(),
            bad,
            program_failure: 0,
            rng: Rng::stream(3, "failures"),
        }
    }

    /// What the page at `ppn` holds.
    pub fn at(&self, ppn: Ppn) -> Option<(u32, u32)> {
        self.cells[ppn.index()]
    }

    pub fn fill(&mut self, ppn: Ppn, data: (u32, u32)) {
        self.assert_good(ppn);
        self.cells[ppn.index()] = Some(data);
    }

    /// Blocks that fail in use keep what they hold; those that never worked hold nothing.
    fn assert_good(&self, ppn: Ppn) {
        let block = self.layout.block_of(ppn);
        assert!(!self.bad.contains(&block), "{block:?} was always bad");
    }

    fn set(&mut self, ppn: Ppn, data: Option<(u32, u32)>) -> Result<(), BadBlock> {
        let block = self.layout.block_of(ppn);
        assert!(
            !self.failed[block.index()],
            "{block:?} is written after it failed"
        );
        if self.program_failure > 0 && self.rng.below(self.program_failure) == 0 {
            self.failed[block.index()] = true;
            return Err(BadBlock);
        }
        let old = std::mem::replace(&mut self.cells[ppn.index()], data);
        assert_eq!(old, None, "{ppn} is programmed again without an erase");
        Ok(())
    }
}

impl Flash for Contents {
    fn read(&mut self, now: Ps, ppn: Ppn, _origin: Origin) -> Option<Served> {
        self.assert_good(ppn);
        Some(Served::at_once(now))
    }

    fn program(&mut self, _now: Ps, ppn: Ppn, _origin: Origin) -> Result<(), BadBlock> {
        self.set(ppn, Some(self.from_host))?;
        Ok(())
    }

    fn copy(&mut self, _now: Ps, from: Ppn, to: Ppn, _origin: Origin) -> Result<(), BadBlock> {
        self.assert_good(from);
        let data = self.cells[from.index()];
        assert!(data.is_some(), "{to} gets the contents of an erased page");
        self.set(to, data)?;
        Ok(())
    }

    fn erase(&mut self, _now: Ps, block: Block, _origin: Origin) -> Result<(), BadBlock> {
        assert!(
            !self.failed[block.index()],
            "{block:?} is erased after it failed"
        );
        self.erases[block.index()] += 1;
        if self.erases[block.index()] > self.endurance {
            self.failed[block.index()] = true;
            return Err(BadBlock);
        }
        self.layout
            .pages_of(block)
            .for_each(|ppn| self.cells[ppn.index()] = None);
        Ok(())
    }

    fn idle_at(&self, _block: Block) -> Ps {
        Ps::ZERO
    }
}
