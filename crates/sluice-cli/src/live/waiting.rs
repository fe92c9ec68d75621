//! Waiting for a program and for what it leaves behind.

use super::persist::Persistent;
use crate::error::Error;
use crate::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};
use sluice_results::Exit;
use std::process::Child;
use std::time::Instant;

/// Time between two samples of the timeline.
const SAMPLE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// The time between two looks while something is waited for.
const OFTEN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// When a program is looked at.
#[derive(Clone, Copy)]
pub struct Seen {
    /// So many seconds after its start.
    pub seconds: f64,
    /// It has ended.
    pub is_over: bool,
}

/// Looks at a program; says after how many seconds to look again, if that is to be soon.
pub type Look<'a> = dyn FnMut(Seen) -> Option<f64> + 'a;

/// Waits for the program, and looks meanwhile if that is wanted.
pub fn watch(
    child: &mut Child,
    from: Instant,
    mut look: Option<&mut Look<'_>>,
) -> Result<(), Error> {
    let failed = |e: Errno| Error::system("pidfd_open")(e.into());
    let program = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(failed)?;
    let mut is_over = false;
    loop {
        let seconds = from.elapsed().as_secs_f64();
        let period = look
            .as_mut()
            .map(|look| period(look(Seen { seconds, is_over })));
        if is_over {
            return Ok(());
        }
        let mut wanted = [PollFd::new(&program, PollFlags::IN)];
        is_over = poll(&mut wanted, period.as_ref()).is_ok_and(|ready| ready > 0);
    }
}

/// The time until the next look.
fn period(soon: Option<f64>) -> Timespec {
    let Some(seconds) = soon else {
        return SAMPLE;
    };
    let longest = OFTEN.tv_nsec as f64;
    Timespec {
        tv_sec: 0,
        tv_nsec: (seconds * 1e9).clamp(0.0, longest) as i64,
    }
}

/// Waits for processes that the program left behind, which use the session's device and files; then
/// has the store of a persistent device be whole. Says how many of them a filter of system calls
/// has ended, which the program did not wait for.
pub fn await_the_rest(exit: Exit, persistent: Option<Persistent>) -> Result<u64, Error> {
    let Some(persistent) = persistent else {
        return Ok(await_or_leave(exit));
    };
    let filtered = await_or_end(exit, &persistent);
    persistent.finish()?;
    signals::end_forwarding(false);
    Ok(filtered)
}

/// 1 for a process that a filter of system calls has ended.
fn of_filter((_, status): &(Pid, WaitStatus)) -> u64 {
    u64::from(status.terminating_signal() == Some(libc::SIGSYS))
}

/// Ctrl-C leaves them to themselves, with the session's directory.
fn await_or_leave(exit: Exit) -> u64 {
    let (mut flags, mut filtered) = (WaitOptions::NOHANG, 0);
    // An error says that there are no more.
    while let Ok(ended) = wait(flags) {
        filtered += ended.as_ref().map_or(0, of_filter);
        if ended.is_none() {
            say_what_is_left(exit, "leaves");
            // SAFETY: the program, which had a claim to Ctrl-C, is gone.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            flags = WaitOptions::empty();
        }
    }
    filtered
}

/// Nobody keeps the device without this command, so they cannot go on without it: Ctrl-C ends them.
fn await_or_end(exit: Exit, persistent: &Persistent) -> u64 {
    let (mut is_said, mut filtered) = (false, 0);
    while let Ok(ended) = wait(WaitOptions::NOHANG) {
        if let Some(ended) = ended {
            filtered += of_filter(&ended);
            continue;
        }
        if !std::mem::replace(&mut is_said, true) {
            say_what_is_left(exit, "ends");
        }
        if signals::is_interrupted() && !persistent.end_programs() {
            break;
        }
        let _ = poll(&mut [], Some(&OFTEN));
    }
    filtered
}

fn say_what_is_left(exit: Exit, ctrl_c: &str) {
    let how = match exit {
        Exit::Code(code) => format!("with status {code}"),
        Exit::Signal(signal) => format!("by signal {signal}"),
    };
    errln!(
        "sluice: the program ended {how}; waiting for processes it left on the device (Ctrl-C \
         {ctrl_c} them)"
    );
}
