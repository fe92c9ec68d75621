//! Signals. In signal mode SIGBUS is the runtime's: the program's handler is kept and called for
//! faults outside the device, and no thread may block it.

use crate::bytes::answers::status;
use crate::next;
use libc::{c_int, c_long, sighandler_t, sigset_t};
use sluice_region::sys;
use sluice_runtime::{chain_signal, signal_is_ours};

next!(next_sigaction: c"sigaction"(
    signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int);
next!(next_signal: c"signal"(signal: c_int, handler: sighandler_t) -> sighandler_t);
next!(next_sigprocmask: c"sigprocmask"(
    how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int);
next!(next_pthread_sigmask: c"pthread_sigmask"(
    how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int);

/// Resolves what the hooks need.
pub fn resolve() {
    for name in [c"sigaction", c"signal", c"sigprocmask", c"pthread_sigmask"] {
        next::Next::new(name).address();
    }
}

/// # Safety
/// C contract of `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    if !signal_is_ours() {
        // SAFETY: passed on.
        return unsafe { next_sigaction(signal, new, old) };
    }
    if signal != libc::SIGBUS {
        // SAFETY: null or the program's; the set is live. The handler may need a page.
        return unsafe {
            let mut changed = new.as_ref().copied();
            if let Some(action) = &mut changed {
                libc::sigdelset(&mut action.sa_mask, libc::SIGBUS);
            }
            next_sigaction(signal, changed.as_ref().map_or(new, |action| action), old)
        };
    }
    // SAFETY: both pointers are null or the program's.
    unsafe {
        let before = chain_signal(new.as_ref().copied());
        if let Some(out) = old.as_mut() {
            *out = before;
        }
    }
    0
}

/// Another name of `sigaction`, by which runtimes of languages look at handlers.
///
/// # Safety
/// C contract of `sigaction`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: passed on.
    unsafe { sigaction(signal, new, old) }
}

/// A signal's action as the kernel takes it, which differs from the C library's `sigaction`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// `rt_sigaction` by its number. In signal mode the program's action for SIGBUS is noted, and its
/// other actions do not block that.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn by_number(signal: c_int, new: *const KernelAction, old: *mut KernelAction) -> c_long {
    // SAFETY: null or the program's records; passed on.
    unsafe {
        let mut changed = new.as_ref().copied();
        if !signal_is_ours() || signal != libc::SIGBUS {
            if let Some(action) = changed.as_mut().filter(|_| signal_is_ours()) {
                action.mask &= !(1 << (libc::SIGBUS - 1));
            }
            let new = changed.as_ref().map_or(new, core::ptr::from_ref);
            let asked = sys!(libc::SYS_rt_sigaction, signal, new, old, 8);
            return status(asked.map(drop)).into();
        }
        let given = changed.map(|action| {
            let mut given: libc::sigaction = core::mem::zeroed();
            given.sa_sigaction = action.handler;
            given.sa_flags = action.flags as c_int;
            (&raw mut given.sa_mask).cast::<u64>().write(action.mask);
            given
        });
        let before = chain_signal(given);
        if let Some(old) = old.as_mut() {
            *old = KernelAction {
                handler: before.sa_sigaction,
                flags: before.sa_flags as u64,
                restorer: 0,
                mask: (&raw const before.sa_mask).cast::<u64>().read(),
            };
        }
    }
    0
}

/// # Safety
/// C contract of `signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if signal != libc::SIGBUS || !signal_is_ours() {
        // SAFETY: passed on.
        return unsafe { next_signal(signal, handler) };
    }
    disposition(handler, libc::SA_RESTART)
}

/// Notes what becomes of a SIGBUS of the program's own making. Returns what became of it before.
pub fn disposition(handler: sighandler_t, flags: c_int) -> sighandler_t {
    // SAFETY: plain data, for which zeros are valid.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    chain_signal(Some(action)).sa_sigaction
}

