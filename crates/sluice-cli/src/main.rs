//! The `sluice` command.

// They panic where `output` returns an error.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

// Its macros are for all that follow.
#[macro_use]
mod output;

mod child;
mod commands;
mod emulator;
mod error;
mod listing;
mod live;
mod program;
mod progress;
mod result_args;
mod session;
mod settings;
mod signals;
mod system_result;
mod told;
mod traces;
mod warn;

use clap::Parser;
use clap::error::ErrorKind;
use commands::{Cli, Command, WorkloadArgs};
use sluice_units::printable;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = parse();
    if !command.has_session() {
        end_with_the_reader();
    }
    command.run().unwrap_or_else(|error| {
        // Names of files and programs are in it, which can have any characters.
        errln!("sluice: {}", printable(&error.to_string()));
        error.status()
    })
}

/// Reads the command line. A workload is a program to be measured: what the other commands say of
/// themselves has no place in its heap.
fn parse() -> Command {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.peek().is_some_and(|word| word == "workload") {
        true => Command::Workload(WorkloadArgs::parse_from(words)),
        false => {
            Cli::try_parse()
                .unwrap_or_else(|error| refuse(&error))
                .command
        }
    }
}

/// Tells of a command line that is none, in one line. Help goes as it is.
fn refuse(error: &clap::Error) -> ! {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.render().to_string();
    let about_usage = |line: &&str| !line.starts_with("Usage:");
    let lines = text.lines().take_while(about_usage).map(str::trim);
    let told = |line: &&str| !line.is_empty() && !line.starts_with("For more information");
    let lines: Vec<&str> = lines.filter(told).collect();
    let told = lines.join("; ").replace(":; ", ": ");
    let told = told.strip_prefix("error: ").unwrap_or(&told);
    errln!("sluice: {}", printable(told));
    std::process::exit(2);
}

/// From now on writing to a closed pipe ends this process quietly, as in `sluice .. | head`.
fn end_with_the_reader() {
    // SAFETY: the default action is no handler. Rust's start-up code has SIGPIPE ignored, and
    // nothing else changes that.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
