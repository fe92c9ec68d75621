//! Files of the session directory that this process makes.

use crate::control::ControlRing;
use crate::engine::StartError;
use crate::record::Recorder;
use crate::session::Session;
use crate::stats::Live;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::*};
use sluice_abi::{GUEST_RING_LINK, LOCK_FILE, MAP_AT, RING_BYTES, VIEW_LINK, view_bytes};
use sluice_region::{
    Mapping, create_private, lock_byte, open_regular, own_user, reserve, room, text_of,
};
use std::fs::File;
use std::io::{Error, ErrorKind, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Images a process may become by `exec` before their files run out of names.
const MAX_IMAGES: u32 = 10_000;

/// How the name of a guest's ring ends.
const GUEST: &str = "guest-ring";

/// The lock's descriptor gets this number or a higher one: programs count on low ones.
const LOCK_FD: i32 = 512;

/// A process's shared lock on its session's directory: nobody removes that while one is held. The
/// kernel gives it up when the process ends or becomes another image.
///
/// With it goes the lock of one byte, which says that the process's own files are in use.
#[derive(Debug)]
pub struct Hold {
    fd: AtomicI32,
    /// Inode of the process's statistics: the byte that is locked. 0 until there are any.
    file: AtomicU64,
}

impl Default for Hold {
    fn default() -> Hold {
        Hold {
            fd: AtomicI32::new(-1),
            file: AtomicU64::new(0),
        }
    }
}

/// A copy of a session holds nothing.
impl Clone for Hold {
    fn clone(&self) -> Hold {
        Hold::default()
    }
}

impl Hold {
    /// The descriptor that is locked, if there is one.
    pub fn descriptor(&self) -> Option<i32> {
        let fd = self.fd.load(Relaxed);
        (fd >= 0).then_some(fd)
    }

    /// Moves the descriptor to where hooks guard it.
    pub fn guard(&self) -> Result<(), i32> {
        let mut fd = self.fd.load(Relaxed);
        let guarded = crate::descriptors::guard(&mut fd);
        self.fd.store(fd, Relaxed);
        guarded
    }

    /// Unlocks the directory.
    pub fn give_up(&self) {
        let fd = self.fd.swap(-1, Relaxed);
        if fd >= 0 {
            // SAFETY: our own descriptor, which nobody uses any more.
            unsafe { libc::close(fd) };
        }
    }

    /// Locks the directory. The child of a fork does so anew, and gives up what it inherited.
    pub fn take(&self, dir: &Path) -> Result<(), StartError> {
        let path = dir.join(LOCK_FILE);
        let file = open_regular(&path, true, None).map_err(|e| failed(&path, &e))?;
        let is_held = file.try_lock_shared().is_ok();
        let found = file.metadata().map_err(|e| failed(&path, &e))?;
        if !is_held || found.nlink() == 0 {
            let why = "the session has ended and is being removed";
            return Err(StartError(format!("{}: {why}", dir.display())));
        }
        // SAFETY: an open descriptor, no pointers. The lock belongs to both numbers.
        let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOCK_FD) };
        let taken = if high >= 0 { high } else { file.into_raw_fd() };
        let before = self.fd.swap(taken, Relaxed);
        // In a table of the runtime's own the number before may be that of the new one.
        if before >= 0 && before != taken && is_same_file(before, &found) {
            // SAFETY: our own descriptor, which nobody uses any more.
            unsafe { libc::close(before) };
        }
        Ok(())
    }

    /// Says that this process uses the files of the statistics with this inode. Tells whether
    /// nobody else says so.
    fn claim(&self, file: u64) -> bool {
        self.file.store(file, Relaxed);
        let locked = self.descriptor().map(|fd| lock_byte(fd, file));
        // Where there are no such locks, nobody looks for one.
        !matches!(locked, Some(Ok(false)))
    }

    /// Locks the directory anew, and the byte with it.
    pub fn renew(&self, dir: &Path) -> Result<(), StartError> {
        self.take(dir)?;
        // If the keeper looks just now, it finds the files as they are and takes nothing.
        self.claim(self.file.load(Relaxed));
        Ok(())
    }
}

/// Whether a number still is a descriptor of a file: the program may have closed it.
fn is_same_file(fd: i32, file: &std::fs::Metadata) -> bool {
    // SAFETY: plain data, for which zeros are valid.
    let mut found: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a live buffer; a number that is no descriptor is told.
    let is_open = unsafe { libc::fstat(fd, &mut found) } == 0;
    is_open && (found.st_dev, found.st_ino) == (file.dev(), file.ino())
}

/// What the files of a process say of it.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Pages of the device.
    pub pages: u64,
    /// Address of the first; 0 for none.
    pub heap_at: usize,
    /// When its device was started, ns of CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// Whether it came from a fork.
    pub forked: bool,
}

