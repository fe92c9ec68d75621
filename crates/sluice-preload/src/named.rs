//! Memory that calls name of which no hook knows what they do with it, for signal mode: calls by
//! their numbers, and records with addresses in them.
//!
//! Only one that has failed by a missing page comes here. What it may have meant is then touched,
//! further with each try, and it is made again. Calls that take something away before they fail are
//! [`crate::numbers`]'s.

use crate::buffers::{Buffers, are_readable, is_readable, touch_all, with_pages};
use crate::dispatch::by_libc;
use core::cell::Cell;
use core::ffi::c_void;
use libc::c_long;
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

/// An argument of a call by its number that has addresses in it.
fn inside(number: c_long, [first, second, third, ..]: [usize; 6]) -> Record {
    /// Of what is awaited: value, address, flags.
    const AWAITED: usize = size_of::<[usize; 3]>();
    let (at, bytes) = match number {
        libc::SYS_futex_waitv => (first, second.saturating_mul(AWAITED)),
        libc::SYS_bpf => (second, third),
        _ => (0, 0),
    };
    Record::new(at as *const c_void, bytes)
}

/// Makes a system call by its number, again while memory that it names is missing.
///
/// # Safety
/// What the program asked for.
pub unsafe fn again(number: c_long, args: [usize; 6]) -> c_long {
    let memory = (Named::new(args), inside(number, args));
    // SAFETY: passed on.
    with_pages(memory, || unsafe { by_libc(number, args) })
}
