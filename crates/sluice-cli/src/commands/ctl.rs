//! `sluice ctl`: commands for the device of a running process.

use crate::error::Error;
use crate::output;
use clap::Args;
use sluice_control::{Connection, DeviceFiles};
use sluice_ctl::CtlCommand;
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(
    after_help = "The exit status is 0 if the command was carried out, also if nothing was to be \
                  done; 1 if the device refused it or a part of it; 2 if it could not be sent. See \
                  docs/control-ring.md."
)]
pub struct CtlArgs {
    /// Process on the device: a program under `sluice run`, or the `sluice` that runs it
    #[arg(value_name = "PID")]
    pub pid: u32,
    #[command(subcommand)]
    pub command: CtlCommand,
}

/// Sends one command and tells what became of it.
pub fn run(args: &CtlArgs) -> Result<ExitCode, Error> {
    if let Some(name) = args.command.mark() {
        sluice_control::mark(&DeviceFiles::with_view(args.pid)?, name)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let CtlCommand::PowerCut(cut) = &args.command {
        let outcome = sluice_ctl::power_cut(&DeviceFiles::with_view(args.pid)?, cut)?;
        output::text(&outcome.text)?;
        return Ok(outcome.status());
    }
    let mut connection = Connection::open(DeviceFiles::of_process(args.pid)?)?;
    let outcome = sluice_ctl::run(&mut connection, &args.command)?;
    output::text(&outcome.text)?;
    Ok(outcome.status())
}
