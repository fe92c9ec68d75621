//! `sluice ctl`: commands for the device of a running process.

use crate::args::CtlArgs;
use crate::error::Error;
use sluice_control::{Connection, Place};
use std::process::ExitCode;

/// Sends one command and tells what became of it.
pub fn run(args: &CtlArgs) -> Result<ExitCode, Error> {
    let mut connection = Connection::open(Place::of_process(args.pid)?)?;
    Ok(sluice_ctl::run(&mut connection, &args.command)?)
}
