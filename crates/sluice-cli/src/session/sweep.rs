//! Removing sessions that nobody uses.
//!
//! A folder is removed only if it is a session's (its lock file says so), this user's, and nobody
//! holds its lock; of its files only those are removed that a session has.

use rustix::process::{Pid, Signal, kill_process};
use sluice_abi::{
    CONTENTS_FILE, COSTS_FILE, DESK_FILE, DISK_SOCKET, GUEST_RING_LINK, LOCK_FILE, OTHERS_FILE,
    OTHERS_NEXT, OWNER_FILE, PRELOAD_LINK, REFUSAL_FILE, SESSION_FILE, SESSION_MARK, SHARED_SOCKET,
    VIEW_LINK,
};
use sluice_control::home::{Home, NAME_FILE, has_lost_its_command, is_in_session, is_session_name};
use sluice_region::{is_running, open_folder, open_regular, own_user};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a plugin of QEMU says at the end.
pub const PLUGIN_FILE: &str = "plugin.json";

/// What was killed may be in a call of the kernel for so long.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How often to look whether it has ended.
const END_LOOK: Duration = Duration::from_millis(1);

/// What became of a session that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is gone, or was not there.
    Done,
    /// Somebody uses it.
    Used,
    /// It is not a session of this user's, or has more in it than a session.
    Refused,
}

/// Removes what killed commands left behind whose keepers were killed as well. Failing to is no
/// harm: the next command tries again.
pub fn sweep() {
    for home in Home::own() {
        for session in home.sessions() {
            remove(&session.path);
        }
    }
}

/// Removes a session if nobody uses it. The caller holds no lock on it.
pub fn remove(dir: &Path) -> Removal {
    let name = dir.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(is_session_name) {
        return Removal::Refused;
    }
    match open_folder(dir, Some(own_user())) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Removal::Done,
        Err(_) => return Removal::Refused,
        Ok(_) => {}
    }
    match open_regular(&dir.join(LOCK_FILE), true, Some(own_user())) {
        // Its command was killed before it made the file, and nothing else is there.
        Err(e) if e.kind() == ErrorKind::NotFound => remove_empty(dir),
        Err(_) => Removal::Refused,
        Ok(lock) => remove_locked(dir, &lock),
    }
}

