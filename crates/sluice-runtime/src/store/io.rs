//! Reads and writes of whole pages of files: by a queue of the kernel's, or by one call each.

use sluice_region::{PAGE, Transfer, Uring, sys};

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
