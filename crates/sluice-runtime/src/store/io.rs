//! Reads and writes of whole pages of files: by a queue of the kernel's, or by one call each.

use crate::process::limits::{Limit, get};
use sluice_region::{Mapping, PAGE, Transfer, Uring, fallocate, stat, sys};

/// Requests that can be on their way at once.
const DEPTH: u32 = 256;

/// One page and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What is done.
    pub what: Transfer,
    /// The file's descriptor.
    pub fd: i32,
    /// Which page of the file.
    pub slot: u64,
    /// The page in memory.
    pub addr: usize,
    /// Comes back with the answer.
    pub token: u64,
}

/// The result of a request: a count of bytes, or a negative error.
pub type Answer = (u64, i32);

/// How pages travel.
#[derive(Debug)]
pub enum Io {
    /// The kernel takes requests and answers later (`io_uring`).
    Queue(Uring),
    /// Each request waits for its answer.
    Calls(Option<Answer>),
}

impl Io {
    /// A queue, if this kernel has one and allows it.
    ///
    /// By a thread of the runtime's: the end of a thread cancels what it has asked for, and
    /// answers interrupt what it waits for.
    pub fn queue() -> Io {
        Uring::open(DEPTH).map_or(Io::Calls(None), Io::Queue)
    }

    /// One call for each page.
    pub fn calls() -> Io {
        Io::Calls(None)
    }

    /// Whether the kernel takes requests and answers later.
    pub fn is_queue(&self) -> bool {
        matches!(self, Io::Queue(_))
    }

    /// Begins a request. False if there is no room: first an answer must be taken.
    ///
    /// # Safety
    /// As for [`Uring::push`].
    pub unsafe fn begin(&mut self, request: Request) -> bool {
        let Request {
            what,
            fd,
            slot,
            addr,
            token,
        } = request;
        let offset = slot * PAGE as u64;
        match self {
            // SAFETY: passed on.
            Io::Queue(ring) => unsafe { ring.push(what, fd, (addr, PAGE as u32), offset, token) },
            Io::Calls(Some(_)) => false,
            Io::Calls(done) => {
                *done = Some((token, call(what, fd, addr, offset)));
                true
            }
        }
    }

    /// Has the kernel begin what is asked for.
    pub fn submit(&mut self) -> Result<(), i32> {
        match self {
            Io::Queue(ring) => ring.submit(false),
            Io::Calls(_) => Ok(()),
        }
    }

    /// An answer, if one is there.
    pub fn answer(&mut self) -> Option<Answer> {
        match self {
            Io::Queue(ring) => ring.answer(),
            Io::Calls(done) => done.take(),
        }
    }

    /// Waits until an answer is there, if there is anything to wait for.
    pub fn wait(&mut self) -> Result<(), i32> {
        match self {
            Io::Queue(ring) => ring.submit(true),
            Io::Calls(_) => Ok(()),
        }
    }
}

/// Carries out a request at once.
pub fn call(what: Transfer, fd: i32, addr: usize, offset: u64) -> i32 {
    let number = match what {
        Transfer::Read => libc::SYS_pread64,
        Transfer::Write => libc::SYS_pwrite64,
    };
    loop {
        // SAFETY: the caller of `begin` vouches for the page.
        match unsafe { sys!(number, fd, addr, PAGE, offset) } {
            Ok(bytes) => return bytes as i32,
            Err(libc::EINTR) => {}
            Err(errno) => return -errno,
        }
    }
}

/// Whether the program's limit of file sizes (`ulimit -f`) forbids a write of a page. There is a
/// signal for one that is tried.
pub fn is_beyond_limit(slot: u64) -> bool {
    let end = (slot + 1) * PAGE as u64;
    get(Limit::FileSize).is_some_and(|limit| limit.rlim_cur < end)
}

/// Writes a page as a store to a mapping, for which that limit does not hold.
pub fn store(fd: i32, addr: usize, offset: u64) -> i32 {
    match store_page(fd, addr, offset) {
        Ok(()) => PAGE as i32,
        Err(errno) => -errno,
    }
}

fn store_page(fd: i32, addr: usize, offset: u64) -> Result<(), i32> {
    let end = offset + PAGE as u64;
    // Behind the end of a file there is nothing to store to.
    if (stat(fd)?.st_size as u64) < end {
        return Err(libc::EFBIG);
    }
    // A store cannot report that the disk is full.
    match fallocate(fd, offset, PAGE) {
        Ok(()) | Err(libc::EOPNOTSUPP) => {}
        Err(errno) => return Err(errno),
    }
    let map = Mapping::shared_from(fd, offset as i64, PAGE)?;
    super::copy_page(map.addr(), addr);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_store_to_a_file_is_a_write_up_to_its_end() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(2 * PAGE as u64).expect("room");
        let from = Mapping::anonymous(PAGE).expect("a page");
        // SAFETY: a fresh page.
        unsafe { core::ptr::write_bytes(from.addr() as *mut u8, 7, PAGE) };
        let to = |slot: usize| store(file.as_raw_fd(), from.addr(), (slot * PAGE) as u64);
        assert_eq!([to(1), to(2)], [PAGE as i32, -libc::EFBIG]);
        let mut found = [0; 2 * PAGE];
        file.read_exact_at(&mut found, 0).expect("two pages");
        assert_eq!(found, [[0; PAGE], [7; PAGE]].concat()[..]);
        assert!(file.metadata().expect("a file").len() == 2 * PAGE as u64);
    }
}
