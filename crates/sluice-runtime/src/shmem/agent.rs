//! The thread of a process that takes pages of shared memory out of its page table.

use super::link::STATE;
use super::message::{MAX_DROPS, receive_drops};
use crate::threads::thread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sluice_region::{Descriptors, name_thread, raise_priority};

/// It looks so often whether it is to end.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Starts it. By the service thread, whose descriptors it shares.
pub fn start() -> Result<(), i32> {
    // SAFETY: it wants no argument.
    unsafe { thread::spawn(main, core::ptr::null_mut(), Descriptors::Shared) }
}

extern "C" fn main(_: *mut libc::c_void) -> ! {
    name_thread(c"sluice-shared");
    raise_priority();
    let drops = STATE.lock().drops();
    if let Some(drops) = drops {
        let mut pages = [0; MAX_DROPS];
        while !thread::is_leaving() {
            let mut wanted = [PollFd::from_borrowed_fd(drops, PollFlags::IN)];
            if let Ok(0) | Err(Errno::INTR) = poll(&mut wanted, Some(&LOOK)) {
                continue;
            }
            let Ok(count) = receive_drops(drops, &mut pages) else {
                STATE.lock().end();
                break;
            };
            STATE.lock().take_out(&pages[..count]);
        }
    }
    thread::leave()
}
