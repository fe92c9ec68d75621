//! A host's page table for the device, as far as the device notices it.

use sluice_model::Effects;
use sluice_units::{Bits, Lpn};

/// Which pages are mapped, and which were written since.
pub(crate) struct Mmu {
    mapped: Bits,
    written: Bits,
}

impl Mmu {
    pub fn new(pages: u64) -> Mmu {
        Mmu {
            mapped: Bits::new(pages as usize),
            written: Bits::new(pages as usize),
        }
    }

    /// Goes through the page table. Says whether the page is mapped; if not, it traps.
    pub fn touch(&mut self, lpn: Lpn, write: bool) -> bool {
        let mapped = self.mapped.has(lpn.index());
        if mapped && write {
            self.written.set(lpn.index());
        }
        mapped
    }

    /// Maps a page whose trap has been served; `write` is the access that goes on.
    pub fn map(&mut self, lpn: Lpn, write: bool) {
        self.mapped.set(lpn.index());
        if write {
            self.written.set(lpn.index());
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
        self.mapped.clear(lpn.index());
        self.written.clear(lpn.index())
    }
}
