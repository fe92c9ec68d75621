//! By which number `/proc` shows a thread.
//!
//! A program in a namespace of process numbers may still see the `/proc` of another one, whose
//! numbers are others than those that the kernel answers it with.

use crate::process::folder::{Folder, ROOM, names};
use core::ffi::CStr;
use sluice_region::{sys, thread_id};
use std::io::Write;

/// The number by which `/proc` shows a thread of this process. Nothing is allocated for it.
pub fn shown(thread: u32) -> Result<u32, i32> {
    let own = own_as_shown()?;
    if own == thread_id() {
        return Ok(thread);
    }
    if thread == thread_id() {
        return Ok(own);
    }
    let folder = Folder::open(c"/proc/self/task")?;
    let mut room = [0; ROOM];
    loop {
        let Some(entries) = folder.read(&mut room)? else {
            return Err(libc::ESRCH);
        };
        for name in names(entries) {
            if let Some(number) = digits(name)
                && number_inside(number) == Ok(thread)
            {
                return Ok(number);
            }
        }
    }
}

/// `PROCESS/task/THREAD` of the caller.
fn own_as_shown() -> Result<u32, i32> {
    let (path, mut room) = (c"/proc/thread-self", [0u8; 64]);
    // SAFETY: a static path and a live buffer.
    let len = unsafe {
        let (at, room) = (room.as_mut_ptr(), room.len());
        sys!(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            at,
            room
        )?
    };
    let last = room[..len].rsplit(|byte| *byte == b'/').next();
    last.and_then(digits).ok_or(libc::EINVAL)
}

/// A thread's number in its own namespace: the last of the line `NSpid` of its status.
fn number_inside(shown: u32) -> Result<u32, i32> {
    let (mut path, mut text) = ([0u8; 64], [0u8; ROOM]);
    let mut rest = &mut path[..];
    // It fits.
    write!(rest, "/proc/self/task/{shown}/status\0").map_err(|_| libc::ENAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::EINVAL)?;
    let len = read(path, &mut text)?;
    let line = text[..len].split(|byte| *byte == b'\n');
    let line = line
        .into_iter()
        .find_map(|line| line.strip_prefix(b"NSpid:"));
    let last = line.and_then(|line| line.rsplit(|byte| byte.is_ascii_whitespace()).next());
    last.and_then(digits).ok_or(libc::EINVAL)
}

/// The beginning of a file.
fn read(path: &CStr, text: &mut [u8]) -> Result<usize, i32> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a live, terminated path and a live buffer; the descriptor is nobody else's.
    unsafe {
        let file = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)?;
        let len = sys!(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        let _ = sys!(libc::SYS_close, file);
        len
    }
}

fn digits(text: &[u8]) -> Option<u32> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thread of this process is found as it is shown, though no namespace hides it.
    #[test]
    fn threads_are_found_by_their_number_inside() {
        let own = thread_id();
        assert_eq!((own_as_shown(), shown(own)), (Ok(own), Ok(own)));
        let folder = Folder::open(c"/proc/self/task").unwrap();
        let mut room = [0; ROOM];
        let mut seen = 0;
        while let Some(entries) = folder.read(&mut room).unwrap() {
            for number in names(entries).filter_map(digits) {
                seen += usize::from(number == own);
                // A test's thread may end meanwhile.
                let inside = number_inside(number);
                assert!(inside == Ok(number) || inside.is_err(), "{inside:?}");
            }
        }
        assert_eq!(seen, 1);
    }
}
