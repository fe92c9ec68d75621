//! A session directory: what the runtime reads, and where it writes.
//!
//! Every user of a session holds a shared lock on a file in it: the command, its keeper, and every
//! process of the program. Nobody removes it meanwhile. The keeper gives back the memory of
//! processes that have ended.

mod ended;
mod home;
mod sweep;

pub use sweep::{PLUGIN_FILE, end_left};

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sluice_abi::{LOCK_FILE, OWNER_FILE, PRELOAD_LINK, SESSION_MARK};
use sluice_control::home::{is_plain, owner_text, session_name};
use sluice_region::{create_private, open_folder, open_regular, own_user, room};
use std::fs::File;
use std::io::{ErrorKind, Write, stdin};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use sweep::{Removal, remove, sweep};

/// A keeper looks this often whether the processes of a killed command have ended.
const LOOK: Duration = Duration::from_millis(50);
/// A keeper looks this often which processes of a session have ended.
const LOOK_FOR_ENDED: Duration = Duration::from_millis(500);
/// A keeper looks this often while processes of a session end.
const LOOK_FOR_MORE: Duration = Duration::from_millis(100);
/// Of a session with so many files that a look takes long, less often: one part of so many of a
/// processor's time goes into looks at most. What others do to that processor does not count, or
/// what has ended would stay longest where most is started.
const SHARE: u32 = 20;

/// Attempts at making a session, of which another command may remove one that has no lock yet.
const ATTEMPTS: u32 = 100;
/// A file system with less room than this is full.
const FULL: u64 = 64 << 10;

/// A directory in memory, removed when it is no longer needed.
#[derive(Debug)]
pub struct SessionDir {
    path: PathBuf,
    /// The session's lock, which this command holds.
    lock: Option<File>,
    /// Removes it if this command is killed. Without one a later command does.
    keeper: Option<Child>,
}

impl SessionDir {
    /// Makes a fresh directory whose files may take so many bytes, and removes sessions that nobody
    /// uses any more.
    pub fn create(bytes: u64) -> Result<SessionDir, Error> {
        sweep();
        let home = home::for_session(bytes)?;
        for _ in 0..ATTEMPTS {
            let path = home.path.join(session_name(std::process::id(), random()?));
            match make(&path) {
                Ok(lock) => {
                    let keeper = start_keeper(&path).ok();
                    let lock = Some(lock);
                    return Ok(SessionDir { path, lock, keeper });
                }
                // The name was taken, or another command found the folder without its lock.
                Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(e) => {
                    remove(&path);
                    return Err(Error::system(path.display())(e));
                }
            }
        }
        Err(Error::unfit(home.path.display(), "no session can be made"))
    }

    /// Whether the library in the program refused the session, and said why.
    pub fn is_refused(&self) -> bool {
        self.path().join(sluice_abi::REFUSAL_FILE).exists()
    }

    /// Where the runtime of each process finds the session.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path of the preload library that `LD_PRELOAD` can hold. The loader takes spaces and colons
    /// for the end of a path, and replaces what follows a dollar sign.
    pub fn preload(&self, library: &Path) -> Result<PathBuf, Error> {
        if library.is_absolute() && is_plain(library) {
            return Ok(library.to_owned());
        }
        let failed = |e| Error::system(library.display())(e);
        let target = std::path::absolute(library).map_err(failed)?;
        let link = self.path.join(PRELOAD_LINK);
        symlink(target, &link).map_err(failed)?;
        Ok(link)
    }

    /// Whether the file system of the session has no room left.
    pub fn is_full(&self) -> bool {
        is_full(&self.path)
    }

    /// The keeper's process; 0 without one.
    pub fn keeper(&self) -> u32 {
        self.keeper.as_ref().map_or(0, Child::id)
    }