fn remove_locked(dir: &Path, lock: &File) -> Removal {
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Removal::Used,
        Err(TryLockError::Error(_)) => return Removal::Refused,
    }
    if !is_marked(lock) {
        return Removal::Refused;
    }
    if is_being_entered(dir) {
        return Removal::Used;
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name
            .to_str()
            .is_some_and(|name| is_ours(name) && name != LOCK_FILE)
        {
            // What stays keeps the folder, and a folder of that name is not removed.
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_file(dir.join(LOCK_FILE));
    remove_empty(dir)
}

fn remove_empty(dir: &Path) -> Removal {
    match std::fs::remove_dir(dir) {
        Err(e) if e.kind() != ErrorKind::NotFound => Removal::Refused,
        _ => Removal::Done,
    }
}

/// Whether a file is a session's lock. One of a command that was killed at once is empty.
fn is_marked(lock: &File) -> bool {
    let mut found = Vec::new();
    let most = SESSION_MARK.len() as u64 + 1;
    let read = lock.take(most).read_to_end(&mut found);
    read.is_ok() && (found.is_empty() || found == SESSION_MARK.as_bytes())
}

/// Whether a process of the session is becoming another image: between the two it holds no lock.
fn is_being_entered(dir: &Path) -> bool {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    processes(files).any(|pid| is_in_session(pid, dir))
}

/// Processes that run, of those that have files in a session.
fn processes(files: impl Iterator<Item = std::fs::DirEntry>) -> impl Iterator<Item = u32> {
    let pids = files.filter_map(|file| {
        let name = file.file_name();
        let rest = name.to_str()?.strip_prefix("proc-")?;
        rest.split('-').next()?.parse().ok()
    });
    pids.filter(|pid| is_running(*pid))
}

/// Ends what runs in sessions whose commands were killed while they kept a persistent device. Their
/// keepers do the same, unless they were killed as well, or have not come to it.
pub fn end_left() {
    let until = Instant::now() + END_LIMIT;
    let sessions = Home::own().into_iter().flat_map(|home| home.sessions());
    for session in sessions.filter(|of| has_lost_its_command(&of.path, of.user)) {
        while end_persistent(&session.path) && Instant::now() < until {
            std::thread::sleep(END_LOOK);
        }
    }
}

/// Kills what runs in a session whose command is gone, if that kept a persistent device. The next
/// command fills the device's memory anew, and nobody else may write to it then. Says whether there
/// was anything.
pub fn end_persistent(dir: &Path) -> bool {
    let Ok(desk) = dir.join(DESK_FILE).canonicalize() else {
        return false;
    };
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_in = |pid: &u32| is_in_session(*pid, dir) || has_mapped(*pid, &desk);
    let mut is_any = false;
    for pid in processes(files).filter(is_in) {
        is_any = true;
        if let Some(pid) = Pid::from_raw(pid as i32) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    is_any
}

/// Whether a process has a file mapped. A program that gives itself another title may write that
/// over its environment.
fn has_mapped(pid: u32, file: &Path) -> bool {
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let path = file.as_os_str().as_bytes();
    maps.split(|byte| *byte == b'\n')
        .any(|line| line.ends_with(path))
}

/// Whether a name is that of a session's file.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        CONTENTS_FILE,
        COSTS_FILE,
        DESK_FILE,
        DISK_SOCKET,
        LOCK_FILE,
        NAME_FILE,
        OTHERS_FILE,
        OTHERS_NEXT,
        OWNER_FILE,
        PRELOAD_LINK,
        REFUSAL_FILE,
        GUEST_RING_LINK,
        SESSION_FILE,
        SHARED_SOCKET,
        VIEW_LINK,
        PLUGIN_FILE,
    ];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_of_process = || {
        let (pid, rest) = name.strip_prefix("proc-")?.split_once('-')?;
        let (image, kind) = rest.split_once('.')?;
        Some(
            is_number(pid)
                && is_number(image)
                && (["stats", "cmd", "ring", "guest-ring", "profile"].contains(&kind)
                    || kind.strip_prefix("mark").is_some_and(is_number)),
        )
    };
    let is_record = || {
        let pid = name.strip_prefix("traps-")?.strip_suffix(".bin")?;
        Some(is_number(pid))
    };
    NAMES.contains(&name) || is_of_process() == Some(true) || is_record() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_control::home::session_name;
    use std::path::PathBuf;

    fn session(base: &Path, number: u64) -> PathBuf {
        let dir = base.join(session_name(7, number));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join(LOCK_FILE), SESSION_MARK).unwrap();
        dir
    }

    #[test]
    fn a_session_goes_when_nobody_holds_its_lock() {
        let base = tempfile::tempdir().unwrap();
        let dir = session(base.path(), 1);
        for name in [
            "session.conf",
            "owner",
            "proc-12-0.stats",
            "proc-12-0.cmd",
            "traps-12.bin",
        ] {
            std::fs::write(dir.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", dir.join("view")).unwrap();
        let holder = File::open(dir.join(LOCK_FILE)).unwrap();
        holder.lock_shared().unwrap();
        assert_eq!(remove(&dir), Removal::Used);
        assert!(dir.join("session.conf").exists());
        drop(holder);
        assert_eq!(remove(&dir), Removal::Done);
        assert!(!dir.exists() && Path::new("/etc/passwd").exists());
        assert_eq!(remove(&dir), Removal::Done, "it is gone already");
    }

    /// `sluice run --out /dev/shm/sluice-4000000` removed its own results.
    #[test]
    fn what_is_not_a_session_stays() {
        let base = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let dir = base.path().join(name);
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join("stats.json"), "{}").unwrap();
            dir
        };
        let results = folder("sluice-4000000");
        std::fs::write(results.join(LOCK_FILE), SESSION_MARK).unwrap();
        // Of a session's name, without its mark.
        let unmarked = folder(&session_name(7, 2));
        let other = folder(&session_name(7, 3));
        std::fs::write(other.join(LOCK_FILE), "mine").unwrap();
        let behind_link = base.path().join(session_name(7, 4));
        std::os::unix::fs::symlink(session(base.path(), 5), &behind_link).unwrap();
        for dir in [&results, &unmarked, &other, &behind_link] {
            assert_eq!(remove(dir), Removal::Refused, "{dir:?}");
        }
        for dir in [&results, &unmarked, &other] {
            assert!(dir.join("stats.json").exists(), "{dir:?}");
        }
        assert!(behind_link.join(LOCK_FILE).exists());
    }

    #[test]
    fn an_unknown_file_keeps_its_folder() {
        let base = tempfile::tempdir().unwrap();
        let dir = session(base.path(), 1);
        std::fs::write(dir.join("session.conf"), "").unwrap();
        std::fs::write(dir.join("notes"), "mine").unwrap();
        std::fs::create_dir(dir.join("view")).unwrap();
        assert_eq!(remove(&dir), Removal::Refused);
        assert!(dir.join("notes").exists() && dir.join("view").exists());
        assert!(!dir.join("session.conf").exists());
        let empty = base.path().join(session_name(7, 2));
        std::fs::create_dir(&empty).unwrap();
        assert_eq!(
            remove(&empty),
            Removal::Done,
            "of a command that was killed at once"
        );
    }

    #[test]
    fn names_of_a_session_are_told_from_others() {
        for name in [
            "proc-1-0.stats",
            "proc-123-45.ring",
            "traps-9.bin",
            "owner",
            "lock",
        ] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "proc-1.stats",
            "proc-a-0.stats",
            "proc-1-0.txt",
            "proc--.cmd",
            "traps-.bin",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
