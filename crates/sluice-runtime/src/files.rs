//! Files of the session directory that this process makes.

use crate::control::ControlRing;
use crate::engine::StartError;
use crate::record::Recorder;
use crate::session::Session;
use crate::stats::Live;
use sluice_abi::{RING_BYTES, RING_LINK, VIEW_LINK, view_bytes};
use sluice_region::Mapping;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Images a process may become by `exec` before their files run out of names.
const MAX_IMAGES: u32 = 10_000;

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
/// line and, if the session wants one, its control ring.
pub fn create(session: &Session, of: Identity) -> Result<(Live, Option<ControlRing>), StartError> {
    let (path, file) = first_free_name(&session.dir)?;
    let map = map_file(&path, &file, view_bytes(of.pages))?;
    let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    std::fs::write(path.with_extension("cmd"), command).map_err(|e| failed(&path, &e))?;
    let ring = match session.ring {
        true => Some(create_ring(session, &path.with_extension("ring"))?),
        false => None,
    };
    let live = Live::new(map, of.pages, of.heap_at, of.started_ns, of.forked);
    if !of.forked {
        // Known names for the session's first process; its others find these taken.
        let link = |to: &Path, name| std::os::unix::fs::symlink(to, session.dir.join(name));
        let _ = link(&path, VIEW_LINK);
        let _ = link(&path.with_extension("ring"), RING_LINK);
    }
    Ok((live, ring))
}

/// Only its owner may command a device.
fn create_ring(session: &Session, path: &Path) -> Result<ControlRing, StartError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(path).map_err(|e| failed(path, &e))?;
    let map = map_file(path, &file, RING_BYTES)?;
    Ok(ControlRing::new(map, session.ring_poll_ns))
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
    file.set_len(len as u64).map_err(|e| failed(path, &e))?;
    Mapping::shared(file.as_raw_fd(), len)
        .map_err(|e| failed(path, &std::io::Error::from_raw_os_error(e)))
}

fn failed(path: &Path, e: &std::io::Error) -> StartError {
    StartError(format!("{}: {e}", path.display()))
}