    /// Ends the keeper, which is a child of this process: a later wait for all other children finds
    /// none. Says whether somebody else had ended it before.
    pub fn dismiss_keeper(&mut self) -> bool {
        let Some(mut keeper) = self.keeper.take() else {
            return false;
        };
        let had_ended = matches!(keeper.try_wait(), Ok(Some(_)));
        // Before it can take the end of its line for the end of this command. One that somebody
        // else has ended or stopped goes as well.
        let _ = keeper.kill();
        let _ = keeper.wait();
        had_ended
    }
}

/// Whether the file system of a file has no room left.
pub fn is_full(path: &Path) -> bool {
    let of = File::options().read(true).open(path);
    let found = of.and_then(|file| room(&file));
    found.is_ok_and(|room| room.total > 0 && room.free < FULL)
}

/// A number that nobody can guess.
fn random() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    // So few bytes come whole.
    let got = getrandom(&mut bytes, GetRandomFlags::empty());
    got.map_err(|e| Error::system("a random number")(e.into()))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Makes a session's directory. Returns its lock, held.
fn make(path: &Path) -> std::io::Result<File> {
    home::make(path)?;
    let mut lock = create_private(&path.join(LOCK_FILE))?;
    lock.write_all(SESSION_MARK.as_bytes())?;
    // Another command that sweeps may have been faster. It does not wait, and neither does this.
    if lock.try_lock_shared().is_err() || lock.metadata()?.nlink() == 0 {
        return Err(ErrorKind::NotFound.into());
    }
    if let Some(text) = owner_text(std::process::id()) {
        let mut owner = create_private(&path.join(OWNER_FILE))?;
        owner.write_all(text.as_bytes())?;
    }
    Ok(lock)
}

/// Starts a process that waits for the end of this one. It has a process group of its own, so that
/// neither Ctrl-C nor a kill of ours reaches it.
fn start_keeper(path: &Path) -> std::io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("sluice").arg("keep-session").arg(path);
    command.stdin(Stdio::piped()).process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.env_clear().spawn()
}

/// `sluice keep-session`: waits for the end of the command that started it, which ends it if all
/// goes well. Then the session goes when nobody uses it any more.
pub fn keep(dir: &Path) -> ExitCode {
    // What the command leaves open for its program is not for us.
    // SAFETY: nothing here has opened a file yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    let lock = hold(dir);
    let mut ended = ended::Ended::new(dir);
    let mut period = LOOK_FOR_ENDED;
    while !is_over_after(period) {
        let before = own_processor_time();
        let found = ended.as_mut().is_some_and(|ended| ended.look(dir));
        period = match found {
            true => LOOK_FOR_MORE,
            false => LOOK_FOR_ENDED,
        };
        if !ended.as_ref().is_some_and(ended::Ended::is_awaited) {
            period = period.max((own_processor_time() - before) * SHARE);
        }
    }
    drop((lock, ended));
    loop {
        sweep::end_persistent(dir);
        // A program that is just being started has no lock yet.
        std::thread::sleep(LOOK);
        match remove(dir) {
            Removal::Done => return ExitCode::SUCCESS,
            Removal::Used => {}
            Removal::Refused => return ExitCode::FAILURE,
        }
    }
}

/// What this thread has had of a processor.
fn own_processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live place for the time. It stays zero where there is no such clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Waits a while for the end of the command, which is at the other end of the standard input.
fn is_over_after(period: Duration) -> bool {
    let period = Timespec {
        tv_sec: period.as_secs() as i64,
        tv_nsec: period.subsec_nanos().into(),
    };
    let input = stdin();
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut wanted, Some(&period)) {
        Ok(ready) => ready > 0,
        Err(why) => why != Errno::INTR,
    }
}

/// Takes a session's lock as one of several.
fn hold(dir: &Path) -> Option<File> {
    open_folder(dir, Some(own_user())).ok()?;
    let lock = open_regular(&dir.join(LOCK_FILE), true, Some(own_user())).ok()?;
    lock.try_lock_shared().ok()?;
    Some(lock)
}

impl Drop for SessionDir {
    fn drop(&mut self) {
        self.dismiss_keeper();
        self.lock = None;
        // Left-over files in memory are a nuisance, not an error; the next command sweeps.
        remove(&self.path);
    }
}
