//! `sluice guest-mark`, by which the demo's guest parts its figures: as `sluice-guest mark`, which
//! need not be there.

use crate::error::Error;
use clap::Args;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct GuestMarkArgs {
    /// The mark's name
    name: String,
}

/// Sets the mark.
pub fn run(args: &GuestMarkArgs) -> Result<ExitCode, Error> {
    sluice_control::mark_simulated(&args.name)?;
    Ok(ExitCode::SUCCESS)
}
