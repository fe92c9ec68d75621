//! What the kernel says of this process in a line, from a file that was opened before: the program
//! may have gone to where there is no `/proc`.

use crate::sys;

/// How a process's first thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exit(u8),
    /// By this signal.
    Signal(i32),
}

/// The line of a process whose thread has opened it.
pub struct OwnStat(i32);

impl OwnStat {
    /// Opens the line of this process.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> Result<OwnStat, i32> {
        let path = c"/proc/self/stat".as_ptr();
        // SAFETY: a static path.
        let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_CLOEXEC)? };
        Ok(OwnStat(fd as i32))
    }

    /// Threads of the process, and how its first one has ended; `None` while that runs.
    pub fn of_ended_first_thread(&self) -> Option<(u64, Ended)> {
        let mut text = [0u8; 1024];
        // SAFETY: a live buffer.
        let len = unsafe { sys!(libc::SYS_pread64, self.0, text.as_mut_ptr(), text.len(), 0) };
        read(core::str::from_utf8(&text[..len.ok()?]).ok()?)
    }
}

fn read(line: &str) -> Option<(u64, Ended)> {
    // The name, in brackets, may have any letters in it.
    let mut fields = line.rsplit_once(") ")?.1.trim_end().split(' ');
    let state = fields.next()?;
    let threads = fields.nth(16)?.parse().ok()?;
    let code: i32 = fields.nth(31)?.parse().ok()?;
    let ended = match code & 0x7f {
        0 => Ended::Exit((code >> 8) as u8),
        signal => Ended::Signal(signal),
    };
    (state == "Z").then_some((threads, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_from_the_line() {
        let line = |state: &str, code: i32| {
            let fields: Vec<String> = (4..=51).map(|field| field.to_string()).collect();
            format!("7 (a) b) {state} {} {code}\n", fields.join(" "))
        };
        // The twentieth field has the number of threads.
        assert_eq!(read(&line("Z", 5 << 8)), Some((20, Ended::Exit(5))));
        assert_eq!(read(&line("Z", 31)), Some((20, Ended::Signal(31))));
        assert_eq!(read(&line("Z", 128 + 6)), Some((20, Ended::Signal(6))));
        assert_eq!(read(&line("S", 0)), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_thread_that_runs_has_not_ended() {
        assert_eq!(
            OwnStat::open().expect("a file").of_ended_first_thread(),
            None
        );
    }
}
