//! System V's and BSD's ways to say what becomes of a signal, which the C library does not lead
//! through `sigaction` and `sigprocmask`. In signal mode SIGBUS is the runtime's here, too.

use crate::next;
use crate::signals::mask::disposition;
use libc::{c_int, sighandler_t};
use sluice_runtime::{chain_signal, signal_is_ours};

/// What `sigset` takes and returns for a signal that is blocked.
const SIG_HOLD: sighandler_t = 2;
/// What a handler of System V's `signal` has: the first signal restores the default.
const ONCE: c_int = libc::SA_RESETHAND | libc::SA_NODEFER;

next!(next_sysv: c"__sysv_signal"(signal: c_int, handler: sighandler_t) -> sighandler_t);
next!(next_bsd: c"bsd_signal"(signal: c_int, handler: sighandler_t) -> sighandler_t);
next!(next_set: c"sigset"(signal: c_int, handler: sighandler_t) -> sighandler_t);
next!(next_ignore: c"sigignore"(signal: c_int) -> c_int);
next!(next_interrupt: c"siginterrupt"(signal: c_int, interrupts: c_int) -> c_int);
next!(next_hold: c"sighold"(signal: c_int) -> c_int);
next!(next_block: c"sigblock"(mask: c_int) -> c_int);
next!(next_pause: c"sigpause"(mask: c_int) -> c_int);
next!(next_pause_for: c"__sigpause"(of: c_int, is_signal: c_int) -> c_int);
next!(next_setmask: c"sigsetmask"(mask: c_int) -> c_int);

/// Resolves what the hooks need.
pub fn resolve() {
    let names = [
        c"__sysv_signal",
        c"bsd_signal",
        c"sigset",
        c"sigignore",
        c"siginterrupt",
        c"sighold",
        c"sigblock",
        c"sigsetmask",
    ];
    for name in names {
        next::Next::new(name).address();
    }
}

fn is_ours(signal: c_int) -> bool {
    signal == libc::SIGBUS && signal_is_ours()
}

/// # Safety
/// C contract of `sysv_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    match is_ours(signal) {
        true => disposition(handler, ONCE),
        // SAFETY: passed on.
        false => unsafe { next_sysv(signal, handler) },
    }
}

/// # Safety
/// C contract of `sysv_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysv_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the same function.
    unsafe { __sysv_signal(signal, handler) }
}

/// # Safety
/// C contract of `bsd_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsd_signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    match is_ours(signal) {
        true => disposition(handler, libc::SA_RESTART),
        // SAFETY: passed on.
        false => unsafe { next_bsd(signal, handler) },
    }
}

/// # Safety
/// C contract of `ssignal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssignal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the same function.
    unsafe { bsd_signal(signal, handler) }
}

/// # Safety
/// C contract of `sigset`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigset(signal: c_int, handler: sighandler_t) -> sighandler_t {
    match is_ours(signal) {
        true if handler == SIG_HOLD => chain_signal(None).sa_sigaction,
        true => disposition(handler, 0),
        // SAFETY: passed on.
        false => unsafe { next_set(signal, handler) },
    }
}

/// # Safety
/// C contract of `sigignore`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigignore(signal: c_int) -> c_int {
    if is_ours(signal) {
        disposition(libc::SIG_IGN, 0);
        return 0;
    }
    // SAFETY: passed on.
    unsafe { next_ignore(signal) }
}

/// The C library's would change the runtime's action.
///
/// # Safety
/// C contract of `siginterrupt`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    if !is_ours(signal) {
        // SAFETY: passed on.
        return unsafe { next_interrupt(signal, interrupts) };
    }
    let mut action = chain_signal(None);
    match interrupts {
        0 => action.sa_flags |= libc::SA_RESTART,
        _ => action.sa_flags &= !libc::SA_RESTART,
    }
    chain_signal(Some(action));
    0
}

/// # Safety
/// C contract of `sighold`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sighold(signal: c_int) -> c_int {
    match is_ours(signal) {
        true => 0,
        // SAFETY: passed on.
        false => unsafe { next_hold(signal) },
    }
}

/// A mask of BSD's without SIGBUS.
fn without_bus(mask: c_int) -> c_int {
    match signal_is_ours() {
        true => mask & !(1 << (libc::SIGBUS - 1)),
        false => mask,
    }
}

/// # Safety
/// C contract of `sigblock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigblock(mask: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { next_block(without_bus(mask)) }
}

/// # Safety
/// C contract of `sigsetmask`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsetmask(mask: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { next_setmask(without_bus(mask)) }
}

/// # Safety
/// C contract of BSD's `sigpause`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigpause(mask: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { next_pause(without_bus(mask)) }
}

/// # Safety
/// C contract of the function behind `sigpause`, BSD's or System V's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __sigpause(of: c_int, is_signal: c_int) -> c_int {
    let of = if is_signal == 0 { without_bus(of) } else { of };
    // SAFETY: passed on.
    unsafe { next_pause_for(of, is_signal) }
}
