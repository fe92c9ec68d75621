//! Files and folders in places where another user may have been first.
//!
//! A reader opens nothing that could make it wait (a pipe), nothing behind a symbolic link, and
//! nothing of a user whom it has no reason to believe.
//!
//! Whose a file is, is asked and set by the kernel's own calls. A program may have functions of
//! these names that ask another process, by a descriptor that a thread of the runtime does not have
//! (`fakeroot`).

use crate::sys;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Mode bits with which somebody else could write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The user as whom this process opens files.
pub fn own_user() -> u32 {
    // A filter may forbid the call: then it is nobody that there is.
    // SAFETY: no arguments.
    unsafe { sys!(libc::SYS_geteuid) }.map_or(u32::MAX, |user| user as u32)
}

/// What the kernel knows of an open file.
///
/// # Errors
/// What the system says.
pub fn told_of(file: &File) -> Result<libc::stat> {
    crate::stat(file.as_raw_fd()).map_err(Error::from_raw_os_error)
}

/// Opens a regular file, for reading or for both. With an `owner` it must be that user's.
///
/// # Errors
/// What the system says, or what else is there.
pub fn open_regular(path: &Path, write: bool, owner: Option<u32>) -> Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(write).custom_flags(flags);
    let file = file.open(path).map_err(explain)?;
    let found = told_of(&file)?;
    if found.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Err(Error::other("not a regular file"));
    }
    check_owner(found.st_uid, owner)?;
    Ok(file)
}

/// Opens a folder that is no symbolic link. With an `owner` it must be that user's.
///
/// # Errors
/// What the system says, or what else is there.
pub fn open_folder(path: &Path, owner: Option<u32>) -> Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_NONBLOCK;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let folder = folder.map_err(explain)?;
    check_owner(told_of(&folder)?.st_uid, owner)?;
    Ok(folder)
}

/// Makes a file that is not there yet, which nobody but its owner can open, whatever the umask.
///
/// # Errors
/// What the system says; `AlreadyExists` also if a symbolic link of that name leads nowhere.
pub fn create_private(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    // SAFETY: an open descriptor, no pointers.
    match unsafe { sys!(libc::SYS_fchmod, file.as_raw_fd(), 0o600) } {
        Ok(_) => Ok(file),
        Err(errno) => Err(Error::from_raw_os_error(errno)),
    }
}

