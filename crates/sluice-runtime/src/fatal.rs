//! The end of a program whose device cannot go on: a bug of ours, or no memory for our own tables.
//!
//! The standard library's way would hang here. It allocates and reads debug information, perhaps
//! with a lock held that every fault of the program needs; and a program's own handler of SIGABRT
//! would run in memory that nobody serves any more.

use core::fmt::Write;
use std::panic::PanicHookInfo;

/// Room for the line that is printed.
const LINE: usize = 512;

/// From now on a panic ends the program with one line and SIGABRT, and allocates nothing for it.
pub fn on_panic() {
    std::panic::set_hook(Box::new(panicked));
}

/// Ends the program because nothing is left of the memory set aside for this library.
pub fn no_memory(bytes: usize) -> ! {
    end(format_args!(
        "no memory for {bytes} bytes of its own; raise `ulimit -v`, or lower device.capacity and \
         cache.capacity"
    ))
}

fn panicked(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("no reason given");
    match info.location() {
        Some(at) => end(format_args!(
            "internal error, please report it: {}:{}: {text}",
            at.file(),
            at.line()
        )),
        None => end(format_args!("internal error, please report it: {text}")),
    }
}

/// A line of text without an allocation. What does not fit is cut off.
struct Line {
    bytes: [u8; LINE],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // The last byte is for the end of the line.
        let room = LINE - 1 - self.len;
        let text = text.as_bytes().get(..room).unwrap_or(text.as_bytes());
        let end = self.len + text.len();
        self.bytes[self.len..end].copy_from_slice(text);
        self.len = end;
        Ok(())
    }
}

/// One line, with the message's own line ends as blanks.
fn line(why: core::fmt::Arguments<'_>) -> Line {
    let mut line = Line {
        bytes: [0; LINE],
        len: 0,
    };
    // Neither can fail.
    let _ = write!(line, "sluice: {why}");
    for byte in &mut line.bytes[..line.len] {
        if *byte == b'\n' {
            *byte = b' ';
        }
    }
    line.bytes[line.len] = b'\n';
    line.len += 1;
    line
}

fn end(why: core::fmt::Arguments<'_>) -> ! {
    let line = line(why);
    // Raw calls: the C library's names may be hooks of ours or handlers of the program's.
    // SAFETY: live buffers. Zeros are the kernel's way to write SIG_DFL, and an empty set of 8
    // bytes.
    unsafe {
        libc::syscall(libc::SYS_write, 2, line.bytes.as_ptr(), line.len);
        // The memory of a device is terabytes perhaps: nobody wants that in a file.
        libc::syscall(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        let (default, none) = ([0u64; 4], 0u64);
        let null = core::ptr::null_mut::<u64>();
        libc::syscall(
            libc::SYS_rt_sigaction,
            libc::SIGABRT,
            &raw const default,
            null,
            8,
        );
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            null,
            8,
        );
        let (process, thread) = (
            libc::syscall(libc::SYS_getpid),
            libc::syscall(libc::SYS_gettid),
        );
        libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGABRT);
        // Never reached, unless somebody keeps signals away from us.
        libc::syscall(libc::SYS_exit_group, 128 + libc::SIGABRT);
    }
    unreachable!("exit_group does not return")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_message_is_one_line_however_long() {
        for (text, len) in [("a\nb", 12), ("x".repeat(2_000).as_str(), 512)] {
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
