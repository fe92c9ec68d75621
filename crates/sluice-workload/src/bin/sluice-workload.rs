//! The workloads by themselves, without the rest of the `sluice` command.

use std::process::ExitCode;

use clap::Parser;
use sluice_workload::WorkloadCommand;

/// Plain programs whose memory may be placed anywhere.
#[derive(Parser)]
#[command(name = "sluice-workload", version)]
struct Arguments {
    #[command(subcommand)]
    command: WorkloadCommand,
}

fn main() -> ExitCode {
    sluice_workload::run(&Arguments::parse().command)
}