/// Writes a new file under the first name that is free: the path with an extension of `kind` and a
/// number below `most`. It becomes the owner's, if another one is named.
///
/// # Errors
/// What the system says; `AlreadyExists` if no name is free.
pub fn write_numbered(
    path: &Path,
    kind: &str,
    most: u32,
    owner: Option<u32>,
    words: &[u64],
) -> Result<()> {
    let mut bytes = Vec::with_capacity(words.len() * 8);
    words
        .iter()
        .for_each(|word| bytes.extend(word.to_ne_bytes()));
    for number in 0..most {
        let name = path.with_extension(format!("{kind}{number}"));
        match create_private(&name) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
            Ok(mut file) => {
                let owned = match owner {
                    Some(owner) if owner != own_user() => give_to(&file, owner),
                    _ => Ok(()),
                };
                let written = owned.and_then(|()| file.write_all(&bytes));
                if written.is_err() {
                    // Half of one would take a name for nothing.
                    let _ = std::fs::remove_file(&name);
                }
                return written;
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Makes a file another user's, and leaves its group.
fn give_to(file: &File, owner: u32) -> Result<()> {
    // SAFETY: an open descriptor, no pointers.
    let given = unsafe { sys!(libc::SYS_fchown, file.as_raw_fd(), owner, u32::MAX) };
    given.map(drop).map_err(Error::from_raw_os_error)
}

/// Whether a file or folder is this user's or root's, and nobody else can write to it: what it says
/// may then decide what this process does.
///
/// # Errors
/// If another user could have written it.
pub fn check_trusted(file: &File) -> Result<()> {
    let found = told_of(file)?;
    if found.st_uid != 0 {
        check_owner(found.st_uid, Some(own_user()))?;
    }
    if found.st_mode & WRITABLE_BY_OTHERS != 0 {
        let mode = found.st_mode & 0o777;
        return Err(Error::other(format!(
            "other users can write to it (mode {mode:o})"
        )));
    }
    Ok(())
}

/// Takes memory for a part of a file now. Otherwise a full file system is a SIGBUS at the first
/// store. File systems that cannot do so are left alone.
///
/// # Errors
/// What the system says, such as that there is no room.
pub fn reserve(file: &File, at: u64, len: u64) -> Result<()> {
    loop {
        // SAFETY: an open descriptor, no pointers.
        let rc = unsafe { libc::fallocate(file.as_raw_fd(), 0, at as i64, len as i64) };
        match crate::errno() {
            _ if rc == 0 => return Ok(()),
            libc::EINTR => {}
            libc::EOPNOTSUPP | libc::ENOSYS => return Ok(()),
            errno => return Err(Error::from_raw_os_error(errno)),
        }
    }
}

/// Locks one byte of an open file for all holders of this opening of it, and says whether nobody
/// else has it. The lock ends with the last descriptor of the opening.
///
/// # Errors
/// If the file system has no such locks.
pub fn lock_byte(fd: i32, at: u64) -> Result<bool> {
    match set_lock(fd, at, libc::F_WRLCK) {
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
        other => other.map(|()| true),
    }
}

/// Whether somebody else has locked a byte by [`lock_byte`].
pub fn is_byte_locked(fd: i32, at: u64) -> bool {
    let mut lock = byte(at, libc::F_WRLCK);
    // SAFETY: a live request; the kernel refuses a number that is no descriptor.
    let asked = unsafe { libc::fcntl(fd, libc::F_OFD_GETLK, &raw mut lock) };
    asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short
}

/// Gives a locked byte back.
pub fn unlock_byte(fd: i32, at: u64) {
    // Without a lock there is nothing to give back.
    let _ = set_lock(fd, at, libc::F_UNLCK);
}

/// How a process has a file that it locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// Nobody else has it.
    Alone,
    /// Others may have it in this way, too. The file need not be open for writing.
    Shared,
}

/// Locks all of an open file for this process, until it closes any descriptor of the file. `None`
/// if that is done; otherwise the process that has it, or 0 for one that is not visible.
///
/// # Errors
/// If the file system has no such locks.
pub fn lock_for_process(fd: i32, hold: Hold) -> Result<Option<i32>> {
    let kind = match hold {
        Hold::Alone => libc::F_WRLCK,
        Hold::Shared => libc::F_RDLCK,
    };
    loop {
        let mut lock = whole(kind);
        // SAFETY: a live request; the kernel refuses a number that is no descriptor.
        let locked = unsafe { libc::fcntl(fd, libc::F_SETLK, &raw mut lock) };
        match Error::last_os_error() {
            _ if locked == 0 => return Ok(None),
            e if ![libc::EAGAIN, libc::EACCES].contains(&e.raw_os_error().unwrap_or(0)) => {
                return Err(e);
            }
            _ => {}
        }
        // The process that had it may have ended meanwhile.
        if let Some(pid) = holder(fd)? {
            return Ok(Some(pid));
        }
    }
}

/// The process that has locked an open file by [`lock_for_process`], or 0 for one that is not
/// visible; `None` if nobody has.
///
/// # Errors
/// If the file system has no such locks.
pub fn holder(fd: i32) -> Result<Option<i32>> {
    let mut lock = whole(libc::F_WRLCK);
    // SAFETY: a live request; the kernel refuses a number that is no descriptor.
    match unsafe { libc::fcntl(fd, libc::F_GETLK, &raw mut lock) } {
        0 if lock.l_type == libc::F_UNLCK as libc::c_short => Ok(None),
        0 => Ok(Some(lock.l_pid.max(0))),
        _ => Err(Error::last_os_error()),
    }
}

/// A request for all of a file.
fn whole(kind: i32) -> libc::flock {
    // SAFETY: plain data, for which zeros are valid. A length of 0 reaches to the end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

/// A request for one byte.
fn byte(at: u64, kind: i32) -> libc::flock {
    let mut lock = whole(kind);
    // An offset has no sign; half of the inodes of a file system with such numbers share a byte.
    lock.l_start = (at & i64::MAX as u64) as i64;
    lock.l_len = 1;
    lock
}

fn set_lock(fd: i32, at: u64, kind: i32) -> Result<()> {
    let lock = byte(at, kind);
    // SAFETY: a live request; the kernel refuses a number that is no descriptor.
    match unsafe { libc::fcntl(fd, libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Gives a file's memory back from an offset on, for so many bytes; they read as zeros then.
///
/// # Errors
/// What the system says.
pub fn punch(file: &File, at: u64, len: u64) -> Result<()> {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: an open descriptor, no pointers.
    match unsafe { libc::fallocate(file.as_raw_fd(), how, at as i64, len as i64) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// The room of a file system, for this user.
#[derive(Clone, Copy, Debug)]
pub struct FileRoom {
    /// Bytes that can be written.
    pub free: u64,
    /// Bytes that it has.
    pub total: u64,
    /// Whether it is in memory (tmpfs).
    pub is_memory: bool,
}

/// How much room the file system has on which an open file or folder is.
///
/// # Errors
/// What the system says.
pub fn room(of: &File) -> Result<FileRoom> {
    // SAFETY: plain data, for which zeros are valid.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor and a live buffer.
    if unsafe { libc::fstatfs(of.as_raw_fd(), &mut found) } != 0 {
        return Err(Error::last_os_error());
    }
    let block = found.f_bsize as u64;
    Ok(FileRoom {
        free: found.f_bavail * block,
        total: found.f_blocks * block,
        is_memory: found.f_type == libc::TMPFS_MAGIC,
    })
}

fn check_owner(found: u32, wanted: Option<u32>) -> Result<()> {
    match wanted {
        Some(wanted) if wanted != found => Err(Error::other(format!(
            "it belongs to user {found} and not to user {wanted}"
        ))),
        _ => Ok(()),
    }
}

/// The kernel's names for what stands in the way are not plain.
fn explain(error: Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => Error::other("it is a symbolic link"),
        Some(libc::ENXIO) => Error::other("not a regular file"),
        Some(libc::ENOTDIR) => Error::other("not a folder, or a symbolic link to one"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("sluice-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// `sluice top` waited for ever at a pipe that another user had put there.
    #[test]
    fn only_plain_files_are_opened() {
        let at = folder("guard");
        let path = at.join("pipe");
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: a terminated string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let refused = |path: &Path, owner| open_regular(path, false, owner).unwrap_err();
        assert!(refused(&path, None).to_string().contains("not a regular"));
        assert!(open_regular(&path, true, None).is_err());
        std::fs::write(at.join("file"), "text").unwrap();
        std::os::unix::fs::symlink(at.join("file"), at.join("link")).unwrap();
        assert!(refused(&at.join("link"), None).to_string().contains("link"));
        assert!(open_regular(&at, false, None).is_err());
        assert!(open_regular(&at.join("file"), true, Some(own_user())).is_ok());
        let other = Some(own_user() + 1);
        assert!(
            refused(&at.join("file"), other)
                .to_string()
                .contains("user")
        );
        assert!(open_folder(&at, Some(own_user())).is_ok());
        assert!(open_folder(&at, other).is_err());
        std::os::unix::fs::symlink(&at, at.join("back")).unwrap();
        assert!(open_folder(&at.join("back"), None).is_err());
        std::fs::remove_dir_all(&at).unwrap();
    }

    /// The highest bit that an offset has was left out, so that two bytes were one.
    #[test]
    fn each_byte_has_its_own_lock() {
        let at = folder("bytes");
        std::fs::write(at.join("file"), "").unwrap();
        let open = || open_regular(&at.join("file"), true, None).unwrap();
        let (one, other) = (open(), open());
        let bytes = [5, 5 | 1 << 61, 5 | 1 << 62];
        for byte in bytes {
            assert!(!is_byte_locked(other.as_raw_fd(), byte), "{byte:#x}");
            assert!(lock_byte(one.as_raw_fd(), byte).unwrap(), "{byte:#x}");
            assert!(is_byte_locked(other.as_raw_fd(), byte), "{byte:#x}");
            assert!(!lock_byte(other.as_raw_fd(), byte).unwrap(), "{byte:#x}");
        }
        unlock_byte(one.as_raw_fd(), bytes[2]);
        let locked = bytes.map(|byte| is_byte_locked(other.as_raw_fd(), byte));
        assert_eq!(locked, [true, true, false]);
        std::fs::remove_dir_all(&at).unwrap();
    }

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let at = folder("trust");
        let path = at.join("file");
        let file = create_private(&path).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(check_trusted(&file).is_ok());
        assert!(create_private(&path).is_err());
        for mode in [0o620, 0o602, 0o666] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(check_trusted(&file).is_err(), "{mode:o}");
        }
        std::fs::remove_dir_all(&at).unwrap();
    }
}
