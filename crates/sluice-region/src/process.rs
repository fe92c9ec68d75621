//! What can be known of other processes: whether they live, since when, and whether one is this.

use crate::sys;
use std::io::Write;

/// Whether a process runs. One that has ended and that nobody has waited for does not.
pub fn is_running(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !has_ended(&stat),
        Err(_) => false,
    }
}

/// The state stands behind the name, which may have any letters in it.
fn has_ended(stat: &str) -> bool {
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    state.starts_with(['Z', 'X'])
}

/// Whether a process is stopped (by SIGSTOP, Ctrl-Z or a debugger): it does nothing meanwhile.
pub fn is_stopped(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| matches!(state, 'T' | 't'))
}

/// When a process was started, in ticks since the boot: with its id it names the process for good.
pub fn started_at(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    // The 22nd field of the line, and the 20th behind the name.
    behind_name.split(' ').nth(19)?.parse().ok()
}

/// The user as whom a process opens files.
pub fn user_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Real, effective, saved, of the file system.
    ids.split_whitespace().nth(1)?.parse().ok()
}

fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a descriptor of a process (`pidfd_open`) stands for the calling one. Without `/proc`
/// that is unknown, and counts as no. Allocates nothing.
pub fn is_own_process(descriptor: i32) -> bool {
    /// What stands for the calling thread, and for its process, without a descriptor.
    const OWN: [i32; 2] = [-10_000, -10_001];
    OWN.contains(&descriptor)
        || (described_process(descriptor)).is_some_and(|pid| own_pid() == Some(pid))
}

/// The process that `/proc` calls this one: it may be of another namespace than ours.
fn own_pid() -> Option<i32> {
    let mut text = [0u8; 16];
    let (path, to) = (c"/proc/self".as_ptr(), text.as_mut_ptr());
    // SAFETY: a terminated name, and room for what is read.
    let len = unsafe { sys!(libc::SYS_readlinkat, libc::AT_FDCWD, path, to, text.len()) }.ok()?;
    number(&text[..len])
}

/// The process of which `/proc` says that a descriptor stands for it. Allocates nothing.
pub fn described_process(descriptor: i32) -> Option<i32> {
    let mut path = [0u8; 40];
    let mut rest = &mut path[..];
    write!(rest, "/proc/self/fdinfo/{descriptor}\0").ok()?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let mut text = [0u8; 512];
    // SAFETY: a terminated name, room for what is read, and a descriptor of our own.
    let len = unsafe {
        let fd = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags).ok()?;
        let read = sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len());
        let _ = sys!(libc::SYS_close, fd);
        read.ok()?
    };
    let mut lines = text[..len].split(|byte| *byte == b'\n');
    // One that has ended and that somebody has waited for is -1.
    number(lines.find_map(|line| line.strip_prefix(b"Pid:\t"))?).filter(|pid| *pid > 0)
}

fn number(digits: &[u8]) -> Option<i32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_does_not_run() {
        assert!(is_running(std::process::id()));
        assert!(!is_running(1 << 30));
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        let ended = || !is_running(child.id());
        assert!((0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            ended()
        }));
        assert!(std::path::Path::new(&format!("/proc/{}", child.id())).exists());
        child.wait().expect("our own child");
        assert!(has_ended("12 (a) Z b) Z 1 1"));
        assert!(!has_ended("12 (a) Z b) S 1 1"));
    }

    #[test]
    fn a_process_has_a_user_a_start_and_may_be_stopped() {
        let own = std::process::id();
        assert_eq!(user_of(own), Some(crate::own_user()));
        assert!(started_at(own).is_some_and(|ticks| ticks > 0));
        assert_eq!((user_of(1 << 30), started_at(1 << 30)), (None, None));
        let mut child = std::process::Command::new("sleep");
        let mut child = child.arg("60").spawn().expect("a child");
        assert!(!is_stopped(child.id()));
        // SAFETY: our own child, no pointers.
        unsafe { libc::kill(child.id() as i32, libc::SIGSTOP) };
        let stopped = (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            is_stopped(child.id())
        });
        child.kill().expect("our own child");
        child.wait().expect("our own child");
        assert!(stopped);
    }

    #[test]
    fn a_descriptor_of_this_process_is_known_as_such() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("a child");
        let open = |pid: u32| {
            // SAFETY: no memory is touched.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
            assert!(fd >= 0);
            fd
        };
        let (own, other) = (open(std::process::id()), open(child.id()));
        assert!(is_own_process(own) && !is_own_process(other));
        assert_eq!(described_process(other), Some(child.id() as i32));
        // A file, and none.
        assert!(!is_own_process(0) && !is_own_process(987_654));
        assert!(is_own_process(-10_000) && is_own_process(-10_001) && !is_own_process(-1));
        // SAFETY: our own descriptors.
        unsafe { (libc::close(own), libc::close(other)) };
        child.kill().expect("our own child");
        child.wait().expect("our own child");
    }
}
