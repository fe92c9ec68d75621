//! Files of the session directory that this process makes.

use crate::clock::{now_ns, sleep_until};
use crate::error::{StartError, failed};
use crate::limits::allow_file;
use crate::record::Recorder;
use crate::rings::ControlRing;
use crate::session::Session;
use crate::stats::Live;
use core::sync::atomic::Ordering::Relaxed;
use sluice_abi::{GUEST_RING_LINK, MAP_AT, OF_SHARED_MEMORY, RING_BYTES, VIEW_LINK, view_bytes};
use sluice_region::{Mapping, create_private, open_regular, own_user, reserve, room};
use std::fs::File;
use std::io::{Error, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The keeper has found what ended programs left after this time.
const KEEPER_NS: u64 = 2_000_000_000;
/// Whoever waits for it looks this often.
const LOOK_AGAIN_NS: u64 = 20_000_000;

/// Images a process may become by `exec` before their files run out of names.
const MAX_IMAGES: u32 = 10_000;

/// What stands for a command line where the device for shared memory is named.
const SERVER: &[u8] = b"[shared memory]\0";

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

/// Makes the file with the statistics and the residency map of the device for shared memory.
pub fn create_for_server(
    session: &Session,
    pages: u64,
    started_ns: u64,
) -> Result<Live, StartError> {
    session.hold.take(&session.dir)?;
    let (path, file) = first_free_name(session)?;
    let map = map_file(&path, &file, view_bytes(pages), &[(0, MAP_AT as u64)])?;
    let name = path.with_extension("cmd");
    let written = create_private(&name).and_then(|mut file| file.write_all(SERVER));
    written.map_err(|e| failed(&name, e))?;
    let live = Live::new(map, pages, 0, started_ns, false);
    live.block().forked.store(OF_SHARED_MEMORY, Relaxed);
    Ok(live)
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
    written.map_err(|e| failed(&name, e))?;
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
    let file = create_private(path).map_err(|e| failed(path, e))?;
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
    let file = file.map_err(|e| failed(&path, e))?;
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
                let inode = file.metadata().map_err(|e| failed(&path, e))?.ino();
                if session.hold.claim(inode) {
                    return Ok((path, file));
                }
                // The keeper looks just now whether the file is in use.
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed(&path, e)),
        }
    }
    Err(StartError::Images { dir: dir.clone() })
}

/// The file that this process has now: the last of its images.
pub fn own_stats(session: &Session) -> Option<PathBuf> {
    let pid = std::process::id();
    let path = |image| session.dir.join(format!("proc-{pid}-{image}.stats"));
    let images = (0..MAX_IMAGES).map(path);
    images.take_while(|path| path.exists()).last()
}

/// Maps a file of a length, of which some parts have their memory now.
fn map_file(
    path: &Path,
    file: &File,
    len: usize,
    now: &[(u64, u64)],
) -> Result<Mapping, StartError> {
    allow_file(len as u64).map_err(|e| failed(path, e))?;
    check_room(path, file, len)?;
    file.set_len(len as u64).map_err(|e| failed(path, e))?;
    for (at, len) in now {
        reserve(file, *at, *len).map_err(|e| failed(path, e))?;
    }
    Mapping::shared(file.as_raw_fd(), len).map_err(|e| failed(path, Error::from_raw_os_error(e)))
}

/// Looks whether the file system has room for all of a file. A store to a page for which there is
/// none would end the program by a SIGBUS that explains nothing.
///
/// A script may start programs faster than the session's keeper gives back what those before left.
fn check_room(path: &Path, file: &File, len: usize) -> Result<(), StartError> {
    let until_ns = now_ns() + KEEPER_NS;
    loop {
        let free = match room(file) {
            // A file system without a limit says that it has no blocks.
            Ok(found) if found.total > 0 && found.free < len as u64 => found.free,
            _ => return Ok(()),
        };
        if now_ns() > until_ns {
            let (path, needed) = (path.to_owned(), len);
            return Err(StartError::Full { path, needed, free });
        }
        sleep_until(now_ns() + LOOK_AGAIN_NS);
    }
}
