//! All processes of the program: those that this command has started, and theirs.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long to wait for processes that were killed: one may be in a call of the kernel.
const LIMIT: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_millis(1);

/// The parent of a process, and whether it still runs; `None` if it is gone.
fn parent_of(pid: u32) -> Option<(u32, bool)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A name may have blanks and parentheses.
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    Some((fields.next()?.parse().ok()?, !matches!(state, "Z" | "X")))
}

/// Processes of ours that run. A process that has lost its parent is ours, for this command adopts
/// such processes.
fn all(spared: u32) -> Vec<u32> {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found: BTreeMap<u32, (u32, bool)> = pids
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let is_ours = |pid: &u32| {
        let mut at = *pid;
        while let Some((parent, _)) = found.get(&at) {
            if at == spared {
                return false;
            }
            if *parent == own {
                return true;
            }
            at = *parent;
        }
        false
    };
    let running = found.iter().filter(|(_, (_, runs))| *runs);
    running.map(|(pid, _)| *pid).filter(is_ours).collect()
}

/// Kills all of them, but for one and its own, and waits until none runs. Says whether none does.
pub fn end_all(spared: u32) -> bool {
    let until = Instant::now() + LIMIT;
    loop {
        let running = all(spared);
        if running.is_empty() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        for pid in running {
            if let Some(pid) = Pid::from_raw(pid as i32) {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Has the program end when this command is killed: the device and its memory are gone with it, and
/// nobody would keep what is stored after that.
pub fn end_with_us(command: &mut Command) {
    let own = std::process::id();
    let ask = move || {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // Killed in between.
        // SAFETY: no arguments.
        match unsafe { libc::getppid() } as u32 == own {
            true => Ok(()),
            false => Err(std::io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    // SAFETY: system calls alone, between fork and exec.
    unsafe { command.pre_exec(ask) };
}
