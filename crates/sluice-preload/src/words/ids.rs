//! Words into which the kernel writes numbers of threads.
//!
//! It waits for no page where it clears the word of a thread that ends: who waits for that end
//! would wait for ever. Nor does it, in signal mode, where it writes the number of one that begins.

use crate::bytes::buffers::is_readable;
use crate::device::engine;
use crate::words::stay::{Stay, leave_shared, value};
use libc::{c_int, c_long, pid_t};
use sluice_region::thread_id;
use sluice_runtime::Engine;

/// For what the kernel writes the parent's word, and the child's.
const OF_PARENT: c_int = libc::CLONE_PARENT_SETTID | libc::CLONE_PIDFD;
const OF_CHILD: c_int = libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID;

/// Has the page of such a word stay, if it is on the device. What the program may not access is the
/// kernel's to pass over.
fn stay(engine: &'static Engine, word: *const pid_t) -> Option<Stay> {
    let at = word as usize;
    if !is_readable(engine, at) {
        return None;
    }
    leave_shared(at, at + size_of::<pid_t>() - 1);
    Stay::of(engine, [value(word)])
}

/// Starts what uses this memory. The page of the word that is cleared at its end stays until then.
pub fn with(
    engine: &'static Engine,
    flags: c_int,
    [parent, child]: [*mut pid_t; 2],
    start: impl FnOnce() -> c_int,
) -> c_int {
    let asked = |of: c_int, word| (flags & of != 0).then(|| stay(engine, word)).flatten();
    let _parent = asked(OF_PARENT, parent);
    let own = asked(OF_CHILD, child);
    let started = start();
    if started > 0
        && flags & libc::CLONE_CHILD_CLEARTID != 0
        && let Some(own) = own
    {
        match flags & libc::CLONE_THREAD {
            // Nothing here learns of the end of another process.
            0 => core::mem::forget(own),
            _ => own.until_end_of(started as u32),
        }
    }
    started
}

/// `set_tid_address` by its number: names the calling thread's word.
pub fn set_address(word: usize, call: impl FnOnce() -> c_long) -> c_long {
    let own = engine().and_then(|engine| stay(engine, word as *const pid_t));
    let answer = call();
    if let Some(own) = own {
        own.until_end_of(thread_id());
    }
    answer
}
