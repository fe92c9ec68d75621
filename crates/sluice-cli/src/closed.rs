//! Standard streams that this command was started without.
//!
//! Rust's start-up code opens `/dev/null` in the place of each. The programs that the command
//! starts must find them closed, as they would without it.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before that code.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    for (fd, closed) in (0..).zip(&CLOSED) {
        // SAFETY: no pointers.
        closed.store(unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1, Relaxed);
    }
}

/// Closes them in whatever this process starts from now on.
pub fn stay_closed() {
    for (fd, closed) in (0..).zip(&CLOSED) {
        if closed.load(Relaxed) {
            // SAFETY: no pointers; the descriptor is `/dev/null`.
            unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}
