//! Memory of processes that have ended, given back while their session goes on.
//!
//! A script that starts a thousand programs would otherwise fill the memory file system with rings
//! that nobody reads and pages of counters that nobody wrote. What a process counted stays.

use sluice_abi::{LOCK_FILE, MAP_AT};
use sluice_region::{PAGE, lock_byte, open_regular, own_user, punch, unlock_byte};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Looks again and again which processes of a session have ended.
#[derive(Debug)]
pub struct Ended {
    /// An opening of the session's lock file of our own: locks are of openings.
    lock: File,
    /// Files of processes that had ended at the last look. A process that ends its threads for a
    /// moment locks its files anew, so that one look is not enough.
    suspects: HashSet<OsString>,
    /// Files whose memory was given back.
    done: HashSet<OsString>,
}

impl Ended {
    /// For a session's directory; none if it has no lock file of this user's.
    pub fn new(dir: &Path) -> Option<Ended> {
        let lock = open_regular(&dir.join(LOCK_FILE), true, Some(own_user())).ok()?;
        Some(Ended {
            lock,
            suspects: HashSet::new(),
            done: HashSet::new(),
        })
    }

    /// Gives back the memory of every process that has ended at this look and at the last one. Says
    /// whether there are others that have ended.
    pub fn look(&mut self, dir: &Path) -> bool {
        let mut suspects = HashSet::new();
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.as_encoded_bytes().ends_with(b".stats") || self.done.contains(&name) {
                continue;
            }
            let path = dir.join(&name);
            let Ok(file) = open_regular(&path, true, Some(own_user())) else {
                continue;
            };
            let Ok(inode) = file.metadata().map(|found| found.ino()) else {
                continue;
            };
            if !matches!(lock_byte(self.lock.as_raw_fd(), inode), Ok(true)) {
                continue;
            }
            if self.suspects.contains(&name) {
                give_back(&path, &file);
                self.done.insert(name);
            } else {
                suspects.insert(name);
            }
            unlock_byte(self.lock.as_raw_fd(), inode);
        }
        self.suspects = suspects;
        !self.suspects.is_empty()
    }
}

/// Removes the rings of a process, its residency map, and pages of its statistics that are zero.
/// Failing to is no harm: the session's end removes everything.
fn give_back(stats: &Path, file: &File) {
    for kind in ["ring", "guest-ring"] {
        let _ = std::fs::remove_file(stats.with_extension(kind));
    }
    let len = file.metadata().map_or(0, |found| found.len());
    if len > MAP_AT as u64 {
        let _ = punch(file, MAP_AT as u64, len - MAP_AT as u64);
    }
    let mut page = [0; PAGE];
    for at in (0..MAP_AT as u64).step_by(PAGE) {
        let read = file.read_exact_at(&mut page, at);
        if read.is_ok() && page.iter().all(|byte| *byte == 0) {
            let _ = punch(file, at, PAGE as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const LEN: usize = MAP_AT + 16 * PAGE;

    /// A session with the files of one process, as full as they can be.
    fn session() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir_in("/dev/shm").expect("room");
        std::fs::write(dir.path().join(LOCK_FILE), "").expect("room");
        let stats = dir.path().join("proc-7-0.stats");
        let mut bytes = vec![0; LEN];
        bytes[MAP_AT..].fill(1);
        bytes[2 * PAGE + 8] = 9;
        std::fs::write(&stats, &bytes).expect("room");
        for kind in ["ring", "guest-ring", "cmd"] {
            std::fs::write(stats.with_extension(kind), "x").expect("room");
        }
        (dir, stats)
    }

    fn taken(path: &Path) -> u64 {
        path.metadata().expect("a file").blocks() * 512
    }

    #[test]
    fn what_an_ended_process_counted_stays_and_the_rest_goes_at_the_second_look() {
        let (dir, stats) = session();
        let mut ended = Ended::new(dir.path()).expect("a lock file");
        assert!(ended.look(dir.path()));
        assert_eq!(taken(&stats), LEN as u64, "one look is not enough");
        assert!(!ended.look(dir.path()));
        assert_eq!(taken(&stats), PAGE as u64);
        let bytes = std::fs::read(&stats).expect("a file");
        assert_eq!((bytes.len(), bytes[2 * PAGE + 8]), (LEN, 9));
        assert!(!stats.with_extension("ring").exists());
        assert!(!stats.with_extension("guest-ring").exists());
        assert!(stats.with_extension("cmd").exists());
    }

    #[test]
    fn a_process_that_runs_keeps_everything() {
        let (dir, stats) = session();
        let lock = dir.path().join(LOCK_FILE);
        let other = open_regular(&lock, true, None).expect("a lock file");
        let inode = stats.metadata().expect("a file").ino();
        assert!(lock_byte(other.as_raw_fd(), inode).expect("locks"));
        let mut ended = Ended::new(dir.path()).expect("a lock file");
        for _ in 0..3 {
            ended.look(dir.path());
        }
        assert_eq!(taken(&stats), LEN as u64);
        assert!(stats.with_extension("ring").exists());
        drop(other);
        ended.look(dir.path());
        ended.look(dir.path());
        assert_eq!(taken(&stats), PAGE as u64);
    }
}
