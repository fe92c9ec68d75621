//! Programs that this command starts: their lives tied to its own, and its end to theirs.

use sluice_results::Exit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};

/// Makes a command end when this one is killed.
pub fn tied_to_us(command: &mut Command) {
    let parent = std::process::id() as i32;
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // This command may have ended before that was asked for.
            if libc::getppid() != parent {
                libc::_exit(1);
            }
            Ok(())
        })
    };
}

/// How a program ended.
pub fn exit_of(status: ExitStatus) -> Exit {
    match status.signal() {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Code(status.code().unwrap_or(1)),
    }
}

/// Ends as the program ended: with its status, or by its signal.
pub fn leave(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(code) => ExitCode::from(code.rem_euclid(256) as u8),
        Exit::Signal(signal) => {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: the program dumped core if it should; this command does not.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            ExitCode::from((128 + signal).rem_euclid(256) as u8)
        }
    }
}
