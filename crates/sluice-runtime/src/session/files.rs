//! Files of the session directory that this process makes.

use crate::clock::{now_ns, sleep_until};
use crate::measures::profile::Profile;
use crate::measures::record::Recorder;
use crate::measures::stats::{Identity, Live};
use crate::process::folder::{Folder, ROOM, names};
use crate::process::limits::allow_file;
use crate::session::Session;
use crate::session::crowd::wait_for_keeper;
use crate::session::error::{StartError, failed};
use crate::session::rings::ControlRing;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use sluice_abi::{
    GUEST_RING_LINK, MAP_AT, OF_SHARED_MEMORY, RING_BYTES, StatsBlock, VIEW_LINK, profile_bytes,
    view_bytes,
};
use sluice_region::{Mapping, create_private, open_regular, own_user, reserve, room, told_of};
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The keeper has found what ended programs left after this time.
const KEEPER_NS: u64 = 2_000_000_000;
/// A process that waits for the file looks this often.
const LOOK_AGAIN_NS: u64 = 20_000_000;

/// The files of a running process's first images stay. With them there, its next image looks for
/// the last one.
const FIRST_IMAGES: u32 = sluice_abi::FIRST_IMAGES;
/// Others may take a name that is free, or look at the files, at the same moment: tries until then.
const MAX_TRIES: u32 = 1_000;

/// What stands for a command line where the device for shared memory is named.
const SERVER: &[u8] = b"[shared memory]\0";

/// How the name of a guest's ring ends.
const GUEST: &str = "guest-ring";

/// What a process has in files of its own.
pub(crate) struct Made {
    /// Its statistics.
    pub live: Live,
    /// Its control rings, if the session wants them.
    pub ring: Option<ControlRing>,
    /// A profile, if the session wants one.
    pub profile: Option<Profile>,
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
    let of = Identity {
        pages,
        heap_at: 0,
        started_ns,
        forked: false,
    };
    let live = Live::new(map, of, false);
    live.block().forked.store(OF_SHARED_MEMORY, Relaxed);
    Ok(live)
}

/// The program and its arguments. To read a whole file the standard library asks for its length, by
/// a function that may be the program's ([`told_of`]).
fn command_line() -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let file = File::open("/proc/self/cmdline")?;
    file.take(u64::MAX).read_to_end(&mut line).map(|_| line)
}

/// Makes the file of this process with its statistics and residency map, and beside it its command
/// line and, if the session wants them, its control rings and a profile. Before that it locks the
/// session, so that nobody removes it while this process runs.
pub(crate) fn create(session: &Session, of: Identity) -> Result<Made, StartError> {
    session.hold.take(&session.dir)?;
    // Whatever it finds, the program runs.
    let _ = wait_for_keeper(session);
    let (path, file) = first_free_name(session)?;
    // The residency map behind the statistics is sparse, and most of it stays so.
    let map = map_file(&path, &file, view_bytes(of.pages), &[(0, MAP_AT as u64)])?;
    // What is mapped below it is the program's, which may write past its end. A child's comes to
    // the same place.
    if !of.forked {
        map.fence_below();
    }
    let command = command_line().unwrap_or_default();
    let name = path.with_extension("cmd");
    let written = create_private(&name).and_then(|mut file| file.write_all(&command));
    written.map_err(|e| failed(&name, e))?;
    let ring = match session.ring {
        true => Some(create_rings(session, &path)?),
        false => None,
    };
    let profile = match session.profile {
        0 => None,
        _ => Some(create_profile(&path.with_extension("profile"), of.pages)?),
    };
    let follows = !of.forked && follows(session);
    let live = Live::new(map, of, follows);
    if !of.forked {
        // Known names for the session's first process; its others find these taken.
        let link = |to: &Path, name| std::os::unix::fs::symlink(to, session.dir.join(name));
        let _ = link(&path, VIEW_LINK);
        let _ = link(&path.with_extension(GUEST), GUEST_RING_LINK);
    }
    Ok(Made {
        live,
        ring,
        profile,
    })
}

