//! The entries of a folder, read without an allocation.
//!
//! The C library's own functions take memory from the program's allocator. That may be one of the
//! program's own, which is not ready for it before the program has begun.

use core::ffi::CStr;
use sluice_region::{stat, sys};

/// Bytes of entries that are read at once.
pub const ROOM: usize = 4_096;

/// An open folder.
pub struct Folder(i32);

impl Folder {
    pub fn open(path: &CStr) -> Result<Folder, i32> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: a live, terminated path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
        Ok(Folder(fd as i32))
    }

    /// How long the list of its entries is.
    pub fn bytes(&self) -> u64 {
        stat(self.0).map_or(0, |found| found.st_size as u64)
    }

    /// More of its entries; `None` at the end.
    pub fn read<'a>(&self, room: &'a mut [u8; ROOM]) -> Result<Option<&'a [u8]>, i32> {
        // SAFETY: a live buffer.
        let len = unsafe { sys!(libc::SYS_getdents64, self.0, room.as_mut_ptr(), ROOM)? };
        Ok((len > 0).then(|| &room[..len]))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // SAFETY: opened above, and nobody else's.
        let _ = unsafe { sys!(libc::SYS_close, self.0) };
    }
}

/// The names in what the kernel says of a folder's entries.
pub fn names(entries: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// Where an entry has its length, and where its name begins.
    const LENGTH_AT: usize = 16;
    const NAME_AT: usize = 19;
    let mut rest = entries;
    core::iter::from_fn(move || {
        let length = rest.get(LENGTH_AT..LENGTH_AT + 2)?;
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let name = rest.get(NAME_AT..length)?;
        rest = &rest[length..];
        name.split(|byte| *byte == 0).next()
    })
}
