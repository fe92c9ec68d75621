//! How much memory this process has, as its limits count it.

use crate::process::filter;
use crate::threads::thread::{has_service, in_service};
use sluice_region::{PAGE, sys};

/// Bytes of address space, and those of them that can be written and are nobody else's: what
/// `RLIMIT_AS` and `RLIMIT_DATA` are about. `None` if the kernel does not say, or if asking it
/// might end a program that has forbidden itself to open files.
pub fn memory_use() -> Option<[u64; 2]> {
    if filter::is_set() && !has_service() {
        return None;
    }
    in_service(ask)
}

fn ask() -> Option<[u64; 2]> {
    let mut text = [0u8; 128];
    // SAFETY: a static, terminated path, room of our own, and a descriptor of our own.
    let length = unsafe {
        let (path, flags) = (c"/proc/self/statm".as_ptr(), libc::O_CLOEXEC);
        let fd = sys!(libc::SYS_openat, libc::AT_FDCWD, path, flags).ok()?;
        let length = sys!(libc::SYS_read, fd, text.as_mut_ptr(), text.len());
        let _ = sys!(libc::SYS_close, fd);
        length.ok()?
    };
    parse(text.get(..length)?)
}

/// The first number of pages, and the sixth.
fn parse(text: &[u8]) -> Option<[u64; 2]> {
    let mut numbers = core::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut bytes = |skipped| Some(numbers.nth(skipped)?.parse::<u64>().ok()? * PAGE as u64);
    Some([bytes(0)?, bytes(4)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::Mapping;

    #[test]
    fn a_mapping_counts_as_both() {
        // Other tests map some GiB meanwhile.
        const BYTES: usize = 1 << 40;
        let before = ask().expect("the kernel says");
        let mapping = Mapping::anonymous(BYTES).expect("room");
        let after = ask().expect("the kernel says");
        for (before, after) in before.into_iter().zip(after) {
            let more = after.saturating_sub(before) >> 30;
            assert!((980..1_070).contains(&more), "{more} GiB");
        }
        drop(mapping);
        assert_eq!(
            parse(b"7 2 3 4 0 6 0\n"),
            Some([7, 6].map(|n| n * PAGE as u64))
        );
        assert_eq!(parse(b"7 2"), None);
    }
}
