//! The folder in which this user's sessions are made.

use crate::error::Error;
use sluice_control::home::{
    HOME, Home, SHARED_MEMORY, runtime_folder, shared_name, temporary_folder,
};
use sluice_region::{open_folder, own_user, room};
use sluice_units::Bytes;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A user's own folder in memory is often small, and other programs need it. It is taken if this
/// much would be left, and several sessions have room.
const LEAVE: u64 = 64 << 20;
const SESSIONS: u64 = 4;
/// Files of a session that are small, all together.
const SMALL: u64 = 1 << 20;
/// Attempts at a name that nobody else has.
const NAMES: u32 = 100;

/// The home for a session that may take so many bytes, made if it is not there. In memory where
/// there is any, so that the kernel never makes a trap wait for a disk.
pub fn for_session(bytes: u64) -> Result<Home, Error> {
    let wanted = bytes.saturating_add(SMALL);
    if let Some(own) = runtime_folder().filter(|own| is_roomy(own, wanted)) {
        return at(&own.join(HOME));
    }
    let base = base();
    let home = shared(&base)?;
    let free = room_at(&home.path)?.free;
    if free < wanted {
        return Err(Error::unfit(
            base.display(),
            format!(
                "full: {} are free, and a session of this device may take {}; remove files there, \
                 or lower device.capacity",
                whole(free),
                whole(wanted)
            ),
        ));
    }
    Ok(home)
}

/// The folder of everybody.
fn base() -> PathBuf {
    let memory = PathBuf::from(SHARED_MEMORY);
    match memory.is_dir() {
        true => memory,
        false => temporary_folder(),
    }
}

/// Whether a folder is this user's own, in memory, and has room to spare.
fn is_roomy(path: &Path, bytes: u64) -> bool {
    let found = open_folder(path, Some(own_user())).and_then(|folder| room(&folder));
    let wanted = bytes.saturating_mul(SESSIONS).saturating_add(LEAVE);
    found.is_ok_and(|room| room.is_memory && room.free >= wanted)
}

fn room_at(path: &Path) -> Result<sluice_region::FileRoom, Error> {
    let found = open_folder(path, None).and_then(|folder| room(&folder));
    found.map_err(Error::system(path.display()))
}

/// Bytes for people: those below a mebibyte do not matter.
fn whole(bytes: u64) -> Bytes {
    Bytes(bytes.div_ceil(1 << 20) << 20)
}

/// The home in a folder to which everybody may write. Somebody else may have taken its name; then
/// it gets another one, which nobody can guess.
fn shared(base: &Path) -> Result<Home, Error> {
    let user = own_user();
    let usual = shared_name(user);
    let path = base.join(&usual);
    match at(&path) {
        Ok(home) => return Ok(home),
        Err(why) => {
            // One that was made for the same reason before will do.
            let others = Home::own().into_iter().filter(|home| {
                let name = home.path.file_name().and_then(|name| name.to_str());
                let rest = name.and_then(|name| name.strip_prefix(&usual));
                home.path.parent() == Some(base) && rest.is_some_and(|rest| rest.starts_with('.'))
            });
            if let Some(home) = others.into_iter().next() {
                return at(&home.path);
            }
            errln!("sluice: warning: {why}; sessions are in another folder beside it");
        }
    }
    for _ in 0..NAMES {
        let path = base.join(format!("{usual}.{:016x}", super::random()?));
        match make(&path) {
            Ok(()) => return at(&path),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::system(path.display())(e)),
        }
    }
    Err(Error::unfit(base.display(), "no name is free for a folder"))
}

/// The home of a name, made if nothing has it.
fn at(path: &Path) -> Result<Home, Error> {
    let failed = |e| Error::system(path.display())(e);
    match make(path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let folder = open_folder(path, Some(own_user())).map_err(failed)?;
    let mode = folder.metadata().map_err(failed)?.mode() & 0o7777;
    if mode != 0o700 {
        // What others may have put there meanwhile does not belong to this user, and is not used.
        let own = Permissions::from_mode(0o700);
        folder.set_permissions(own).map_err(failed)?;
    }
    let user = own_user();
    let path = path.to_owned();
    Ok(Home { path, user })
}

/// Makes a folder that nobody else can enter, whatever the umask.
pub fn make(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn a_home_is_made_once_and_closed_to_others() {
        let base = tempfile::tempdir().unwrap();
        let home = shared(base.path()).unwrap();
        assert_eq!(home, shared(base.path()).unwrap());
        let mode = || home.path.metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        std::fs::set_permissions(&home.path, Permissions::from_mode(0o777)).unwrap();
        shared(base.path()).unwrap();
        assert_eq!(mode(), 0o700);
    }

    /// Another user can make any name in `/dev/shm` first.
    #[test]
    fn a_name_that_somebody_else_took_is_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let usual = base.path().join(shared_name(own_user()));
        symlink("/etc", &usual).unwrap();
        let home = shared(base.path()).unwrap();
        assert_ne!(home.path, usual);
        assert_eq!(home.path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::remove_file(&usual).unwrap();
        std::fs::create_dir(&usual).unwrap();
        if chown(&usual, Some(65534), None).is_err() {
            println!("not tested further: only root can give a folder away");
            return;
        }
        assert!(at(&usual).is_err());
        assert_ne!(shared(base.path()).unwrap().path, usual);
        assert_eq!(usual.read_dir().unwrap().count(), 0);
    }
}
