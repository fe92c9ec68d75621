//! Memory off the device, by way of which bytes go to the program's and from it.
//!
//! Programs read and write so often that each call cannot take the heap's lock, with signals held
//! back, twice. So a few pieces are kept, which are had without a lock: a handler of a signal may
//! read in the midst of it.
//!
//! A call may never return: a handler leaves it by `siglongjmp`. So it is noted where on the stack
//! a piece is used. A later use at the very same place shows that the call is over.

use crate::internal::Internal;
use core::alloc::{GlobalAlloc, Layout};
use core::marker::PhantomData;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};
use libc::c_int;
use sluice_region::{PAGE, sys};

/// Bytes of a piece that is kept.
const KEPT_BYTES: usize = 64 << 10;
/// Pieces that are kept, as many as are usually in use at once.
const KEPT: usize = 16;

static SPARE: [AtomicPtr<u8>; KEPT] = [const { AtomicPtr::new(null_mut()) }; KEPT];

/// Pieces whose use can be noted at once, and how many of the notes one place may have.
const NOTES: usize = 256;
const TRIES: usize = 4;

static USES: [Use; NOTES] = [const { Use::none() }; NOTES];

/// A note of a piece that is in use.
struct Use {
    /// The address of its [`Place`]; 0 for none.
    place: AtomicUsize,
    /// Null until the memory is there.
    at: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

impl Use {
    const fn none() -> Use {
        Use {
            place: AtomicUsize::new(0),
            at: AtomicPtr::new(null_mut()),
            bytes: AtomicUsize::new(0),
        }
    }

    /// The note for a place: the one that it had before, or a free one. `None` if others have all
    /// that it may have.
    fn of(place: &Place) -> Option<&'static Use> {
        const GOLDEN: usize = 0x9e37_79b9_7f4a_7c15;
        let place = &raw const *place as usize;
        let first = place.wrapping_mul(GOLDEN) >> (usize::BITS - NOTES.ilog2());
        let notes = || (0..TRIES).map(|n| &USES[(first + n) % NOTES]);
        let is_mine = |note: &&Use| note.place.load(Relaxed) == place;
        let is_free = |note: &&Use| {
            let taken = note.place.compare_exchange(0, place, Acquire, Relaxed);
            taken.is_ok()
        };
        notes().find(is_mine).or_else(|| notes().find(is_free))
    }

    /// The memory of a call that has never returned.
    fn left_over(&self) -> Option<(*mut u8, Layout)> {
        let at = self.at.swap(null_mut(), Relaxed);
        let layout = layout(self.bytes.load(Relaxed))?;
        (!at.is_null()).then_some((at, layout))
    }

    fn note(&self, at: *mut u8, bytes: usize) {
        self.bytes.store(bytes, Relaxed);
        self.at.store(at, Relaxed);
    }

    /// First of all, so that a handler that comes here finds no memory twice.
    fn forget(&self) {
        self.at.store(null_mut(), Relaxed);
        self.place.store(0, Release);
    }
}

/// A place on the stack where a piece is used. No two that are in use are the same.
pub struct Place {
    _byte: u8,
}

impl Place {
    /// Where it is then put it stays as long as the piece is used.
    pub const fn new() -> Place {
        Place { _byte: 0 }
    }
}

/// A piece, aligned as direct input and output wants it.
pub struct Piece<'a> {
    pub at: *mut u8,
    /// The bytes that were asked for.
    pub bytes: usize,
    layout: Layout,
    note: Option<&'static Use>,
    place: PhantomData<&'a Place>,
}

fn layout(bytes: usize) -> Option<Layout> {
    let bytes = bytes.max(KEPT_BYTES).checked_next_multiple_of(PAGE)?;
    Layout::from_size_align(bytes, PAGE).ok()
}

impl<'a> Piece<'a> {
    /// Memory for so many bytes; `None` if there is none.
    pub fn new(place: &'a Place, bytes: usize) -> Option<Piece<'a>> {
        let layout = layout(bytes)?;
        let note = Use::of(place);
        if let Some((at, layout)) = note.and_then(Use::left_over) {
            give_back(at, layout);
        }
        let made = take(layout);
        match (made.is_null(), note) {
            (true, Some(note)) => note.forget(),
            (false, Some(note)) => note.note(made, bytes),
            _ => {}
        }
        (!made.is_null()).then_some(Piece {
            at: made,
            bytes,
            layout,
            note,
            place: PhantomData,
        })
    }
}

impl Piece<'_> {
    /// Leaves its pages to the kernel, which has not sent them yet. The next use has others.
    pub fn leave_pages(&self) {
        /// Also of memory that is locked.
        const MADV_DONTNEED_LOCKED: c_int = 24;
        let bytes = self.layout.size();
        // SAFETY: whole pages of this piece, of which nobody needs the contents.
        let left = unsafe { sys!(libc::SYS_madvise, self.at, bytes, MADV_DONTNEED_LOCKED) };
        debug_assert!(left.is_ok(), "private memory of ours");
    }
}

fn take(layout: Layout) -> *mut u8 {
    if layout.size() == KEPT_BYTES
        && let Some(at) = spare()
    {
        return at;
    }
    // SAFETY: the size is not zero.
    unsafe { Internal.alloc(layout) }
}

/// A piece that was kept.
fn spare() -> Option<*mut u8> {
    let full = SPARE.iter().filter(|slot| !slot.load(Relaxed).is_null());
    let mut taken = full.map(|slot| slot.swap(null_mut(), Acquire));
    taken.find(|at| !at.is_null())
}

fn give_back(at: *mut u8, layout: Layout) {
    let keeps = |slot: &AtomicPtr<u8>| {
        let kept = slot.compare_exchange(null_mut(), at, Release, Relaxed);
        kept.is_ok()
    };
    if layout.size() != KEPT_BYTES || !SPARE.iter().any(keeps) {
        // SAFETY: as `take` made it.
        unsafe { Internal.dealloc(at, layout) };
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        if let Some(note) = self.note {
            note.forget();
        }
        give_back(self.at, self.layout);
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
                        let places = [const { Place::new() }; 3];
                        let held = places.each_ref().map(|at| Piece::new(at, bytes).unwrap());
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

    /// What such calls had was lost: after some ten thousand the program ended.
    #[test]
    fn what_a_call_had_that_never_returned_is_had_again() {
        let place = Place::new();
        let mut found = Vec::new();
        for round in 0..100 {
            let bytes = [100, KEPT_BYTES + 1][round % 2];
            let piece = Piece::new(&place, bytes).unwrap();
            if !found.contains(&piece.at) {
                found.push(piece.at);
            }
            // As a handler does.
            core::mem::forget(piece);
        }
        assert!(found.len() <= 2 * KEPT, "{}", found.len());
        let last = Piece::new(&place, 100).unwrap();
        let beside = Place::new();
        assert_ne!(Piece::new(&beside, 100).unwrap().at, last.at);
    }
}
