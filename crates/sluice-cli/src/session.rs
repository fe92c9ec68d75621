//! A session directory: what the runtime reads, and where it writes.

use crate::error::Error;
use sluice_region::is_running;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

/// A keeper looks this often whether the processes of a killed command have ended.
const LOOK: Duration = Duration::from_millis(50);

/// A directory in memory, removed when it is no longer needed.
#[derive(Debug)]
pub struct SessionDir {
    path: PathBuf,
    /// Removes it if this command is killed. Without one a later command does.
    keeper: Option<Child>,
}

impl SessionDir {
    /// Makes a fresh directory, in memory where there is one, so that the kernel never makes a
    /// trap wait for a disk.
    pub fn create() -> Result<SessionDir, Error> {
        let shm = Path::new("/dev/shm");
        let base = if shm.is_dir() {
            shm.to_path_buf()
        } else {
            std::env::temp_dir()
        };
        sweep(&base);
        for n in 0..1_000 {
            let path = base.join(format!("sluice-{}-{n}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    let keeper = start_keeper(&path).ok();
                    return Ok(SessionDir { path, keeper });
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::at(path.display(), e)),
            }
        }
        Err(Error::at(base.display(), "too many session directories"))
    }

    /// Whether the library in the program refused the session, and said why.
    pub fn is_refused(&self) -> bool {
        self.path().join(sluice_abi::REFUSAL_FILE).exists()
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the keeper, which is a child of this process: whoever waits for all others finds none.
    pub fn dismiss_keeper(&mut self) {
        let Some(mut keeper) = self.keeper.take() else {
            return;
        };
        // One that somebody has killed hears nothing.
        let _ = keeper.stdin.take().map(|mut line| line.write_all(b"."));
        let _ = keeper.wait();
    }
}

/// Starts a process that waits for the end of this one. It has a process group of its own, so that
/// neither Ctrl-C nor a kill of ours reaches it.
fn start_keeper(path: &Path) -> std::io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sluice").arg("keep-session").arg(path);
    command.stdin(Stdio::piped()).process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.env_clear().spawn()
}

/// `sluice keep-session`: waits for a word of the command that started it. If there is none the
/// command was killed, and its session goes when nobody uses it any more.
pub fn keep(dir: &Path) -> ExitCode {
    // What the command leaves open for its program is not for us.
    // SAFETY: nothing here has opened a file yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    if matches!(std::io::stdin().read(&mut [0]), Ok(1)) {
        return ExitCode::SUCCESS;
    }
    // A program that is just being started has no files yet.
    loop {
        std::thread::sleep(LOOK);
        if !is_used(dir) {
            break;
        }
    }
    match std::fs::remove_dir_all(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Removes what killed commands left behind whose keepers were killed as well: directories of no
/// command that runs, which nobody uses. Failing to is no harm.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|n| pid_in(n, "sluice-")) else {
            continue;
        };
        if !is_running(owner) && !is_used(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a process runs that has statistics in a session's directory.
fn is_used(dir: &Path) -> bool {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut users = files.filter_map(|file| pid_in(file.file_name().to_str()?, "proc-"));
    users.any(is_running)
}

/// The number between a prefix and the next dash.
fn pid_in(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.split('-').next()?.parse().ok()
}

impl Drop for SessionDir {
    fn drop(&mut self) {
        self.dismiss_keeper();
        // Left-over files in memory are a nuisance, not an error.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_uses_is_swept() {
        let base = std::env::temp_dir().join(format!("sluice-sweep-{}", std::process::id()));
        let own = std::process::id();
        // No process has a number above the kernel's largest.
        let dead = 1 << 30;
        let cases = [
            (format!("sluice-{dead}-0"), None, false),
            (
                format!("sluice-{dead}-1"),
                Some(format!("proc-{dead}-0.stats")),
                false,
            ),
            (
                format!("sluice-{dead}-2"),
                Some(format!("proc-{own}-0.stats")),
                true,
            ),
            (format!("sluice-{own}-0"), None, true),
            ("sluice-notes".to_string(), None, true),
        ];
        for (dir, file, _) in &cases {
            std::fs::create_dir_all(base.join(dir)).unwrap();
            if let Some(file) = file {
                std::fs::write(base.join(dir).join(file), "").unwrap();
            }
        }
        sweep(&base);
        for (dir, _, stays) in &cases {
            assert_eq!(base.join(dir).exists(), *stays, "{dir}");
        }
        std::fs::remove_dir_all(&base).unwrap();
    }
}
