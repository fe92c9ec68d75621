//! `sluice-guest`: what `sluice ctl` is on the host, inside a guest of `sluice vm`.

use clap::Parser;
use sluice_control::{Connection, DeviceFiles};
use sluice_ctl::{CtlCommand, CtlError, Outcome};
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Command the CXL-SSD of this guest: pin, prefetch, evict, change its policy.
///
/// It reaches the device through shared memory on the PCI bus, without a driver, and needs root.
#[derive(Debug, Parser)]
#[command(name = "sluice-guest", version, max_term_width = 100)]
struct Guest {
    #[command(subcommand)]
    command: CtlCommand,
}

fn main() -> ExitCode {
    // Ends quietly when nobody reads any more, as in `sluice-guest map | head`.
    // SAFETY: the default action is no handler, and there is no other thread.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let outcome = match run(&Guest::parse().command) {
        Ok(outcome) => outcome,
        Err(error) => return failed(&error),
    };
    match std::io::stdout().write_all(outcome.text.as_bytes()) {
        Ok(()) => outcome.status(),
        Err(error) => failed(&format_args!("standard output: {error}")),
    }
}

fn failed(why: &dyn Display) -> ExitCode {
    eprintln!("sluice-guest: {why}");
    ExitCode::from(2)
}

fn run(command: &CtlCommand) -> Result<Outcome, CtlError> {
    // A simulated guest has no ring: its marks are loads that the simulation sees.
    if let Some(name) = command.mark().filter(|_| sluice_control::is_simulated()) {
        sluice_control::mark_simulated(name)?;
        return Ok(Outcome {
            text: String::new(),
            is_done: true,
        });
    }
    let mut connection = Connection::open(DeviceFiles::of_guest()?)?;
    sluice_ctl::run(&mut connection, command)
}
