//! System calls that the program makes by their numbers.

use crate::allocator::limit_calls::{getrlimit, prlimit, setrlimit};
use crate::bytes::buffers::{Text, Texts, signal_engine, with_pages};
use crate::device::engine;
use crate::memory::advice::madvise;
use crate::memory::behind::SYS_MSEAL;
use crate::memory::change::{mprotect, mremap, munmap};
use crate::memory::keys::pkey_mprotect;
use crate::memory::locked::{mlock, mlock2, mlockall, munlock, munlockall};
use crate::memory::map::mmap;
use crate::memory::own_uffd::ioctl;
use crate::memory::persist::making_durable;
use crate::memory::process_advice::process_madvise;
use crate::memory::seal::mseal;
use crate::memory::segments::{shmat, shmdt};
#[cfg(target_arch = "x86_64")]
use crate::processes::descriptors::dup2;
use crate::processes::descriptors::{close, close_range, dup3};
use crate::processes::exec::leaving;
use crate::processes::kin::{forking, forks};
use crate::processes::namespaces::{chroot, prctl, seccomp, setns, unshare};
use crate::processes::parents::getppid;
use crate::signal_mode::numbers::{again, moving};
use crate::signals::altstack::{keep_off_device, sigaltstack};
use crate::signals::dispatch::{by_libc, comes_back};
use crate::signals::mask::{by_number, mask_by_number};
use crate::threads::affinity;
use crate::threads::real_time::{giving, of_attributes, of_param};
use crate::words::futex;
use crate::words::ids;
use libc::{c_int, c_long, c_ulong, c_void, pid_t};

/// Numbers that the crate of the C library's constants lacks for one architecture.
#[cfg(target_arch = "x86_64")]
const LIMITS: [c_long; 2] = [libc::SYS_getrlimit, libc::SYS_setrlimit];
#[cfg(target_arch = "aarch64")]
const LIMITS: [c_long; 2] = [163, 164];
const SYS_GETRLIMIT: c_long = LIMITS[0];
const SYS_SETRLIMIT: c_long = LIMITS[1];

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
            libc::SYS_getppid => getppid().into(),
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
            libc::SYS_pkey_mprotect => pkey_mprotect(at, b, c as c_int, d as c_int).into(),
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
