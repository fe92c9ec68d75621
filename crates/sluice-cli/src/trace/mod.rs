//! `sluice trace`: traces of memory accesses.

mod args;
mod convert;
mod dump;
mod info;
mod record;

pub use args::TraceCommand;
pub use record::Recording;

use crate::error::Error;
use sluice_trace::Reader;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

/// `sluice trace`.
pub fn run(command: &TraceCommand) -> Result<ExitCode, Error> {
    match command {
        TraceCommand::Record(args) => record::run(args),
        TraceCommand::Info(args) => info::run(args),
        TraceCommand::Dump(args) => dump::run(args),
        TraceCommand::Convert(args) => convert::run(args),
    }
}

/// Opens a trace; says so if it was not finished.
pub fn open(path: &Path) -> Result<Reader<BufReader<File>>, Error> {
    let reader = Reader::open(path).map_err(|error| at(path, error))?;
    if let Some(unfinished) = reader.unfinished() {
        eprintln!("sluice: warning: {}: {unfinished}", path.display());
    }
    Ok(reader)
}

/// An error of a trace, with its name.
pub fn at(path: &Path, error: sluice_trace::Error) -> Error {
    match error {
        // These name it themselves.
        error @ (sluice_trace::Error::Io { .. } | sluice_trace::Error::Input { .. }) => {
            Error::new(error.to_string())
        }
        error => Error::at(path.display(), error),
    }
}
