//! A process's shared memory on the device: the way to the server, and the mappings.

use super::message::{Ask, Questions, Request, Window, socket_pair};
use super::windows::Windows;
use crate::lock::Lock;
use core::sync::atomic::{AtomicU64, Ordering::*};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use sluice_region::{Mapping, PAGE, Pagemap, Uffd, UffdKind, dont_need, memfd};
use std::path::Path;

/// What the agent and the hooks share.
pub(super) struct State {
    link: Option<Link>,
    pub(super) windows: Windows,
}

/// The way to the server.
struct Link {
    uffd: Uffd,
    questions: Questions,
    /// Where the agent hears of pages to be taken out.
    drops: OwnedFd,
    pagemap: Pagemap,
    /// Begins with the number of pages that were taken out, which the server reads.
    taken_out: Mapping,
}

pub(super) static STATE: Lock<State> = Lock::new(State {
    link: None,
    windows: Windows::none(),
});

/// Why a mapping is not on the device.
pub(super) enum Refusal {
    /// The server's answer, or there is none.
    Errno(i32),
    /// The kernel has no such memory there, or serves nobody's faults of it.
    NotMapped,
}

impl Refusal {
    /// As a number.
    pub(super) fn errno(self) -> i32 {
        match self {
            Refusal::Errno(errno) => errno,
            Refusal::NotMapped => libc::EINVAL,
        }
    }
}

impl State {
    /// Has a way to the server; `begin` is called if it is new, and has to succeed.
    pub(super) fn connect(
        &mut self,
        dir: &Path,
        begin: impl FnOnce() -> Result<(), i32>,
    ) -> Result<(), i32> {
        if self.link.is_none() {
            self.link = Some(Link::open(dir)?);
            if let Err(errno) = begin() {
                self.link = None;
                return Err(errno);
            }
        }
        Ok(())
    }

    /// Puts a mapping on the device.
    pub(super) fn place(&mut self, window: Window) -> Result<(), Refusal> {
        if !self.windows.has_room() {
            return Err(Refusal::Errno(libc::ENOMEM));
        }
        let link = self.link.as_ref().ok_or(Refusal::Errno(libc::ECONNRESET))?;
        let ask = |ask| link.questions.ask(Request { ask, window });
        ask(Ask::Map).map_err(Refusal::Errno)?;
        if link.uffd.register_shared(window.start, window.len).is_err() {
            let _ = ask(Ask::Unmap);
            return Err(Refusal::NotMapped);
        }
        self.windows.push(window);
        Ok(())
    }

    /// Takes what lies in a range of addresses off the device.
    pub(super) fn forget(&mut self, start: usize, end: usize) {
        if let Some(link) = &self.link {
            for window in self.windows.parts(start, end) {
                // First, for what was written is forgotten with the registration.
                let ask = Ask::Unmap;
                let _ = link.questions.ask(Request { ask, window });
                let _ = link.uffd.unregister(window.start, window.len);
            }
        }
        self.windows.cut(start, end);
    }

    /// The way to the server was another process's, or is gone. Returns the mappings that were on
    /// the device.
    pub(super) fn forget_link(&mut self) -> Vec<Window> {
        if let Some(link) = self.link.take() {
            // In this table of descriptors the numbers are others'.
            core::mem::forget((link.uffd, link.questions, link.drops, link.pagemap));
        }
        self.windows.take()
    }

    /// Takes all pages out and says that this process ends. A thread that needs one after all gets
    /// it back from the server, which therefore knows of it.
    pub(super) fn say_end(&self) {
        let Some(link) = &self.link else {
            return;
        };
        for window in self.windows.parts(0, usize::MAX) {
            link.pagemap
                .each_of_file(window.start..window.end(), |pages| {
                    // SAFETY: shared memory, or a file's that nobody has changed: only page-table
                    // entries go.
                    let _ = unsafe { dont_need(pages.start, pages.len()) };
                });
        }
        let (ask, window) = (Ask::End, Window::default());
        let _ = link.questions.ask(Request { ask, window });
    }

    /// The server has ended: the kernel serves from now on.
    pub(super) fn end(&mut self) {
        self.link = None;
        self.windows.take();
    }

    /// Where the agent hears of pages.
    pub(super) fn drops(&self) -> Option<BorrowedFd<'static>> {
        let drops = self.link.as_ref()?.drops.as_raw_fd();
        // SAFETY: closed by the agent alone, in `end`, or where there is no agent.
        Some(unsafe { BorrowedFd::borrow_raw(drops) })
    }

    /// Takes pages out of this process, as far as they are of shared memory on the device.
    pub(super) fn take_out(&self, pages: &[u64]) {
        let Some(link) = &self.link else {
            return;
        };
        for page in pages.iter().map(|page| *page as usize) {
            // A program that maps something else there past all hooks keeps what it has.
            if self.windows.of(page).is_some() && link.pagemap.is_of_file(page) {
                // SAFETY: shared memory: only the page-table entry goes.
                let _ = unsafe { dont_need(page, PAGE) };
            }
        }
        taken_out(&link.taken_out).fetch_add(pages.len() as u64, Release);
    }
}

/// The count at the beginning of memory that process and server share.
pub(super) fn taken_out(memory: &Mapping) -> &AtomicU64 {
    // SAFETY: a page at least, and nothing but an atomic.
    unsafe { &*(memory.addr() as *const AtomicU64) }
}

impl Link {
    fn open(dir: &Path) -> Result<Link, i32> {
        // SAFETY: made here, and nobody else's.
        let count = unsafe { OwnedFd::from_raw_fd(memfd(PAGE)?) };
        let taken_out = Mapping::shared(count.as_raw_fd(), PAGE)?;
        let uffd = Uffd::open(UffdKind::Events).map_err(|_| libc::EPERM)?;
        let pagemap = Pagemap::open()?;
        let opened = || {
            let (drops, theirs) = socket_pair()?;
            let handed = [uffd.as_fd(), pagemap.as_fd(), theirs.as_fd(), count.as_fd()];
            Ok((Questions::open(dir, handed)?, drops))
        };
        let opened: Result<_, rustix::io::Errno> = opened();
        let (questions, drops) = opened.map_err(|errno| errno.raw_os_error())?;
        Ok(Link {
            uffd,
            questions,
            drops,
            pagemap,
            taken_out,
        })
    }
}
