//! System calls that a program makes by their numbers, for signal mode: what moves its bytes goes
//! by the hooks of these names. `libuv` receives and sends datagrams that way, for BIND and others.

use crate::bytes::buffers::{signal_engine, with_pages};
use crate::bytes::held::{copy_file_range, sendfile, splice};
use crate::bytes::named::{Named, Record};
use crate::next;
use crate::processes::children::wait4;
use crate::processes::status::statx;
use crate::signal_mode::aio::{get_events, setup, submit};
use crate::signal_mode::calls::{getrandom, setsockopt};
use crate::signal_mode::io::{pread, pwrite};
use crate::signal_mode::io::{preadv, preadv2, pwritev, pwritev2};
use crate::signal_mode::io::{
    read, readv, recvfrom, recvmsg, sendmsg, sendto, vmsplice, write, writev,
};
use crate::signal_mode::many::{recvmmsg, sendmmsg};
use crate::signal_mode::names::mount;
use crate::signal_mode::numbered::{
    Call, epoll_pwait, epoll_pwait2, held, ppoll, pselect, rt_sigsuspend,
};
use crate::signal_mode::taken::{getsockopt, mq_timedreceive, mq_timedsend, msgrcv, msgsnd};
use crate::signal_mode::vm_copies::{process_vm_readv, process_vm_writev};
use crate::signal_mode::waits::{accept, accept4};
#[cfg(target_arch = "x86_64")]
use crate::signal_mode::waits::{epoll_wait, poll, select};
use crate::signals::dispatch::by_libc;
use core::ffi::c_void;
use core::ptr::null_mut;
use libc::{c_int, c_long};

next!(next_state: c"pthread_setcancelstate"(new: c_int, old: *mut c_int) -> c_int);
next!(next_type: c"pthread_setcanceltype"(new: c_int, old: *mut c_int) -> c_int);

/// Makes a call that moves the program's bytes; `None` for others, and in event mode.
///
/// # Safety
/// What the program asked for.
pub unsafe fn moving(number: c_long, args: &[usize; 6]) -> Option<c_long> {
    signal_engine()?;
    let call = function(number).or_else(|| held(number))?;
    let mut before = 0;
    // SAFETY: live outputs; passed on. A call by its number is no point where a thread can be
    // cancelled, unless that is at any instruction.
    unsafe {
        next_type(PTHREAD_CANCEL_DEFERRED, &mut before);
        if before != PTHREAD_CANCEL_DEFERRED {
            next_type(before, null_mut());
            return Some(call(args));
        }
        next_state(PTHREAD_CANCEL_DISABLE, &mut before);
        let result = call(args);
        next_state(before, null_mut());
        Some(result)
    }
}

