//! Commands that another package installs, as git and cargo do: `sluice report` is
//! `sluice-report`.

use crate::error::Error;
use crate::program;
use crate::signals;
use clap::Args;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[derive(Debug, Args)]
pub struct ExternalArgs {
    /// Arguments of the command of the Python package; it has a `--help` of its own
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The variable that names the `sluice` which started an external command, as cargo does with
/// `CARGO`.
const OWN_PATH: &str = "SLUICE";

/// Becomes the external command; returns only when there is no such command.
pub fn run(name: &'static str, args: &ExternalArgs) -> Result<ExitCode, Error> {
    let path = beside_checkout(name)
        .or_else(|| beside(name))
        .or_else(|| program::find(name))
        .ok_or(Error::NotInstalled(name))?;
    let mut command = Command::new(&path);
    command.args(&args.arguments);
    if let Ok(own) = std::env::current_exe() {
        command.env(OWN_PATH, own);
    }
    // Python would print a traceback of its own beginning.
    signals::hold_interrupt();
    let error = command.exec();
    Err(Error::system(path.display())(error))
}

/// From a wheel: in the same folder, which need not be on the PATH.
fn beside(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    Some(own.with_file_name(name)).filter(|path| path.is_file())
}

/// From a checkout: `.venv/bin` beside `target/release/sluice`.
fn beside_checkout(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let candidates = own
        .ancestors()
        .skip(1)
        .take(3)
        .map(|dir| dir.join(".venv/bin").join(name));
    candidates.into_iter().find(|p| p.is_file())
}
