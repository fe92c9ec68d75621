//! The end of a program whose device cannot go on: a bug of ours, or no memory for our own tables.
//!
//! The standard library's way would hang here. It allocates and reads debug information, perhaps
//! with a lock held that every fault of the program needs; and a program's own handler of SIGABRT
//! would run in memory that nobody serves any more.

use sluice_region::{sys, thread_id};
use std::panic::PanicHookInfo;

/// From now on a panic ends the program with one line and SIGABRT, and allocates nothing for it.
pub fn on_panic() {
    std::panic::set_hook(Box::new(panicked));
}

/// Ends the program because nothing is left of the memory set aside for this library.
pub fn no_memory(bytes: usize) -> ! {
    let why = format_args!(
        "no memory for {bytes} bytes of its own; raise `ulimit -v`, or lower device.capacity and \
         cache.capacity"
    );
    end(why, libc::SIGABRT)
}

/// Ends the program by SIGBUS because contents of its memory cannot be read or kept.
pub fn lost_page(why: core::fmt::Arguments<'_>) -> ! {
    end(why, libc::SIGBUS)
}

fn panicked(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no reason given");
    let report = "internal error, please report it";
    match info.location() {
        Some(at) => end(
            format_args!("{report}: {}:{}: {text}", at.file(), at.line()),
            libc::SIGABRT,
        ),
        None => end(format_args!("{report}: {text}"), libc::SIGABRT),
    }
}

fn end(why: core::fmt::Arguments<'_>, signal: i32) -> ! {
    sluice_region::say(why);
    // The memory of a device is terabytes perhaps: nobody wants that in a file.
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0) };
    die_by(signal)
}

/// Ends this process by a signal, whatever the program does with it.
pub fn die_by(signal: i32) -> ! {
    // SAFETY: live buffers. Zeros are the kernel's way to write SIG_DFL; a set is 8 bytes. Another
    // signal that waits, such as SIGXFSZ, must not come first.
    unsafe {
        let (default, others) = ([0u64; 4], !(1u64 << (signal - 1)));
        let (action, mask) = (&raw const default, &raw const others);
        let _ = sys!(libc::SYS_rt_sigaction, signal, action, 0, 8);
        let _ = sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, mask, 0, 8);
        let process = sys!(libc::SYS_getpid).unwrap_or(0);
        let _ = sys!(libc::SYS_tgkill, process, thread_id(), signal);
        // Never reached, unless somebody keeps signals away from us.
        let _ = sys!(libc::SYS_exit_group, 128 + signal);
    }
    unreachable!("exit_group does not return")
}
