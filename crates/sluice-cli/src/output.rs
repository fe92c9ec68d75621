//! Printing that never ends the command by a panic.
//!
//! The macros below take the place of the standard library's in this crate: those panic when nobody
//! reads any more, and a second time when the message of that panic finds no reader either.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// How the payload of a panic begins that tells of a full disk behind standard output.
pub const NO_OUTPUT: &str = "failed printing to stdout: ";

/// A line on standard error. Nobody is left to be told that it could not be written.
macro_rules! eprintln {
    () => { $crate::output::error(format_args!("")) };
    ($($text:tt)*) => { $crate::output::error(format_args!($($text)*)) };
}

/// A line on standard output.
macro_rules! println {
    () => { $crate::output::output(format_args!("")) };
    ($($text:tt)*) => { $crate::output::output(format_args!($($text)*)) };
}

/// See `eprintln!`.
pub fn error(line: Arguments<'_>) {
    let mut to = std::io::stderr().lock();
    let _ = to.write_fmt(line).and_then(|()| to.write_all(b"\n"));
}

/// See `println!`. A command that goes on without a reader has a session to end: its exit status is
/// the program's. A full disk ends it by a panic that `main` expects.
pub fn output(line: Arguments<'_>) {
    let mut to = std::io::stdout().lock();
    match to.write_fmt(line).and_then(|()| to.write_all(b"\n")) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            std::panic::panic_any(format!("{NO_OUTPUT}{e}"));
        }
        _ => {}
    }
}
