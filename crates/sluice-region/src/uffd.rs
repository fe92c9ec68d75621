//! A userfaultfd descriptor and its operations.

use crate::sys::*;
use crate::valgrind::is_valgrind;
use crate::{Lost, NO_DESCRIPTOR, PAGE, sys};
use core::sync::atomic::{AtomicU64, Ordering::*};

/// What answers a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UffdKind {
    /// Faults are read as events by another thread; the kernel's own accesses work too.
    Events,
    /// The faulting thread gets SIGBUS; system calls on missing pages fail with `EFAULT`.
    Signal,
}

/// Why a descriptor could not be had.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel was built without userfaultfd or is older than 4.3.
    #[error("this kernel has no userfaultfd (CONFIG_USERFAULTFD)")]
    Missing,
    /// The caller may not trap faults raised inside the kernel.
    #[error("no permission for faults of the kernel's own")]
    Permission,
    /// A feature the runtime needs is not in this kernel.
    #[error("this kernel lacks userfaultfd features {0:#x} (Linux 6.8 or newer has them)")]
    Features(u64),
    /// Valgrind stands between the caller and the kernel, and refuses the call.
    #[error(
        "nothing can be on the device under valgrind, which has no userfaultfd; leave out one of \
         the two"
    )]
    Valgrind,
    /// Any other error of the kernel.
    #[error("userfaultfd failed with errno {0}")]
    Os(i32),
}

/// Bits of the kernel's userfaultfd features.
pub type Features = u64;

/// One page fault read from the descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Faulting address, rounded down to its page.
    pub address: usize,
    /// The access was a write.
    pub write: bool,
    /// Kernel id of the faulting thread (0 when the kernel does not give it).
    pub thread: u32,
}

/// How a missing page is put in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// The page starts write-protected, so that its first write is noticed.
    pub protect: bool,
    /// The threads that wait for it go on.
    pub wake: bool,
}

impl Fill {
    /// The threads go on, and their first write is noticed.
    pub const NOTICED: Fill = Fill {
        protect: true,
        wake: true,
    };

    fn mode(self) -> u64 {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        bit(self.protect, MODE_WP) | bit(!self.wake, MODE_DONTWAKE)
    }
}

/// An open userfaultfd. Dropping it closes it, which wakes every waiting thread.
#[derive(Debug)]
pub struct Uffd {
    fd: i32,
    events: EventSource,
}

impl Uffd {
    /// Features each kind needs.
    pub fn needed(kind: UffdKind) -> Features {
        let common = FEATURE_MOVE
            | FEATURE_WP_ASYNC
            | FEATURE_MISSING_SHMEM
            | FEATURE_MINOR_SHMEM
            | FEATURE_WP_HUGETLBFS_SHMEM;
        match kind {
            UffdKind::Events => common | FEATURE_THREAD_ID,
            UffdKind::Signal => common | FEATURE_SIGBUS,
        }
    }

    /// Opens a descriptor.
    pub fn open(kind: UffdKind) -> Result<Uffd, OpenError> {
        if is_valgrind() {
            return Err(OpenError::Valgrind);
        }
        let mut uffd = Uffd::of(open_descriptor(kind)?);
        let offered = Self::offered_once()?;
        let needed = Self::needed(kind);
        if offered & needed != needed {
            return Err(OpenError::Features(needed & !offered));
        }
        let mut api = UffdioApi {
            api: UFFD_API,
            features: needed,
            ioctls: 0,
        };
        uffd.ioctl(UFFDIO_API, &mut api).map_err(OpenError::Os)?;
        uffd.events = EventSource::new(uffd.fd);
        Ok(uffd)
    }

    /// No descriptor, for a process that has no device any more. Whatever is asked fails with
    /// `EBADF`.
    pub fn none() -> Uffd {
        Uffd::of(NO_DESCRIPTOR)
    }

    /// Whether there is a descriptor.
    pub fn is_open(&self) -> bool {
        self.fd != NO_DESCRIPTOR
    }

    /// A descriptor before the handshake for its features.
    fn of(fd: i32) -> Uffd {
        let nowait = false;
        Uffd {
            fd,
            events: EventSource { fd, nowait },
        }
    }

    /// Asks the kernel once, whose answer does not change: a forked child has no time to ask again.
    fn offered_once() -> Result<Features, OpenError> {
        static OFFERED: AtomicU64 = AtomicU64::new(0);
        match OFFERED.load(Relaxed) {
            0 => Self::offered_features().inspect(|offered| OFFERED.store(*offered, Relaxed)),
            known => Ok(known),
        }
    }

