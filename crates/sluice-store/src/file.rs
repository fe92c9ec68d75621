//! Stores as files, and on block devices.

use crate::PAGE;
use crate::check::Report;
use crate::error::Error;
use crate::format::{MAGIC, SECTOR, Shape};
use crate::keeper::Keeper;
use crate::lock::{lock, lock_to_look};
use crate::medium::Medium;
use crate::store::Store;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A store is made under its name with this behind it, and then renamed.
const NEW: &str = ".new";
/// A device is blank if so much of it is zeros: file systems and partitions begin there.
const BLANK_BYTES: usize = 1 << 20;

/// Opens a regular file or a block device, and nothing else.
fn plain(path: &Path, options: &mut OpenOptions) -> Result<File, Error> {
    // A pipe would make us wait.
    let file = options.custom_flags(flags(OFlags::NONBLOCK)).open(path);
    let file = file.map_err(Error::system("opening the store"))?;
    let found = file.metadata().map_err(Error::system("the store"))?;
    match found.is_file() || found.file_type().is_block_device() {
        true => Ok(file),
        false => Err(Error::NoStore),
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits() as i32
}

/// Opens and locks a store to write to it. A block device is opened so that nothing else of this
/// host can be on it.
fn own(path: &Path) -> Result<File, Error> {
    let file = plain(path, OpenOptions::new().read(true).write(true))?;
    if !file.may_be_longer() {
        lock(&file)?;
        return Ok(file);
    }
    not_held(&file)?;
    let exclusive = OFlags::NONBLOCK | OFlags::EXCL;
    let options = &mut OpenOptions::new();
    let alone = options
        .read(true)
        .write(true)
        .custom_flags(flags(exclusive));
    let alone = alone.open(path).map_err(|e| match e.kind() {
        io::ErrorKind::ResourceBusy => Error::InUse,
        _ => Error::system("opening the store")(e),
    })?;
    // Before the lock: a process that closes any file of it loses it.
    drop(file);
    lock(&alone)?;
    Ok(alone)
}

/// That nobody has a store.
fn not_held(file: &File) -> Result<(), Error> {
    match sluice_region::holder(file.as_raw_fd()) {
        Ok(None) => Ok(()),
        Ok(Some(pid)) if pid > 0 => Err(Error::Held(pid)),
        Ok(Some(_)) => Err(Error::HeldByUnknown),
        Err(e) => Err(Error::system("the store's lock")(e)),
    }
}

/// Whether there is no store yet, and one can be made: no file of that name, or a block device that
/// begins with zeros.
///
/// # Errors
/// If it cannot be read.
pub fn is_to_be_made(path: &Path) -> Result<bool, Error> {
    match path.metadata() {
        // A store is not made where a link leads that leads nowhere.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(path.symlink_metadata().is_err()),
        Ok(found) if found.file_type().is_block_device() => {
            is_blank(&plain(path, OpenOptions::new().read(true))?)
        }
        _ => Ok(false),
    }
}

/// Whether a device has nothing where file systems, partitions and stores begin.
fn is_blank(device: &File) -> Result<bool, Error> {
    let mut bytes = vec![0; BLANK_BYTES];
    let read = device.read(&mut bytes, 0);
    read.map_err(Error::system("reading the device"))?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// Opens the store of a device, which nobody else may have, and checks all of it.
///
/// # Errors
/// If it cannot be used.
pub fn open(path: &Path, pages: u64, device: &str) -> Result<(Store<File>, Report), Error> {
    let file = own(path)?;
    let is_device = file.may_be_longer();
    Store::open(file, pages, device).map_err(|error| match error {
        Error::NoStore if is_device => Error::NotBlank,
        other => other,
    })
}

/// Opens a store to look at it. Nobody may have it, and nobody gets it meanwhile.
///
/// # Errors
/// If it cannot be read, or somebody has it.
pub fn open_to_look(path: &Path) -> Result<File, Error> {
    let file = plain(path, OpenOptions::new().read(true))?;
    lock_to_look(&file)?;
    Ok(file)
}

/// The name under which a store is made before it has its own.
pub fn set_aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    name.into()
}

/// Makes a store that begins with what a memory has, and has it locked. It is a store only when it
/// is whole.
///
/// # Errors
/// If it cannot be made, or is there by now. Nothing is left of it then.
pub fn create(path: &Path, shape: Shape, memory: File) -> Result<Keeper<File, File>, Error> {
    match path.metadata() {
        Ok(found) if found.file_type().is_block_device() => create_on_device(path, shape, memory),
        _ => create_file(path, shape, memory),
    }
}

/// Its header is written last. Until then the device is blank.
fn create_on_device(path: &Path, shape: Shape, memory: File) -> Result<Keeper<File, File>, Error> {
    let mut device = own(path)?;
    if !is_blank(&device)? {
        return Err(Error::NotBlank);
    }
    let found = device.bytes().map_err(Error::system("the device's size"))?;
    let (wanted, capacity) = (shape.bytes(), shape.pages * PAGE as u64);
    if found < wanted {
        return Err(Error::Small {
            found,
            wanted,
            capacity,
        });
    }
    let slots_at = shape.slot_at(0, 0);
    let emptied = device.punch(0, slots_at);
    let emptied = emptied.and_then(|()| device.sync());
    emptied.map_err(Error::system("emptying the store"))?;
    let made = Keeper::create(memory, device, shape);
    if made.is_err()
        && let Ok(mut device) = own(path)
    {
        // Blank again, as far as it still takes anything: the next start can try once more.
        let blank = slots_at.max(BLANK_BYTES as u64).min(found);
        let _ = device.punch(0, blank).and_then(|()| device.sync());
    }
    made
}

fn create_file(path: &Path, shape: Shape, memory: File) -> Result<Keeper<File, File>, Error> {
    let new = set_aside(path);
    may_replace(&new)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let file = plain(&new, &mut options)?;
    lock(&file)?;
    if !is_named(&file, &new) {
        let by_another = io::ErrorKind::AlreadyExists.into();
        return Err(Error::system("making the store")(by_another));
    }
    let made = fill(file, shape, memory).and_then(|keeper| {
        let named = renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE);
        named.map_err(|e| Error::system("naming the store")(e.into()))?;
        Ok(keeper)
    });
    if made.is_err() {
        // It may be what fills the disk. An error says that it is gone already.
        let _ = std::fs::remove_file(&new);
    }
    let keeper = made?;
    let folder = path.parent().filter(|folder| folder != &Path::new(""));
    let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems flush no folders, and need it not.
        Err(e) if e.kind() != io::ErrorKind::InvalidInput => {
            Err(Error::system("flushing the store's folder")(e))
        }
        _ => Ok(keeper),
    }
}

