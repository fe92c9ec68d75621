//! `sluice workload`: plain programs, to be measured.

use crate::error::Error;
use clap::Parser;
use sluice_workload::WorkloadCommand;
use std::process::ExitCode;

/// Run a plain program that knows nothing of Sluice
#[derive(Debug, Parser)]
#[command(
    name = "sluice workload",
    bin_name = "sluice workload",
    max_term_width = 100
)]
pub struct WorkloadArgs {
    #[command(subcommand)]
    command: WorkloadCommand,
}

/// Runs the program. It reports its errors itself.
pub fn run(args: &WorkloadArgs) -> Result<ExitCode, Error> {
    Ok(sluice_workload::run(&args.command))
}
