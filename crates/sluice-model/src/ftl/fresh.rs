//! Where logical pages are before they are written: computed, so that it costs no memory.

use super::geometry::Geometry;
use crate::contents::{NoContents, Tables};
use sluice_units::{Lpn, Rng};

/// The contents that a device starts with.
pub(super) enum Fresh {
    /// None.
    Empty,
    /// Every page was written once, in order.
    Home(Geometry),
    /// Every page is somewhere, so that each line has as many as it should.
    Scattered(Box<Scatter>),
}

impl Fresh {
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Option<u32> {
        match self {
            Fresh::Home(geometry) => Some(geometry.home_of(lpn)),
            Fresh::Empty => None,
            Fresh::Scattered(scatter) => Some(scatter.place_of(lpn)),
        }
    }

    pub fn owner_of(&self, place: u32) -> Option<Lpn> {
        match self {
            Fresh::Home(geometry) => geometry.owner_of_home(place),
            Fresh::Empty => None,
            Fresh::Scattered(scatter) => scatter.owner_of(place),
        }
    }
}

/// A random one-to-one map of the logical pages into the lines, given the number of valid pages
/// of each line.
///
/// Under uniformly random overwrites every assignment of pages to the valid places is as likely
/// as every other. So a pseudo-random permutation, a Feistel network, stands for the assignment.
pub(super) struct Scatter {
    lpns: u32,
    line_pages: u32,
    /// Per line, and one more: the valid pages of all lines before it.
    before: Vec<u32>,
    /// Per line: the page at which its valid pages start; they go round.
    turn: Vec<u32>,
    /// Per [`GUIDE`] valid pages: the line of the first.
    guide: Vec<u32>,
    /// Bits of the two halves of the network.
    bits: [u32; 2],
    keys: [u32; ROUNDS],
}

/// Rounds of the Feistel network. Four make a pseudo-random permutation (Luby and Rackoff, 1988).
const ROUNDS: usize = 4;

/// Valid pages that share an entry of the guide, a power of two.
const GUIDE: u32 = 256;

impl Scatter {
    /// `valid` is per line and adds up to `lpns`; `full` says whether the line is written to its
    /// end. Lines that are not have their valid pages at the start.
    pub fn new(
        geometry: &Geometry,
        valid: impl ExactSizeIterator<Item = u32>,
        mut full: impl FnMut(u32) -> bool,
        rng: &mut Rng,
    ) -> Scatter {
        let lines = valid.len();
        let mut before = Vec::with_capacity(lines + 1);
        let mut guide = Vec::with_capacity((geometry.lpns / GUIDE + 2) as usize);
        let mut sum = 0;
        for (line, count) in (0..).zip(valid) {
            before.push(sum);
            sum += count;
            while guide.len() as u64 * u64::from(GUIDE) < u64::from(sum) {
                guide.push(line);
            }
        }
        assert_eq!(sum, geometry.lpns, "every logical page is valid once");
        before.push(sum);
        guide.push(lines as u32 - 1);
        let pages = u64::from(geometry.line_pages);
        let turn = (0..geometry.lines()).map(|line| match full(line) {
            true => rng.below(pages) as u32,
            false => 0,
        });
        Scatter {
            lpns: geometry.lpns,
            line_pages: geometry.line_pages,
            before,
            turn: turn.collect(),
            guide,
            bits: bits(geometry),
            keys: std::array::from_fn(|_| rng.next_u64() as u32),
        }
    }

    /// One whose tables are to be filled.
    pub fn blank(geometry: &Geometry) -> Scatter {
        let lines = geometry.lines() as usize;
        Scatter {
            lpns: geometry.lpns,
            line_pages: geometry.line_pages,
            before: vec![0; lines + 1],
            turn: vec![0; lines],
            guide: vec![0; geometry.lpns.div_ceil(GUIDE) as usize + 1],
            bits: bits(geometry),
            keys: [0; ROUNDS],
        }
    }

    /// Shows all that was drawn.
    pub fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        tables.words(&mut self.keys)?;
        tables.words(&mut self.before)?;
        tables.words(&mut self.turn)?;
        tables.words(&mut self.guide)
    }

    fn place_of(&self, lpn: Lpn) -> u32 {
        let valid = self.walk(lpn.0, Scatter::forward);
        let guide = &self.guide[(valid / GUIDE) as usize..];
        let lines = &self.before[guide[0] as usize..=guide[1] as usize];
        let line = guide[0] + lines.partition_point(|before| *before <= valid) as u32 - 1;
        let page = valid - self.before[line as usize] + self.turn[line as usize];
        line * self.line_pages + page % self.line_pages
    }

    fn owner_of(&self, place: u32) -> Option<Lpn> {
        let line = (place / self.line_pages) as usize;
        let page = place % self.line_pages + self.line_pages - self.turn[line];
        let valid = self.before[line] + page % self.line_pages;
        (valid < self.before[line + 1]).then(|| Lpn(self.walk(valid, Scatter::backward)))
    }

    /// Permutes until it is back among the logical pages: the network's domain is less than twice
    /// as large, and a step that leaves it is on a cycle that comes back.
    fn walk(&self, from: u32, step: impl Fn(&Scatter, u32) -> u32) -> u32 {
        let mut to = step(self, from);
        while to >= self.lpns {
            to = step(self, to);
        }
        to
    }

    fn forward(&self, value: u32) -> u32 {
        let (mut left, mut right) = (value >> self.bits[1], value & self.mask(1));
        // The halves differ by a bit at most: each keeps its width, and they take turns.
        for pair in self.keys.chunks_exact(2) {
            left ^= mix(right, pair[0]) & self.mask(0);
            right ^= mix(left, pair[1]) & self.mask(1);
        }
        left << self.bits[1] | right
    }

    fn backward(&self, value: u32) -> u32 {
        let (mut left, mut right) = (value >> self.bits[1], value & self.mask(1));
        for pair in self.keys.chunks_exact(2).rev() {
            right ^= mix(left, pair[1]) & self.mask(1);
            left ^= mix(right, pair[0]) & self.mask(0);
        }
        left << self.bits[1] | right
    }

    fn mask(&self, half: usize) -> u32 {
        (1u32 << self.bits[half]) - 1
    }
}

/// The bits of the two halves of the smallest network that has every logical page.
fn bits(geometry: &Geometry) -> [u32; 2] {
    let bits = u32::BITS - (geometry.lpns - 1).leading_zeros();
    [bits / 2, bits - bits / 2]
}

/// A round function: high bits of two multiplications.
fn mix(half: u32, key: u32) -> u32 {
    let once = u64::from(half ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((once ^ once >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u32
}
