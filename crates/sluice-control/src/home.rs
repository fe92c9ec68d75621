//! Where sessions are: a folder of each user, and a folder of each session in it.
//!
//! The base of a home, such as `/dev/shm`, can be written by everybody, so a home may have been
//! made by somebody else before. Nothing is believed that does not belong to the right user.

use sluice_abi::{OWNER_FILE, SESSION_VAR};
use sluice_region::{open_folder, open_regular, own_user, started_at, user_of};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of a home in a folder that is the user's own.
pub const HOME: &str = "sluice";
/// What the name of a home in a folder of everybody begins with; the user's number follows.
const SHARED_HOME: &str = "sluice-user-";
/// Memory for everybody.
pub const SHARED_MEMORY: &str = "/dev/shm";
/// Where each user has a folder in memory, on most systems.
const USERS: &str = "/run/user";
/// The file of a session with the name of its device, where a program has several. The session of
/// the first device has no such file.
pub const NAME_FILE: &str = "name";
/// The name of the first device, where there are several.
pub const FIRST: &str = "first";
/// A name is shorter.
pub const NAME_MAX: usize = 32;
/// An owner file is shorter.
const OWNER_MAX: u64 = 128;

/// A folder with the sessions of one user, who alone can write to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The folder.
    pub path: PathBuf,
    /// Its user.
    pub user: u32,
}

/// The folder of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The folder.
    pub path: PathBuf,
    /// The user whose it and its files are.
    pub user: u32,
    /// The command that made it, if that still runs.
    pub command: Option<u32>,
    /// The name of its device, if that is one beside the first.
    pub name: Option<String>,
}

/// The name of a user's home in a folder of everybody.
pub fn shared_name(user: u32) -> String {
    format!("{SHARED_HOME}{user}")
}

/// `XDG_RUNTIME_DIR`, if it is a path that every user of it can work with.
pub fn runtime_folder() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    (path.is_absolute() && is_plain(&path)).then_some(path)
}

/// The folder for temporary files, on a path that every user of it can work with.
pub fn temporary_folder() -> PathBuf {
    let path = std::env::temp_dir();
    match path.is_absolute() && is_plain(&path) {
        true => path,
        false => "/tmp".into(),
    }
}

/// Whether a path has only characters that mean nothing to the dynamic loader, to QEMU or to a
/// shell. Paths in a session are handed to all of them.
pub fn is_plain(path: &Path) -> bool {
    let mut bytes = path.as_os_str().as_bytes().iter();
    bytes.all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@".contains(byte))
}

impl Home {
    /// The folder, if it is a user's own.
    ///
    /// # Errors
    /// Why the folder is refused, such as that another user made it.
    pub fn open(path: &Path, user: u32) -> std::io::Result<Home> {
        let path = path.to_owned();
        open_folder(&path, Some(user)).map(|_| Home { path, user })
    }

    /// The homes of this user.
    pub fn own() -> Vec<Home> {
        let user = own_user();
        let mut homes = Home::among(|of| of == user);
        let mut add = |base: PathBuf| homes.extend(Home::open(&base.join(HOME), user));
        runtime_folder().into_iter().for_each(&mut add);
        homes.sort_by(|a, b| a.path.cmp(&b.path));
        homes.dedup();
        homes
    }

    /// The homes into which this user may look: for root those of all.
    pub fn visible() -> Vec<Home> {
        match own_user() {
            0 => {
                let mut homes = Home::own();
                homes.extend(Home::among(|user| user != 0));
                homes
            }
            _ => Home::own(),
        }
    }

    /// The homes at the usual places of some users.
    fn among(is_wanted: impl Fn(u32) -> bool) -> Vec<Home> {
        let entries = |base: &Path| std::fs::read_dir(base).into_iter().flatten().flatten();
        let shared = [PathBuf::from(SHARED_MEMORY), temporary_folder()];
        let shared = shared
            .iter()
            .flat_map(|base| entries(base))
            .filter_map(|entry| {
                let name = entry.file_name();
                // A dot and something random follow where somebody else had taken the name.
                let user = name
                    .to_str()?
                    .strip_prefix(SHARED_HOME)?
                    .split('.')
                    .next()?;
                Some((entry.path(), user.parse().ok()?))
            });
        let users = entries(Path::new(USERS)).filter_map(|entry| {
            let user = entry.file_name().to_str()?.parse().ok()?;
            Some((entry.path().join(HOME), user))
        });
        let all = shared.chain(users).filter(|(_, user)| is_wanted(*user));
        all.filter_map(|(path, user)| Home::open(&path, user).ok())
            .collect()
    }

