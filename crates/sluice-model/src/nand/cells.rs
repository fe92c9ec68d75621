//! How long the cells of a page take, by its type and by what its block has been through.

use super::flash::BadBlock;
use crate::config::{NandSettings, WearSettings};
use crate::layout::Block;
use sluice_units::{Ppn, Ps, Ratio, Rng, Table};

/// A whole retry, in the units in which fractions of one are summed up.
const WHOLE: u64 = 1 << 16;

/// Latencies and wear.
pub(super) struct Cells {
    read: [Ps; 4],
    program: [Ps; 4],
    erase: Ps,
    /// Pages that share a cell.
    types: u32,
    pages_per_block: u32,
    wear: Option<Wear>,
}

struct Wear {
    rules: WearSettings,
    /// One draw, so that two seeds wear differently.
    key: u64,
    /// Per block.
    erases: Table<Block, u32>,
    /// Per block: reads since it was erased.
    reads: Table<Block, u32>,
    retries: u64,
}

impl Cells {
    pub fn new(settings: &NandSettings, seed: u64) -> Cells {
        let blocks = settings.plane_count() * settings.blocks_per_plane;
        let wear = settings.wear.as_ref().map(|rules| Wear {
            rules: rules.clone(),
            key: Rng::stream(seed, "nand.wear").next_u64(),
            erases: Table::filled(blocks, 0),
            reads: Table::filled(blocks, 0),
            retries: 0,
        });
        Cells {
            read: settings.read_by_type,
            program: settings.program_by_type,
            erase: settings.erase,
            types: settings.pages_per_cell,
            pages_per_block: settings.pages_per_block,
            wear,
        }
    }

    /// Other latencies from now on.
    pub fn retime(&mut self, settings: &NandSettings) {
        self.read = settings.read_by_type;
        self.program = settings.program_by_type;
        self.erase = settings.erase;
    }

    /// The time to sense any page, if they are alike.
    pub fn one_read(&self) -> Option<Ps> {
        let alike = self.read.iter().all(|time| *time == self.read[0]);
        (alike && self.wear.is_none()).then_some(self.read[0])
    }

    /// Time to sense a page, retries included.
    #[inline]
    pub fn read(&mut self, ppn: Ppn) -> Ps {
        let time = self.read[self.type_of(ppn)];
        match &mut self.wear {
            Some(wear) => wear.read(ppn, Block(ppn.0 / self.pages_per_block), time),
            None => time,
        }
    }

    /// Time to program a page, and whether that works.
    #[inline]
    pub fn program(&mut self, ppn: Ppn) -> (Ps, Result<(), BadBlock>) {
        let time = self.program[self.type_of(ppn)];
        let result = match &self.wear {
            Some(wear) => wear.program(ppn, Block(ppn.0 / self.pages_per_block)),
            None => Ok(()),
        };
        (time, result)
    }

    /// Time to erase a block, and whether that works.
    pub fn erase(&mut self, block: Block) -> (Ps, Result<(), BadBlock>) {
        let result = match &mut self.wear {
            Some(wear) => wear.erase(block),
            None => Ok(()),
        };
        (self.erase, result)
    }

    /// Reads of a page again because its data was not right.
    pub fn retries(&self) -> u64 {
        self.wear.as_ref().map_or(0, |wear| wear.retries)
    }

    fn type_of(&self, ppn: Ppn) -> usize {
        match self.types {
            1 => 0,
            types => (ppn.0 % self.pages_per_block % types) as usize,
        }
    }
}

impl Wear {
    fn read(&mut self, ppn: Ppn, block: Block, time: Ps) -> Ps {
        let (erases, reads) = (self.erases[block], self.reads[block]);
        self.reads[block] = reads.saturating_add(1);
        let share =
            |count: u32, per: Option<u64>| per.map_or(0, |per| u64::from(count) * WHOLE / per);
        let mean = share(erases, self.rules.retry_erases) + share(reads, self.rules.retry_reads);
        if mean == 0 {
            return time;
        }
        // The fraction decides how many of the pages need one more.
        let draw = self.draw(ppn.0, erases) % WHOLE;
        let retries = ((mean + draw) / WHOLE).min(self.rules.retries_max);
        self.retries += retries;
        time + self.rules.retry_latency.unwrap_or(time) * retries
    }

    fn program(&self, ppn: Ppn, block: Block) -> Result<(), BadBlock> {
        let draw = self.draw(!ppn.0, self.erases[block]);
        match self.rules.program_failure {
            Some(one_in) if draw.is_multiple_of(one_in) => Err(BadBlock),
            _ => Ok(()),
        }
    }

    fn erase(&mut self, block: Block) -> Result<(), BadBlock> {
        let erases = self.erases[block].saturating_add(1);
        self.erases[block] = erases;
        self.reads[block] = 0;
        match self.rules.endurance {
            Some(endurance) if u64::from(erases) > self.limit(block, endurance) => Err(BadBlock),
            _ => Ok(()),
        }
    }

    /// The erases that a block stands: uniform around the endurance.
    fn limit(&self, block: Block, endurance: u64) -> u64 {
        let width = self
            .rules
            .endurance_spread
            .unwrap_or(Ratio::ZERO)
            .floor_of(endurance);
        endurance - width + self.draw(block.0, u32::MAX) % (2 * width + 1)
    }

    fn draw(&self, a: u32, b: u32) -> u64 {
        let place = u64::from(a) << 32 | u64::from(b);
        Rng::from_splitmix(self.key ^ place).next_u64()
    }
}