const PTHREAD_CANCEL_DEFERRED: c_int = 0;
const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// One function for each number: which arguments of the call the hook gets, each as its type.
macro_rules! calls {
    ($($(#[$only:meta])* $number:ident $hook:ident($($at:literal),*);)+) => {
        fn function(number: c_long) -> Option<Call> {
            Some(match number {
                $($(#[$only])* libc::$number => |args| {
                    // SAFETY: by contract of `moving`.
                    unsafe { $hook($(cast(args[$at])),*) as c_long }
                },)+
                _ => return None,
            })
        }
    };
}

/// An argument as the hook takes it: its lower bytes, as in a register.
fn cast<T: Argument>(word: usize) -> T {
    T::of(word)
}

trait Argument {
    fn of(word: usize) -> Self;
}

macro_rules! arguments {
    ($($type:ty)+) => {$(
        impl Argument for $type {
            fn of(word: usize) -> $type {
                word as $type
            }
        }
    )+};
}

arguments! { i32 u32 i64 u64 usize }

impl<T> Argument for *mut T {
    fn of(word: usize) -> *mut T {
        word as *mut T
    }
}

impl<T> Argument for *const T {
    fn of(word: usize) -> *const T {
        word as *const T
    }
}

// A place in a file is one word, where a word has 64 bits; those of `preadv` and its kin have
// another behind it.
calls! {
    SYS_read read(0, 1, 2);
    SYS_write write(0, 1, 2);
    SYS_pread64 pread(0, 1, 2, 3);
    SYS_pwrite64 pwrite(0, 1, 2, 3);
    SYS_readv readv(0, 1, 2);
    SYS_writev writev(0, 1, 2);
    SYS_preadv preadv(0, 1, 2, 3);
    SYS_pwritev pwritev(0, 1, 2, 3);
    SYS_preadv2 preadv2(0, 1, 2, 3, 5);
    SYS_pwritev2 pwritev2(0, 1, 2, 3, 5);
    SYS_recvfrom recvfrom(0, 1, 2, 3, 4, 5);
    SYS_sendto sendto(0, 1, 2, 3, 4, 5);
    SYS_recvmsg recvmsg(0, 1, 2);
    SYS_sendmsg sendmsg(0, 1, 2);
    SYS_recvmmsg recvmmsg(0, 1, 2, 3, 4);
    SYS_sendmmsg sendmmsg(0, 1, 2, 3);
    SYS_vmsplice vmsplice(0, 1, 2, 3);
    SYS_splice splice(0, 1, 2, 3, 4, 5);
    SYS_sendfile sendfile(0, 1, 2, 3);
    SYS_copy_file_range copy_file_range(0, 1, 2, 3, 4, 5);
    SYS_process_vm_readv process_vm_readv(0, 1, 2, 3, 4, 5);
    SYS_process_vm_writev process_vm_writev(0, 1, 2, 3, 4, 5);
    SYS_getrandom getrandom(0, 1, 2);
    SYS_statx statx(0, 1, 2, 3, 4);
    SYS_accept accept(0, 1, 2);
    SYS_accept4 accept4(0, 1, 2, 3);
    SYS_getsockopt getsockopt(0, 1, 2, 3, 4);
    SYS_setsockopt setsockopt(0, 1, 2, 3, 4);
    SYS_mount mount(0, 1, 2, 3, 4);
    #[cfg(target_arch = "x86_64")]
    SYS_epoll_wait epoll_wait(0, 1, 2, 3);
    SYS_epoll_pwait epoll_pwait(0, 1, 2, 3, 4, 5);
    SYS_epoll_pwait2 epoll_pwait2(0, 1, 2, 3, 4, 5);
    #[cfg(target_arch = "x86_64")]
    SYS_poll poll(0, 1, 2);
    SYS_ppoll ppoll(0, 1, 2, 3, 4);
    #[cfg(target_arch = "x86_64")]
    SYS_select select(0, 1, 2, 3, 4);
    SYS_pselect6 pselect(0, 1, 2, 3, 4, 5);
    SYS_rt_sigsuspend rt_sigsuspend(0, 1);
    SYS_msgrcv msgrcv(0, 1, 2, 3, 4);
    SYS_msgsnd msgsnd(0, 1, 2, 3);
    SYS_mq_timedreceive mq_timedreceive(0, 1, 2, 3, 4);
    SYS_mq_timedsend mq_timedsend(0, 1, 2, 3, 4);
    SYS_wait4 wait4(0, 1, 2, 3);
    SYS_io_setup setup(0, 1);
    SYS_io_submit submit(0, 1, 2);
    SYS_io_getevents get_events(0, 1, 2, 3, 4);
}

/// An argument of a call by its number that has addresses in it.
fn inside(number: c_long, [first, second, third, ..]: [usize; 6]) -> Record {
    /// Of what is awaited: value, address, flags.
    const AWAITED: usize = size_of::<[usize; 3]>();
    let (at, bytes) = match number {
        libc::SYS_futex_waitv => (first, second.saturating_mul(AWAITED)),
        libc::SYS_bpf => (second, third),
        _ => (0, 0),
    };
    Record::new(at as *const c_void, bytes)
}

/// Makes a system call by its number, again while memory that it names is missing.
///
/// # Safety
/// What the program asked for.
pub unsafe fn again(number: c_long, args: [usize; 6]) -> c_long {
    let memory = (Named::new(args), inside(number, args));
    // SAFETY: passed on.
    with_pages(memory, || unsafe { by_libc(number, args) })
}
