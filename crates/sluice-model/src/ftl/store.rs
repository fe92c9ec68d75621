//! A map of pages in flash, and the lines that it points into.

use super::geometry::{Blocks, Geometry};
use super::lines::{Lines, State, Writer};
use super::map::Map;
use crate::nand::{Flash, Origin, Served};
use crate::stats::Stats;
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps};

/// The moment, the flash array and the counters that an operation works with.
pub(super) struct Io<'a, F> {
    pub now: Ps,
    pub flash: &'a mut F,
    pub stats: &'a mut Stats,
}

/// Follows each page that collection moves, because its entry in the map changes.
pub(super) trait Moved<F> {
    fn moved(&mut self, io: &mut Io<F>, lpn: Lpn);
}

/// A map in memory: its changes cost nothing.
impl<F> Moved<F> for () {
    fn moved(&mut self, _io: &mut Io<F>, _lpn: Lpn) {}
}

/// The flash array cannot be written any more: too many blocks failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOnly;

/// A map, and the lines that it points into.
pub(super) struct Store {
    pub geometry: Geometry,
    pub blocks: Blocks,
    pub map: Map,
    pub lines: Lines,
    /// Per pool: lines where a program failed, to be emptied.
    pub failing: Option<Lists>,
    /// Whether the page's past, not the host, chooses its stream.
    pub by_heat: bool,
    pub read_only: bool,
}

/// What sets one area apart from another.
pub(super) struct Plan {
    pub lpns: u32,
    pub first_block: u32,
    pub blocks_per_plane: u32,
    pub threshold: u32,
    /// Lines that one collection erases at least.
    pub at_once: u32,
    pub streams: u32,
    /// Whether it is the host's data: translation pages know neither heat nor background work.
    pub data: bool,
}

impl Store {
    /// When the page is out of the flash array; `None` if it has no place there.
    #[inline]
    pub fn read<F: Flash>(&self, io: &mut Io<F>, lpn: Lpn, origin: Origin) -> Option<Served> {
        let place = self.map.place_of(lpn)?;
        let served = io.flash.read(io.now, self.blocks.ppn_of(place), origin);
        match served {
            Some(_) => io.stats.flash_reads += 1,
            None => io.stats.held_reads += 1,
        }
        Some(served.unwrap_or(Served::at_once(io.now)))
    }

    /// Forgets the page's place.
    #[inline]
    pub fn unmap(&mut self, lpn: Lpn) {
        if let Some(place) = self.map.place_of(lpn) {
            self.map.clear(lpn);
            let line = self.geometry.line_of(place);
            match self.read_only {
                // Nothing is collected any more.
                true => self.lines.moved(line, 1),
                false => self.lines.make_stale(line),
            }
        }
    }

    /// The page at `place` could not be programmed: its line is filled no further.
    pub fn program_failed(&mut self, place: u32, writer: Writer, stats: &mut Stats) {
        let line = self.geometry.line_of(place);
        let pool = self.geometry.pool_of(line);
        let block = self.blocks.block_of_place(place);
        stats.program_failures += 1;
        stats.bad_blocks += 1;
        self.blocks.mark_bad(block);
        self.lines.make_stale(line);
        if self.lines.state(line) == State::Open {
            self.lines.abandon(pool, writer);
        }
        self.lines.take(line);
        let failing = self.failing.as_mut().expect("this array may fail");
        failing.push_front(pool, line);
    }

    /// Takes a line to be emptied because a program failed there.
    pub fn next_failing(&mut self, pool: u32) -> Option<u32> {
        self.failing.as_mut()?.pop_back(pool)
    }
}