    /// All features of this kernel, asked on a descriptor of its own.
    pub fn offered_features() -> Result<Features, OpenError> {
        let probe = Uffd::of(open_descriptor(UffdKind::Signal)?);
        let mut api = UffdioApi {
            api: UFFD_API,
            features: 0,
            ioctls: 0,
        };
        probe.ioctl(UFFDIO_API, &mut api).map_err(OpenError::Os)?;
        Ok(api.features)
    }

    fn ioctl<T>(&self, request: u64, arg: &mut T) -> Result<(), i32> {
        ioctl(self.fd, request, arg)
    }

    /// Registers private anonymous memory: missing pages trap, writes are tracked.
    pub fn register_private(&self, start: usize, len: usize) -> Result<(), i32> {
        self.register(start, len, REGISTER_MISSING | REGISTER_WP)
    }

    /// Registers shared memory: unmapped pages trap, writes are tracked.
    pub fn register_shared(&self, start: usize, len: usize) -> Result<(), i32> {
        self.register(start, len, REGISTER_MISSING | REGISTER_MINOR | REGISTER_WP)
    }

    fn register(&self, start: usize, len: usize, mode: u64) -> Result<(), i32> {
        let range = UffdioRange {
            start: start as u64,
            len: len as u64,
        };
        let mut arg = UffdioRegister {
            range,
            mode,
            ioctls: 0,
        };
        self.ioctl(UFFDIO_REGISTER, &mut arg)
    }

    /// Stops trapping in a range; its waiting threads wake.
    pub fn unregister(&self, start: usize, len: usize) -> Result<(), i32> {
        let mut range = UffdioRange {
            start: start as u64,
            len: len as u64,
        };
        self.ioctl(UFFDIO_UNREGISTER, &mut range)
    }

    /// Maps one private page with a copy of `src`.
    ///
    /// `EEXIST` (17) means that the page is there already.
    pub fn copy_page(&self, dst: usize, src: usize, fill: Fill) -> Result<(), i32> {
        self.copy_pages(dst, src, 1, fill)
            .map_err(|(_, errno)| errno)
    }

    /// Maps one shared page that is in the page cache.
    pub fn continue_page(&self, page: usize, fill: Fill) -> Result<(), i32> {
        let mode = fill.mode();
        loop {
            let range = UffdioRange {
                start: page as u64,
                len: PAGE as u64,
            };
            let mut arg = UffdioContinue {
                range,
                mode,
                mapped: 0,
            };
            match self.ioctl(UFFDIO_CONTINUE, &mut arg) {
                Err(libc::EAGAIN) => continue,
                other => return other,
            }
        }
    }

    /// Maps private pages with copies of those from `src` on.
    ///
    /// # Errors
    /// How many pages were mapped before the one that could not be, and why. `EEXIST` (17) means
    /// that it is there already.
    pub fn copy_pages(
        &self,
        dst: usize,
        src: usize,
        pages: usize,
        fill: Fill,
    ) -> Result<(), (usize, i32)> {
        self.transfer_pages(UFFDIO_COPY, dst, src, pages, fill.mode())
    }

    /// Moves private pages, atomically unmapping each at `src`. Nothing is woken at `dst`.
    ///
    /// # Errors
    /// How many pages were moved before the one that could not be, and why.
    pub fn move_pages(&self, dst: usize, src: usize, pages: usize) -> Result<(), (usize, i32)> {
        self.transfer_pages(UFFDIO_MOVE, dst, src, pages, MODE_DONTWAKE)
    }

    fn transfer_pages(
        &self,
        request: u64,
        dst: usize,
        src: usize,
        pages: usize,
        mode: u64,
    ) -> Result<(), (usize, i32)> {
        let mut done = 0;
        loop {
            let mut arg = UffdioTransfer {
                dst: (dst + done * PAGE) as u64,
                src: (src + done * PAGE) as u64,
                len: ((pages - done) * PAGE) as u64,
                mode,
                done: 0,
            };
            match self.ioctl(request, &mut arg) {
                Ok(()) => return Ok(()),
                // The kernel was interrupted, or says why at the next try.
                Err(libc::EAGAIN) => done += arg.done.max(0) as usize / PAGE,
                Err(errno) => return Err((done, errno)),
            }
        }
    }

