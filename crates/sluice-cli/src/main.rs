//! The `sluice` command.

mod args;
mod device;
mod doctor;
mod error;
mod external;
mod forward;
mod program;
mod run;
mod session;
mod sim;
mod system;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match args::Cli::parse().command {
        args::Command::Run(args) => run::run(&args),
        args::Command::Sim(args) => sim::run(&args),
        args::Command::Workload { command } => return sluice_workload::run(command),
        args::Command::Doctor(args) => doctor::run(&args),
        args::Command::Device { command } => device::run(&command),
        args::Command::System { command } => system::run(&command),
        args::Command::Policy { command } => device::policies(&command),
        args::Command::Report(args) => external::run("sluice-report", &args.arguments),
        args::Command::Reproduce(args) => external::run("sluice-reproduce", &args.arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("sluice: {error}");
        ExitCode::from(2)
    })
}
