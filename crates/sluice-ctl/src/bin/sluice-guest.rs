//! `sluice-guest`: what `sluice ctl` is on the host, inside a guest of `sluice vm`.

use clap::Parser;
use sluice_control::{Connection, Place};
use sluice_ctl::{CtlCommand, CtlError};
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
    let command = Guest::parse().command;
    run(&command).unwrap_or_else(|error| {
        eprintln!("sluice-guest: {error}");
        ExitCode::from(2)
    })
}

fn run(command: &CtlCommand) -> Result<ExitCode, CtlError> {
    let mut connection = Connection::open(Place::of_guest()?)?;
    sluice_ctl::run(&mut connection, command)
}
