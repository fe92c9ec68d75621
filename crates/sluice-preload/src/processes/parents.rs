//! The parent of a process that has lost its own. `sluice run` adopts it, to wait for it. Without
//! Sluice the system's first process does, and a program looks for that number to learn that its
//! parent has ended, or sends it a signal that was meant for the parent.

use crate::next;
use core::sync::atomic::{AtomicI32, Ordering::*};
use libc::pid_t;
use sluice_runtime::is_first_process;
use std::path::Path;

/// The system's first process.
const INIT: pid_t = 1;

/// The command; 0 until it is known.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// The command where it can only be this process's parent by having adopted it; 0 where it cannot.
static ADOPTER: AtomicI32 = AtomicI32::new(0);

next!(next_getppid: c"getppid"() -> pid_t);

/// The command that made a session, whose folder begins with its number.
pub fn command_of(dir: &Path) -> Option<pid_t> {
    let name = dir.file_name()?.to_str()?;
    name.split_once('-')?.0.parse().ok()
}

/// Notes who adopts. The command has started the session's first process itself, and is its parent;
/// any other may have lost its own before it became this program.
pub fn know(dir: &Path) {
    let Some(command) = command_of(dir) else {
        return;
    };
    COMMAND.store(command, Relaxed);
    if !is_first_process(dir) {
        ADOPTER.store(command, Relaxed);
    }
}

/// In the child of a fork, whose parent is none but the process that forked.
pub fn forked() {
    ADOPTER.store(COMMAND.load(Relaxed), Relaxed);
}

/// # Safety
/// C contract of `getppid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getppid() -> pid_t {
    // SAFETY: passed on.
    let parent = unsafe { next_getppid() };
    match parent != 0 && parent == ADOPTER.load(Relaxed) {
        true => INIT,
        false => parent,
    }
}
