//! The program's heap: pages of the arena, cut by dlmalloc.

use crate::init::engine;
use core::ptr::null_mut;
use dlmalloc::{Allocator, Dlmalloc};
use sluice_abi::Counter;
use sluice_region::PAGE;
use sluice_runtime::{Lock, Space};

/// The program's allocations.
pub static HEAP: Lock<Dlmalloc<Arena>> = Lock::new(Dlmalloc::new_with_allocator(Arena));
/// Which pages of the arena are handed out; `None` before there is a device.
pub static SPACE: Lock<Option<Space>> = Lock::new(None);

/// Source of dlmalloc's memory.
pub struct Arena;

/// Takes pages of the arena; `None` when the device is full.
pub fn take(len: usize) -> Option<usize> {
    let pages = len.div_ceil(PAGE);
    let engine = engine()?;
    let (taken, in_use) = {
        let mut space = SPACE.lock();
        let space = space.as_mut()?;
        (space.take(pages), space.in_use())
    };
    match taken {
        Some(first) => {
            engine.set_count(Counter::PlacedBytes, (in_use * PAGE) as u64);
            Some(engine.arena().0 + first * PAGE)
        }
        None => {
            engine.count(Counter::DeviceFull, 1);
            None
        }
    }
}

/// Gives pages of the arena back, contents dropped.
pub fn give(addr: usize, len: usize) {
    let Some(engine) = engine() else { return };
    let len = len.next_multiple_of(PAGE);
    if engine.any_off_device(addr, len) {
        crate::map::map_afresh(engine, addr, len);
    }
    engine.discard(addr, len);
    let first = (addr - engine.arena().0) / PAGE;
    let in_use = {
        let mut space = SPACE.lock();
        let Some(space) = space.as_mut() else { return };
        space.give(first, len / PAGE);
        space.in_use()
    };
    engine.set_count(Counter::PlacedBytes, (in_use * PAGE) as u64);
}

// SAFETY: `take` hands out distinct ranges of zeros: fresh pages, or pages dropped by `give`.
unsafe impl Allocator for Arena {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let size = size.next_multiple_of(PAGE);
        take(size).map_or((null_mut(), 0, 0), |addr| (addr as *mut u8, size, 0))
    }
    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }
    fn free_part(&self, start: *mut u8, old: usize, new: usize) -> bool {
        give(start as usize + new, old - new);
        true
    }
    fn free(&self, start: *mut u8, size: usize) -> bool {
        give(start as usize, size);
        true
    }
    fn can_release_part(&self, _: u32) -> bool {
        true
    }
    fn allocates_zeros(&self) -> bool {
        true
    }
    fn page_size(&self) -> usize {
        PAGE
    }
}
