//! `sluice trace`: files of memory accesses.

mod record;

use crate::error::Error;
use clap::Subcommand;
use std::process::ExitCode;

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a program under QEMU and write down what it does with memory
    Record(record::RecordArgs),
}

/// `sluice trace`.
pub fn run(command: &TraceCommand) -> Result<ExitCode, Error> {
    match command {
        TraceCommand::Record(args) => record::run(args),
    }
}
