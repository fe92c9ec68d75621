//! A queue of reads and writes that the kernel carries out meanwhile (`io_uring`).
//!
//! By raw system calls: the C library's are the program's, and may be hooked.

use crate::fatal::Lost;
use crate::map::Mapping;
use crate::{sys, yield_cpu};
use core::sync::atomic::{AtomicU32, Ordering::*};

/// Offsets for `mmap`.
const RING: i64 = 0;
const ENTRIES: i64 = 0x1000_0000;
/// One mapping holds both rings.
const FEATURE_SINGLE_MMAP: u32 = 1;
/// No completion is lost where there is no room for it.
const FEATURE_NODROP: u32 = 2;
const WAIT_FOR_EVENTS: u32 = 1;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
/// The kernel says so instead of handing the request to a thread of its own.
const NO_WAIT: u32 = 8;
/// So often the kernel may have no memory for a request before that is an error.
const REFUSALS: u32 = 100_000;

#[repr(C)]
#[derive(Default)]
struct SubmissionOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    user_addr: u64,
}

#[repr(C)]
#[derive(Default)]
struct CompletionOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    overflow: u32,
    entries: u32,
    flags: u32,
    reserved: u32,
    user_addr: u64,
}

#[repr(C)]
#[derive(Default)]
struct Parameters {
    submissions: u32,
    completions: u32,
    flags: u32,
    thread_cpu: u32,
    thread_idle: u32,
    features: u32,
    workers_fd: u32,
    reserved: [u32; 3],
    submission: SubmissionOffsets,
    completion: CompletionOffsets,
}

/// A request as the kernel reads it.
#[repr(C)]
#[derive(Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    addr: u64,
    len: u32,
    rw_flags: u32,
    token: u64,
    rest: [u64; 3],
}

/// An answer as the kernel writes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Completion {
    token: u64,
    result: i32,
    _flags: u32,
}

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// From the file into memory.
    Read,
    /// From memory into the file.
    Write,
}

/// One queue. Its users see to it that one thread at a time calls it.
#[derive(Debug)]
pub struct Uring {
    fd: i32,
    rings: Mapping,
    submissions: Mapping,
    offsets: Offsets,
    /// Requests that the kernel has not been shown yet.
    unsent: u32,
    /// Requests that were not answered yet.
    open: u32,
}

/// Where the words of both rings are, and how many requests fit.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    sub_head: usize,
    sub_tail: usize,
    sub_array: usize,
    done_head: usize,
    done_tail: usize,
    done: usize,
    sub_entries: u32,
    done_entries: u32,
}

impl Uring {
    /// A queue for so many requests at once, a power of two.
    ///
    /// # Errors
    /// The kernel's: `ENOSYS` or `EPERM` where it has none, or allows none here.
    pub fn open(entries: u32) -> Result<Uring, i32> {
        let mut p = Parameters::default();
        // SAFETY: live parameters.
        let fd = unsafe { sys!(libc::SYS_io_uring_setup, entries, &raw mut p)? } as i32;
        let opened = Uring::of(fd, &p);
        if opened.is_err() {
            // SAFETY: opened above.
            let _ = unsafe { sys!(libc::SYS_close, fd) };
        }
        opened
    }

    fn of(fd: i32, p: &Parameters) -> Result<Uring, i32> {
        let needed = FEATURE_SINGLE_MMAP | FEATURE_NODROP;
        if p.features & needed != needed {
            return Err(libc::ENOSYS);
        }
        let (s, c) = (&p.submission, &p.completion);
        let of_submissions = s.array as usize + p.submissions as usize * size_of::<u32>();
        let of_completions = c.entries as usize + p.completions as usize * size_of::<Completion>();
        let rings = Mapping::shared_from(fd, RING, of_submissions.max(of_completions))?;
        let len = p.submissions as usize * size_of::<Submission>();
        Ok(Uring {
            fd,
            offsets: Offsets {
                sub_head: s.head as usize,
                sub_tail: s.tail as usize,
                sub_array: s.array as usize,
                done_head: c.head as usize,
                done_tail: c.tail as usize,
                done: c.entries as usize,
                sub_entries: p.submissions,
                done_entries: p.completions,
            },
            submissions: Mapping::shared_from(fd, ENTRIES, len)?,
            rings,
            unsent: 0,
            open: 0,
        })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: a word of the rings, which the kernel aligns, and both sides access atomically.
        unsafe { &*((self.rings.addr() + offset) as *const AtomicU32) }
    }