/// How much of it will be written is not known: most of it stays sparse.
fn create_profile(path: &Path, pages: u64) -> Result<Profile, StartError> {
    let file = create_private(path).map_err(|e| failed(path, e))?;
    let map = map_file(path, &file, profile_bytes(pages), &[])?;
    Ok(Profile::new(map, pages))
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
    // It is small, and a later store to it has no way to report that there is no room.
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
    // How many traps there will be is not known: the end of the run reports if there was no room.
    let head = Recorder::file_len(0) as u64;
    let map = map_file(&path, &file, len, &[(0, head)])?;
    Ok(Some(Recorder::new(map, session.record)))
}

/// `proc-<pid>-<n>.stats`: an image made by `exec` has the pid of the one before it. Files between
/// those of the first images and the last may be gone, with what they counted added up elsewhere.
fn first_free_name(session: &Session) -> Result<(PathBuf, File), StartError> {
    let dir = &session.dir;
    let mut image = 0;
    for _ in 0..MAX_TRIES {
        let path = image_path(dir, image);
        match create_private(&path) {
            Ok(file) => {
                let inode = told_of(&file).map_err(|e| failed(&path, e))?.st_ino;
                session.hold.set_image(image);
                if session.hold.claim(inode) {
                    return Ok((path, file));
                }
                // The keeper looks just now whether the file is in use.
                image += 1;
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                image = match image + 1 {
                    next if next < FIRST_IMAGES => next,
                    _ => last_image(dir).map_or(0, |last| last + 1),
                };
            }
            Err(e) => return Err(failed(&path, e)),
        }
    }
    Err(StartError::Images { dir: dir.clone() })
}

fn image_path(dir: &Path, image: u32) -> PathBuf {
    dir.join(format!("proc-{}-{image}.stats", std::process::id()))
}

/// The file of a session's first image.
fn first_image(dir: &Path) -> Option<PathBuf> {
    std::fs::read_link(dir.join(VIEW_LINK)).ok()
}

/// Whether any process has been on the device of a session.
pub fn has_begun(dir: &Path) -> bool {
    first_image(dir).is_some()
}

/// Whether this is the process that a session began with, in its first image or a later one.
pub fn is_first_process(dir: &Path) -> bool {
    let first = first_image(dir);
    first.is_some_and(|path| path.file_name() == image_path(dir, 0).file_name())
}

/// The last image of this process that has files.
fn last_image(dir: &Path) -> Option<u32> {
    let path = CString::new(dir.as_os_str().as_bytes()).ok()?;
    let folder = Folder::open(&path).ok()?;
    let prefix = format!("proc-{}-", std::process::id());
    let image = |name: &[u8]| {
        let rest = name.strip_prefix(prefix.as_bytes())?;
        let number = rest.strip_suffix(b".stats")?;
        core::str::from_utf8(number).ok()?.parse().ok()
    };
    let mut room = [0; ROOM];
    let mut last = None;
    while let Ok(Some(entries)) = folder.read(&mut room) {
        last = last.max(names(entries).filter_map(image).max());
    }
    last
}

/// Whether the image before this one in the same process became it.
fn follows(session: &Session) -> bool {
    let Some(before) = session.hold.image().checked_sub(1) else {
        return false;
    };
    let file = open_regular(&image_path(&session.dir, before), false, Some(own_user()));
    let mut replaced = [0; 8];
    let at = offset_of!(StatsBlock, replaced) as u64;
    let read = file.and_then(|file| file.read_exact_at(&mut replaced, at));
    read.is_ok() && u64::from_ne_bytes(replaced) == 1
}

/// The file that this process has now: the last of its images.
pub fn own_stats(session: &Session) -> PathBuf {
    image_path(&session.dir, session.hold.image())
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
