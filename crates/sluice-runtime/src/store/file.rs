//! Evicted pages in a file without a name, which is gone when the process is, however it ends.

mod family;

pub use family::Opened;

use super::frames::{Frames, State};
use super::io::{self, Io, Request};
use super::page_map::PageMap;
use super::readers;
use super::slots::{FileSlot, MAX_FILES, MAX_SLOTS, Slots};
use crate::fatal::lost_page;
use crate::process::limits::{Limit, get};
use core::ffi::CStr;
use sluice_region::{PAGE, Told, Transfer, sys};
use sluice_units::Bits;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use twox_hash::XxHash3_64;

/// Pages that may be mapped although the device's cache has no room for them: those that threads
/// wait for, and those on their way.
const MAPPED_BESIDES: usize = 8_192;

/// A file gets blocks for so many pages together.
const TOGETHER: u64 = 64;

/// What the store did.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Pages read from the file.
    pub reads: u64,
    /// Pages written to it.
    pub writes: u64,
    /// Times that a page was needed before the file had given it, or a frame before it was free.
    pub waits: u64,
    /// How long these took, ns.
    pub wait_ns: u64,
}

/// A process's file and its parents'.
#[derive(Debug)]
pub struct FileStore {
    folder: CString,
    /// Flags of `open` that this file system takes.
    flags: i32,
    slots: Slots,
    /// Which parts of the own file have blocks, a bit for [`TOGETHER`] homes of pages.
    homes_there: Bits,
    /// Slots behind the homes that have blocks.
    others_there: u64,
    /// The files of the process's parents, the first one's first, and its own.
    files: [i32; MAX_FILES],
    /// Under which number the process holds each parent's file.
    numbers: [u32; MAX_FILES],
    /// Opened for another table of descriptors: of the child of the fork that is under way, or of a
    /// service thread to come.
    elsewhere: [i32; MAX_FILES],
    frames: Frames,
    /// What is mapped now: a digest of each page as it came from the file.
    digests: PageMap,
    io: Io,
    /// What it did.
    pub counts: Counts,
}

/// Why there is no file.
#[derive(Debug)]
pub enum Error {
    /// More pages than a file has slots.
    TooLarge,
    /// The system's error.
    System(i32),
}

impl From<i32> for Error {
    fn from(errno: i32) -> Error {
        Error::System(errno)
    }
}

impl FileStore {
    /// For a device of so many pages, of which so many can be mapped at once.
    pub fn new(folder: &Path, pages: usize, cached: usize, io: Io) -> Result<FileStore, Error> {
        if pages >= MAX_SLOTS {
            return Err(Error::TooLarge);
        }
        let folder = CString::new(folder.as_os_str().as_bytes()).map_err(|_| libc::EINVAL)?;
        let mut files = [-1; MAX_FILES];
        let (fd, flags) = open_unnamed(&folder)?;
        files[0] = fd;
        Ok(FileStore {
            folder,
            flags,
            slots: Slots::new(pages),
            homes_there: Bits::new(pages.div_ceil(TOGETHER as usize)),
            others_there: 0,
            files,
            numbers: [0; MAX_FILES],
            elsewhere: [-1; MAX_FILES],
            frames: Frames::new()?,
            digests: PageMap::new(cached + MAPPED_BESIDES),
            io,
            counts: Counts::default(),
        })
    }

    /// Whether the file system reads and writes past the kernel's own cache.
    pub fn is_direct(&self) -> bool {
        self.flags & libc::O_DIRECT != 0
    }

    /// Whether requests are queued, and do not wait.
    pub fn is_queued(&self) -> bool {
        self.io.is_queue()
    }

    /// Sends for a page that is soon to be mapped. Nothing happens if no frame is free: it is read
    /// when it is mapped.
    pub fn send_for(&mut self, lpn: u64) {
        self.take_answers();
        let page = lpn as u32;
        if self.io.is_queue()
            && self.frames.find(page).is_none()
            && let Some(place) = self.slots.of(lpn as usize)
            && let Some(frame) = self.frames.take(page, State::Reading)
        {
            self.begin(frame, place, Transfer::Read);
        }
    }

    /// Has the kernel begin what is asked for.
    pub fn submit(&mut self) {
        if let Err(errno) = self.io.submit() {
            self.fail(format_args!("the queue of requests fails"), errno);
        }
    }

    /// Whether a page can be mapped without a wait for an answer.
    pub fn is_at_hand(&mut self, lpn: u64) -> bool {
        self.take_answers();
        let frame = self.frames.find(lpn as u32);
        // A call waits whenever it is made: the sooner the better.
        let is_here = |frame| self.frames.get(frame).1 != State::Reading;
        frame.map_or(!self.io.is_queue(), is_here)
    }

