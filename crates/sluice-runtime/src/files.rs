//! Files of the session directory that this process makes.

use crate::control::ControlRing;
use crate::engine::StartError;
use crate::record::Recorder;
use crate::session::Session;
use crate::stats::Live;
use sluice_abi::{GUEST_RING_LINK, RING_BYTES, VIEW_LINK, view_bytes};
use sluice_region::Mapping;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Images a process may become by `exec` before their files run out of names.
const MAX_IMAGES: u32 = 10_000;

/// How the name of a guest's ring ends.
const GUEST: &str = "guest-ring";

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
/// line and, if the session wants them, its control rings.
pub fn create(session: &Session, of: Identity) -> Result<(Live, Option<ControlRing>), StartError> {
    let (path, file) = first_free_name(&session.dir)?;
    let map = map_file(&path, &file, view_bytes(of.pages))?;
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    std::fs::write(path.with_extension("cmd"), command).map_err(|e| failed(&path, &e))?;
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
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(|e| failed(path, &e))?;
    let map = map_file(path, &file, RING_BYTES)?;
    // It is small, and whoever writes it later cannot be told that there is no room.
    match sluice_region::fallocate(file.as_raw_fd(), 0, RING_BYTES) {
        Ok(()) | Err(libc::EOPNOTSUPP) => Ok(map),
        Err(errno) => Err(failed(path, &std::io::Error::from_raw_os_error(errno))),
    }
}

/// Makes the trap record, if the session wants one.
pub fn create_record(session: &Session) -> Result<Option<Recorder>, StartError> {
    if session.record == 0 {
        return Ok(None);
    }
    let path = session
        .dir
        .join(format!("traps-{}.bin", std::process::id()));
    let file = open_new(&path, false).map_err(|e| failed(&path, &e))?;
    let map = map_file(&path, &file, Recorder::file_len(session.record))?;
    Ok(Some(Recorder::new(map, session.record)))
}

/// `proc-<pid>-<n>.stats`: an image made by `exec` has the pid of the one before it.
fn first_free_name(dir: &Path) -> Result<(PathBuf, File), StartError> {
    for image in 0..MAX_IMAGES {
        let path = dir.join(format!("proc-{}-{image}.stats", std::process::id()));
        match open_new(&path, true) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed(&path, &e)),
        }
    }
    Err(StartError(format!(
        "too many program images in {}",
        dir.display()
    )))
}

fn open_new(path: &Path, must_be_new: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if must_be_new {
        options.create_new(true)
    } else {
        options.create(true).truncate(true)
    };
    options.open(path)
}

fn map_file(path: &Path, file: &File, len: usize) -> Result<Mapping, StartError> {
    check_room(path, file, len)?;
    file.set_len(len as u64).map_err(|e| failed(path, &e))?;
    Mapping::shared(file.as_raw_fd(), len)
        .map_err(|e| failed(path, &std::io::Error::from_raw_os_error(e)))
}

/// Looks whether the file system has room for all of a file. A store to a page for which there is
/// none would end the program by a SIGBUS that explains nothing.
fn check_room(path: &Path, file: &File, len: usize) -> Result<(), StartError> {
    // SAFETY: plain data, for which zeros are valid.
    let mut fs: libc::statvfs = unsafe { core::mem::zeroed() };
    // SAFETY: an open descriptor and a live buffer.
    let known = unsafe { libc::fstatvfs(file.as_raw_fd(), &mut fs) } == 0;
    let left = fs.f_bavail.saturating_mul(fs.f_frsize);
    // A file system without a limit says that it has no blocks.
    if !known || fs.f_blocks == 0 || left >= len as u64 {
        return Ok(());
    }
    Err(StartError(format!(
        "{}: {len} bytes are needed, and its file system has {left} left: make room there, or \
         lower device.capacity",
        path.display()
    )))
}

fn failed(path: &Path, e: &std::io::Error) -> StartError {
    StartError(format!("{}: {e}", path.display()))
}