    /// Moves one private page, atomically unmapping `src`. Nothing is woken at `dst`.
    pub fn move_page(&self, dst: usize, src: usize) -> Result<(), i32> {
        self.move_pages(dst, src, 1).map_err(|(_, errno)| errno)
    }

    /// Write-protects the pages present in a range, so that their next writes are noticed.
    pub fn write_protect(&self, start: usize, len: usize) -> Result<(), i32> {
        let range = UffdioRange {
            start: start as u64,
            len: len as u64,
        };
        self.ioctl(
            UFFDIO_WRITEPROTECT,
            &mut UffdioWriteProtect {
                range,
                mode: WRITEPROTECT_WP,
            },
        )
    }

    /// Wakes the threads waiting on a page; they fault again if it is still missing.
    pub fn wake(&self, page: usize) {
        wake(self.fd, page);
    }

    /// Gives the descriptor a number that is not below this one. Before anybody reads events.
    ///
    /// # Errors
    /// The kernel's.
    pub fn moved_up(mut self, lowest: i32) -> Result<Uffd, i32> {
        // SAFETY: no pointers.
        let fd = unsafe { sys!(libc::SYS_fcntl, self.fd, libc::F_DUPFD_CLOEXEC, lowest)? } as i32;
        let old = core::mem::replace(&mut self.fd, fd);
        self.events.fd = fd;
        // SAFETY: our own descriptor, which has another number now.
        let _ = unsafe { sys!(libc::SYS_close, old) };
        Ok(self)
    }

    /// A descriptor that another process has opened and handed over. Its faults are that process's.
    /// Reading it never waits, so that one can wait for many at once: the kernel reports an error
    /// instead of no fault for a descriptor that may wait.
    pub fn of_other(fd: std::os::fd::OwnedFd) -> Uffd {
        use std::os::fd::IntoRawFd;
        let mut uffd = Uffd::of(fd.into_raw_fd());
        uffd.events = EventSource::new(uffd.fd);
        uffd.events.stop_waiting();
        uffd
    }

    /// The descriptor of this number in another table of descriptors, where it is the same file.
    pub fn same_elsewhere(&self) -> Uffd {
        Uffd {
            fd: self.fd,
            events: self.events,
        }
    }

    /// The descriptor, for its owner to move it. Where no thread reads events only.
    pub fn descriptor(&mut self) -> &mut i32 {
        &mut self.fd
    }

    /// Where its faults are read from.
    pub fn events(&self) -> EventSource {
        self.events
    }
}

impl std::os::fd::AsFd for Uffd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        // SAFETY: open as long as this is.
        unsafe { std::os::fd::BorrowedFd::borrow_raw(self.fd) }
    }
}

impl Drop for Uffd {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours alone.
        let _ = unsafe { sys!(libc::SYS_close, self.fd) };
    }
}

/// Where faults are read from: a handle that outlives no [`Uffd`] of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventSource {
    fd: i32,
    /// The kernel can be asked not to wait, call by call (`RWF_NOWAIT`, Linux 6.10), so that one
    /// call both waits and reads. Without it the descriptor never waits and `poll` does.
    nowait: bool,
}

impl EventSource {
    /// Prepares the descriptor for [`EventSource::read`].
    fn new(fd: i32) -> EventSource {
        let nowait = read_raw(fd, &mut [], libc::RWF_NOWAIT) != Err(libc::EOPNOTSUPP);
        if !nowait {
            // SAFETY: no pointers.
            let _ = unsafe { sys!(libc::SYS_fcntl, fd, libc::F_SETFL, libc::O_NONBLOCK) };
        }
        EventSource { fd, nowait }
    }

    /// From now on the descriptor never waits by itself, so that [`EventSource::wait`] can.
    pub fn stop_waiting(&mut self) {
        // SAFETY: no pointers.
        let set = unsafe { sys!(libc::SYS_fcntl, self.fd, libc::F_SETFL, libc::O_NONBLOCK) };
        self.nowait &= set.is_err();
    }