    /// Where the contents of a page are, once they are there.
    pub fn source(&mut self, lpn: u64) -> usize {
        let page = lpn as u32;
        self.take_answers();
        let frame = match self.frames.find(page) {
            Some(frame) => frame,
            None => {
                let frame = self.frame_for(page, State::Reading);
                let Some(place) = self.slots.of(lpn as usize) else {
                    self.fail(format_args!("page {lpn} was never written"), libc::EINVAL);
                };
                self.begin(frame, place, Transfer::Read);
                frame
            }
        };
        self.wait_until(|frames| frames.get(frame).1 != State::Reading);
        self.frames.addr(frame)
    }

    /// A page is mapped with what [`source`](FileStore::source) gave. Whether it is written shows
    /// later in a digest of that.
    pub fn mapped(&mut self, lpn: u64) {
        let page = lpn as u32;
        let Some(frame) = self.frames.find(page) else {
            return;
        };
        // Without room nothing is known, and the page counts as written.
        self.digests.set(page, digest(self.frames.addr(frame)));
        if self.frames.get(frame).1 == State::Ready {
            self.frames.free(frame);
        }
    }

    /// Whether a page that leaves is as it was mapped.
    pub fn is_same(&mut self, lpn: u64, addr: usize) -> bool {
        self.digests.remove(lpn as u32) == Some(digest(addr))
    }

    /// A mapped page is gone, or left with nothing to compare.
    pub fn unmapped(&mut self, lpn: u64) {
        self.digests.remove(lpn as u32);
    }

    /// Keeps a page's contents.
    pub fn save(&mut self, lpn: u64, from: usize) {
        self.settle(lpn);
        let page = lpn as u32;
        let frame = self.frame_for(page, State::Writing);
        super::copy_page(self.frames.addr(frame), from);
        self.write(frame);
    }

    /// Writes a frame to where new contents of its page go.
    fn write(&mut self, frame: usize) {
        let (page, _) = self.frames.get(frame);
        let own = self.files[self.slots.own()];
        let place = self.slots.renew(page as usize, |last| is_read(own, last));
        match place {
            Some(place) => {
                self.make_room(place.slot);
                self.begin(frame, place, Transfer::Write);
            }
            None => self.fail(
                format_args!("no place is left for page {page}"),
                libc::EFBIG,
            ),
        }
    }

    /// Has the file have blocks for a slot and its neighbours: a write then needs no thread that
    /// waits for them. Whether there is room on the disk shows when it is written.
    fn make_room(&mut self, slot: u64) {
        if !self.io.is_queue() {
            return;
        }
        let homes = self.slots.homes();
        let first = match slot.checked_sub(homes) {
            None if self.homes_there.set((slot / TOGETHER) as usize) => return,
            None => slot / TOGETHER * TOGETHER,
            Some(other) if other < self.others_there => return,
            Some(other) => {
                self.others_there = other + TOGETHER;
                slot
            }
        };
        let own = self.files[self.slots.own()];
        let (at, bytes) = (first * PAGE as u64, TOGETHER as usize * PAGE);
        let _ = sluice_region::fallocate(own, at, bytes);
    }

    /// Pages have no contents any more.
    pub fn drop_range(&mut self, first: u64, pages: usize) {
        let end = (first + pages as u64).min(self.slots.end() as u64);
        for lpn in first..end {
            if self.slots.of(lpn as usize).is_some() {
                self.settle(lpn);
                let own = self.files[self.slots.own()];
                let is_read = |last| is_read(own, last);
                self.slots.forget(lpn as usize, is_read);
                self.digests.remove(lpn as u32);
            }
        }
    }

    /// Waits until nothing of a page is on its way, and gives its frame up. A later request for the
    /// same slot could otherwise overtake it.
    fn settle(&mut self, lpn: u64) {
        self.take_answers();
        if let Some(frame) = self.frames.find(lpn as u32) {
            let is_still = |frames: &Frames| {
                let (page, state) = frames.get(frame);
                u64::from(page) != lpn || matches!(state, State::Free | State::Ready)
            };
            self.wait_until(is_still);
            if self.frames.find(lpn as u32) == Some(frame) {
                self.frames.free(frame);
            }
        }
    }

    fn frame_for(&mut self, page: u32, state: State) -> usize {
        let mut began_ns = None;
        loop {
            if let Some(frame) = self.frames.take(page, state) {
                self.count_wait(began_ns);
                return frame;
            }
            began_ns.get_or_insert_with(crate::clock::now_ns);
            self.wait_for_answer();
        }
    }

    fn begin(&mut self, frame: usize, place: FileSlot, what: Transfer) {
        match what {
            Transfer::Read => self.counts.reads += 1,
            Transfer::Write => self.counts.writes += 1,
        }
        if what == Transfer::Write && io::is_beyond_limit(place.slot) {
            return self.answered(frame, -libc::EFBIG);
        }
        let request = Request {
            what,
            fd: self.files[place.file],
            slot: place.slot,
            addr: self.frames.addr(frame),
            token: frame as u64,
        };
        let began_ns = (!self.io.is_queue()).then(crate::clock::now_ns);
        // SAFETY: a frame's memory stays as it is until its answer has come.
        while !unsafe { self.io.begin(request) } {
            self.wait_for_answer();
        }
        if began_ns.is_some() {
            // A failed call is handled before the program goes on.
            self.take_answers();
            self.count_wait(began_ns);
        }
    }

