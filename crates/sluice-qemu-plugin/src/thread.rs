//! The thread beside QEMU's own that works for its CPUs.

use crate::pipe::is_forked;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// A thread that works until nothing more comes.
pub struct Worker<T>(Mutex<Option<JoinHandle<T>>>);

impl<T: Send + 'static> Worker<T> {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no room for a thread.
    pub fn start(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Worker<T>> {
        Ok(Worker(Mutex::new(Some(spawn(name, work)?))))
    }

    /// What it has made, once it has ended; none the second time, and in a child that the program
    /// has forked, which has no such thread.
    pub fn result(&self) -> Option<std::thread::Result<T>> {
        if is_forked() {
            return None;
        }
        let mut handle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handle.take().map(JoinHandle::join)
    }
}

/// Starts a thread that no signal reaches: QEMU's handlers belong to threads of QEMU.
fn spawn<T: Send + 'static>(
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
