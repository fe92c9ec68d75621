//! What of a program is placed on the device.

use crate::error::Error;
use sluice_runtime::Place;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What `--place` names, checked.
pub fn parse(text: &str) -> Result<Place, Error> {
    if text == "heap" {
        return Ok(Place::Heap);
    }
    let bad = |why: &str| Error::new(format!("bad value for --place: \"{text}\"; {why}"));
    let path = text
        .strip_prefix("dax:")
        .ok_or_else(|| bad("expected heap or dax:PATH"))?;
    let path = PathBuf::from(path);
    if !path.is_file() {
        return Err(bad(
            "no such file; make it first, as long as the program needs it, for \
                        example with `truncate -s 1G /dev/shm/device`",
        ));
    }
    if !on_tmpfs(&path) {
        return Err(bad(
            "the file must be in memory (tmpfs), for example in /dev/shm",
        ));
    }
    path.canonicalize()
        .map(Place::Dax)
        .map_err(|e| Error::at(path.display(), e))
}

fn on_tmpfs(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else {
        return false;
    };
    // SAFETY: statfs is plain data, for which zeros are valid.
    let mut fs: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor and a live buffer.
    let rc = unsafe { libc::fstatfs(file.as_raw_fd(), &mut fs) };
    rc == 0 && fs.f_type == libc::TMPFS_MAGIC
}
