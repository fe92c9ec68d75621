//! Other ways to make a child than `fork`: the C library's `_Fork` and `clone`, and system calls by
//! their numbers. A child with a memory of its own is served as one of `fork` is.
//!
//! A child that is made past the C library cannot be seen. It finds no memory where the device was,
//! rather than memory with wrong contents, and its first call of a hook ends it with a message.

use crate::allocator::limit_calls::{getrlimit, prlimit, setrlimit};
use crate::bytes::buffers::{Text, Texts, signal_engine, with_pages};
use crate::device::engine;
use crate::memory::advice::madvise;
use crate::memory::behind::SYS_MSEAL;
use crate::memory::change::{mprotect, mremap, munmap};
use crate::memory::locked::{mlock, mlock2, mlockall, munlock, munlockall};
use crate::memory::map::mmap;
use crate::memory::own_uffd::ioctl;
use crate::memory::persist::making_durable;
use crate::memory::process_advice::process_madvise;
use crate::memory::seal::mseal;
use crate::memory::segments::{shmat, shmdt};
use crate::next;
use crate::processes::beside::{self, Function};
#[cfg(target_arch = "x86_64")]
use crate::processes::descriptors::dup2;
use crate::processes::descriptors::{close, close_range, dup3};
use crate::processes::exec::leaving;
use crate::processes::fork::{child, parent, prepare, touch_pages};
use crate::processes::namespaces::{chroot, prctl, seccomp, setns, unshare};
use crate::signal_mode::numbers::{again, moving};
use crate::signals::altstack::{keep_off_device, sigaltstack};
use crate::signals::dispatch::{by_libc, comes_back};
use crate::signals::mask::{by_number, mask_by_number};
use crate::threads::affinity;
use crate::threads::real_time::{giving, of_attributes, of_param};
use crate::words::futex;
use crate::words::ids;
use core::cell::UnsafeCell;
use libc::{c_int, c_long, c_ulong, c_void, pid_t};
use sluice_region::PAGE;

next!(next_fork: c"_Fork"() -> pid_t);
next!(next_clone: c"clone"(
    function: Function, stack: *mut c_void, flags: c_int, argument: *mut c_void,
    parent: *mut pid_t, tls: *mut c_void, child: *mut pid_t) -> c_int);

/// Numbers that the crate of the C library's constants lacks for one architecture.
#[cfg(target_arch = "x86_64")]
const LIMITS: [c_long; 2] = [libc::SYS_getrlimit, libc::SYS_setrlimit];
#[cfg(target_arch = "aarch64")]
const LIMITS: [c_long; 2] = [163, 164];
const SYS_GETRLIMIT: c_long = LIMITS[0];
const SYS_SETRLIMIT: c_long = LIMITS[1];

