//! Stores as files.

use crate::check::Report;
use crate::error::Error;
use crate::format::Shape;
use crate::lock::lock;
use crate::store::Store;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A store is made under its name with this behind it, and then renamed.
const NEW: &str = ".new";

fn regular(path: &Path, options: &mut OpenOptions) -> Result<File, Error> {
    // A pipe would make us wait.
    let file = options.custom_flags(libc_nonblock()).open(path);
    let file = file.map_err(Error::system("opening the store"))?;
    let found = file.metadata().map_err(Error::system("the store"))?;
    match found.is_file() {
        true => Ok(file),
        false => Err(Error::NoStore),
    }
}

fn libc_nonblock() -> i32 {
    rustix::fs::OFlags::NONBLOCK.bits() as i32
}

/// Opens the store of a device, which nobody else may have, and checks all of it.
///
/// # Errors
/// If it cannot be used.
pub fn open(path: &Path, pages: u64, device: &str) -> Result<(Store<File>, Report), Error> {
    let file = regular(path, OpenOptions::new().read(true).write(true))?;
    lock(&file)?;
    Store::open(file, pages, device)
}

/// Opens a store to look at it. Nobody may have it.
///
/// # Errors
/// If it cannot be read, or somebody has it.
pub fn open_to_look(path: &Path) -> Result<File, Error> {
    let file = regular(path, OpenOptions::new().read(true))?;
    match sluice_region::holder(std::os::fd::AsRawFd::as_raw_fd(&file)) {
        Ok(None) => Ok(file),
        Ok(Some(pid)) if pid > 0 => Err(Error::Held(pid)),
        Ok(Some(_)) => Err(Error::HeldByUnknown),
        Err(e) => Err(Error::system("the store's lock")(e)),
    }
}

/// The name under which a store is made before it has its own.
pub fn set_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    name.into()
}

/// Makes an empty store, which has its name only when it is whole, and has it locked.
///
/// # Errors
/// If it cannot be made, or is there by now.
pub fn create(path: &Path, shape: Shape) -> Result<Store<File>, Error> {
    let new = set_aside(path);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = regular(&new, &mut options)?;
    lock(&file)?;
    let sized = file
        .set_len(0)
        .and_then(|()| file.set_len(Store::<File>::bytes_of(&shape)));
    sized.map_err(Error::system("the store's size"))?;
    let store = Store::create(file, shape)?;
    let named = renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE);
    named.map_err(|e| Error::system("naming the store")(e.into()))?;
    let folder = path.parent().filter(|folder| folder != &Path::new(""));
    let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems flush no folders, and need it not.
        Err(e) if e.kind() != io::ErrorKind::InvalidInput => {
            Err(Error::system("flushing the store's folder")(e))
        }
        _ => Ok(store),
    }
}
