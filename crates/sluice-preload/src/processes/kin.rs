//! Other ways to make a child than `fork`: the C library's `_Fork` and `clone`, and system calls by
//! their numbers. A child with a memory of its own is served as one of `fork` is.
//!
//! A child that is made past the C library cannot be seen. It finds no memory where the device was,
//! rather than memory with wrong contents, and its first call of a hook ends it with a message.

use crate::device::engine;
use crate::next;
use crate::processes::beside::{self, Function};
use crate::processes::fork::{child, parent, prepare, touch_pages};
use crate::threads::affinity;
use crate::words::ids;
use core::cell::UnsafeCell;
use libc::{c_int, c_long, c_void, pid_t};
use sluice_region::PAGE;

next!(next_fork: c"_Fork"() -> pid_t);
next!(next_clone: c"clone"(
    function: Function, stack: *mut c_void, flags: c_int, argument: *mut c_void,
    parent: *mut pid_t, tls: *mut c_void, child: *mut pid_t) -> c_int);

/// What the kernel reads and writes for a call that makes a child: an address and bytes of each.
pub type Used = [(usize, usize); 4];

const ID: usize = size_of::<pid_t>();
const NOTHING: Used = [(0, 0); 4];

/// Makes that resident. What the kernel wrote to a page that is missing in the child would be lost
/// with the page; in signal mode the call would fail.
///
/// # Safety
/// Between [`prepare`] and the call.
unsafe fn touch(used: Used) {
    for (at, bytes) in used {
        let from = at & !(PAGE - 1);
        let pages = (at - from).saturating_add(bytes).div_ceil(PAGE);
        // SAFETY: `prepare` has taken the lock.
        unsafe { touch_pages(from, pages) };
    }
}

/// Makes a call that returns twice, with a memory for each.
///
/// # Safety
/// What the program asked for.
pub unsafe fn forking(used: Used, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: in the order of `fork`.
    unsafe {
        prepare();
        touch(used);
        let pid = call();
        match pid {
            0 => child(),
            _ => parent(),
        }
        pid
    }
}

/// # Safety
/// C contract of `_Fork`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Fork() -> pid_t {
    // SAFETY: passed on.
    unsafe { forking(NOTHING, || next_fork()) }
}

/// What the child of a `clone` runs. Under the locks that a fork holds.
struct Begun(UnsafeCell<Option<(Function, *mut c_void)>>);

// SAFETY: reached only by the thread that forks, and by its child.
unsafe impl Sync for Begun {}

static BEGUN: Begun = Begun(UnsafeCell::new(None));

/// The child's first function, on the stack that the program gave it.
extern "C" fn begin(_: *mut c_void) -> c_int {
    // SAFETY: the parent stored it under its locks, which the child has until `child` is over.
    unsafe {
        let begun = (*BEGUN.0.get()).take();
        child();
        match begun {
            Some((function, argument)) => function(argument),
            None => 127,
        }
    }
}

/// # Safety
/// C contract of `clone`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clone(
    function: Function,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut pid_t,
    tls: *mut c_void,
    child_id: *mut pid_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        let Some(engine) = engine().filter(|_| !stack.is_null()) else {
            return next_clone(function, stack, flags, argument, parent_id, tls, child_id);
        };
        affinity::await_own();
        if flags & libc::CLONE_VM != 0 {
            let (function, stack, argument) = match beside::must_end_too(engine, flags) {
                true => {
                    let (function, at) = beside::begin_on(stack, function, argument);
                    (function, at, at)
                }
                false => (function, stack, argument),
            };
            let start = || next_clone(function, stack, flags, argument, parent_id, tls, child_id);
            return ids::with(engine, flags, [parent_id, child_id], start);
        }
        prepare();
        // The child needs its stack before its own faults are served.
        touch_pages((stack as usize).wrapping_sub(8 * PAGE), 8);
        let mut ids = NOTHING;
        ids[..2].copy_from_slice(&[(parent_id as usize, ID), (child_id as usize, ID)]);
        touch(ids);
        *BEGUN.0.get() = Some((function, argument));
        let nothing = core::ptr::null_mut();
        let pid = next_clone(begin, stack, flags, nothing, parent_id, tls, child_id);
        parent();
        pid
    }
}

/// What a call by its number uses, if it makes a child with a memory of its own, which goes on
/// where its parent is.
///
/// # Safety
/// What the program asked for.
pub unsafe fn forks(number: c_long, args: &[usize; 6]) -> Option<Used> {
    const CLONE_VM: usize = libc::CLONE_VM as usize;
    /// Where the call has the number of a child.
    const OF_CHILD: usize = if cfg!(target_arch = "x86_64") { 3 } else { 4 };
    /// The first version of the record of `clone3`, in words.
    const SHORTEST_RECORD: usize = 8;
    let mut used = NOTHING;
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork => Some(used),
        libc::SYS_clone => {
            used[..2].copy_from_slice(&[(args[2], ID), (args[OF_CHILD], ID)]);
            (args[0] & CLONE_VM == 0 && args[1] == 0).then_some(used)
        }
        // What is shorter, or not there, is the kernel's to refuse.
        libc::SYS_clone3 if args[0] != 0 && args[1] >= SHORTEST_RECORD * size_of::<usize>() => {
            let record = args[0] as *const [usize; SHORTEST_RECORD];
            // SAFETY: the program's record.
            let [flags, pidfd, child, parent, _, stack, ..] = unsafe { record.read_unaligned() };
            used[..3].copy_from_slice(&[(pidfd, ID), (child, ID), (parent, ID)]);
            used[3] = (args[0], args[1].min(PAGE));
            (flags & CLONE_VM == 0 && stack == 0).then_some(used)
        }
        _ => None,
    }
}
