//! Printing that never ends the command by a panic, as the standard library's macros do when a disk
//! is full or nobody reads.

use crate::error::Error;
use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fstat, tell};
use rustix::stdio::stdout;
use sluice_units::printable;
use std::fmt::{Arguments, Display};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A line on standard error. That it could not be written cannot be reported.
macro_rules! errln {
    ($($text:tt)*) => { $crate::output::note(format_args!($($text)*)) };
}

/// A line on standard output: `outln!(..)?`.
macro_rules! outln {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}

/// See `errln!`. Names of files and programs may be in it, which can have any characters.
pub fn note(line: Arguments<'_>) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr().lock(), "{}", printable(&line));
}

/// Names a file for the reason of a command that refuses. The Python package asks for it: a program
/// writes on the same standard error, which the package leaves to the user.
const REFUSAL_VAR: &str = "SLUICE_REFUSAL";
static REFUSAL: OnceLock<PathBuf> = OnceLock::new();

/// Reads the name of that file. Neither a program that this command starts nor the record of this
/// command has it. To be called before there are threads.
pub fn take_refusal_file() {
    let Some(path) = std::env::var_os(REFUSAL_VAR) else {
        return;
    };
    REFUSAL.get_or_init(|| path.into());
    // SAFETY: no other thread is there that could read the environment.
    unsafe { std::env::remove_var(REFUSAL_VAR) };
}

/// Says why this command does not do what was asked of it.
pub fn refuse(why: impl Display) {
    errln!("sluice: {why}");
    if let Some(file) = REFUSAL.get() {
        // Who asked for it learns from its absence that something went wrong.
        let _ = std::fs::write(file, printable(&why.to_string()).to_string());
    }
}

/// See `outln!`.
pub fn line(line: Arguments<'_>) -> Result<(), Error> {
    text(format_args!("{line}\n"))
}

/// Text with its line breaks on standard output. A command that goes on without a reader has a
/// session to end, and its exit status is the program's: a closed pipe is no error.
pub fn text(text: impl Display) -> Result<(), Error> {
    match write!(std::io::stdout().lock(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::Output(e)),
        _ => Ok(()),
    }
}

/// An object on a line of its own, after what a program has printed. Its last line may be open,
/// which only a file shows: elsewhere an empty line may come first, white space to whoever reads
/// JSON.
pub fn after_program(object: impl Display) -> Result<(), Error> {
    let break_first = if is_new_line() { "" } else { "\n" };
    text(format_args!("{break_first}{object}\n"))
}

/// Whether it is known that what is printed next begins a line.
fn is_new_line() -> bool {
    let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let Some(stat) = fstat(stdout()).ok().filter(is_file) else {
        return false;
    };
    // What is appended comes behind all that is there, wherever the place is.
    let is_appended = fcntl_getfl(stdout()).is_ok_and(|of| of.contains(OFlags::APPEND));
    let at = match is_appended {
        true => Ok(stat.st_size as u64),
        false => tell(stdout()),
    };
    let Ok(at @ 1..) = at else {
        return true;
    };
    let mut last = [0];
    let file = File::open("/proc/self/fd/1");
    let read = file.and_then(|file| file.read_exact_at(&mut last, at - 1));
    read.is_ok() && last == *b"\n"
}

/// Lines of a name and a value.
pub struct Rows {
    width: usize,
    text: String,
}

impl Rows {
    /// No rows yet, whose names have so many columns.
    pub fn new(width: usize) -> Rows {
        let text = String::new();
        Rows { width, text }
    }

    pub fn row(&mut self, name: &str, value: impl Display) {
        let (width, value) = (self.width, value.to_string());
        self.text += &format!("{name:<width$} {}\n", printable(&value));
    }

    /// Prints the rows on standard output.
    pub fn print(&self) -> Result<(), Error> {
        text(&self.text)
    }

    /// Prints the rows on standard error.
    pub fn note(&self) {
        self.text.lines().for_each(|row| errln!("{row}"));
    }
}

/// Parts of a time that are more than nothing, in the order of the alphabet.
pub fn parts(named: impl IntoIterator<Item = (&'static str, Option<f64>)>) -> String {
    let some = named.into_iter().filter_map(|(name, ns)| Some((name, ns?)));
    let mut some: Vec<_> = some.filter(|(_, ns)| *ns > 0.0).collect();
    some.sort_by_key(|(name, _)| *name);
    let words = some.iter();
    let words = words.map(|(name, ns)| format!("{} {ns:.1}", name.replace('_', " ")));
    words.collect::<Vec<_>>().join(", ")
}