/// Makes the file of this process with its statistics and residency map, and beside it its command
/// line and, if the session wants them, its control rings. Before that it locks the session, so
/// that nobody removes it while this process runs.
pub fn create(session: &Session, of: Identity) -> Result<(Live, Option<ControlRing>), StartError> {
    session.hold.take(&session.dir)?;
    let (path, file) = first_free_name(session)?;
    // The residency map behind the statistics is sparse, and most of it stays so.
    let map = map_file(&path, &file, view_bytes(of.pages), &[(0, MAP_AT as u64)])?;
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let name = path.with_extension("cmd");
    let written = create_private(&name).and_then(|mut file| file.write_all(&command));
    written.map_err(|e| failed(&name, &e))?;
    let ring = match session.ring {
        true => Some(create_rings(session, &path)?),
        false => None,
    };
    let live = Live::new(map, of.pages, of.heap_at, of.started_ns, of.forked);
    if !of.forked {
        // Known names for the session's first process; its others find these taken.
        let link = |to: &Path, name| std::os::unix::fs::symlink(to, session.dir.join(name));
        let _ = link(&path, VIEW_LINK);
        let _ = link(&path.with_extension(GUEST), GUEST_RING_LINK);
    }
    Ok((live, ring))
}

/// The host's ring, and one for a guest if the server looks for what a guest sends.
fn create_rings(session: &Session, stats: &Path) -> Result<ControlRing, StartError> {
    let host = create_ring(&stats.with_extension("ring"))?;
    let poll_ns = session.ring_poll_ns;
    let guest = match poll_ns {
        0 => None,
        _ => Some(create_ring(&stats.with_extension(GUEST))?),
    };
    Ok(ControlRing::new(host, guest, poll_ns))
}

/// Only its owner may command a device.
fn create_ring(path: &Path) -> Result<Mapping, StartError> {
    let file = create_private(path).map_err(|e| failed(path, &e))?;
    // It is small, and whoever writes it later cannot be told that there is no room.
    map_file(path, &file, RING_BYTES, &[(0, RING_BYTES as u64)])
}

/// Makes the trap record, if the session wants one.
pub fn create_record(session: &Session) -> Result<Option<Recorder>, StartError> {
    if session.record == 0 {
        return Ok(None);
    }
    let name = format!("traps-{}.bin", std::process::id());
    let path = session.dir.join(name);
    // An image made by `exec` begins the record of its process again.
    let file = match create_private(&path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            let file = open_regular(&path, true, Some(own_user()));
            file.and_then(|file| file.set_len(0).map(|()| file))
        }
        made => made,
    };
    let file = file.map_err(|e| failed(&path, &e))?;
    let len = Recorder::file_len(session.record);
    // How many traps there will be is not known: the end of the run tells if there was no room.
    let head = Recorder::file_len(0) as u64;
    let map = map_file(&path, &file, len, &[(0, head)])?;
    Ok(Some(Recorder::new(map, session.record)))
}

/// `proc-<pid>-<n>.stats`: an image made by `exec` has the pid of the one before it.
fn first_free_name(session: &Session) -> Result<(PathBuf, File), StartError> {
    let dir = &session.dir;
    for image in 0..MAX_IMAGES {
        let path = dir.join(format!("proc-{}-{image}.stats", std::process::id()));
        match create_private(&path) {
            Ok(file) => {
                let inode = file.metadata().map_err(|e| failed(&path, &e))?.ino();
                if session.hold.claim(inode) {
                    return Ok((path, file));
                }
                // The keeper looks just now whether the file is in use.
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed(&path, &e)),
        }
    }
    Err(StartError(format!(
        "too many program images in {}",
        dir.display()
    )))
}

/// Maps a file of a length, of which some parts have their memory now.
fn map_file(
    path: &Path,
    file: &File,
    len: usize,
    now: &[(u64, u64)],
) -> Result<Mapping, StartError> {
    check_room(path, file, len)?;
    file.set_len(len as u64).map_err(|e| failed(path, &e))?;
    for (at, len) in now {
        reserve(file, *at, *len).map_err(|e| failed(path, &e))?;
    }
    Mapping::shared(file.as_raw_fd(), len).map_err(|e| failed(path, &Error::from_raw_os_error(e)))
}

/// Looks whether the file system has room for all of a file. A store to a page for which there is
/// none would end the program by a SIGBUS that explains nothing.
fn check_room(path: &Path, file: &File, len: usize) -> Result<(), StartError> {
    match room(file) {
        // A file system without a limit says that it has no blocks.
        Ok(found) if found.total > 0 && found.free < len as u64 => Err(StartError(format!(
            "{}: {len} bytes are needed, and its file system has {} left: make room there, or \
             lower device.capacity",
            path.display(),
            found.free
        ))),
        _ => Ok(()),
    }
}

fn failed(path: &Path, e: &Error) -> StartError {
    StartError(match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "{}: the file system of the session is full ({}); make room there",
            path.display(),
            text_of(e)
        ),
        _ => format!("{}: {}", path.display(), text_of(e)),
    })
}
