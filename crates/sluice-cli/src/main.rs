//! The `sluice` command.

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
mod session;
mod settings;
mod signals;
mod system_result;
mod traces;
mod warn;

use clap::Parser;
use commands::{Cli, Command, WorkloadArgs};
use output::NO_OUTPUT;
use sluice_units::printable;
use std::process::ExitCode;

fn main() -> ExitCode {
    tell_full_disk();
    // What a command has begun has ended in order by then.
    std::panic::catch_unwind(run).unwrap_or_else(|panic| {
        let no_output = panic.downcast_ref::<String>();
        let no_output = no_output.is_some_and(|said| said.starts_with(NO_OUTPUT));
        ExitCode::from(if no_output { 2 } else { 101 })
    })
}

fn run() -> ExitCode {
    let command = parse();
    // A run has a session to end, whoever still reads what it prints.
    if !command.has_session() {
        end_with_the_reader();
    }
    command.run().unwrap_or_else(|error| {
        // Names of files and programs are in it, which can have any characters.
        eprintln!("sluice: {}", printable(&error.to_string()));
        ExitCode::from(2)
    })
}

/// Reads the command line. A workload is a program to be measured: what the other commands say of
/// themselves has no place in its heap.
fn parse() -> Command {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.peek().is_some_and(|word| word == "workload") {
        true => Command::Workload(WorkloadArgs::parse_from(words)),
        false => Cli::parse().command,
    }
}

/// Makes a full disk behind standard output an error told as others are.
fn tell_full_disk() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        match said.and_then(|said| said.strip_prefix(NO_OUTPUT)) {
            Some(why) => eprintln!("sluice: standard output: {why}"),
            None => others(panic),
        }
    }));
}

/// From now on writing to a closed pipe ends this process quietly, as in `sluice .. | head`.
fn end_with_the_reader() {
    // SAFETY: the default action is no handler. Rust's start-up code has SIGPIPE ignored, and
    // nothing else changes that.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
