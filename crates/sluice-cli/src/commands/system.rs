//! `sluice system`: hosts with their devices.

use crate::error::Error;
use crate::listing::{list_presets, show_values};
use clap::Subcommand;
use sluice_config::{CheckedSystem, System, describe_system, systems};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum SystemCommand {
    /// List the systems that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a system, of its host and its device, with meaning and source
    Show {
        /// Name, or path to a system file ending in .toml
        #[arg(default_value = "base-cssd")]
        system: String,
        /// Divide by N what `sluice sim --scale N` divides
        #[arg(long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u32).range(1..=65_536))]
        scale: u32,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a system file
    Check {
        /// Name, or path to a system file
        system: String,
        /// Divide by N what `sluice sim --scale N` divides
        #[arg(long, value_name = "N", default_value_t = 1,
              value_parser = clap::value_parser!(u32).range(1..=65_536))]
        scale: u32,
    },
}

/// The seed does not matter where nothing runs.
const ANY_SEED: u64 = 1;

pub fn run(command: &SystemCommand) -> Result<ExitCode, Error> {
    match command {
        SystemCommand::List { json } => list_presets(systems(), *json)?,
        SystemCommand::Show {
            system,
            scale,
            json,
        } => {
            let described = describe_system(system)?;
            let system = described.given.scaled(*scale)?;
            system.check(ANY_SEED)?;
            let source = |key: &str| described.source_of(key);
            show_values(&system.to_pairs(), System::params(), source, *json)?;
        }
        SystemCommand::Check { system, scale } => {
            let checked = describe_system(system)?.given.scaled(*scale)?;
            let CheckedSystem { device, host, .. } = checked.check(ANY_SEED)?;
            outln!(
                "{system}: valid: {} cores, {} threads, a device of {}",
                host.cpu.cores,
                host.threads,
                device.capacity()
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