/// Whether a name is still that of a file. Between the opening and the lock another command may
/// have made it its store, and ended.
fn is_named(file: &File, path: &Path) -> bool {
    let identity = |of: Metadata| (of.dev(), of.ino());
    let (of_file, of_path) = (file.metadata(), path.symlink_metadata());
    of_file.ok().map(identity) == of_path.ok().map(identity)
}

/// Makes a file a store.
fn fill(file: File, shape: Shape, memory: File) -> Result<Keeper<File, File>, Error> {
    let emptied = file.set_len(0);
    let sized = emptied.and_then(|()| file.set_len(Store::<File>::bytes_of(&shape)));
    sized.map_err(Error::system("the store's size"))?;
    Keeper::create(memory, file, shape)
}

/// That a name is free, or has what was to be a store and did not get so far: a file that begins
/// as a store does, or with zeros where that would be.
fn may_replace(new: &Path) -> Result<(), Error> {
    let found = match new.symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(Error::system("the new store"))?,
    };
    let mut begin = [0; SECTOR];
    if found.is_file() {
        let file = plain(new, OpenOptions::new().read(true))?;
        let read = file.read(&mut begin, 0);
        read.map_err(Error::system("reading the new store"))?;
    }
    let is_ours = begin.starts_with(&MAGIC) || begin == [0; SECTOR];
    match found.is_file() && is_ours {
        true => Ok(()),
        false => Err(Error::Taken(new.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was a store by then had been emptied to make another one.
    #[test]
    fn a_file_that_has_become_a_store_is_not_made_one_again() {
        let folder = tempfile::tempdir().expect("room");
        let (new, store) = (folder.path().join("store.new"), folder.path().join("store"));
        let file = File::create(&new).expect("room");
        assert!(is_named(&file, &new));
        std::fs::rename(&new, &store).expect("ours");
        assert!(!is_named(&file, &new), "nothing has the name");
        File::create(&new).expect("room");
        assert!(!is_named(&file, &new), "another has it");
    }

    /// All of the memory was written before such a link was an error.
    #[test]
    fn no_store_is_made_where_a_link_leads_nowhere() {
        let folder = tempfile::tempdir().expect("room");
        let link = folder.path().join("link");
        assert!(is_to_be_made(&link).expect("a folder"));
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &link).expect("room");
        assert!(!is_to_be_made(&link).expect("a folder"));
    }
}
