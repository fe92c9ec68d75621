//! Why a session cannot be used and the runtime does not start, in words that say what to do.

use sluice_model::{ConfigError, DeviceError};
use sluice_region::{OpenError, Told, text_of};
use sluice_units::{Bytes, round_bytes};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a session cannot be used.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Its file cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// Whether it is to be read or written.
        what: &'static str,
        /// Which file is to be read or written.
        path: PathBuf,
        /// Why the operating system refused.
        source: std::io::Error,
    },
    /// Another build has written it.
    #[error(
        "this preload library is of build {library} and the command of build {}; build both from \
         the same sources (`cargo build --release`)",
        command.escape_debug()
    )]
    Build {
        /// This library's build.
        library: &'static str,
        /// The one that the file names.
        command: String,
    },
    /// A line of it sets nothing.
    #[error("session line without '=': {}", .0.escape_debug())]
    NoValue(String),
    /// A key that there is not, or a value that it cannot have.
    #[error("bad session value live.{}={value}", key.escape_debug())]
    BadValue {
        /// The key as the session's file has it.
        key: String,
        /// The value, as it can be printed.
        value: String,
    },
    /// The device cannot be.
    #[error(transparent)]
    Device(#[from] ConfigError),
}

/// Why a runtime cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The session cannot be used.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The device cannot be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The system refused what was attempted.
    #[error("{what}: {}{}", Told::number(*errno), user_advice(*errno))]
    System {
        /// What that was.
        what: &'static str,
        /// The reason, as a number of the operating system's.
        errno: i32,
    },
    /// This process gets no descriptor, where the command that made the session got one.
    #[error("{}{}", .0, advice(.0))]
    Descriptor(#[source] OpenError),
    /// There is no address space for the device.
    #[error("reserving address space for the device: {}{}", Told::number(*.0), room_advice(*.0))]
    NoRoom(i32),
    /// A file of the session cannot be made or used.
    #[error("{}", of_file(path, source))]
    File {
        /// Which file it is about.
        path: PathBuf,
        /// Why the operating system refused.
        source: io::Error,
    },
    /// The file system of a file that the session needs is too small.
    #[error(
        "{}: {needed} bytes are needed, and its file system has {free} left: make room there, or \
         lower device.capacity",
        path.display()
    )]
    Full {
        /// Which file it is about.
        path: PathBuf,
        /// How long it is to be.
        needed: usize,
        /// Bytes that are left.
        free: u64,
    },
    /// The folder of the store takes no file.
    #[error(
        "--store file:{}: cannot make a file without a name there: {}{}",
        folder.display(),
        Told::number(*errno),
        store_advice(*errno)
    )]
    Store {
        /// The folder that was named.
        folder: PathBuf,
        /// The system's error.
        errno: i32,
    },
    /// A limit of the program's leaves no room for the device.
    #[error(
        "reserving address space for the device: `ulimit {flag}` allows {}, and the program takes \
         {} with the device; raise `ulimit {flag}`, or lower device.capacity",
        round_bytes(allowed.0), round_bytes(needed.0)
    )]
    Limit {
        /// The shell's name of the limit.
        flag: &'static str,
        /// What it allows.
        allowed: Bytes,
        /// What the program and the device take at least.
        needed: Bytes,
    },
    /// A file cannot have as many pages as the device.
    #[error("--store file: holds at most 1 TiB; lower device.capacity")]
    StoreTooLarge,
    /// The file that is to be the device cannot be looked at.
    #[error("{}: {source}", path.display())]
    DeviceFile {
        /// Which file it is about.
        path: PathBuf,
        /// Why the operating system refused.
        source: io::Error,
    },
    /// The session waits for this process no more.
    #[error("{}: the session has ended and is being removed", dir.display())]
    Ended {
        /// The session's directory.
        dir: PathBuf,
    },
    /// Every name is taken that a process can have for its files.
    #[error("too many program images in {}", dir.display())]
    Images {
        /// The session's directory.
        dir: PathBuf,
    },
    /// A filter, under which the process was started, answers a call by SIGSYS.
    #[error(
        "a filter of system calls, under which this program was started, answers `{0}` by \
         SIGSYS: the emulation needs that call; start the program without the filter"
    )]
    SentBack(&'static str),
    /// Signal mode cannot have its signal.
    #[error("cannot install a SIGBUS handler")]
    Handler,
    /// Signal mode cannot keep the C library's buffers off the device.
    #[error("this C library does not show where its streams allocate; use --trap event")]
    Streams,
}

