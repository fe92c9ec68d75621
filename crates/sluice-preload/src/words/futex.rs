//! `futex` by its number: words of the program's that the kernel reads and writes.
//!
//! Where it takes or gives a word by itself it waits for no page, in both modes. In signal mode it
//! never does.

use crate::bytes::buffers::{is_readable, signal_engine};
use crate::bytes::held::Held;
use crate::device::engine;
use crate::words::stay::{Stay, leave_shared};
use core::ffi::c_void;
use core::ptr::null;
use libc::{c_int, c_long, timespec};
use sluice_runtime::is_calm;

/// Newer than the C library's header.
const FUTEX_LOCK_PI2: c_int = 13;

const WORD: usize = 4;
/// Where the arguments of the call are.
const FIRST: usize = 0;
const OPERATION: usize = 1;
const TIME: usize = 3;
const SECOND: usize = 4;

/// What an operation needs.
struct Needs {
    /// In event mode, too.
    in_both_modes: bool,
    /// A second word beside the first.
    has_second: bool,
    /// A time until which it waits.
    is_timed: bool,
}

/// What an operation needs; `None` if nothing.
fn needs(operation: c_int) -> Option<Needs> {
    let is_private = operation & libc::FUTEX_PRIVATE_FLAG != 0;
    let flags = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    let (in_both_modes, has_second, is_timed) = match operation & !flags {
        libc::FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => (true, false, true),
        libc::FUTEX_UNLOCK_PI | libc::FUTEX_TRYLOCK_PI => (true, false, false),
        libc::FUTEX_WAKE_OP | libc::FUTEX_CMP_REQUEUE_PI => (true, true, false),
        libc::FUTEX_WAIT_REQUEUE_PI => (true, true, true),
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => (false, false, true),
        libc::FUTEX_CMP_REQUEUE => (false, true, false),
        // Only where others have the word as well does the kernel look for its page.
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET if !is_private => (false, false, false),
        libc::FUTEX_REQUEUE if !is_private => (false, true, false),
        _ => return None,
    };
    Some(Needs {
        in_both_modes,
        has_second,
        is_timed,
    })
}

/// Makes the call with what it needs.
///
/// # Safety
/// What the program asked for.
pub unsafe fn by_number(mut args: [usize; 6], call: impl FnOnce([usize; 6]) -> c_long) -> c_long {
    let Some(needs) = needs(args[OPERATION] as c_int) else {
        return call(args);
    };
    let in_signal_mode = signal_engine();
    let engine = match needs.in_both_modes {
        true => engine().filter(|_| !is_calm()),
        false => in_signal_mode,
    };
    let Some(engine) = engine else {
        return call(args);
    };
    let second = if needs.has_second { SECOND } else { FIRST };
    // What the program could not read is the kernel's to refuse.
    let words = [FIRST, second].map(|at| match is_readable(engine, args[at]) {
        true => (args[at] as *const c_void, WORD),
        false => (null(), 1),
    });
    let stay = Stay::of(engine, words);
    if stay.is_none() && needs.in_both_modes {
        leave_shared(args[FIRST], args[second]);
    }
    // SAFETY: null or the program's time; the kernel refuses another one.
    let mut time = needs
        .is_timed
        .then(|| unsafe { Held::of(args[TIME] as *const timespec) });
    if let Some(time) = &mut time {
        args[TIME] = time.at() as usize;
    }
    call(args)
}
