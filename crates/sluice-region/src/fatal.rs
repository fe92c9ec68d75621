//! The end of a process that cannot go on, with one line that says why.

use crate::sys;
use core::fmt::{Arguments, Write};
use core::sync::atomic::{AtomicPtr, Ordering::*};

/// What is longer is cut.
const ROOM: usize = 1024;
/// Status of a program that cannot have its device.
const STATUS: i32 = 2;

/// A line without allocation.
struct Line {
    bytes: [u8; ROOM],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // The last byte is for the end of the line.
        let room = ROOM - 1 - self.len;
        let take = text.len().min(room);
        self.bytes[self.len..self.len + take].copy_from_slice(&text.as_bytes()[..take]);
        self.len += take;
        Ok(())
    }
}

/// The function that says whether the calling thread has descriptors of its own, and not the
/// program's.
static HAS_OWN_DESCRIPTORS: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the function that says whether the calling thread has a table of descriptors of its own.
pub fn set_own_descriptors(asked: fn() -> bool) {
    HAS_OWN_DESCRIPTORS.store(asked as *mut (), Release);
}

/// Writes one line to the program's standard error, without an allocation.
pub fn say(what: Arguments<'_>) {
    let line = line(what);
    let of_program = match has_own_descriptors() {
        true => programs_errors(),
        false => None,
    };
    let fd = of_program.unwrap_or(2);
    // SAFETY: a live buffer.
    let _ = unsafe { sys!(libc::SYS_write, fd, line.bytes.as_ptr(), line.len) };
    if let Some(fd) = of_program {
        close(fd);
    }
}

/// One line, with blanks for line ends and escapes, which names can have in them.
fn line(what: Arguments<'_>) -> Line {
    let mut line = Line {
        bytes: [0; ROOM],
        len: 0,
    };
    // A line that is too long is cut.
    let _ = write!(line, "sluice: {what}");
    for byte in &mut line.bytes[..line.len] {
        if byte.is_ascii_control() {
            *byte = b' ';
        }
    }
    line.bytes[line.len] = b'\n';
    line.len += 1;
    line
}

/// Ends the process with status 2 and one line on the program's standard error.
///
/// Running on without what is missing would give wrong data, or measure something else.
pub fn fatal(why: Arguments<'_>) -> ! {
    say(why);
    loop {
        // SAFETY: no pointers. It runs nothing of the program's.
        let _ = unsafe { sys!(libc::SYS_exit_group, STATUS) };
    }
}

fn has_own_descriptors() -> bool {
    let asked = HAS_OWN_DESCRIPTORS.load(Acquire);
    if asked.is_null() {
        return false;
    }
    // SAFETY: stored by `set_own_descriptors`.
    let asked: fn() -> bool = unsafe { core::mem::transmute(asked) };
    asked()
}

/// The program's standard error, for a thread that does not share its descriptors.
fn programs_errors() -> Option<usize> {
    same_file().or_else(open_again)
}

/// The same open file, if it is a regular one. The next write to it, also by another process that
/// has it, must follow the line and not overwrite it.
fn same_file() -> Option<usize> {
    // SAFETY: no pointers.
    let process = unsafe { sys!(libc::SYS_pidfd_open, sys!(libc::SYS_getpid).ok()?, 0) }.ok()?;
    // SAFETY: no pointers.
    let fd = unsafe { sys!(libc::SYS_pidfd_getfd, process, 2, 0) }.ok();
    close(process);
    // SAFETY: plain data, for which zeros are valid.
    let mut found: libc::stat = unsafe { core::mem::zeroed() };
    let (fd, place) = (fd?, &raw mut found);
    // SAFETY: a live place for the answer.
    let is_known = unsafe { sys!(libc::SYS_fstat, fd, place) }.is_ok();
    if is_known && found.st_mode & libc::S_IFMT == libc::S_IFREG {
        return Some(fd);
    }
    close(fd);
    None
}

/// Opened again, so that nothing waits for a reader. The kernel shows the descriptors of the
/// process's first thread there.
fn open_again() -> Option<usize> {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_NONBLOCK | libc::O_NOCTTY;
    let path = c"/proc/self/fd/2";
    // SAFETY: a static, terminated path.
    unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) }.ok()
}

fn close(fd: usize) {
    // SAFETY: a descriptor of this thread's own.
    let _ = unsafe { sys!(libc::SYS_close, fd) };
}

/// An error of the system's in words, without a lock or an allocation of the C library's: the child
/// of a fork may need the words while its parent's locks are held.
pub struct Told(i32);

impl Told {
    /// An error by its number.
    pub fn number(errno: i32) -> Told {
        Told(errno)
    }
}

impl core::fmt::Display for Told {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        unsafe extern "C" {
            fn strerrordesc_np(errno: core::ffi::c_int) -> *const core::ffi::c_char;
        }
        // SAFETY: no pointers go in; null or one of the C library's constants comes out.
        let words = unsafe {
            let words = strerrordesc_np(self.0);
            (!words.is_null()).then(|| core::ffi::CStr::from_ptr(words))
        };
        let words = words.and_then(|words| words.to_str().ok());
        write!(f, "{} (os error {})", words.unwrap_or("unknown"), self.0)
    }
}

/// The text of an error, as [`Told`] words it if the system gave it.
pub fn text_of(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => Told(errno).to_string(),
        None => error.to_string(),
    }
}

/// A descriptor of the runtime's that is gone.
pub(crate) struct Lost;

impl Lost {
    /// Passes an error on, unless it says that `what` is closed or another file by now.
    ///
    /// Nothing can be served without it, and what is not served reads as zeros.
    pub fn check(what: &str, errno: i32) -> i32 {
        if matches!(errno, libc::EBADF | libc::ENOTTY) {
            fatal(format_args!(
                "the program has closed {what} of the emulation, which its memory needs; it closed \
                 a descriptor that it had not opened, by a system call of its own"
            ));
        }
        errno
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_the_standard_librarys_does() {
        for errno in [libc::ENOSPC, libc::EPERM, libc::EMFILE] {
            let theirs = std::io::Error::from_raw_os_error(errno);
            assert_eq!(Told::number(errno).to_string(), theirs.to_string());
            assert_eq!(text_of(&theirs), theirs.to_string());
        }
        assert_eq!(
            Told::number(100_000).to_string(),
            "unknown (os error 100000)"
        );
        assert_eq!(text_of(&std::io::Error::other("a pipe")), "a pipe");
    }

    #[test]
    fn a_message_is_one_line_however_long() {
        for (text, len) in [("a\nb", 12), ("x".repeat(2 * ROOM).as_str(), ROOM)] {
            let line = line(format_args!("{text}"));
            assert_eq!(line.len, len);
            let text = core::str::from_utf8(&line.bytes[..len]).expect("text");
            assert!(
                text.starts_with("sluice: ") && text.ends_with('\n'),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1);
        }
    }
}