    fn wait_until(&mut self, is_so: impl Fn(&Frames) -> bool) {
        let mut began_ns = None;
        while !is_so(&self.frames) {
            if self.io.is_queue() {
                began_ns.get_or_insert_with(crate::clock::now_ns);
            }
            self.wait_for_answer();
        }
        self.count_wait(began_ns);
    }

    fn count_wait(&mut self, began_ns: Option<u64>) {
        if let Some(began_ns) = began_ns {
            self.counts.waits += 1;
            self.counts.wait_ns += crate::clock::now_ns().saturating_sub(began_ns);
        }
    }

    fn wait_for_answer(&mut self) {
        if let Err(errno) = self.io.wait() {
            self.fail(format_args!("the queue of requests fails"), errno);
        }
        self.take_answers();
    }

    fn take_answers(&mut self) {
        while let Some((token, answer)) = self.io.answer() {
            self.answered(token as usize, answer);
        }
    }

    fn answered(&mut self, frame: usize, answer: i32) {
        let (page, state) = self.frames.get(frame);
        let what = match state {
            State::Reading => Transfer::Read,
            _ => Transfer::Write,
        };
        let result = self.result(frame, what, answer);
        match (-result, what) {
            _ if result == PAGE as i32 => match what {
                Transfer::Read => self.frames.set(frame, State::Ready),
                Transfer::Write => self.frames.free(frame),
            },
            (errno, Transfer::Read) => self.fail(format_args!("cannot read page {page}"), errno),
            (errno, Transfer::Write) => self.fail(format_args!("cannot write page {page}"), errno),
        }
    }

    /// The result of a request. One that the queue could not take without a thread that waits, or
    /// at all, is carried out here. So is a write beyond the program's limit of file sizes, of
    /// which the kernel does a part or nothing.
    fn result(&self, frame: usize, what: Transfer, answer: i32) -> i32 {
        const NOT_BY_QUEUE: [i32; 4] =
            [libc::EAGAIN, libc::EINTR, libc::ECANCELED, libc::EOPNOTSUPP];
        let (page, _) = self.frames.get(frame);
        let Some(place) = self.slots.of(page as usize) else {
            return answer;
        };
        let (fd, addr) = (self.files[place.file], self.frames.addr(frame));
        let offset = place.slot * PAGE as u64;
        let is_cut = what == Transfer::Write && answer != PAGE as i32;
        match is_cut && io::is_beyond_limit(place.slot) {
            true => io::store(fd, addr, offset),
            false if NOT_BY_QUEUE.contains(&-answer) => io::call(what, fd, addr, offset),
            false => answer,
        }
    }

    /// Ends the program: its memory would be wrong from now on.
    fn fail(&self, what: core::fmt::Arguments<'_>, errno: i32) -> ! {
        let folder = self.folder.to_string_lossy();
        // A count of bytes that is no error is a part of a page.
        let why = Told::number(if errno > 0 { errno } else { libc::EIO });
        lost_page(format_args!(
            "--store file:{folder}: {what}: {why}; the program ends, since its memory would be \
             wrong"
        ))
    }
}

/// Whether a child lives that may read what the process had at one of its first so many forks.
/// Where that cannot be asked, one may.
fn is_read(own: i32, last: u32) -> bool {
    readers::is_held(own, last).unwrap_or(true)
}

fn digest(addr: usize) -> u64 {
    // SAFETY: a whole page of the runtime's.
    XxHash3_64::oneshot(unsafe { core::slice::from_raw_parts(addr as *const u8, PAGE) })
}

/// A new file without a name, and the flags with which it was opened.
fn open_unnamed(folder: &CStr) -> Result<(i32, i32), i32> {
    let plain = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    let open = |flags| {
        let mode = 0o600;
        // SAFETY: a live, terminated path.
        unsafe {
            sys!(
                libc::SYS_openat,
                libc::AT_FDCWD,
                folder.as_ptr(),
                flags,
                mode
            )
        }
    };
    let (fd, flags) = match open(plain | libc::O_DIRECT) {
        Ok(fd) => (fd as i32, plain | libc::O_DIRECT),
        Err(libc::EINVAL) => (open(plain)? as i32, plain),
        Err(errno) => return Err(errno),
    };
    // Now, for a program that lowers its limit of file sizes may not have it longer. Where a file
    // cannot be so long, it grows. There is a signal for an attempt beyond the limit.
    let longest = (MAX_SLOTS * PAGE) as u64;
    let allowed = get(Limit::FileSize).map_or(0, |limit| limit.rlim_cur);
    // SAFETY: no pointers.
    let _ = unsafe { sys!(libc::SYS_ftruncate, fd, longest.min(allowed)) };
    Ok((fd, flags))
}

fn close(fd: i32) {
    // SAFETY: a descriptor of the runtime's.
    let _ = unsafe { sys!(libc::SYS_close, fd) };
}

#[cfg(test)]
mod tests;
