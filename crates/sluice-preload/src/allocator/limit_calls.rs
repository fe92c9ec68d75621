//! The calls by which a program asks for its limits and sets them: those of memory are
//! [the program's own](crate::allocator::limits), all others the kernel's.

use crate::allocator::limits::{OF_MEMORY, seen, set};
use crate::bytes::answers::status;
use crate::bytes::buffers::{One, are_readable, with_pages};
use crate::device::engine;
use crate::next;
use libc::{c_int, pid_t, rlimit};

next!(next_getrlimit: c"getrlimit"(of: c_int, to: *mut rlimit) -> c_int);
next!(next_setrlimit: c"setrlimit"(of: c_int, to: *const rlimit) -> c_int);
next!(next_prlimit: c"prlimit"
    (pid: pid_t, of: c_int, new: *const rlimit, old: *mut rlimit) -> c_int);

/// Which limit of memory it is, if the device counts against it.
fn of_memory(of: c_int) -> Option<usize> {
    engine()?;
    OF_MEMORY.iter().position(|one| *one == of)
}

/// What the program wants a limit to be. What it could not read is the kernel's to refuse.
fn wanted(new: *const rlimit) -> Option<rlimit> {
    let engine = engine()?;
    let is_there = !new.is_null() && are_readable(engine, new.cast(), size_of::<rlimit>());
    // SAFETY: the program's own, which it can read.
    is_there.then(|| unsafe { new.read_unaligned() })
}

/// Puts what the program has set in place of the kernel's answer.
fn show(at: usize, to: *mut rlimit) {
    if let Some(limit) = seen()[at] {
        // SAFETY: the kernel has just written there.
        unsafe { to.write_unaligned(limit) };
    }
}

/// # Safety
/// C contract of `getrlimit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getrlimit(of: c_int, to: *mut rlimit) -> c_int {
    // SAFETY: passed on.
    let result = with_pages(One(to.cast_const()), || unsafe { next_getrlimit(of, to) });
    if let Some(at) = of_memory(of).filter(|_| result == 0) {
        show(at, to);
    }
    result
}

/// # Safety
/// C contract of `setrlimit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setrlimit(of: c_int, to: *const rlimit) -> c_int {
    if let Some((at, limit)) = of_memory(of).zip(wanted(to)) {
        return status(set(at, limit));
    }
    // SAFETY: passed on.
    with_pages(One(to), || unsafe { next_setrlimit(of, to) })
}

/// # Safety
/// C contract of `prlimit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn prlimit(
    pid: pid_t,
    of: c_int,
    new: *const rlimit,
    old: *mut rlimit,
) -> c_int {
    // SAFETY: no arguments.
    let is_own = || pid == 0 || pid == unsafe { libc::getpid() };
    let pass = |new: *const rlimit, old: *mut rlimit| {
        // SAFETY: passed on, or less of it.
        with_pages((One(new), One(old.cast_const())), || unsafe {
            next_prlimit(pid, of, new, old)
        })
    };
    let Some(at) = of_memory(of).filter(|_| is_own()) else {
        return pass(new, old);
    };
    let limit = wanted(new);
    if limit.is_none() && !new.is_null() {
        return pass(new, old);
    }
    let before = seen()[at];
    if !old.is_null() || limit.is_none() {
        let result = pass(core::ptr::null(), old);
        if result != 0 || old.is_null() {
            return result;
        }
    }
    let result = limit.map_or(0, |limit| status(set(at, limit)));
    if let Some(before) = before.filter(|_| !old.is_null()) {
        // SAFETY: the kernel has just written there.
        unsafe { old.write_unaligned(before) };
    }
    result
}

macro_rules! same {
    ($($name:ident = $plain:ident($($arg:ident: $type:ty),*);)+) => {$(
        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $type),*) -> c_int {
            // SAFETY: passed on; the two are the same where a word has 64 bits.
            unsafe { $plain($($arg),*) }
        }
    )+};
}

same! {
    getrlimit64 = getrlimit(of: c_int, to: *mut rlimit);
    setrlimit64 = setrlimit(of: c_int, to: *const rlimit);
    prlimit64 = prlimit(pid: pid_t, of: c_int, new: *const rlimit, old: *mut rlimit);
}
