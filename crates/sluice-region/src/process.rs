//! Other processes.

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
}
