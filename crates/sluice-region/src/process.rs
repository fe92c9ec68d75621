//! What can be known of other processes: whether they live, and since when.

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
}
