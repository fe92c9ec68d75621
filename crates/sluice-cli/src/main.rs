//! The `sluice` command.

// They panic where `output` returns an error.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

// Its macros are for all that follow.
#[macro_use]
mod output;

mod child;
mod closed;
mod commands;
mod emulator;
mod error;
mod listing;
mod live;
mod memory_file;
mod needs;
mod program;
mod progress;
mod result_args;
mod session;
mod settings;
mod signals;
mod system_result;
mod told;
mod traces;
mod usage;
mod warn;

use clap::{CommandFactory, FromArgMatches, Parser};
use commands::{Cli, Command, WorkloadArgs};
use std::process::ExitCode;

fn main() -> ExitCode {
    closed::stay_closed();
    output::take_refusal_file();
    let command = parse();
    match command.has_session() {
        true => signals::report_large_files(),
        false => end_with_the_reader(),
    }
    command.run().unwrap_or_else(|error| {
        output::refuse(&error);
        error.status()
    })
}

/// Reads the command line. A workload is a program to be measured: what the other commands say of
/// themselves has no place in its heap.
fn parse() -> Command {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.peek().is_some_and(|word| word == "workload") {
        true => Command::Workload(
            WorkloadArgs::try_parse_from(words)
                .unwrap_or_else(|error| usage::refuse(&error, &Cli::command())),
        ),
        false => {
            let parsed = commands::declared().try_get_matches();
            let parsed = parsed.inspect(|found| needs::check(found, &Cli::command()));
            let parsed = parsed.and_then(|found| Cli::from_arg_matches(&found));
            parsed
                .unwrap_or_else(|error| usage::refuse(&error, &Cli::command()))
                .command
        }
    }
}

/// From now on writing to a closed pipe ends this process quietly, as in `sluice .. | head`.
fn end_with_the_reader() {
    // SAFETY: the default action is no handler. Rust's start-up code has SIGPIPE ignored, and
    // nothing else changes that.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
