//! A host's page table for the device, as far as the device notices it.

use sluice_model::Effects;
use sluice_units::Lpn;

/// Which pages are mapped, and which were written since. A bit each per page.
pub(crate) struct Mmu {
    mapped: Vec<u64>,
    written: Vec<u64>,
}

impl Mmu {
    pub fn new(pages: u64) -> Mmu {
        let words = pages.div_ceil(64) as usize;
        Mmu {
            mapped: vec![0; words],
            written: vec![0; words],
        }
    }

    fn bit(lpn: Lpn) -> (usize, u64) {
        (lpn.index() / 64, 1 << (lpn.0 % 64))
    }

    /// Goes through the page table. Says whether the page is mapped; if not, it traps.
    pub fn touch(&mut self, lpn: Lpn, write: bool) -> bool {
        let (word, bit) = Mmu::bit(lpn);
        let mapped = self.mapped[word] & bit != 0;
        if mapped && write {
            self.written[word] |= bit;
        }
        mapped
    }

    /// Maps a page whose trap has been served; `write` is the access that goes on.
    pub fn map(&mut self, lpn: Lpn, write: bool) {
        let (word, bit) = Mmu::bit(lpn);
        self.mapped[word] |= bit;
        if write {
            self.written[word] |= bit;
        }
    }
}

impl Effects for Mmu {
    const MAPS: bool = true;

    fn map(&mut self, lpn: Lpn) -> bool {
        Mmu::map(self, lpn, false);
        true
    }

    fn set_aside(&mut self, lpn: Lpn) -> bool {
        self.unmap(lpn)
    }

    fn unmap(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = Mmu::bit(lpn);
        let written = self.written[word] & bit != 0;
        self.mapped[word] &= !bit;
        self.written[word] &= !bit;
        written
    }
}
