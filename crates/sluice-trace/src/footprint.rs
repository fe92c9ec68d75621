//! What a trace touches: counts, pages, lines, and how soon it comes back.

use crate::reuse::Reuse;
use crate::{Access, KINDS, Kind};
use std::collections::HashMap;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
const LINES: u64 = PAGE_BYTES / LINE_BYTES;

/// Counts of a trace, filled access by access.
#[derive(Default)]
pub struct Footprint {
    /// Accesses of each kind, in the order of their numbers.
    pub kinds: [u64; KINDS],
    /// Bytes that each kind moved.
    pub bytes: [u64; KINDS],
    /// Accesses of each CPU.
    pub cpus: Vec<u64>,
    /// The lowest and highest byte of data, if there is any.
    pub range: Option<(u64, u64)>,
    /// The touched lines of each page of data, a bit each.
    pages: HashMap<u64, u64>,
    /// The page of the last access, and its lines.
    last: Option<(u64, u64)>,
    reuse: Option<Reuse>,
}

impl Footprint {
    /// Empty. `reuse`: whether to find out how many pages are touched before one is again; that
    /// takes several times as long.
    pub fn new(reuse: bool) -> Footprint {
        Footprint {
            reuse: reuse.then(Reuse::default),
            ..Footprint::default()
        }
    }

    /// Counts an access.
    pub fn add(&mut self, access: &Access) {
        self.kinds[access.kind as usize] += 1;
        self.bytes[access.kind as usize] += u64::from(access.size);
        let cpu = access.cpu as usize;
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, 0);
        }
        self.cpus[cpu] += 1;
        if matches!(access.kind, Kind::Fetch | Kind::BlockFlush) {
            return;
        }
        let end = access.last();
        let (low, high) = self.range.unwrap_or((access.address, end));
        self.range = Some((low.min(access.address), high.max(end)));
        let mut line = access.address / LINE_BYTES;
        let mut page = None;
        while line <= end / LINE_BYTES {
            self.touch(line / LINES, 1 << (line % LINES));
            // Lines of one page are one use of it.
            if page.replace(line / LINES) != Some(line / LINES)
                && let Some(reuse) = &mut self.reuse
            {
                reuse.touch(line / LINES);
            }
            line += 1;
        }
    }

    fn touch(&mut self, page: u64, bit: u64) {
        let known = self
            .last
            .filter(|(last, lines)| *last == page && lines & bit != 0);
        if known.is_none() {
            let lines = self.pages.entry(page).or_default();
            *lines |= bit;
            self.last = Some((page, *lines));
        }
    }

    /// Pages of data.
    pub fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Lines of data.
    pub fn lines(&self) -> u64 {
        self.pages
            .values()
            .map(|lines| u64::from(lines.count_ones()))
            .sum()
    }

    /// How soon pages are touched again, if that was asked for.
    pub fn reuse(&self) -> Option<&Reuse> {
        self.reuse.as_ref()
    }
}
