//! A session directory: what the runtime reads, and where it writes.

use crate::error::Error;
use std::path::{Path, PathBuf};

/// A directory in memory, removed when it is no longer needed.
#[derive(Debug)]
pub struct SessionDir {
    path: PathBuf,
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
                Ok(()) => return Ok(SessionDir { path }),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::at(path.display(), e)),
            }
        }
        Err(Error::at(base.display(), "too many session directories"))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes what killed commands left behind: directories of no living command in which no living
/// process has statistics. Failing to is no harm.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|n| pid_in(n, "sluice-")) else {
            continue;
        };
        let users = std::fs::read_dir(entry.path())
            .into_iter()
            .flatten()
            .flatten();
        let mut users = users.filter_map(|f| pid_in(f.file_name().to_str()?, "proc-"));
        if !is_alive(owner) && !users.any(is_alive) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The number between a prefix and the next dash.
fn pid_in(name: &str, prefix: &str) -> Option<i32> {
    name.strip_prefix(prefix)?.split('-').next()?.parse().ok()
}

fn is_alive(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

impl Drop for SessionDir {
    fn drop(&mut self) {
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
