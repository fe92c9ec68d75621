//! What devices hold at their start, made once a session and taken up by each of its processes.
//!
//! The file has the model's tables one after another. A large one begins on a page, so that a
//! process need not read it: see [`fill_from`].

use sluice_abi::CONTENTS_FILE;
use sluice_model::{Contents, DeviceConfig, DeviceError, NoContents, Tables};
use sluice_region::{PAGE, check_trusted, create_private, fill_from, open_regular, told_of};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tables from this many bytes up begin on a page.
const LARGE: usize = 4 * PAGE;

/// Makes what takes long to make, for all devices of a session. By the command, before the first
/// process. If there is no room for it, each process makes its own.
///
/// # Errors
/// If there can be no such device.
pub fn make(config: &DeviceConfig, seed: u64, dir: &Path) -> Result<(), DeviceError> {
    if !config.has_contents_to_make() {
        return Ok(());
    }
    let mut device = sluice_plugin::device(config, seed)?;
    let path = dir.join(CONTENTS_FILE);
    let Ok(file) = create_private(&path) else {
        return Ok(());
    };
    let mut place = Place { file, at: 0 };
    let kept = device.contents(&mut Keeping(&mut place));
    if kept.is_err() || place.file.set_len(place.at).is_err() {
        // What is not whole is of no use to anybody.
        let _ = std::fs::remove_file(&path);
    }
    Ok(())
}

/// The device as it is described, with what the session has made of it.
pub fn of_session(config: DeviceConfig, dir: &Path) -> DeviceConfig {
    match config.has_contents_to_make() {
        true => config.with_contents(Arc::new(OfSession(dir.join(CONTENTS_FILE)))),
        false => config,
    }
}

/// A place in a file, for the next table.
#[derive(Debug)]
struct Place {
    file: File,
    at: u64,
}

impl Place {
    /// Where a table of so many bytes begins. The next one is behind it.
    fn take(&mut self, bytes: usize) -> u64 {
        if bytes >= LARGE {
            self.at = self.at.next_multiple_of(PAGE as u64);
        }
        let begin = self.at;
        self.at += bytes as u64;
        begin
    }
}

/// The bytes of a table.
fn bytes_of<T: Integer>(table: &mut [T]) -> &mut [u8] {
    let (start, len) = (table.as_mut_ptr(), size_of_val(table));
    // SAFETY: any bytes are integers and the other way round, and there are as many of them.
    unsafe { core::slice::from_raw_parts_mut(start.cast(), len) }
}

/// What consists of bytes, whichever they are.
trait Integer {}
impl Integer for u8 {}
impl Integer for u32 {}
impl Integer for u64 {}

/// Writes the tables that it is shown.
struct Keeping<'a>(&'a mut Place);

impl Keeping<'_> {
    fn keep(&mut self, table: &[u8]) -> Result<(), NoContents> {
        let mut at = self.0.take(table.len());
        for part in table.chunks(PAGE) {
            // A page of zeros takes no memory where it is not written.
            if part.iter().any(|byte| *byte != 0) {
                self.0.file.write_all_at(part, at).map_err(|_| NoContents)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }
}

/// Fills the tables that it is shown.
struct Filling {
    place: Place,
    /// What the file has.
    len: u64,
}

impl Filling {
    fn fill(&mut self, table: &mut [u8]) -> Result<(), NoContents> {
        let at = self.place.take(table.len());
        if self.place.at > self.len {
            return Err(NoContents);
        }
        // SAFETY: the library's allocator asks. Only this user could make the file shorter.
        unsafe { fill_from(table, &self.place.file, at) }.map_err(|_| NoContents)
    }
}

macro_rules! each_is_bytes {
    ($($type:ty, $act:ident;)+) => {$(
        impl Tables for $type {
            fn bytes(&mut self, table: &mut [u8]) -> Result<(), NoContents> {
                self.$act(table)
            }

            fn words(&mut self, table: &mut [u32]) -> Result<(), NoContents> {
                self.$act(bytes_of(table))
            }

            fn longs(&mut self, table: &mut [u64]) -> Result<(), NoContents> {
                self.$act(bytes_of(table))
            }
        }
    )+};
}

each_is_bytes! {
    Keeping<'_>, keep;
    Filling, fill;
}

/// The session's file. It is open only while a device is made.
#[derive(Debug)]
struct OfSession(PathBuf);

impl Contents for OfSession {
    fn open(&self) -> Result<Box<dyn Tables + '_>, NoContents> {
        let file = open_regular(&self.0, false, None).map_err(|_| NoContents)?;
        check_trusted(&file).map_err(|_| NoContents)?;
        let len = told_of(&file).map_err(|_| NoContents)?.st_size as u64;
        let place = Place { file, at: 0 };
        Ok(Box::new(Filling { place, len }))
    }
}
