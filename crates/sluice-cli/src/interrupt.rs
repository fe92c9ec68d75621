//! Ctrl-C while something is computed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How a shell tells that a command ended by Ctrl-C.
pub const STATUS: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C is a wish, to be looked for. The second ends the command.
pub fn begin() {
    let handler: extern "C" fn(i32) = ask;
    // SAFETY: the handler does nothing but a store and a system call.
    unsafe {
        // What the caller has us ignore stays ignored.
        if libc::signal(libc::SIGINT, handler as *const () as usize) == libc::SIG_IGN {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
        }
    }
}

/// Whether Ctrl-C was pressed.
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}

extern "C" fn ask(signal: i32) {
    ASKED.store(true, Relaxed);
    // SAFETY: no pointers.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
