//! `sluice keep-session`, which other commands start to have their session removed.

use crate::error::Error;
use crate::session;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct KeepSessionArgs {
    /// Its directory
    dir: PathBuf,
}

/// Waits for the end of the command that started this one, and of all that use its session.
pub fn run(args: &KeepSessionArgs) -> Result<ExitCode, Error> {
    Ok(session::keep(&args.dir))
}
