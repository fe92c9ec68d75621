//! Memory that calls name of which no hook knows what they do with it, for signal mode: calls by
//! their numbers, and records with addresses in them.
//!
//! Only one that has failed by a missing page comes here. What it may have meant is then touched,
//! further with each try, and it is made again. Calls that take something away before they fail are
//! [`crate::signal_mode::numbers`]'s.

use crate::bytes::buffers::{Buffers, are_readable, is_readable, touch_all};
use core::cell::Cell;
use core::ffi::c_void;
use sluice_region::PAGE;
use sluice_runtime::Engine;

/// How far to touch what may be a buffer of any length: a byte at first, then as much as a path has
/// at most, then twice as much each time. The first time it ends with as much as a kernel module
/// may have. Later it begins anew and ends sooner: others may have come between, or no page was
/// missing.
struct Reach(Cell<u32>);

impl Reach {
    fn next(&self) -> usize {
        const FARTHEST: u32 = 14;
        const LATER: u32 = 8;
        let tries = self.0.replace(self.0.get() + 1);
        let nth = match tries.checked_sub(FARTHEST) {
            None => tries,
            Some(later) => later % LATER,
        };
        match nth {
            0 => 1,
            n => PAGE << (n - 1),
        }
    }
}

/// Words that may each be an address.
pub struct Named<const N: usize>([usize; N], Reach);

impl<const N: usize> Named<N> {
    pub fn new(words: [usize; N]) -> Named<N> {
        Named(words, Reach(Cell::new(0)))
    }
}

impl<const N: usize> Buffers for Named<N> {
    fn touch(&self, engine: &Engine) -> bool {
        let bytes = self.1.next();
        let touch = |touched, &at: &usize| touch_all(engine, at, bytes) | touched;
        self.0.iter().fold(false, touch)
    }
}

/// A record of so many bytes that is an argument. Some have addresses of other memory in them.
pub struct Record(*const c_void, usize, Reach);

impl Record {
    pub fn new(at: *const c_void, bytes: usize) -> Record {
        Record(at, bytes, Reach(Cell::new(0)))
    }
}

impl Buffers for Record {
    fn touch(&self, engine: &Engine) -> bool {
        /// Of the longest list of words that can be awaited.
        const MOST: usize = 384;
        let touched = (self.0, self.1).touch(engine);
        let count = MOST.min(self.1 / size_of::<usize>());
        let bytes = count * size_of::<usize>();
        if !is_readable(engine, self.0 as usize) || !are_readable(engine, self.0, bytes) {
            return touched;
        }
        let (words, bytes) = (self.0.cast::<usize>(), self.2.next());
        (0..count).fold(touched, |touched, n| {
            // SAFETY: of the program's argument, which can be read.
            let at = unsafe { words.add(n).read_unaligned() };
            (at as *const c_void, bytes).touch(engine) | touched
        })
    }
}
