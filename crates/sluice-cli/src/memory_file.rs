//! Memory with the name of a file, which ends with the processes that use it.

use crate::error::Error;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sluice_runtime::copies::copy_path;
use std::fs::File;
use std::os::fd::AsRawFd;

/// A memory file that programs started from here inherit.
pub struct MemoryFile {
    file: File,
}

impl MemoryFile {
    /// A file of this many zero bytes, for which memory is taken as it is written.
    pub fn new(name: &str, bytes: u64) -> Result<MemoryFile, Error> {
        let failed = |e| Error::system(format!("making a memory file of {bytes} bytes"))(e);
        // An exec leaves it open: the program opens it again by its path.
        let made = memfd_create(name, MemfdFlags::ALLOW_SEALING);
        let file = File::from(made.map_err(|e| failed(e.into()))?);
        file.set_len(bytes).map_err(failed)?;
        // Whoever maps a file that somebody makes shorter would end with it.
        fcntl_add_seals(&file, SealFlags::SHRINK).map_err(|e| failed(e.into()))?;
        Ok(MemoryFile { file })
    }

    /// Its path in this process and in those that inherit it.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Its path in other processes, as long as this one lives.
    pub fn path_for_others(&self) -> String {
        copy_path(std::process::id(), self.file.as_raw_fd())
    }

    /// The file, to be kept by somebody else as well.
    pub fn share(&self) -> Result<File, Error> {
        let failed = |e| Error::system("opening the device's memory once more")(e);
        self.file.try_clone().map_err(failed)
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// QEMU has it open for writing, and what a guest makes of QEMU must not end this process.
    #[test]
    fn nobody_makes_it_shorter() {
        let mut file = MemoryFile::new("test", 8192).unwrap();
        let path = std::fs::OpenOptions::new().write(true).open(file.path());
        for file in [file.file().try_clone().unwrap(), path.unwrap()] {
            assert!(file.set_len(4096).is_err());
            assert!(file.set_len(8192).is_ok());
        }
    }
}
