//! What is mapped in this process, as `/proc/self/maps` says.

use crate::process::filter;
use crate::threads::thread::{has_service, in_service};
use core::ops::Range;
use sluice_region::sys;

/// The text of `/proc/self/maps`, by raw calls: those of the C library may be hooked, and the hooks
/// may want the lock that is held here.
pub fn read_maps() -> Result<Vec<u8>, i32> {
    let path = c"/proc/self/maps";
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a live path.
    let fd = unsafe { sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags)? };
    let (mut text, mut part) = (Vec::new(), [0u8; 4096]);
    let result = loop {
        // SAFETY: an open descriptor and a live buffer.
        match unsafe { sys!(libc::SYS_read, fd, part.as_mut_ptr(), part.len()) } {
            Ok(0) => break Ok(text),
            Ok(len) => text.extend_from_slice(&part[..len]),
            Err(errno) => break Err(errno),
        }
    };
    // SAFETY: opened above, and nobody else's.
    let _ = unsafe { sys!(libc::SYS_close, fd) };
    result
}

/// The addresses of a line of `/proc/self/maps`, and what is behind them.
pub fn range(line: &[u8]) -> Option<(usize, usize, &str)> {
    let (from, rest) = core::str::from_utf8(line).ok()?.split_once('-')?;
    let (to, rest) = rest.split_once(' ')?;
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    Some((number(from)?, number(to)?, rest))
}

/// Whether all of a range is memory with the same protection, so that the program takes it for one
/// mapping. So it is, too, if the kernel cannot be asked.
pub fn is_alike(wanted: Range<usize>) -> bool {
    if filter::is_set() && !has_service() {
        return true;
    }
    in_service(|| read_maps().map_or(true, |text| is_alike_in(&text, wanted)))
}

fn is_alike_in(text: &[u8], wanted: Range<usize>) -> bool {
    let lines = text.split(|byte| *byte == b'\n').filter_map(range);
    let (mut at, mut first) = (wanted.start, None);
    for (from, to, rest) in lines.filter(|(from, to, _)| *from < wanted.end && *to > wanted.start) {
        let mut words = rest.split_ascii_whitespace();
        let protection = words.next();
        let is_memory = words.nth(2) == Some("0");
        if !is_memory || from > at || *first.get_or_insert(protection) != protection {
            return false;
        }
        at = to;
    }
    at >= wanted.end
}

/// Whether the program may read, or write, all of a range. If the kernel cannot be asked it may
/// not.
pub fn may_access(wanted: Range<usize>, to_write: bool) -> bool {
    if filter::is_set() && !has_service() {
        return false;
    }
    in_service(|| read_maps().is_ok_and(|text| may_access_in(&text, wanted, to_write)))
}

fn may_access_in(text: &[u8], wanted: Range<usize>, to_write: bool) -> bool {
    let lines = text.split(|byte| *byte == b'\n').filter_map(range);
    let mut at = wanted.start;
    for (from, to, rest) in lines.filter(|(from, to, _)| *from < wanted.end && *to > wanted.start) {
        let letter = rest.as_bytes()[usize::from(to_write)];
        if from > at || letter == b'-' {
            return false;
        }
        at = to;
    }
    at >= wanted.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_one_protection_without_a_gap_are_alike() {
        let text = b"1000-3000 rw-p 00000000 00:00 0\n3000-4000 rw-p 00000000 00:00 0\n\
                     4000-5000 r--p 00000000 00:00 0\n7000-8000 r--p 00000000 00:00 0 [x]\n\
                     8000-9000 r--p 00000000 08:01 99 /x\n";
        let alike = |from: usize, to: usize| is_alike_in(text, from << 12..to << 12);
        assert!(alike(1, 4) && alike(2, 4) && alike(4, 5) && alike(3, 4));
        assert!(!alike(1, 5) && !alike(4, 8) && !alike(5, 7) && !alike(0, 2) && !alike(7, 9));
        let may = |from: usize, to: usize, write| may_access_in(text, from << 12..to << 12, write);
        assert!(may(1, 4, true) && may(1, 5, false) && !may(1, 5, true) && !may(4, 8, false));
        assert!(read_maps().is_ok_and(|text| text.ends_with(b"\n")));
    }
}
