//! Allocations of the program, as the library in it reports them for a profile.

use crate::engine::Engine;
use crate::measures::profile::{CALLS, Calls};
use crate::process::loaded::Loaded;
use crate::threads::calm::calm;
use core::ops::Range;
use sluice_region::PAGE;

impl Engine {
    /// The program has allocated a range of the arena, by these calls.
    pub fn allocated(&self, addr: usize, len: usize, calls: Calls) {
        if !self.in_arena(addr) || len == 0 {
            return;
        }
        calm(|| {
            if !self.note_allocation(addr, len, &calls, None) {
                // Without the lock: the loader has one of its own, whose holder may need a page,
                // and memory that may be on the device.
                let loaded = calls.addresses.map(Loaded::at);
                self.note_allocation(addr, len, &calls, Some(&loaded));
            }
        });
    }

    /// False if the site is not known, and nobody has said where its calls are.
    fn note_allocation(
        &self,
        addr: usize,
        len: usize,
        calls: &Calls,
        loaded: Option<&[Loaded; CALLS]>,
    ) -> bool {
        match &mut self.core.lock().profile {
            Some(profile) => profile.allocated(self.pages_of(addr, len), len, calls, loaded),
            None => true,
        }
    }

    /// The program has given a range of the arena back.
    pub fn freed(&self, addr: usize, len: usize) {
        if !self.in_arena(addr) || len == 0 {
            return;
        }
        calm(|| {
            if let Some(profile) = &self.core.lock().profile {
                profile.freed(self.pages_of(addr, len));
            }
        });
    }

    fn pages_of(&self, addr: usize, len: usize) -> Range<usize> {
        let from = addr - self.arena.0;
        from / PAGE..(from + len).div_ceil(PAGE)
    }
}
