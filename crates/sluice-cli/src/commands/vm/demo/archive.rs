//! The archive that a kernel unpacks at its start (initramfs).

use cpio::{NewcBuilder, newc};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// An archive being written. A kernel takes several in a row.
pub struct Archive<W: Write> {
    to: W,
    inode: u32,
}

impl<W: Write> Archive<W> {
    /// Begins an archive.
    pub fn new(to: W) -> Archive<W> {
        Archive { to, inode: 1 }
    }

    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) -> io::Result<()> {
        let head = NewcBuilder::new(name).ino(self.inode).nlink(1).mode(mode);
        self.inode += 1;
        let mut entry = head.write(&mut self.to, contents.len() as u32);
        entry.write_all(contents)?;
        entry.finish()?;
        Ok(())
    }

    /// A directory. Those above it must be there.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY | 0o755, &[])
    }

    /// A file that may be executed.
    pub fn program(&mut self, name: &str, contents: &[u8]) -> io::Result<()> {
        self.entry(name, REGULAR | 0o755, contents)
    }

    /// A copy of a file, executable if that is.
    pub fn copy(&mut self, name: &str, from: &Path) -> io::Result<()> {
        let mode = from.metadata()?.permissions().mode() & 0o777;
        self.entry(name, REGULAR | mode, &std::fs::read(from)?)
    }

    /// Ends the archive.
    pub fn finish(self) -> io::Result<W> {
        newc::trailer(self.to)
    }
}