    /// Waits for a fault, at most so long. Says whether there is one, or something went wrong.
    pub fn wait(self, limit_ns: u64) -> bool {
        let (fd, events, revents) = (self.fd, libc::POLLIN, 0);
        let mut poll = libc::pollfd {
            fd,
            events,
            revents,
        };
        let limit = libc::timespec {
            tv_sec: (limit_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (limit_ns % 1_000_000_000) as _,
        };
        // SAFETY: one valid pollfd, and a time.
        let ready = unsafe { sys!(libc::SYS_ppoll, &raw mut poll, 1, &raw const limit, 0) };
        ready.unwrap_or(0) != 0
    }

    /// Has threads whose fault was read fault again.
    pub fn wake(self, page: usize) {
        wake(self.fd, page);
    }

    /// Reads waiting faults into `events`; returns how many, 0 when none waits.
    ///
    /// With `block` it sleeps in the kernel until there is one, or returns 0 now and then.
    pub fn read(self, events: &mut [Event], block: bool) -> usize {
        const NOW_AND_THEN_NS: u64 = 1_000_000_000;
        if block && !self.nowait && !self.wait(NOW_AND_THEN_NS) {
            return 0;
        }
        let mut raw = [UffdMsg::default(); 16];
        let room = events.len().min(raw.len());
        let flags = if block || !self.nowait {
            0
        } else {
            libc::RWF_NOWAIT
        };
        let read = read_raw(self.fd, &mut raw[..room], flags).unwrap_or_else(|errno| {
            // Another handler has made it one that never waits.
            if block && errno == libc::EAGAIN {
                self.wait(NOW_AND_THEN_NS);
            }
            Lost::check("the userfaultfd", errno);
            0
        });
        let mut kept = 0;
        for msg in raw[..read].iter().filter(|m| m.event == EVENT_PAGEFAULT) {
            events[kept] = Event {
                address: msg.address as usize & !(PAGE - 1),
                write: msg.flags & PAGEFAULT_FLAG_WRITE != 0,
                thread: msg.thread,
            };
            kept += 1;
        }
        kept
    }
}

fn ioctl<T>(fd: i32, request: u64, arg: &mut T) -> Result<(), i32> {
    // SAFETY: the argument is a live, exclusively borrowed struct of the request's layout.
    match unsafe { sys!(libc::SYS_ioctl, fd, request, &raw mut *arg) } {
        Ok(_) => Ok(()),
        Err(errno) if fd == NO_DESCRIPTOR => Err(errno),
        Err(errno) => Err(Lost::check("the userfaultfd", errno)),
    }
}

fn wake(fd: i32, page: usize) {
    let (start, len) = (page as u64, PAGE as u64);
    // The only failures are bad ranges, which the callers rule out.
    let _ = ioctl(fd, UFFDIO_WAKE, &mut UffdioRange { start, len });
}

/// Messages read, or the kernel's error. `preadv2` at the current place (-1) is `readv` with flags.
fn read_raw(fd: i32, messages: &mut [UffdMsg], flags: i32) -> Result<usize, i32> {
    let room = libc::iovec {
        iov_base: messages.as_mut_ptr().cast(),
        iov_len: size_of_val(messages),
    };
    // SAFETY: the one buffer is ours and as long as it says. The kernel takes the offset in two
    // halves.
    let read = unsafe {
        sys!(
            libc::SYS_preadv2,
            fd,
            &raw const room,
            1,
            -1i64,
            -1i64,
            flags
        )
    };
    Ok(read? / size_of::<UffdMsg>())
}

fn open_descriptor(kind: UffdKind) -> Result<i32, OpenError> {
    let flags = libc::O_CLOEXEC;
    let mode = match kind {
        UffdKind::Signal => UFFD_USER_MODE_ONLY,
        UffdKind::Events => 0,
    };
    // SAFETY: plain system calls without pointers into our memory, but for the static path.
    unsafe {
        let refused = match sys!(libc::SYS_userfaultfd, flags | mode) {
            Ok(fd) => return Ok(fd as i32),
            // Some containers answer so to calls that they do not allow.
            Err(libc::ENOSYS) => OpenError::Missing,
            Err(libc::EPERM) => OpenError::Permission,
            Err(errno) => return Err(OpenError::Os(errno)),
        };
        let path = c"/dev/userfaultfd";
        let rw = libc::O_RDWR | libc::O_CLOEXEC;
        let dev = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), rw).map_err(|_| refused)?;
        let fd = sys!(libc::SYS_ioctl, dev, USERFAULTFD_IOC_NEW, flags);
        let _ = sys!(libc::SYS_close, dev);
        fd.map(|fd| fd as i32).map_err(|_| OpenError::Permission)
    }
}