impl StartError {
    /// Whether this process may not have what it asked for, or does not find it: as another user
    /// than its parent was, in a sandbox, at another root, or by its limits.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        let is_so = |errno| matches!(errno, libc::EACCES | libc::EPERM | libc::ENOENT);
        let is_kept_away = match self {
            StartError::Descriptor(OpenError::Permission | OpenError::Missing) => true,
            StartError::Descriptor(OpenError::Os(errno)) => is_so(*errno),
            StartError::System { errno, .. } => is_so(*errno),
            StartError::File { source, .. } => source.raw_os_error().is_some_and(is_so),
            _ => false,
        };
        is_kept_away || self.is_beyond_a_limit()
    }

    /// Whether a limit of this process forbids it: of descriptors, tasks, or the size of files.
    pub fn is_beyond_a_limit(&self) -> bool {
        let is_so = |errno| matches!(errno, libc::EMFILE | libc::EAGAIN | libc::EFBIG);
        match self {
            StartError::Descriptor(OpenError::Os(errno)) => is_so(*errno),
            StartError::System { errno, .. } => is_so(*errno),
            StartError::File { source, .. } => {
                let is_so = source.raw_os_error().is_some_and(is_so);
                is_so || source.kind() == io::ErrorKind::FileTooLarge
            }
            StartError::Limit { .. } => true,
            _ => false,
        }
    }
}

/// For `map_err`: what was attempted when the system refused.
pub fn os(what: &'static str) -> impl Fn(i32) -> StartError {
    move |errno| StartError::System { what, errno }
}

/// For `map_err`: a file of the session cannot be made or used.
pub fn failed(path: &Path, source: io::Error) -> StartError {
    let path = path.to_owned();
    StartError::File { path, source }
}

/// What to do where a user may not have what the one before had.
macro_rules! as_that_user {
    () => {
        ": a program that changes its user is to be started by `sluice run` as that user (see \
         `sluice doctor`)"
    };
}

fn advice(error: &OpenError) -> &'static str {
    match error {
        OpenError::Permission => concat!(", which event mode needs", as_that_user!()),
        OpenError::Missing | OpenError::Features(_) | OpenError::Valgrind | OpenError::Os(_) => "",
    }
}

fn user_advice(errno: i32) -> &'static str {
    match errno {
        libc::EACCES => as_that_user!(),
        _ => "",
    }
}

fn room_advice(errno: i32) -> &'static str {
    match errno {
        libc::ENOMEM => "; raise `ulimit -v`, or lower device.capacity",
        _ => "",
    }
}

fn store_advice(errno: i32) -> &'static str {
    match errno {
        libc::EOPNOTSUPP => "; its file system has none (ext4, xfs, btrfs and tmpfs have)",
        libc::EMLINK => ": forks within forks are deeper than 15",
        _ => "",
    }
}

fn of_file(path: &Path, error: &io::Error) -> String {
    let (path, text) = (path.display(), text_of(error));
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("{path}: the file system of the session is full ({text}); make room there")
        }
        _ => format!("{path}: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_hidden_or_beyond_a_limit_is_out_of_reach_and_what_is_full_is_not() {
        let file = |errno| failed(Path::new("/f"), io::Error::from_raw_os_error(errno));
        let limits = [libc::EMFILE, libc::EAGAIN, libc::EFBIG];
        for errno in [libc::EACCES, libc::EPERM, libc::ENOENT]
            .into_iter()
            .chain(limits)
        {
            assert!(os("opening")(errno).is_out_of_reach(), "{errno}");
            assert!(file(errno).is_out_of_reach(), "{errno}");
            let descriptor = StartError::Descriptor(OpenError::Os(errno));
            assert!(descriptor.is_out_of_reach(), "{errno}");
        }
        assert!(StartError::Descriptor(OpenError::Permission).is_out_of_reach());
        for errno in [libc::ENFILE, libc::ENOMEM, libc::ENOSPC] {
            assert!(!os("opening")(errno).is_out_of_reach(), "{errno}");
            assert!(!file(errno).is_out_of_reach(), "{errno}");
        }
        assert!(!StartError::Descriptor(OpenError::Valgrind).is_out_of_reach());
        assert!(!StartError::NoRoom(libc::EPERM).is_out_of_reach());
    }
}
