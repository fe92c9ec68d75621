//! What becomes of the files when the process forks, or when the runtime's threads begin anew: they
//! are opened again for another table of descriptors.

use super::super::frames::{FRAMES, State};
use super::super::io::Io;
use super::super::readers;
use super::super::slots::MAX_FILES;
use super::{Counts, FileStore, close, open_unnamed};
use crate::process::{descriptors, root, tasks};
use core::ffi::CStr;
use sluice_region::sys;

impl FileStore {
    /// Opens for a child what it is to read, before it exists. By the thread that forks, which may
    /// have another table of descriptors than the thread `holder`, whose files are meant.
    ///
    /// What cannot be opened is missing in the child, which then does not start.
    pub fn before_fork(&mut self, holder: u32) {
        let number = self.slots.begin_fork();
        let own = self.slots.own();
        self.numbers[own] = number;
        self.open_again(holder, libc::O_RDONLY, own);
    }

    /// Opens all files again for another table of descriptors. `way` says whether the process's own
    /// is only read there; its parents' always are.
    fn open_again(&mut self, holder: u32, way: i32, own: usize) {
        descriptors::with_all_numbers(|| {
            root::visit(|| {
                let Ok(holder) = tasks::shown(holder) else {
                    return self.elsewhere[..=own].fill(-1);
                };
                for at in 0..=own {
                    let is_own = at == own;
                    let way = if is_own { way } else { libc::O_RDONLY };
                    // Only a descriptor for reading gets the readers' number.
                    let number = (way == libc::O_RDONLY).then_some(self.numbers[at]);
                    let opened = self.open_one_again(holder, self.files[at], way, number);
                    self.elsewhere[at] = opened.unwrap_or(-1);
                }
            });
        });
    }

    fn open_one_again(
        &self,
        holder: u32,
        fd: i32,
        way: i32,
        number: Option<u32>,
    ) -> Result<i32, i32> {
        let mut path = [0u8; 64];
        let path = path_of(&mut path, holder, fd)?;
        let flags = way | libc::O_CLOEXEC | self.flags & libc::O_DIRECT;
        // SAFETY: a live, terminated path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
        let mut fd = fd as i32;
        let held = number.map_or(Ok(()), |number| readers::hold(fd, number));
        let kept = held.and_then(|()| descriptors::guard(&mut fd));
        kept.inspect_err(|_| close(fd)).map(|()| fd)
    }

    /// What was opened for another table.
    pub fn opened(&self) -> Opened {
        let mut opened = Opened::default();
        for fd in self.elsewhere.iter().filter(|fd| **fd >= 0) {
            opened.numbers[opened.count] = *fd as u32;
            opened.count += 1;
        }
        opened.numbers[..opened.count].sort_unstable();
        opened
    }

    /// After a fork, in the parent.
    pub fn after_fork_in_parent(&mut self) {
        self.opened().close();
        self.elsewhere = [-1; MAX_FILES];
        self.slots.end_fork();
    }

    /// Waits until nothing is on its way.
    pub fn wait_until_idle(&mut self) {
        let is_idle = |state| matches!(state, State::Free | State::Ready);
        self.wait_until(|frames| (0..FRAMES).all(|frame| is_idle(frames.get(frame).1)));
    }

    /// Before the thread `holder` ends, and its table with it: the caller's has the files. False if
    /// that cannot be. Nothing may be on its way.
    pub fn before_move(&mut self, holder: u32) -> bool {
        let own = self.slots.own();
        self.open_again(holder, libc::O_RDWR, own);
        let is_whole = !self.elsewhere[..=own].contains(&-1);
        if !is_whole {
            self.opened().close();
            self.elsewhere = [-1; MAX_FILES];
        }
        is_whole
    }

    /// After a move, by a thread of the new table.
    pub fn after_move(&mut self, io: Io) {
        self.files = core::mem::replace(&mut self.elsewhere, [-1; MAX_FILES]);
        if let Io::Queue(ring) = core::mem::replace(&mut self.io, io) {
            ring.forget();
        }
    }

    /// After a fork, in the child: what was the parent's is read by the descriptors opened for it,
    /// and what is written goes to a file of the child's own. `has_parents` says that the child has
    /// its parent's descriptors, too, and closes them.
    pub fn go_on_in_child(&mut self, io: Io, has_parents: bool) -> Result<(), i32> {
        let parents = self.slots.own();
        if !self.slots.go_on_in_child() {
            return Err(libc::EMLINK);
        }
        if self.elsewhere[..=parents].contains(&-1) {
            return Err(libc::EBADF);
        }
        let before = core::mem::replace(&mut self.files, self.elsewhere);
        if has_parents {
            before[..=parents].iter().for_each(|fd| close(*fd));
        }
        self.elsewhere = [-1; MAX_FILES];
        let (fd, _) = open_unnamed(&self.folder)?;
        self.files[self.slots.own()] = fd;
        match core::mem::replace(&mut self.io, io) {
            Io::Queue(ring) if !has_parents => ring.forget(),
            other => drop(other),
        }
        self.counts = Counts::default();
        self.homes_there.clear_all();
        self.others_there = 0;
        self.take_over_frames();
        Ok(())
    }

    /// What the parent was reading is not here; what it was writing is, and goes to the own file.
    fn take_over_frames(&mut self) {
        for frame in 0..FRAMES {
            match self.frames.get(frame).1 {
                State::Reading => self.frames.free(frame),
                State::Writing => self.write(frame),
                State::Free | State::Ready => {}
            }
        }
    }

    /// Calls with each descriptor, which may be moved.
    pub fn each_descriptor(
        &mut self,
        mut each: impl FnMut(&mut i32) -> Result<(), i32>,
    ) -> Result<(), i32> {
        self.files
            .iter_mut()
            .filter(|fd| **fd >= 0)
            .try_for_each(&mut each)
    }
}

/// Descriptors that were opened for another table.
#[derive(Default, Debug)]
pub struct Opened {
    /// One more may be added.
    numbers: [u32; MAX_FILES + 1],
    count: usize,
}

impl Opened {
    /// Their numbers, in rising order.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.count]
    }

    /// These and one more, in rising order.
    pub fn with(&self, number: u32) -> Opened {
        let mut all = Opened { ..*self };
        all.numbers[all.count] = number;
        all.count += 1;
        all.numbers[..all.count].sort_unstable();
        all
    }

    /// Closes them in the calling thread's table.
    pub fn close(&self) {
        for number in self.numbers() {
            close(*number as i32);
            descriptors::forget(*number as i32);
        }
    }
}

/// How a thread's descriptor can be opened again.
fn path_of(room: &mut [u8; 64], holder: u32, fd: i32) -> Result<&CStr, i32> {
    use std::io::Write;
    let mut rest = &mut room[..];
    // Without an allocation: it fits.
    write!(rest, "/proc/self/task/{holder}/fd/{fd}\0").map_err(|_| libc::ENAMETOOLONG)?;
    CStr::from_bytes_until_nul(room).map_err(|_| libc::EINVAL)
}
