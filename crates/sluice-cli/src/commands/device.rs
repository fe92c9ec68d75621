//! `sluice device`: the devices that there are, and their settings.

use crate::error::Error;
use crate::listing::{list_presets, show_values};
use clap::Subcommand;
use sluice_model::{DeviceConfig, PARAMS};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the devices that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a device, with its meaning and source
    Show {
        /// Preset, or path to a device file
        #[arg(default_value = sluice_config::DEFAULT)]
        device: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a device file
    Check {
        /// Preset, or path to a device file
        device: String,
    },
}

pub fn run(command: &DeviceCommand) -> Result<ExitCode, Error> {
    match command {
        DeviceCommand::List { json } => list_presets(sluice_config::presets(), *json)?,
        DeviceCommand::Show { device, json } => show(device, *json)?,
        DeviceCommand::Check { device } => {
            let config = DeviceConfig::new(&sluice_config::describe(device)?.config)?;
            let what = match config.memory {
                Some(_) => "of memory".to_owned(),
                None => format!("behind {}", config.cache.capacity()),
            };
            outln!("{device}: well, {} {what}", config.capacity())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(device: &str, as_json: bool) -> Result<(), Error> {
    let described = sluice_config::describe(device)?;
    let config = DeviceConfig::new(&described.config)?;
    let values = config.raw().to_pairs();
    show_values(
        &values,
        PARAMS.iter(),
        |key| described.source_of(key),
        as_json,
    )
}
