//! Memory that calls name of which no hook knows what they do with it, for signal mode: system calls
//! by their numbers, and requests to devices.
//!
//! Only one that has failed by a missing page comes here. What it may have meant is then touched,
//! further with each try, and it is made again. Calls that take something away before they fail are
//! [`crate::numbers`]'s.

use crate::buffers::{Buffers, are_readable, is_readable, with_pages};
use crate::dispatch::by_libc;
use core::cell::Cell;
use core::ffi::c_void;
use libc::c_long;
use sluice_region::PAGE;
use sluice_runtime::Engine;

/// Words that may each be an address, and how often they were touched.
struct Named {
    words: [usize; 6],
    tries: Cell<u32>,
}

impl Buffers for Named {
    /// A byte at each, then as much as a path has at most, then twice as much each time. After that
    /// it begins anew: others may have come in between.
    fn touch(&self, engine: &Engine) -> bool {
        const REACHES: u32 = 8;
        let bytes = match self.tries.get() % REACHES {
            0 => 1,
            n => PAGE << (n - 1),
        };
        self.tries.set(self.tries.get() + 1);
        let touch = |touched, &at: &usize| (at as *const c_void, bytes).touch(engine) | touched;
        self.words.iter().fold(false, touch)
    }
}

/// The words of which a call of `futex_waitv` waits for a change.
struct Awaited {
    list: usize,
    count: usize,
}

impl Buffers for Awaited {
    fn touch(&self, engine: &Engine) -> bool {
        /// Of one record in the list: value, address, flags.
        const WORDS: usize = 3;
        const MOST: usize = 128;
        let (list, count) = (self.list as *const [usize; WORDS], self.count.min(MOST));
        let bytes = count * size_of::<[usize; WORDS]>();
        if !are_readable(engine, list.cast(), bytes) {
            return false;
        }
        let touched = (list.cast::<c_void>(), bytes).touch(engine);
        (0..count).fold(touched, |touched, n| {
            // SAFETY: the program's list, which can be read.
            let [_, at, _] = unsafe { list.add(n).read_unaligned() };
            (at as *const c_void, 1).touch(engine) | touched
        })
    }
}

/// Makes a system call by its number, again while memory that it names is missing.
///
/// # Safety
/// What the program asked for.
pub unsafe fn again(number: c_long, args: [usize; 6]) -> c_long {
    let [list, count, ..] = args;
    let waits = usize::from(number == libc::SYS_futex_waitv);
    let awaited = Awaited {
        list,
        count: count * waits,
    };
    let named = Named {
        words: args,
        tries: Cell::new(0),
    };
    // SAFETY: passed on.
    with_pages((named, awaited), || unsafe { by_libc(number, args) })
}

/// The argument of a request to a device. Some have addresses of other memory in it.
pub struct Request(pub *const c_void, pub usize);

impl Buffers for Request {
    fn touch(&self, engine: &Engine) -> bool {
        /// Of a record of a few words; longer ones are tables.
        const WORDS: usize = 16;
        let touched = (self.0, self.1).touch(engine);
        if !is_readable(engine, self.0 as usize) || !are_readable(engine, self.0, self.1) {
            return touched;
        }
        let words = self.0.cast::<usize>();
        (0..WORDS.min(self.1 / size_of::<usize>())).fold(touched, |touched, n| {
            // SAFETY: of the program's argument, which can be read.
            let at = unsafe { words.add(n).read_unaligned() };
            (at as *const c_void, PAGE).touch(engine) | touched
        })
    }
}
