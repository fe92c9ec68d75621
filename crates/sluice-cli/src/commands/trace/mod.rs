//! `sluice trace`: traces of memory accesses.

mod convert;
mod dump;
mod info;
mod record;

use crate::error::Error;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Run a program under QEMU and write down what it does with memory
    Record(record::RecordArgs),
    /// Say what is in a trace: counts, footprint, mix, how soon pages are used again
    Info(info::InfoArgs),
    /// Print accesses of a trace as text, one a line
    Dump(dump::DumpArgs),
    /// Convert a trace from one format to another, and say what is lost
    Convert(Box<convert::ConvertArgs>),
}

pub fn run(command: &TraceCommand) -> Result<ExitCode, Error> {
    match command {
        TraceCommand::Record(args) => record::run(args),
        TraceCommand::Info(args) => info::run(args),
        TraceCommand::Dump(args) => dump::run(args),
        TraceCommand::Convert(args) => convert::run(args),
    }
}
