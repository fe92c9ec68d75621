//! What becomes of bytes that are more than one call moves, by what a descriptor leads to.

use crate::bytes::bounce::{MOST, Rest, Way};
use crate::bytes::buffers::signal_engine;
use core::cell::Cell;
use libc::{c_int, off_t, size_t, socklen_t, ssize_t};
use sluice_region::sys;

/// What a descriptor leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What gives and takes all that it is asked for, up to its end.
    File,
    /// Bytes in a row, as of a pipe.
    Row,
    /// What has an end that each call sees: datagrams, and requests of devices such as FUSE's.
    Messages,
}

fn kind(fd: c_int) -> Kind {
    /// Of `/dev/zero` and others that make up what they give.
    const MEMORY: libc::c_uint = 1;
    // SAFETY: plain data, for which zeros are valid, as the output.
    let stat = unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        (libc::fstat(fd, &mut stat) == 0).then_some(stat)
    };
    let Some(stat) = stat else { return Kind::Row };
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFBLK => Kind::File,
        libc::S_IFCHR if libc::major(stat.st_rdev) == MEMORY => Kind::File,
        libc::S_IFIFO => Kind::Row,
        libc::S_IFSOCK if is_stream(fd) => Kind::Row,
        _ => Kind::Messages,
    }
}

/// What becomes of the rest of a long read.
pub fn read_on(fd: c_int, _: c_int) -> Rest {
    match kind(fd) {
        Kind::File => Rest::Follows,
        Kind::Row => Rest::Stays,
        Kind::Messages => Rest::Belongs,
    }
}

/// Whether a file was opened so, or has become so.
fn has_flag(fd: c_int, flag: c_int) -> bool {
    // SAFETY: asks only.
    let set = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    set != -1 && set & flag != 0
}

/// What becomes of the rest of a long write. A file takes it whatever its flags; what is added to
/// one by several processes stays together.
pub fn write_on(fd: c_int, _: c_int) -> Rest {
    match kind(fd) {
        Kind::Messages => Rest::Belongs,
        Kind::File if has_flag(fd, libc::O_APPEND) => Rest::Belongs,
        Kind::Row if has_flag(fd, libc::O_NONBLOCK) => Rest::Stays,
        _ => Rest::Follows,
    }
}

/// Bytes of a file from its descriptor's place on, for a call that is made in parts. Whoever shares
/// the descriptor finds its place behind them at once, as if they were moved by one call.
pub struct Taken {
    fd: c_int,
    /// Where the bytes are.
    pub at: off_t,
    left: Cell<size_t>,
}

impl Taken {
    /// Takes so many bytes; `None` where one call moves them all, or where nobody can say before
    /// how many there will be.
    pub fn of(fd: c_int, bytes: size_t, way: Way) -> Option<Taken> {
        signal_engine().filter(|_| bytes > MOST)?;
        // SAFETY: plain data, for which zeros are valid, as the output.
        let stat = unsafe {
            let mut stat: libc::stat = core::mem::zeroed();
            (libc::fstat(fd, &mut stat) == 0).then_some(stat)
        }?;
        let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
        let is_short = way == Way::In && stat.st_size <= MOST as off_t;
        if !is_file || is_short || has_flag(fd, libc::O_APPEND) {
            return None;
        }
        let behind = step(fd, off_t::try_from(bytes).ok()?).ok()?;
        Some(Taken {
            fd,
            at: behind as off_t - bytes as off_t,
            left: Cell::new(bytes),
        })
    }

    /// Passes on how many bytes were moved. The others are there again.
    pub fn moved(self, result: ssize_t) -> ssize_t {
        self.left.update(|left| left - result.max(0) as size_t);
        result
    }
}

/// Also where the thread is cancelled meanwhile.
impl Drop for Taken {
    fn drop(&mut self) {
        if self.left.get() > 0 {
            let _ = step(self.fd, -(self.left.get() as off_t));
        }
    }
}

/// Moves a descriptor's place. Returns where it is then.
fn step(fd: c_int, bytes: off_t) -> Result<usize, i32> {
    // SAFETY: no pointers.
    unsafe { sys!(libc::SYS_lseek, fd, bytes, libc::SEEK_CUR) }
}

/// What a socket says of itself.
fn option(fd: c_int, name: c_int) -> Option<c_int> {
    let (mut told, mut bytes) = (0, size_of::<c_int>() as socklen_t);
    // SAFETY: live outputs, off the device.
    let asked = unsafe {
        sys!(
            libc::SYS_getsockopt,
            fd,
            libc::SOL_SOCKET,
            name,
            &raw mut told,
            &raw mut bytes
        )
    };
    asked.is_ok().then_some(told)
}

/// Whether a socket has bytes in a row, and no messages with an end.
fn is_stream(fd: c_int) -> bool {
    option(fd, libc::SO_TYPE) == Some(libc::SOCK_STREAM)
}

/// What becomes of the rest of a long send.
pub fn send_on(fd: c_int, flags: c_int) -> Rest {
    match is_stream(fd) {
        false => Rest::Belongs,
        true if flags & libc::MSG_DONTWAIT != 0 => Rest::Stays,
        true if has_flag(fd, libc::O_NONBLOCK) => Rest::Stays,
        true => Rest::Follows,
    }
}

/// Which way what is sent goes.
pub fn out(_: c_int, flags: c_int) -> Way {
    match flags & libc::MSG_ZEROCOPY {
        0 => Way::Out,
        _ => Way::Lent,
    }
}

/// What becomes of the rest of a long receipt: some wait until there is as much as was asked for.
pub fn receive_on(fd: c_int, flags: c_int) -> Rest {
    match is_stream(fd) {
        false => Rest::Belongs,
        true if flags & (libc::MSG_WAITALL | libc::MSG_PEEK) == libc::MSG_WAITALL => Rest::Follows,
        true => Rest::Stays,
    }
}

/// Which way what is received goes. TCP throws away what is received so, and leaves the buffer.
pub fn received(fd: c_int, flags: c_int) -> Way {
    let is_dropped = || {
        let protocol = option(fd, libc::SO_PROTOCOL);
        matches!(protocol, Some(libc::IPPROTO_TCP | libc::IPPROTO_MPTCP))
    };
    match flags & libc::MSG_TRUNC != 0 && is_dropped() {
        true => Way::Away,
        false => Way::In,
    }
}