    /// Requests that were not answered yet.
    pub fn open_requests(&self) -> u32 {
        self.open
    }

    /// Queues a request for the kernel, which [`submit`](Uring::submit) shows to it. False if there
    /// is no room: then some must be answered first.
    ///
    /// What cannot be done without a thread that waits is answered by `EAGAIN`: the process gets no
    /// threads by it, which would be counted among the program's.
    ///
    /// # Safety
    /// The memory stays what it is until the answer with this token has come, and nobody else
    /// writes to it, or touches it if it is read into.
    pub unsafe fn push(
        &mut self,
        what: Transfer,
        fd: i32,
        (addr, len): (usize, u32),
        offset: u64,
        token: u64,
    ) -> bool {
        let at = self.offsets;
        let tail = self.word(at.sub_tail).load(Relaxed);
        let waiting = tail.wrapping_sub(self.word(at.sub_head).load(Acquire));
        // Every request has room for its answer, so that none has to be kept elsewhere.
        if waiting == at.sub_entries || self.open == at.done_entries {
            return false;
        }
        let slot = tail & (at.sub_entries - 1);
        let entry = Submission {
            opcode: match what {
                Transfer::Read => OP_READ,
                Transfer::Write => OP_WRITE,
            },
            fd,
            offset,
            addr: addr as u64,
            len,
            rw_flags: NO_WAIT,
            token,
            ..Submission::default()
        };
        let to = self.submissions.addr() + slot as usize * size_of::<Submission>();
        // SAFETY: a slot that the kernel has done with, by the head it has published.
        unsafe { (to as *mut Submission).write(entry) };
        self.word(at.sub_array + slot as usize * size_of::<u32>())
            .store(slot, Relaxed);
        self.word(at.sub_tail).store(tail.wrapping_add(1), Release);
        self.unsent += 1;
        self.open += 1;
        true
    }

    /// Shows the kernel what is queued. With `wait` it comes back once an answer is there.
    pub fn submit(&mut self, wait: bool) -> Result<(), i32> {
        let wait = wait && self.open > 0;
        let mut refused = 0;
        while self.unsent > 0 || wait {
            let flags = if wait { WAIT_FOR_EVENTS } else { 0 };
            let call = libc::SYS_io_uring_enter;
            let (unsent, least) = (self.unsent, u32::from(wait));
            // SAFETY: no pointers; the rings are mapped.
            match unsafe { sys!(call, self.fd, unsent, least, flags, 0usize, 0usize) } {
                Ok(sent) => {
                    self.unsent -= (sent as u32).min(self.unsent);
                    if wait && self.has_answer() {
                        return Ok(());
                    }
                }
                Err(libc::EINTR) => {}
                // Answers must be fetched first.
                Err(libc::EAGAIN | libc::EBUSY) if self.has_answer() => return Ok(()),
                Err(libc::EAGAIN | libc::EBUSY) if refused < REFUSALS => {
                    refused += 1;
                    yield_cpu();
                }
                Err(errno) => return Err(Lost::check("the queue of the store", errno)),
            }
        }
        Ok(())
    }

    fn has_answer(&self) -> bool {
        let at = self.offsets;
        self.word(at.done_head).load(Relaxed) != self.word(at.done_tail).load(Acquire)
    }

