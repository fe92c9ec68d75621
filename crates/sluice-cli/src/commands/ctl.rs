//! `sluice ctl`: commands for the device of a running process.

use crate::error::Error;
use crate::output;
use crate::signals;
use clap::Args;
use sluice_control::home::FIRST;
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
    /// Which device of a guest that has several: a name that `sluice vm --another` was given
    #[arg(long, value_name = "NAME", default_value = FIRST)]
    pub device: String,
    #[command(subcommand)]
    pub command: CtlCommand,
}

impl CtlArgs {
    /// The device, which need not have a ring.
    fn view(&self) -> Result<DeviceFiles, sluice_control::Error> {
        DeviceFiles::named(self.pid, &self.device)
    }

    /// The device, which has a ring.
    fn ring(&self) -> Result<DeviceFiles, sluice_control::Error> {
        match self.view()? {
            files if files.ring.exists() => Ok(files),
            _ => Err(sluice_control::Error::NoRing(self.pid)),
        }
    }
}

/// Sends one command and prints what became of it.
pub fn run(args: &CtlArgs) -> Result<ExitCode, Error> {
    signals::report_cut_files();
    if let Some(name) = args.command.mark() {
        sluice_control::mark(&args.view()?, name)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let CtlCommand::PowerCut(cut) = &args.command {
        let outcome = sluice_ctl::power_cut(&args.view()?, cut)?;
        output::text(&outcome.text)?;
        return Ok(outcome.status());
    }
    let mut connection = Connection::open(args.ring()?)?;
    let outcome = sluice_ctl::run(&mut connection, &args.command)?;
    output::text(&outcome.text)?;
    Ok(outcome.status())
}
