//! What a store is written to: a file, or in tests what fails as a file would.

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

/// Zeros that are written at once, where the device cannot make them itself.
const CHUNK: u64 = 1 << 20;

/// Bytes that can be read, written and made durable.
pub trait Medium {
    /// How many there are.
    ///
    /// # Errors
    /// What the system says; so do all that follow.
    fn bytes(&self) -> Result<u64>;

    /// Whether there may be more than a store needs, as on a device.
    fn may_be_longer(&self) -> bool {
        false
    }

    /// Whether nobody can open it any more: its name is gone.
    ///
    /// # Errors
    /// As above.
    fn is_removed(&self) -> Result<bool> {
        Ok(false)
    }

    /// Fills a buffer with the bytes from a place on; zeros where none was written, or behind the
    /// end.
    fn read(&self, to: &mut [u8], at: u64) -> Result<()>;

    /// Writes bytes to a place.
    fn write(&mut self, from: &[u8], at: u64) -> Result<()>;

    /// Makes all that was written before durable.
    fn sync(&mut self) -> Result<()>;

    /// The first place from this one on that may hold something else than zeros.
    fn next_data(&self, from: u64) -> Result<Option<u64>>;

    /// Makes bytes zeros, and gives back what they take.
    fn punch(&mut self, at: u64, len: u64) -> Result<()>;
}

impl Medium for File {
    fn bytes(&self) -> Result<u64> {
        // The metadata of a block device has no length. Nobody uses the file's own place.
        Ok(seek(self, SeekFrom::End(0))?)
    }

    fn may_be_longer(&self) -> bool {
        let found = self.metadata();
        found.is_ok_and(|found| found.file_type().is_block_device())
    }

    fn is_removed(&self) -> Result<bool> {
        // The node of a block device may go and come again.
        let found = self.metadata()?;
        Ok(found.is_file() && found.nlink() == 0)
    }

    fn read(&self, to: &mut [u8], at: u64) -> Result<()> {
        let mut done = 0;
        while done < to.len() {
            match self.read_at(&mut to[done..], at + done as u64) {
                Ok(0) => {
                    to[done..].fill(0);
                    return Ok(());
                }
                Ok(count) => done += count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn write(&mut self, from: &[u8], at: u64) -> Result<()> {
        self.write_all_at(from, at)
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_data()
    }

    fn next_data(&self, from: u64) -> Result<Option<u64>> {
        match seek(self, SeekFrom::Data(from)) {
            Ok(at) => Ok(Some(at)),
            // Nothing but a hole from there on.
            Err(Errno::NXIO) => Ok(None),
            // A block device knows of no holes.
            Err(Errno::INVAL) => {
                Ok(Some(from).filter(|from| self.bytes().is_ok_and(|b| *from < b)))
            }
            Err(e) => Err(Error::from(e)),
        }
    }

    fn punch(&mut self, at: u64, len: u64) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&*self, flags, at, len) {
            Err(Errno::OPNOTSUPP) if self.may_be_longer() => {
                let (end, zeros) = (at + len, vec![0; CHUNK as usize]);
                (at..end).step_by(CHUNK as usize).try_for_each(|at| {
                    self.write_all_at(&zeros[..CHUNK.min(end - at) as usize], at)
                })
            }
            done => Ok(done?),
        }
    }
}
