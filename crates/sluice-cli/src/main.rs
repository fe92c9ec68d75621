//! The `sluice` command.

// Its macros are for all that follow.
#[macro_use]
mod say;

mod args;
mod ctl;
mod device;
mod doctor;
mod emulator;
mod entry;
mod error;
mod external;
mod fabric;
mod fabric_replay;
mod forward;
mod in_line;
mod interrupt;
mod placed;
mod program;
mod progress;
mod qemu;
mod run;
mod session;
mod sim;
mod sim_system;
mod summary;
mod system;
mod top;
mod trace;
mod vm;
mod warn;

use clap::Parser;
use say::NO_OUTPUT;
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
    // A workload is a program to be measured: what the other commands say of themselves has no
    // place in its heap.
    let mut words = std::env::args_os().skip(1).peekable();
    if words.peek().is_some_and(|word| word == "workload") {
        end_with_the_reader();
        return sluice_workload::run(args::Workload::parse_from(words).command);
    }
    let command = args::Cli::parse().command;
    // A run has a session to end, whoever still reads what it prints.
    let runs = matches!(
        &command,
        args::Command::Run(_)
            | args::Command::Vm(_)
            | args::Command::Trace {
                command: trace::TraceCommand::Record(_)
            }
    );
    if !runs {
        end_with_the_reader();
    }
    let result = match command {
        args::Command::Run(args) => run::run(&args),
        args::Command::Ctl(args) => ctl::run(&args),
        args::Command::Top(args) => top::run(&args),
        args::Command::Vm(args) => vm::run(&args),
        args::Command::KeepSession { dir } => return session::keep(&dir),
        args::Command::Sim(args) => sim::run(&args),
        args::Command::Workload { command } => return sluice_workload::run(command),
        args::Command::Doctor(args) => doctor::run(&args),
        args::Command::Device { command } => device::run(&command),
        args::Command::System { command } => system::run(&command),
        args::Command::Fabric { command } => fabric::run(&command),
        args::Command::Trace { command } => trace::run(&command),
        args::Command::Policy { command } => device::policies(&command),
        args::Command::Report(args) => external::run("sluice-report", &args.arguments),
        args::Command::Sweep(args) => external::run("sluice-sweep", &args.arguments),
        args::Command::Reproduce(args) => external::run("sluice-reproduce", &args.arguments),
    };
    result.unwrap_or_else(|error| {
        // Names of files and programs are in it, which can have any characters.
        eprintln!("sluice: {}", printable(&error.to_string()));
        ExitCode::from(2)
    })
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
