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

impl Drop for SessionDir {
    fn drop(&mut self) {
        // Left-over files in memory are a nuisance, not an error.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
