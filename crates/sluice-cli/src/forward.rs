//! Signals that come to this command while the program runs.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The program, or 0 when it is not there.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Requests to end, which a program may want to answer in its own way.
pub const ENDING: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];
/// The same with Ctrl-C, for a program that may not have the terminal.
pub const ENDING_OR_CTRL_C: [i32; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

/// From now on this command stays, whatever comes, to tell the result: the terminal sends Ctrl-C
/// to the program as well; the signals of `passed_on` go on to the program.
pub fn begin(program: u32, passed_on: &'static [i32]) {
    PROGRAM.store(program as i32, Relaxed);
    let handler: extern "C" fn(i32) = pass_on;
    // SAFETY: the handler does nothing but a system call.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGQUIT, libc::SIG_IGN);
        for &signal in passed_on {
            // What the caller has us ignore (`nohup`) the program ignores as well.
            if libc::signal(signal, handler as *const () as usize) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// The program has ended: a request to end means this command again.
pub fn end() {
    PROGRAM.store(0, Relaxed);
    for signal in ENDING {
        // SAFETY: no handler runs.
        unsafe {
            if libc::signal(signal, libc::SIG_DFL) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

extern "C" fn pass_on(signal: i32) {
    let program = PROGRAM.load(Relaxed);
    if program > 0 {
        // SAFETY: no pointers. A process that has ended keeps its number until it is waited for.
        unsafe { libc::kill(program, signal) };
    }
}