/// What the kernel reads and writes for a call that makes a child: an address and bytes of each.
type Used = [(usize, usize); 4];

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
unsafe fn forking(used: Used, call: impl FnOnce() -> c_int) -> c_int {
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
unsafe fn forks(number: c_long, args: &[usize; 6]) -> Option<Used> {
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

/// What names a program, its arguments and its environment.
fn program(path: usize, args: usize, env: usize) -> (Text, Texts, Texts) {
    (
        Text(path as *const _),
        Texts(args as *const _),
        Texts(env as *const _),
    )
}

/// Calls of which the hooks have to know, though the kernel could answer them.
unsafe fn minding(number: c_long, args: [usize; 6]) -> Option<c_long> {
    let [a, b, c, d, e, _] = args;
    let word = |word: usize| word as c_ulong;
    // SAFETY: passed on.
    unsafe {
        Some(match number {
            libc::SYS_prctl => prctl(a as c_int, word(b), word(c), word(d), word(e)).into(),
            libc::SYS_rt_sigprocmask if d == size_of::<u64>() => {
                mask_by_number(a as c_int, b as *const u64, c as *mut u64)
            }
            libc::SYS_sched_getaffinity => affinity::asking(a as u32, || again(number, args)),
            libc::SYS_sched_setscheduler => {
                giving(a as pid_t, c as *const _, of_param, || again(number, args))
            }
            libc::SYS_sched_setparam => {
                giving(a as pid_t, b as *const _, of_param, || again(number, args))
            }
            // The kernel refuses deadlines to a thread that has one CPU of several.
            libc::SYS_sched_setattr => giving(a as pid_t, b as *const _, of_attributes, || {
                affinity::asking(a as u32, || again(number, args))
            }),
            libc::SYS_clone | libc::SYS_clone3 => {
                affinity::await_own();
                by_libc(number, args)
            }
            // The kernel ends a thread where it cannot write that.
            libc::SYS_rseq => {
                if let Some(engine) = signal_engine() {
                    keep_off_device(engine, a, b as u32 as usize);
                }
                by_libc(number, args)
            }
            libc::SYS_set_tid_address => ids::set_address(a, || by_libc(number, args)),
            libc::SYS_ioctl => ioctl(a as c_int, word(b), c as *mut c_void).into(),
            libc::SYS_shmat => shmat(a as c_int, b as *const _, c as c_int) as c_long,
            libc::SYS_shmdt => shmdt(a as *const c_void).into(),
            SYS_MSEAL => mseal(a as *mut c_void, b, word(c)).into(),
            libc::SYS_futex => futex::by_number(args, |args| by_libc(number, args)),
            _ => return None,
        })
    }
}

/// System calls by their numbers: those that the hooks would see by name go to the hooks.
///
/// A fresh mapping is not placed on the device that way.
///
/// # Safety
/// C contract of `syscall`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let args = [a, b, c, d, e, f];
    // SAFETY: what the program asked for.
    let pass = || unsafe { by_libc(number, args) };
    if engine().is_none() || comes_back() {
        return pass();
    }
    let at = a as *mut c_void;
    let address = |p: *mut c_void| p as c_long;
    // SAFETY: passed on.
    unsafe {
        if let Some(used) = forks(number, &args) {
            return forking(used, || pass() as c_int).into();
        }
        match number {
            libc::SYS_mmap if d as c_int & libc::MAP_FIXED != 0 => address(mmap(
                at,
                b,
                c as c_int,
                d as c_int,
                e as c_int,
                f as libc::off_t,
            )),
            libc::SYS_munmap => munmap(at, b).into(),
            libc::SYS_madvise => madvise(at, b, c as c_int).into(),
            libc::SYS_process_madvise => {
                process_madvise(a as c_int, b as *const _, c, d as c_int, e as u32) as c_long
            }
            libc::SYS_mlock => mlock(at, b).into(),
            libc::SYS_mlock2 => mlock2(at, b, c as u32).into(),
            libc::SYS_munlock => munlock(at, b).into(),
            libc::SYS_mlockall => mlockall(a as c_int).into(),
            libc::SYS_munlockall => munlockall().into(),
            libc::SYS_mprotect => mprotect(at, b, c as c_int).into(),
            libc::SYS_mremap => address(mremap(at, b, c, d as c_int, e as *mut c_void)),
            libc::SYS_sigaltstack => sigaltstack(at.cast_const().cast(), b as *mut _).into(),
            libc::SYS_rt_sigaction if d == 8 => by_number(a as c_int, b as *const _, c as *mut _),
            libc::SYS_close => close(a as c_int).into(),
            libc::SYS_close_range => close_range(a as u32, b as u32, c as c_int).into(),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_dup2 => dup2(a as c_int, b as c_int).into(),
            libc::SYS_unshare => unshare(a as c_int).into(),
            libc::SYS_setns => setns(a as c_int, b as c_int).into(),
            libc::SYS_chroot => chroot(at.cast_const().cast()).into(),
            libc::SYS_seccomp => seccomp(args),
            libc::SYS_exit_group => leaving(pass),
            libc::SYS_execve => leaving(|| with_pages(program(a, b, c), pass)),
            libc::SYS_execveat => leaving(|| with_pages(program(b, c, d), pass)),
            libc::SYS_prlimit64 => {
                prlimit(a as pid_t, b as c_int, c as *const _, d as *mut _).into()
            }
            SYS_GETRLIMIT => getrlimit(a as c_int, b as *mut _).into(),
            SYS_SETRLIMIT => setrlimit(a as c_int, b as *const _).into(),
            libc::SYS_dup3 => dup3(a as c_int, b as c_int, c as c_int).into(),
            _ => minding(number, args)
                .or_else(|| making_durable(number, &args))
                .or_else(|| moving(number, &args))
                .unwrap_or_else(|| again(number, args)),
        }
    }
}
