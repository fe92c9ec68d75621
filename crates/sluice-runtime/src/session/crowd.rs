//! A session whose keeper does not keep up with the programs that end.
//!
//! Each leaves some files until its keeper has added them up. A process that starts where too many
//! have gathered waits for the keeper, for a while: what is started slows down to what is kept.

use crate::clock::{now_ns, sleep_until};
use crate::process::folder::{Folder, ROOM, names};
use crate::session::Session;
use sluice_abi::{CROWD_FILES, KEEPER};
use sluice_region::is_byte_locked;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Longer than this no process waits: its keeper may be stopped.
const LIMIT_NS: u64 = 2_000_000_000;
/// How often it looks.
const LOOK_NS: u64 = 10_000_000;
/// By so much a folder of a file system in memory grows with each file. Others have longer entries.
const ENTRY_BYTES: u64 = 20;

/// What a process found that is about to add its files to a session's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// Few files, at once or after a wait.
    None,
    /// Too many, and a keeper that did nothing about it for a while.
    Stays,
    /// Too many, and no keeper to wait for.
    Unkept,
}

/// Waits while a session has too many files.
pub fn wait_for_keeper(session: &Session) -> Crowd {
    wait(session, LIMIT_NS)
}

fn wait(session: &Session, limit_ns: u64) -> Crowd {
    let until_ns = now_ns() + limit_ns;
    while is_crowded(&session.dir) {
        let lock = session.hold.descriptor();
        if !lock.is_some_and(|fd| is_byte_locked(fd, KEEPER)) {
            return Crowd::Unkept;
        }
        if now_ns() > until_ns {
            return Crowd::Stays;
        }
        sleep_until(now_ns() + LOOK_NS);
    }
    Crowd::None
}

/// Whether a folder has too many files. One look at it says so nearly always. In the child of a
/// fork the C library must not be asked for memory.
fn is_crowded(dir: &Path) -> bool {
    let path = CString::new(dir.as_os_str().as_bytes());
    let folder = path.ok().and_then(|path| Folder::open(&path).ok());
    folder.is_some_and(|folder| {
        folder.bytes() >= CROWD_FILES as u64 * ENTRY_BYTES && files_in(&folder) >= CROWD_FILES
    })
}

fn files_in(folder: &Folder) -> usize {
    let (mut room, mut files) = ([0; ROOM], 0);
    while let Ok(Some(entries)) = folder.read(&mut room) {
        // The folder itself and its parent are entries, too.
        files += names(entries)
            .filter(|name| !name.starts_with(b"."))
            .count();
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig;
    use sluice_abi::LOCK_FILE;
    use sluice_region::{lock_byte, open_regular};
    use std::os::fd::AsRawFd;

    /// Files of ended programs gathered without a bound where a keeper was slower than a script.
    #[test]
    fn a_start_in_a_crowd_waits_for_the_keeper_and_not_for_ever() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("room");
        let dir = folder.path();
        std::fs::write(dir.join(LOCK_FILE), "").expect("room");
        let session = Session {
            dir: dir.to_owned(),
            ..rig::session(&[])
        };
        session.hold.take(dir).expect("a lock");
        let name = |n: usize| dir.join(format!("proc-{n}-0.stats"));
        // With the lock's file there is one less than too many.
        for n in 0..CROWD_FILES - 2 {
            std::fs::write(name(n), "").expect("room");
        }
        assert_eq!(wait(&session, 0), Crowd::None);
        std::fs::write(name(CROWD_FILES), "").expect("room");
        assert_eq!(wait(&session, u64::MAX / 2), Crowd::Unkept);
        let keeper = open_regular(&dir.join(LOCK_FILE), true, None).expect("a lock");
        assert!(lock_byte(keeper.as_raw_fd(), KEEPER).expect("locks"));
        assert_eq!(wait(&session, 30_000_000), Crowd::Stays);
        let waits = std::thread::scope(|scope| {
            let waits = scope.spawn(|| wait(&session, u64::MAX / 2));
            std::fs::remove_file(name(CROWD_FILES)).expect("it is there");
            waits.join()
        });
        assert_eq!(waits.expect("no panic"), Crowd::None);
        // A keeper that is killed while somebody waits.
        std::fs::write(name(CROWD_FILES), "").expect("room");
        let waits = std::thread::scope(|scope| {
            let waits = scope.spawn(|| wait(&session, u64::MAX / 2));
            drop(keeper);
            waits.join()
        });
        assert_eq!(waits.expect("no panic"), Crowd::Unkept);
    }
}
