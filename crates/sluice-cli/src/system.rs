//! `sluice system`: hosts with their devices.

use crate::args::SystemCommand;
use crate::device::{list_presets, show_values};
use crate::error::Error;
use sluice_config::{System, describe_system, systems};
use std::process::ExitCode;

/// The seed does not matter where nothing runs.
const ANY_SEED: u64 = 1;

/// `sluice system`.
pub fn run(command: &SystemCommand) -> Result<ExitCode, Error> {
    match command {
        SystemCommand::List { json } => list_presets(systems(), *json),
        SystemCommand::Show {
            system,
            scale,
            json,
        } => {
            let described = describe_system(system)?;
            let system = described.system.scaled(*scale)?;
            system.check(ANY_SEED)?;
            let source = |key: &str| described.source_of(key);
            show_values(&system.to_pairs(), System::params(), source, *json);
        }
        SystemCommand::Check { system, scale } => {
            let checked = describe_system(system)?.system.scaled(*scale)?;
            let (device, host) = checked.check(ANY_SEED)?;
            println!(
                "{system}: well, {} cores, {} threads, a device of {}",
                host.cpu.cores,
                host.threads,
                device.capacity()
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
