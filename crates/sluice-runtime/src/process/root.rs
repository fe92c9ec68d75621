//! The root folder that the program left by `chroot`.
//!
//! The child of a fork opens files in `/proc`, `/dev` and the session's folder, which its own root
//! may not have. A descriptor of the old root leads there, as long as the process may change its
//! root at all. The program could leave its cage by that descriptor, if it looked for it.

use crate::process::descriptors::{forget, guard};
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::*};
use sluice_region::{stat, sys};

static ROOT: AtomicI32 = AtomicI32::new(-1);
/// What it was: device and inode number.
static IDENTITY: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Keeps the root of now, if none is kept. By the program's thread, before it leaves it.
pub fn keep() {
    if number().is_some() {
        return;
    }
    let Ok(mut fd) = open(c"/") else { return };
    if guard(&mut fd).is_ok()
        && let Ok(told) = stat(fd)
    {
        IDENTITY[0].store(told.st_dev, Relaxed);
        IDENTITY[1].store(told.st_ino, Relaxed);
        ROOT.store(fd, Release);
    }
}

/// The descriptor, as long as it is open and the same folder.
pub fn number() -> Option<i32> {
    let fd = ROOT.load(Acquire);
    let is = |told: libc::stat| {
        told.st_dev == IDENTITY[0].load(Relaxed) && told.st_ino == IDENTITY[1].load(Relaxed)
    };
    (fd >= 0 && stat(fd).is_ok_and(is)).then_some(fd)
}

/// Closes the descriptor: nothing needs the old root any more.
pub fn give_up() {
    let kept = number();
    let fd = ROOT.swap(-1, AcqRel);
    if kept.is_some() {
        forget(fd);
        // SAFETY: our own descriptor.
        let _ = unsafe { sys!(libc::SYS_close, fd) };
    }
}

/// Makes it the calling thread's root again, if one is kept and the thread may.
pub fn go_back() {
    if let Some(fd) = number() {
        // Without the right to it, what is opened next says what is missing.
        let _ = enter(fd);
    }
}

/// Calls a function at the old root, if there is one. By a process's only thread.
pub fn visit<R>(function: impl FnOnce() -> R) -> R {
    let Some(old) = number() else {
        return function();
    };
    let (root, here) = (open(c"/"), open(c"."));
    let (Ok(root), Ok(here)) = (root, here) else {
        return function();
    };
    let is_there = enter(old).is_ok();
    let result = function();
    // SAFETY: descriptors of our own.
    unsafe {
        // A thread that could go there can come back.
        if is_there && enter(root).is_err() || sys!(libc::SYS_fchdir, here).is_err() {
            sluice_region::fatal(format_args!("no way back into the folder of a `chroot`"));
        }
        let _ = sys!(libc::SYS_close, root);
        let _ = sys!(libc::SYS_close, here);
    }
    result
}

fn enter(fd: i32) -> Result<(), i32> {
    // SAFETY: no pointers but a static path.
    unsafe {
        sys!(libc::SYS_fchdir, fd)?;
        sys!(libc::SYS_chroot, c".".as_ptr()).map(drop)
    }
}

fn open(path: &core::ffi::CStr) -> Result<i32, i32> {
    let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_DIRECTORY;
    // SAFETY: a static, terminated path.
    let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
    Ok(fd as i32)
}
