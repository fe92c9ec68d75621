//! How long threads wait for a CPU although they could run, as the kernel counts it.

use crate::{NO_DESCRIPTOR, sys};
use core::ffi::CStr;
use std::io::Write;

/// What the kernel has counted of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunDelay {
    /// How long it could have run and had no CPU, ns.
    pub ns: u64,
    /// How often it was given a CPU.
    pub runs: u64,
}

/// The threads of this process, in the kernel's own file system: the program may have gone to where
/// another one is called so.
#[derive(Debug)]
pub struct RunDelays(i32);

impl RunDelays {
    /// Opens them. `None` without `/proc`.
    pub fn open() -> Option<RunDelays> {
        let (path, flags) = (c"/proc/self/task", libc::O_DIRECTORY | libc::O_CLOEXEC);
        // SAFETY: a static path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
        let threads = RunDelays(fd.ok()? as i32);
        threads.are_the_kernels().then_some(threads)
    }

    fn are_the_kernels(&self) -> bool {
        // SAFETY: plain data, for which zeros are valid.
        let mut told: libc::statfs = unsafe { core::mem::zeroed() };
        // SAFETY: a live buffer.
        let asked = unsafe { sys!(libc::SYS_fstatfs, self.0, &raw mut told) };
        asked.is_ok() && told.f_type == libc::PROC_SUPER_MAGIC
    }

    /// What is counted of a thread. `None` once it is gone, and where the kernel counts nothing
    /// (`CONFIG_SCHED_INFO`). Nothing is allocated.
    pub fn of(&self, thread: u32) -> Option<RunDelay> {
        let (mut path, mut text) = ([0; 32], [0; 80]);
        write!(&mut path[..], "{thread}/schedstat\0").ok()?;
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        // SAFETY: a live, terminated path and a live buffer; the descriptor is nobody else's.
        let len = unsafe {
            let fd = sys!(libc::SYS_openat, self.0, path.as_ptr(), libc::O_CLOEXEC).ok()?;
            let len = sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len());
            let _ = sys!(libc::SYS_close, fd);
            len.ok()?
        };
        read(core::str::from_utf8(&text[..len]).ok()?)
    }
}

impl Drop for RunDelays {
    fn drop(&mut self) {
        let fd = core::mem::replace(&mut self.0, NO_DESCRIPTOR);
        // SAFETY: opened here, and nobody else's.
        let _ = unsafe { sys!(libc::SYS_close, fd) };
    }
}

/// Time on a CPU, time without one, and times that it was given one.
fn read(line: &str) -> Option<RunDelay> {
    let mut numbers = line.split_ascii_whitespace().skip(1);
    let mut next = || numbers.next()?.parse().ok();
    let told = RunDelay {
        ns: next()?,
        runs: next()?,
    };
    // Who asks has run before.
    (told.runs > 0).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_id;
    use std::time::Duration;

    #[test]
    fn a_line_has_the_wait_and_the_runs() {
        let told = RunDelay { ns: 20, runs: 3 };
        assert_eq!(read("1000 20 3\n"), Some(told));
        assert_eq!(read("0 0 0\n"), None, "nothing is counted");
        assert_eq!(read("1000 20"), None);
    }

    /// A thread that sleeps once is given a CPU once more.
    #[test]
    fn a_sleep_is_one_run() {
        let threads = RunDelays::open().expect("Linux");
        assert_eq!(threads.of(u32::MAX), None);
        let Some(before) = threads.of(thread_id()) else {
            println!("not tested: this kernel counts no waits");
            return;
        };
        std::thread::sleep(Duration::from_millis(1));
        let after = threads.of(thread_id()).expect("it runs");
        assert!(after.runs > before.runs && after.ns >= before.ns);
    }
}