    /// The next answer: its token, and a count of bytes or a negative error.
    pub fn answer(&mut self) -> Option<(u64, i32)> {
        if !self.has_answer() {
            return None;
        }
        let at = self.offsets;
        let head = self.word(at.done_head).load(Relaxed);
        let slot = (head & (at.done_entries - 1)) as usize;
        let from = self.rings.addr() + at.done + slot * size_of::<Completion>();
        // SAFETY: the kernel has published it, and overwrites it only after the head has moved.
        let done = unsafe { (from as *const Completion).read() };
        self.word(at.done_head).store(head.wrapping_add(1), Release);
        self.open -= 1;
        Some((done.token, done.result))
    }
}

/// Gives the kernel's side back. In the child of a fork the number may be another file's: see
/// [`Uring::forget`].
impl Drop for Uring {
    fn drop(&mut self) {
        // SAFETY: our own descriptor.
        let _ = unsafe { sys!(libc::SYS_close, self.fd) };
    }
}

impl Uring {
    /// In the child of a fork whose table has not the queue's descriptor: unmaps the parent's rings
    /// and closes nothing.
    pub fn forget(self) {
        let mut this = core::mem::ManuallyDrop::new(self);
        // SAFETY: each is dropped once, since the whole never is.
        unsafe {
            core::ptr::drop_in_place(&raw mut this.rings);
            core::ptr::drop_in_place(&raw mut this.submissions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    fn wait_for(ring: &mut Uring, count: usize) -> Vec<(u64, i32)> {
        let mut all = Vec::new();
        while all.len() < count {
            ring.submit(true).expect("a queue");
            while let Some(answer) = ring.answer() {
                all.push(answer);
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn every_request_is_answered_once_with_its_own_part_of_the_file() {
        let mut file = tempfile::tempfile().expect("room");
        let parts: Vec<u8> = (0..4 * 512).map(|at| (at / 512) as u8 + 1).collect();
        file.write_all(&parts).expect("room");
        let mut ring = Uring::open(4).expect("a kernel with io_uring");
        let fd = file.as_raw_fd();
        let mut back = [[0u8; 512]; 4];
        for (n, part) in back.iter_mut().enumerate() {
            let memory = (part.as_mut_ptr() as usize, 512);
            // SAFETY: the buffers live until the answers have come.
            assert!(unsafe { ring.push(Transfer::Read, fd, memory, n as u64 * 512, n as u64) });
        }
        // SAFETY: nothing is queued.
        let fits = unsafe { ring.push(Transfer::Read, fd, (0, 0), 0, 9) };
        assert!(!fits, "it is full");
        assert_eq!(ring.open_requests(), 4);
        let answers = wait_for(&mut ring, 4);
        assert_eq!(answers, [(0, 512), (1, 512), (2, 512), (3, 512)]);
        assert_eq!((ring.open_requests(), ring.answer()), (0, None));
        assert_eq!(back, [[1; 512], [2; 512], [3; 512], [4; 512]]);
    }

    #[test]
    fn a_write_is_done_or_says_that_it_would_wait() {
        let mut file = tempfile::tempfile().expect("room");
        file.write_all(&[1; 512]).expect("room");
        let mut ring = Uring::open(1).expect("a kernel with io_uring");
        let page = [7u8; 512];
        let memory = (page.as_ptr() as usize, 512);
        // SAFETY: the page lives until the answer has come.
        assert!(unsafe { ring.push(Transfer::Write, file.as_raw_fd(), memory, 0, 3) });
        let answers = wait_for(&mut ring, 1);
        let mut found = [0u8; 512];
        file.read_exact_at(&mut found, 0).expect("a file");
        match answers[0] {
            (3, 512) => assert_eq!(found, page),
            (3, told) => {
                assert!([-libc::EAGAIN, -libc::EOPNOTSUPP].contains(&told), "{told}");
                assert_eq!(found, [1; 512]);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_is_the_requests_own() {
        let mut ring = Uring::open(1).expect("a kernel with io_uring");
        // SAFETY: there is no such file, so nothing is written to.
        assert!(unsafe { ring.push(Transfer::Read, -1, (0, 512), 0, 5) });
        assert_eq!(wait_for(&mut ring, 1), [(5, -libc::EBADF)]);
    }
}
