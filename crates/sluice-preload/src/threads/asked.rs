//! What a process asks of itself and of the machine, for signal mode: users, scheduling, clocks.
//! See [`crate::signal_mode::calls`].

use crate::bytes::bounce::{Side, Way};
use crate::bytes::buffers::{One, Text};
use crate::bytes::piece::Place;
use crate::next;
use crate::tried_again;
use libc::{c_char, c_int, c_uint, c_void, clockid_t, gid_t, off_t, pid_t, sched_param};
use libc::{siginfo_t, sigset_t, size_t, ssize_t, statfs as Statfs, timespec, timeval, uid_t};

/// Sets of capabilities: a head, and three words for each 32.
type CapabilityHead = [u32; 2];
type Capabilities = [u32; 6];

tried_again! {
    c"getresuid" getresuid = next_getresuid
        (real: *mut uid_t, effective: *mut uid_t, saved: *mut uid_t) -> c_int,
        (One(real), One(effective), One(saved));
    c"getresgid" getresgid = next_getresgid
        (real: *mut gid_t, effective: *mut gid_t, saved: *mut gid_t) -> c_int,
        (One(real), One(effective), One(saved));
    c"__getgroups_chk" __getgroups_chk = next_getgroups_chk
        (n: c_int, to: *mut gid_t, room: size_t) -> c_int,
        (to.cast::<c_void>().cast_const(), n.max(0) as usize * size_of::<gid_t>());
    c"capget" capget = next_capget
        (head: *mut CapabilityHead, to: *mut Capabilities) -> c_int, (One(head), One(to));
    c"capset" capset = next_capset
        (head: *mut CapabilityHead, from: *const Capabilities) -> c_int, (One(head), One(from));
    c"sigpending" sigpending = next_sigpending(to: *mut sigset_t) -> c_int,
        One(to.cast::<u64>());
    c"pidfd_send_signal" pidfd_send_signal = next_pidfd_send_signal or no_such_call
        (fd: c_int, signal: c_int, about: *const siginfo_t, flags: c_uint) -> c_int, One(about);
    c"sched_getparam" sched_getparam = next_sched_getparam
        (pid: pid_t, to: *mut sched_param) -> c_int, One(to);
    c"sched_rr_get_interval" sched_rr_get_interval = next_sched_interval
        (pid: pid_t, to: *mut timespec) -> c_int, One(to);
    c"clock_gettime" clock_gettime = next_clock_gettime
        (clock: clockid_t, to: *mut timespec) -> c_int, One(to);
    c"clock_getres" clock_getres = next_clock_getres
        (clock: clockid_t, to: *mut timespec) -> c_int, One(to);
    c"clock_settime" clock_settime = next_clock_settime
        (clock: clockid_t, from: *const timespec) -> c_int, One(from);
    c"settimeofday" settimeofday = next_settimeofday
        (from: *const timeval, zone: *const [c_int; 2]) -> c_int, One(zone);
    c"sethostname" sethostname = next_sethostname(name: *const c_char, n: size_t) -> c_int,
        (name.cast::<c_void>(), n);
    c"setdomainname" setdomainname = next_setdomainname
        (name: *const c_char, n: size_t) -> c_int, (name.cast::<c_void>(), n);
    c"fstatfs" fstatfs = next_fstatfs(fd: c_int, to: *mut Statfs) -> c_int, One(to);
    c"getdirentries" getdirentries = next_getdirentries
        (fd: c_int, to: *mut c_char, n: size_t, at: *mut off_t) -> ssize_t,
        (to.cast::<c_void>().cast_const(), n);
    c"quotactl" quotactl = next_quotactl
        (what: c_int, device: *const c_char, id: c_int, with: *mut c_void) -> c_int,
        (Text(device), One(with.cast::<[u8; 256]>()));
}

#[cfg(target_arch = "x86_64")]
tried_again! {
    c"modify_ldt" modify_ldt = next_modify_ldt
        (what: c_int, with: *mut c_void, n: size_t) -> c_int, (with.cast_const(), n);
    c"arch_prctl" arch_prctl = next_arch_prctl(what: c_int, with: *mut u64) -> c_int, One(with);
}

/// What older C libraries do not have, older kernels did not have either.
pub fn no_such_call() -> c_int {
    crate::bytes::answers::status(Err(libc::ENOSYS))
}

next!(next_setgroups: c"setgroups"(n: size_t, list: *const gid_t) -> c_int);
next!(next_klogctl: c"klogctl"(what: c_int, to: *mut c_char, n: c_int) -> c_int);

/// Each thread makes the call. The C library ends the program if one fails and another does not.
///
/// # Safety
/// C contract of `setgroups`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setgroups(n: size_t, list: *const gid_t) -> c_int {
    let (place, bytes) = (Place::new(), n.saturating_mul(size_of::<gid_t>()));
    let side = Side::new(&place, list.cast_mut().cast(), bytes, Way::Out);
    // SAFETY: passed on, or memory of ours that is as long.
    unsafe { next_setgroups(n, side.at().cast()) }
}

/// The kernel forgets what it has read out once.
///
/// # Safety
/// C contract of `klogctl`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn klogctl(what: c_int, to: *mut c_char, n: c_int) -> c_int {
    let place = Place::new();
    let side = Side::new(&place, to.cast(), n.max(0) as size_t, Way::In);
    // SAFETY: as above.
    let read = unsafe { next_klogctl(what, side.at().cast(), n) };
    side.give(read.clamp(0, n.max(0)) as size_t);
    read
}
