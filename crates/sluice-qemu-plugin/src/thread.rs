//! A thread beside QEMU's own.

use std::io;
use std::thread::JoinHandle;

/// Starts a thread that no signal reaches: QEMU's handlers belong to threads of QEMU.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // SAFETY: sets of signals are plain data, and every pointer is to a live one.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        started
    }
}