/// The program's set without SIGBUS, when it would block that.
///
/// # Safety
/// Null or the program's set.
pub unsafe fn without_bus(how: c_int, new: *const sigset_t) -> Option<sigset_t> {
    if how == libc::SIG_UNBLOCK || !signal_is_ours() {
        return None;
    }
    // SAFETY: null or the program's set.
    let mut set = unsafe { new.as_ref() }.copied()?;
    // SAFETY: a live set.
    unsafe { libc::sigdelset(&mut set, libc::SIGBUS) };
    Some(set)
}

/// Changes the thread's mask by a function of the C library, but never so that it blocks SIGBUS in
/// signal mode. There the kernel reads and writes the stack: it changes the mask before it finds
/// that it cannot write what that was.
///
/// # Safety
/// C contract of that function.
unsafe fn change(
    by: unsafe fn(c_int, *const sigset_t, *mut sigset_t) -> c_int,
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    if !signal_is_ours() {
        // SAFETY: passed on.
        return unsafe { by(how, new, old) };
    }
    // SAFETY: null or the program's sets, of which the kernel knows the first word; live copies.
    unsafe {
        let wanted = (!new.is_null()).then(|| match (how, new.cast::<u64>().read_unaligned()) {
            (libc::SIG_UNBLOCK, set) => set,
            (_, set) => set & !BUS,
        });
        let [mut set, mut before]: [sigset_t; 2] = core::mem::zeroed();
        (&raw mut set).cast::<u64>().write(wanted.unwrap_or(0));
        let given = wanted.map_or(core::ptr::null(), |_| &raw const set);
        let result = by(how, given, &mut before);
        if result == 0 && !old.is_null() {
            let before = (&raw const before).cast::<u64>().read();
            old.cast::<u64>().write_unaligned(before);
        }
        result
    }
}

/// # Safety
/// C contract of `sigprocmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { change(next_sigprocmask, how, new, old) }
}

/// # Safety
/// C contract of `pthread_sigmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    new: *const sigset_t,
    old: *mut sigset_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { change(next_pthread_sigmask, how, new, old) }
}

/// `rt_sigprocmask` by its number, with the kernel's sets.
///
/// # Safety
/// Contract of the system call.
pub unsafe fn mask_by_number(how: c_int, new: *const u64, old: *mut u64) -> c_long {
    let is_ours = signal_is_ours();
    // SAFETY: null or the program's set, which traps as any access of its own.
    let wanted = unsafe { new.as_ref() }.map(|set| match how {
        libc::SIG_BLOCK | libc::SIG_SETMASK if is_ours => set & !BUS,
        _ => *set,
    });
    let set = wanted
        .as_ref()
        .map_or(core::ptr::null(), core::ptr::from_ref);
    let mut before = 0u64;
    let to = &raw mut before;
    // SAFETY: null or a live set; a live output.
    let asked = unsafe { sys!(libc::SYS_rt_sigprocmask, how, set, to, size_of::<u64>()) };
    if asked.is_ok() && !old.is_null() {
        // SAFETY: the program's.
        unsafe { old.write(before) };
    }
    status(asked.map(drop)).into()
}

/// The bit of SIGBUS in the kernel's sets.
const BUS: u64 = 1 << (libc::SIGBUS - 1);

/// A set of the kernel's without SIGBUS, if that is not the program's to block.
pub fn open_set(set: u64) -> u64 {
    match signal_is_ours() {
        true => set & !BUS,
        false => set,
    }
}

/// Lets SIGBUS through to the calling thread.
pub fn let_bus_through() {
    let (how, bus) = (libc::SIG_UNBLOCK, BUS);
    let set = &raw const bus;
    // SAFETY: a live set, and none to be written.
    let _ = unsafe { sys!(libc::SYS_rt_sigprocmask, how, set, 0, size_of::<u64>()) };
}

/// Whether SIGBUS is held back from the calling thread.
pub fn holds_bus_back() -> bool {
    let (how, mut set) = (libc::SIG_BLOCK, 0u64);
    let to = &raw mut set;
    // SAFETY: a live set, and none to be read.
    let _ = unsafe { sys!(libc::SYS_rt_sigprocmask, how, 0, to, size_of::<u64>()) };
    set & BUS != 0
}
