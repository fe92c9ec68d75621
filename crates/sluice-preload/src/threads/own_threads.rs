//! The number of threads that a program reads of itself.
//!
//! Python 3.12 and later read it after a fork, from `/proc/self/stat`, and warn of a fork with
//! several threads. The program must find its own number there.

use core::ffi::CStr;
use libc::{FILE, c_char};
use sluice_region::{memfd, sys};
use sluice_runtime::running_threads;

/// The place of the number behind the name in brackets.
const FIELD: usize = 17;
/// More than the line has.
const ROOM: usize = 1024;

/// Leaves the runtime's threads out of what a stream that was just opened will read, if it reads
/// what the kernel says of this process.
///
/// # Safety
/// A terminated path, and null or a stream of which nothing was read yet.
pub unsafe fn leave_out_own_threads(path: *const c_char, stream: *mut FILE) {
    let own = running_threads();
    // SAFETY: the caller vouches for it.
    let is_asked = || unsafe { CStr::from_ptr(path) } == c"/proc/self/stat";
    if own == 0 || stream.is_null() || !is_asked() {
        return;
    }
    // SAFETY: a stream.
    let fd = unsafe { libc::fileno(stream) };
    // A stream that cannot be changed reads the kernel's own number.
    let _ = replace(fd, own);
}

/// Puts an altered copy of a file in the place of an open descriptor.
fn replace(fd: i32, own: usize) -> Result<(), i32> {
    let mut text = [0u8; ROOM];
    // SAFETY: a live buffer.
    let len = unsafe { sys!(libc::SYS_pread64, fd, text.as_mut_ptr(), text.len(), 0)? };
    let mut line = Line::default();
    lower(&text[..len], own, &mut line).ok_or(libc::EINVAL)?;
    let copy = memfd(0)?;
    // SAFETY: live bytes, and descriptors of which the first was made above. The second keeps its
    // mark for `exec`.
    unsafe {
        let flags = sys!(libc::SYS_fcntl, fd, libc::F_GETFD)?;
        let is_kept = flags as i32 & libc::FD_CLOEXEC == 0;
        let flags = if is_kept { 0 } else { libc::O_CLOEXEC };
        let done = sys!(libc::SYS_pwrite64, copy, line.bytes.as_ptr(), line.len, 0)
            .and_then(|_| sys!(libc::SYS_dup3, copy, fd, flags));
        let _ = sys!(libc::SYS_close, copy);
        done.map(drop)
    }
}

struct Line {
    bytes: [u8; ROOM],
    len: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            bytes: [0; ROOM],
            len: 0,
        }
    }
}

impl Line {
    fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.len + part.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(part);
        self.len = end;
        Some(())
    }
}

/// Copies the kernel's line with a lower number of threads.
fn lower(text: &[u8], own: usize, line: &mut Line) -> Option<()> {
    let name_ends = text.windows(2).rposition(|two| two == b") ")?;
    let (before, fields) = text.split_at(name_ends + 2);
    line.push(before)?;
    for (at, field) in fields.split(|byte| *byte == b' ').enumerate() {
        if at > 0 {
            line.push(b" ")?;
        }
        match at {
            FIELD => {
                let number: usize = core::str::from_utf8(field).ok()?.parse().ok()?;
                let mut digits = [0; 20];
                line.push(decimal(number.checked_sub(own)?, &mut digits))?;
            }
            _ => line.push(field)?,
        }
    }
    Some(())
}

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[from..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_number_of_threads_is_lowered() {
        let text = b"7 (a) b) c) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 104 18 19\n";
        let mut line = Line::default();
        lower(text, 3, &mut line).expect("a line");
        let expected = "7 (a) b) c) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 101 18 19\n";
        assert_eq!(&line.bytes[..line.len], expected.as_bytes());
        assert!(lower(text, 105, &mut Line::default()).is_none());
        assert!(lower(b"7 (a) R 1", 1, &mut Line::default()).is_some());
        assert!(lower(b"", 1, &mut Line::default()).is_none());
    }
}
