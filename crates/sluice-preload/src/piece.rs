//! Memory off the device, by way of which bytes go to the program's and from it.
//!
//! Programs read and write so often that each call cannot take the heap's lock, with signals held
//! back, twice. So a few pieces are kept, which are had without a lock: a handler of a signal may
//! read in the midst of it.

use crate::internal::Internal;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sluice_region::PAGE;

/// Bytes of a piece that is kept.
const KEPT_BYTES: usize = 64 << 10;
/// As many as are usually in use at once.
const KEPT: usize = 16;

static SPARE: [AtomicPtr<u8>; KEPT] = [const { AtomicPtr::new(null_mut()) }; KEPT];

/// A piece, aligned as direct input and output wants it.
pub struct Piece {
    pub at: *mut u8,
    /// As many as were asked for.
    pub bytes: usize,
    layout: Layout,
}

impl Piece {
    /// Memory for so many bytes; `None` if there is none.
    pub fn new(bytes: usize) -> Option<Piece> {
        let layout = Layout::from_size_align(bytes.max(KEPT_BYTES), PAGE).ok()?;
        if layout.size() == KEPT_BYTES
            && let Some(at) = spare()
        {
            return Some(Piece { at, bytes, layout });
        }
        // SAFETY: the size is not zero.
        let at = unsafe { Internal.alloc(layout) };
        (!at.is_null()).then_some(Piece { at, bytes, layout })
    }
}

/// A piece that was kept.
fn spare() -> Option<*mut u8> {
    let full = SPARE.iter().filter(|slot| !slot.load(Relaxed).is_null());
    let mut taken = full.map(|slot| slot.swap(null_mut(), Acquire));
    taken.find(|at| !at.is_null())
}

impl Drop for Piece {
    fn drop(&mut self) {
        let keeps = |slot: &AtomicPtr<u8>| {
            let kept = slot.compare_exchange(null_mut(), self.at, Release, Relaxed);
            kept.is_ok()
        };
        if self.layout.size() != KEPT_BYTES || !SPARE.iter().any(keeps) {
            // SAFETY: as `new` made it.
            unsafe { Internal.dealloc(self.at, self.layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_one_callers_alone() {
        let threads: Vec<_> = (1..=4u8)
            .map(|mark| {
                std::thread::spawn(move || {
                    for round in 0..2_000 {
                        let bytes = [1, 4_096, KEPT_BYTES, KEPT_BYTES + 1][round % 4];
                        let held = [0, 1, 2].map(|_| Piece::new(bytes).unwrap());
                        for piece in &held {
                            // SAFETY: the piece is this thread's.
                            unsafe { piece.at.write_bytes(mark, bytes) };
                        }
                        for piece in &held {
                            // SAFETY: as above.
                            let found = unsafe { core::slice::from_raw_parts(piece.at, bytes) };
                            assert!(found.iter().all(|byte| *byte == mark));
                            assert_eq!(piece.at as usize % PAGE, 0);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|it| it.join().unwrap());
    }
}
