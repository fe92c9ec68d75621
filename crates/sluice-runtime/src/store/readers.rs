//! The processes that still read a file: a child of a fork holds a lock on the byte with its
//! number.
//!
//! The locks belong to what was opened, not to a process (`F_OFD_SETLK`). A descriptor that a child
//! inherits keeps its lock until the last copy is closed: at the end of the child and of its own
//! children, however they end, or when they become another program.

use sluice_region::sys;

fn of(kind: i32, first: u32, last: u32) -> libc::flock {
    // SAFETY: plain data, for which zeros are valid.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = first.into();
    lock.l_len = i64::from(last) - i64::from(first) + 1;
    lock
}

/// Holds a number of a file, by a descriptor that was opened for just that.
pub fn hold(fd: i32, number: u32) -> Result<(), i32> {
    let lock = of(libc::F_RDLCK, number, number);
    // SAFETY: a live lock.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_OFD_SETLK, &raw const lock) }.map(drop)
}

/// Whether somebody holds one of the numbers from 1 to `last`, by another descriptor than this.
pub fn is_held(fd: i32, last: u32) -> Result<bool, i32> {
    if last == 0 {
        return Ok(false);
    }
    let mut lock = of(libc::F_WRLCK, 1, last);
    // SAFETY: a live lock.
    unsafe { sys!(libc::SYS_fcntl, fd, libc::F_OFD_GETLK, &raw mut lock)? };
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_number_is_held_until_its_last_descriptor_is_closed() {
        let file = tempfile::NamedTempFile::new().expect("room");
        let own = file.as_file().as_raw_fd();
        let is_held = |last| is_held(own, last).expect("a file");
        let reader = std::fs::File::open(file.path()).expect("the file");
        hold(reader.as_raw_fd(), 3).expect("a lock");
        let copy = reader.try_clone().expect("a descriptor");
        assert_eq!(
            [0, 1, 2, 3, 4].map(is_held),
            [false, false, false, true, true]
        );
        drop(reader);
        assert!(is_held(3), "a copy is open");
        let other = std::fs::File::open(file.path()).expect("the file");
        hold(other.as_raw_fd(), 1).expect("a lock");
        assert!(is_held(1));
        drop(copy);
        assert_eq!([1, 3].map(is_held), [true, true]);
        drop(other);
        assert!(!is_held(u32::MAX));
    }
}
