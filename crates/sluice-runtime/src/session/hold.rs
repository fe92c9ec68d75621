//! The lock by which a process says that its session is in use.

use crate::clock::{now_ns, sleep_until};
use crate::process::descriptors::{LOCK_FD, guard};
use crate::session::error::{StartError, failed};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use sluice_abi::{LOCK_FILE, MEANWHILE};
use sluice_region::{lock_byte, open_regular, stat, sys, told_of};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::Path;

/// The keeper has a byte for a moment when it looks whether its process has ended. It is asked for
/// again so often, with pauses.
const CLAIMS: u32 = 1_000;
const PAUSE_NS: u64 = 1_000_000;

/// A process's shared lock on its session's directory: nobody removes that while one is held. The
/// kernel gives it up when the process ends or becomes another image.
///
/// With it goes the lock of one byte, which says that the process's own files are in use.
#[derive(Debug)]
pub struct Hold {
    fd: AtomicI32,
    /// Inode of the process's statistics: the byte that is locked. 0 until there are any.
    file: AtomicU64,
    /// Which of its process's images this is.
    image: AtomicU32,
}

impl Default for Hold {
    fn default() -> Hold {
        Hold {
            fd: AtomicI32::new(-1),
            file: AtomicU64::new(0),
            image: AtomicU32::new(0),
        }
    }
}

/// A copy of a session holds nothing.
impl Clone for Hold {
    fn clone(&self) -> Hold {
        Hold::default()
    }
}

impl Hold {
    /// The descriptor that is locked, if there is one.
    pub fn descriptor(&self) -> Option<i32> {
        let fd = self.fd.load(Relaxed);
        (fd >= 0).then_some(fd)
    }

    /// Moves the descriptor to where hooks guard it.
    pub fn guard(&self) -> Result<(), i32> {
        let mut fd = self.fd.load(Relaxed);
        let guarded = guard(&mut fd);
        self.fd.store(fd, Relaxed);
        guarded
    }

    /// In the child of a fork, in a table of descriptors that has none of the parent's: nothing is
    /// locked.
    pub fn forget(&self) {
        self.fd.store(-1, Relaxed);
    }

    /// Unlocks the directory.
    pub fn give_up(&self) {
        let fd = self.fd.swap(-1, Relaxed);
        if fd >= 0 {
            close(fd);
        }
    }

    /// Locks the directory. The child of a fork does so anew, and gives up what it inherited.
    pub fn take(&self, dir: &Path) -> Result<(), StartError> {
        let path = dir.join(LOCK_FILE);
        let file = open_regular(&path, true, None).map_err(|e| failed(&path, e))?;
        let is_held = file.try_lock_shared().is_ok();
        let found = told_of(&file).map_err(|e| failed(&path, e))?;
        if !is_held || found.st_nlink == 0 {
            let dir = dir.to_owned();
            return Err(StartError::Ended { dir });
        }
        // SAFETY: an open descriptor, no pointers. The lock belongs to both numbers.
        let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOCK_FD) };
        let taken = if high >= 0 { high } else { file.into_raw_fd() };
        let before = self.fd.swap(taken, Relaxed);
        // In a table of the runtime's own the number before may be that of the new one.
        if before >= 0 && before != taken && is_same_file(before, &found) {
            close(before);
        }
        Ok(())
    }

    /// Notes which of its process's images this is, by the name of its files.
    pub fn set_image(&self, image: u32) {
        self.image.store(image, Relaxed);
    }

    /// Which of its process's images this is.
    pub fn image(&self) -> u32 {
        self.image.load(Relaxed)
    }

    /// Says that this process uses the files of the statistics with this inode. Returns whether
    /// nobody else says so.
    pub fn claim(&self, file: u64) -> bool {
        self.file.store(file, Relaxed);
        let locked = self.descriptor().map(|fd| lock_byte(fd, file));
        // Where there are no such locks, nobody looks for one.
        !matches!(locked, Some(Ok(false)))
    }

    /// Locks the directory anew, and the byte with it. Until then [`Hold::stand_in`] has spoken for
    /// the files.
    pub fn renew(&self, dir: &Path) -> Result<(), StartError> {
        self.take(dir)?;
        let file = self.file.load(Relaxed);
        for _ in 0..CLAIMS {
            if self.claim(file) {
                break;
            }
            sleep_until(now_ns() + PAUSE_NS);
        }
        Ok(())
    }

    /// Locks the directory for a process whose own lock ends for a moment, and says by another byte
    /// that it has not ended.
    pub fn stand_in(of: &Hold, dir: &Path) -> Result<Hold, StartError> {
        let hold = Hold::default();
        hold.take(dir)?;
        // Where the keeper looks just now, it finds the process's own lock.
        hold.claim(of.file.load(Relaxed) | MEANWHILE);
        Ok(hold)
    }
}

/// Closes a descriptor of our own, which nobody uses any more. The C library's function is hooked,
/// and passes over what is guarded.
fn close(fd: i32) {
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_close, fd) };
}

/// Whether a number still is a descriptor of a file: the program may have closed it.
fn is_same_file(fd: i32, file: &libc::stat) -> bool {
    let is_it = |found: libc::stat| (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino);
    stat(fd).is_ok_and(is_it)
}
