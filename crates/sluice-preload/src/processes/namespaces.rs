//! Calls that change what a process sees of the system, or what it may ask of the kernel.

use crate::bytes::buffers::{Text, set_errno, with_pages};
use crate::bytes::named::{Named, Record};
use crate::device::engine;
use crate::next;
use crate::processes::beside;
use crate::signals::dispatch::{self, PR_SET_SYSCALL_USER_DISPATCH, by_libc};
use libc::{c_char, c_int, c_long, c_ulong, c_void};
use sluice_region::{errno, say};
use sluice_runtime::{is_programs_only_thread, keep_root, note_filter, with_same_clock};

next!(next_unshare: c"unshare"(flags: c_int) -> c_int);
next!(next_setns: c"setns"(fd: c_int, kind: c_int) -> c_int);
next!(next_chroot: c"chroot"(path: *const c_char) -> c_int);
next!(next_prctl: c"prctl"(
    what: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong) -> c_int);

/// Makes a call, and again without the runtime's threads if the kernel refuses it because of them.
fn with_one_thread(call: impl Fn() -> c_int) -> c_int {
    let result = call();
    // The answer of a namespace of time is the other one.
    let refused = errno();
    if result == 0 || !matches!(refused, libc::EINVAL | libc::EUSERS) {
        return result;
    }
    let again = || (call(), errno());
    let again = engine().and_then(|engine| engine.with_one_thread(again));
    let (result, errno) = again.unwrap_or((result, refused));
    // What the runtime did before and after it left another one.
    if result != 0 {
        set_errno(errno);
    }
    result
}

/// # Safety
/// C contract of `unshare`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unshare(flags: c_int) -> c_int {
    // SAFETY: passed on.
    let part = |flags| with_one_thread(|| unsafe { next_unshare(flags) });
    let both = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
    if flags & both != both {
        return part(flags);
    }
    // In the second state a process can begin no thread, so the runtime's are there before it.
    match part(flags & !libc::CLONE_NEWPID) {
        0 => part(libc::CLONE_NEWPID),
        failed => failed,
    }
}

/// # Safety
/// C contract of `setns`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setns(fd: c_int, kind: c_int) -> c_int {
    // The other namespace may be one of time. SAFETY: passed on.
    with_one_thread(|| with_same_clock(|| unsafe { next_setns(fd, kind) }))
}

/// # Safety
/// C contract of `chroot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    if engine().is_some() {
        keep_root();
    }
    // SAFETY: passed on.
    with_pages(Text(path), || unsafe { next_chroot(path) })
}

/// Bytes of what says how long a filter is and where.
const FILTER: usize = 16;

/// A filter of system calls. One for all threads would bind the runtime's as well, which need calls
/// that the program forbids itself. A program with one thread means just that one.
pub fn seccomp(mut args: [usize; 6]) -> c_long {
    const SET_MODE_FILTER: usize = 1;
    let tsync = libc::SECCOMP_FILTER_FLAG_TSYNC as usize;
    let is_for_all = args[0] == SET_MODE_FILTER && args[1] & tsync != 0;
    // Without a filter it is asked only whether the kernel knows the flag, as QEMU does.
    let has_filter = args[2] != 0;
    if is_for_all && has_filter && engine().is_some() {
        match is_programs_only_thread() {
            true => args[1] &= !tsync,
            false => say(format_args!(
                "the program sets a filter of system calls for all of its threads, which binds the \
                 emulation's threads as well: if it forbids one of their calls, the program ends"
            )),
        }
    }
    if has_filter {
        note_filter();
    }
    // SAFETY: what the program asked for.
    let call = || unsafe { by_libc(libc::SYS_seccomp, args) };
    with_pages(Record::new(args[2] as *const c_void, FILTER), call)
}

/// The other way to set a filter. In C it takes as many arguments as are given; more do no harm.
///
/// # Safety
/// C contract of `prctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    what: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    match (what, engine()) {
        (libc::PR_SET_SECCOMP, _) => note_filter(),
        (libc::PR_SET_PDEATHSIG, Some(engine)) => beside::asks(engine),
        _ => {}
    }
    // SAFETY: passed on.
    let call = |last| unsafe { next_prctl(what, second, third, fourth, last) };
    if what == PR_SET_SYSCALL_USER_DISPATCH {
        return dispatch::set(second, third, fourth, fifth, call);
    }
    let words = [second, third, fourth, fifth].map(|word| word as usize);
    let filter = Record::new(third as usize as *const c_void, FILTER);
    with_pages((Named::new(words), filter), || call(fifth))
}
