//! Programs that tests start: they take signals as a shell's programs do, and none runs for ever.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A program that takes longer hangs. The machine may be busy, so this is far from what is normal.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Gives a program every signal's default action, and blocks none.
///
/// A shell ignores SIGINT in the jobs that it starts in the background, and every program that such
/// a job starts inherits this. A test that presses Ctrl-C would wait for ever.
pub fn with_default_signals(command: &mut Command) -> &mut Command {
    let reset = || {
        // SAFETY: an all-zero set is a valid value to overwrite.
        let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: these calls are allowed between fork and exec, and `none` outlives them. The
        // kernel refuses to change SIGKILL and SIGSTOP, which nobody can ignore anyway.
        unsafe {
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: the closure calls only what is allowed between fork and exec.
    unsafe { command.pre_exec(reset) }
}

/// Gives a program default signals, and has SIGALRM end it after [`LIMIT`], so that waiting
/// for it has an end.
pub fn bounded(command: &mut Command) -> &mut Command {
    let limit = LIMIT.as_secs() as u32;
    let alarm = move || {
        // SAFETY: no pointers; the alarm stays over exec.
        unsafe { libc::alarm(limit) };
        Ok(())
    };
    // SAFETY: the closure makes one system call.
    unsafe { with_default_signals(command).pre_exec(alarm) }
}

/// A program for [`bounded`] from its path.
pub fn program(path: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(path);
    bounded(&mut command);
    command
}

/// Kills a program's process group after a limit, unless it is dropped first.
///
/// This ends every read from the group's output, also where a program outlives the command that
/// started it.
pub struct Watch {
    _over: Sender<()>,
}

impl Watch {
    /// Watches a program that leads a process group of its own.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn over(leader: &Child, limit: Duration) -> io::Result<Watch> {
        let (over, is_over) = channel();
        let group = leader.id() as libc::pid_t;
        std::thread::Builder::new().spawn(move || {
            if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("process group {group} hangs: {limit:?} are over");
                // SAFETY: no pointers. Nobody has waited for the leader: its number is its own.
                unsafe { libc::kill(-group, libc::SIGKILL) };
            }
        })?;
        Ok(Watch { _over: over })
    }
}
