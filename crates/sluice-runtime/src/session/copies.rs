//! Several devices of one process: a copy of the preload library for each beside the first.
//!
//! A library is a device with all that it takes: its lock, its threads, its descriptor of faults.
//! The dynamic loader takes a copy of its file for another library, whose hooks lie behind those of
//! the first. A copy is a file without a name, and finds its session by the number by which the
//! loader opened it.

use sluice_abi::SESSION_VAR;

/// The variable that names the session of the library that was loaded from a path.
pub fn session_variable(library: &str) -> String {
    match number_of(library) {
        Some(number) => format!("{SESSION_VAR}_{number}"),
        None => SESSION_VAR.to_owned(),
    }
}

/// The path of a copy that a process holds open by a number, for other processes too.
pub fn copy_path(pid: u32, number: i32) -> String {
    format!("/proc/{pid}/fd/{number}")
}

/// Whether a library is a copy.
pub fn is_copy(library: &str) -> bool {
    number_of(library).is_some()
}

/// The number in a path that [`copy_path`] gives.
fn number_of(path: &str) -> Option<u32> {
    let (pid, number) = path.strip_prefix("/proc/")?.split_once("/fd/")?;
    pid.parse::<u32>().ok()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_a_session_of_its_own() {
        let path = copy_path(12, 7);
        assert_eq!(session_variable(&path), "SLUICE_SESSION_7");
        for other in [
            "",
            "/usr/lib/libsluice_preload.so",
            "/proc/self/fd/7",
            "/proc/1/fd/x",
        ] {
            assert_eq!(session_variable(other), SESSION_VAR);
        }
    }
}