    /// The sessions in it.
    pub fn sessions(&self) -> Vec<Session> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten();
        let paths = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(is_session_name)
        });
        let user = self.user;
        let own = |path: &PathBuf| open_folder(path, Some(user)).is_ok();
        paths
            .map(|entry| entry.path())
            .filter(own)
            .map(|path| Session {
                command: running_owner(&path, user),
                name: read_small(&path.join(NAME_FILE), user, NAME_MAX as u64),
                path,
                user,
            })
            .collect()
    }
}

/// The name of a session: the process that made it, for people, and a random number.
pub fn session_name(pid: u32, number: u64) -> String {
    format!("{pid}-{number:016x}")
}

/// Whether a name is one that [`session_name`] gives.
pub fn is_session_name(name: &str) -> bool {
    let is = |(pid, number): (&str, &str)| {
        pid.parse::<u32>().is_ok()
            && number.len() == 16
            && number.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    name.split_once('-').is_some_and(is)
}

/// The sessions into which this user may look.
pub fn sessions() -> Vec<Session> {
    let homes = Home::visible();
    homes.iter().flat_map(Home::sessions).collect()
}

/// The session that a running `sluice` command made: of several devices, the first one's.
pub fn session_of_command(pid: u32) -> Option<Session> {
    let mut all = sessions_of_command(pid);
    all.find(|session| session.name.is_none())
}

/// The sessions that a running `sluice` command made, one for each device.
pub fn sessions_of_command(pid: u32) -> impl Iterator<Item = Session> {
    let is_its = move |session: &Session| session.command == Some(pid);
    sessions().into_iter().filter(is_its)
}

/// The command that made a session, if it still runs.
pub fn command_of(session: &Path, user: u32) -> Option<u32> {
    running_owner(session, user)
}

/// Whether the command of a session has ended, as far as can be known: numbers of processes mean
/// something in the PID namespace of the command alone.
pub fn has_lost_its_command(session: &Path, user: u32) -> bool {
    let namespace = |text: &str| text.trim_end().rsplit(' ').next().map(ToOwned::to_owned);
    let of_session = read_small(&session.join(OWNER_FILE), user, OWNER_MAX);
    let own = owner_text(std::process::id());
    let (of_session, own) = (of_session.as_deref(), own.as_deref());
    let is_known = own.is_some() && of_session.and_then(namespace) == own.and_then(namespace);
    is_known && running_owner(session, user).is_none()
}

/// What an owner file says of a process: its id, when it was started, and in which PID namespace
/// that holds.
pub fn owner_text(pid: u32) -> Option<String> {
    let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?.ino();
    Some(format!("{pid} {} {namespace}\n", started_at(pid)?))
}

/// The command of a session. Another process that has its id now is not it, and neither is one of
/// another user.
fn running_owner(session: &Path, user: u32) -> Option<u32> {
    let text = read_small(&session.join(OWNER_FILE), user, OWNER_MAX)?;
    let pid = text.split(' ').next()?.parse().ok()?;
    let is_it = owner_text(pid)? == text && user_of(pid) == Some(user);
    (is_it && sluice_region::is_running(pid)).then_some(pid)
}

/// A text of a user's file, if it is one and not longer.
fn read_small(path: &Path, user: u32, max: u64) -> Option<String> {
    let file = open_regular(path, false, Some(user)).ok()?;
    let mut text = String::new();
    file.take(max).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The session directory that a running process was started with.
///
/// # Errors
/// Why the session cannot be read from the process.
pub fn session_of_process(pid: u32) -> std::io::Result<Option<PathBuf>> {
    let environ = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ"))?;
    Ok(value_of(&environ, SESSION_VAR))
}

/// Whether a running process was started with a session: its own, or that of another device that it
/// has besides.
pub fn is_in_session(pid: u32, dir: &Path) -> bool {
    let environ = std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ"));
    environ.is_ok_and(|environ| names_session(&environ, dir))
}

/// Whether a variable of an environment names a session: `SLUICE_SESSION`, or that with the number
/// of a copy of the preload library.
fn names_session(environ: &[u8], dir: &Path) -> bool {
    environ.split(|byte| *byte == 0).any(|entry| {
        let rest = entry.strip_prefix(SESSION_VAR.as_bytes());
        let Some((number, value)) = rest.and_then(|rest| {
            let at = rest.iter().position(|byte| *byte == b'=')?;
            Some((&rest[..at], &rest[at + 1..]))
        }) else {
            return false;
        };
        let digits = number.strip_prefix(b"_").unwrap_or(number);
        digits.iter().all(u8::is_ascii_digit) && value == dir.as_os_str().as_bytes()
    })
}

/// The value of a variable in a process's environment, as the kernel shows it.
fn value_of(environ: &[u8], name: &str) -> Option<PathBuf> {
    let mut entries = environ.split(|byte| *byte == 0);
    let value =
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let environ = b"A=1\0NOT_SLUICE_SESSION=/no\0SLUICE_SESSION=/dev/shm/s=1\0B=2\0";
        let found = value_of(environ, "SLUICE_SESSION");
        assert_eq!(found, Some(PathBuf::from("/dev/shm/s=1")));
        assert_eq!(value_of(b"SLUICE_SESSIONS=/x\0", "SLUICE_SESSION"), None);
        assert_eq!(value_of(b"", "SLUICE_SESSION"), None);
    }

    /// The keeper of a second device's session took its process for one that had ended.
    #[test]
    fn a_process_is_in_the_session_of_each_of_its_devices() {
        let environ = b"SLUICE_SESSION=/dev/shm/a\0SLUICE_SESSION_7=/dev/shm/b\0SLUICE_SESSIONS=/c";
        for (dir, is_in) in [("/dev/shm/a", true), ("/dev/shm/b", true), ("/c", false)] {
            assert_eq!(names_session(environ, Path::new(dir)), is_in, "{dir}");
        }
    }

    /// A folder that another user had made in `/dev/shm` fed false statistics to root's commands.
    #[test]
    fn only_what_belongs_to_the_right_user_is_a_home_or_a_session() {
        let base = tempfile::tempdir().unwrap();
        let (user, own) = (own_user(), std::process::id());
        let at = base.path().join("home");
        assert!(Home::open(&at, user).is_err());
        std::fs::create_dir(&at).unwrap();
        assert!(Home::open(&at, user + 1).is_err());
        symlink(&at, base.path().join("link")).unwrap();
        assert!(Home::open(&base.path().join("link"), user).is_err());
        let home = Home::open(&at, user).unwrap();
        let name = session_name(own, 7);
        for name in [name.as_str(), "notes", "4000000", "12-xyz", "4000000-0"] {
            std::fs::create_dir(at.join(name)).unwrap();
        }
        let found = home.sessions();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0].path, found[0].command), (&at.join(name), None));
    }

    #[test]
    fn a_session_knows_its_command_and_no_other() {
        let base = tempfile::tempdir().unwrap();
        let user = own_user();
        let own = std::process::id();
        let file = base.path().join(OWNER_FILE);
        let text = owner_text(own).unwrap();
        std::fs::write(&file, &text).unwrap();
        assert_eq!(running_owner(base.path(), user), Some(own));
        assert!(!has_lost_its_command(base.path(), user));
        assert_eq!(running_owner(base.path(), user + 1), None);
        for wrong in [
            text.replace(&format!("{own} "), "1 "),
            text.replace(' ', " 1"),
            String::new(),
            "x".repeat(1 << 20),
        ] {
            std::fs::write(&file, &wrong).unwrap();
            assert_eq!(running_owner(base.path(), user), None);
        }
        for (text, is_lost) in [
            (text.replace(&format!("{own} "), "999999999 "), true),
            (text.replace('\n', "1\n"), false),
            (String::new(), false),
        ] {
            std::fs::write(&file, &text).unwrap();
            let found = has_lost_its_command(base.path(), user);
            assert_eq!(found, is_lost, "{text}");
        }
    }

    #[test]
    fn paths_that_mean_something_to_the_loader_are_not_plain() {
        assert!(is_plain(Path::new("/run/user/1000/sluice-1.2_3")));
        for path in ["/a b", "/a:b", "/a$ORIGIN", "/a\nb", "/a,b", "/ä"] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }
}
