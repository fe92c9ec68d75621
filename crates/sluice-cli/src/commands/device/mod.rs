//! `sluice device`: the devices that there are, and their settings.

mod check;
mod new;

use crate::error::Error;
use crate::listing::show_values;
use crate::live::fitness::{nearest, obstacles};
use clap::Subcommand;
use sluice_model::{DeviceConfig, PARAMS};
use sluice_results::{Devices, NamedDevice, to_json};
use sluice_runtime::LiveSettings;
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
    /// Show every setting of a live run that is no parameter of the device
    Live {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a device file: what it leaves open, and whether live can keep up on this host
    Check {
        /// Preset, or path to a device file
        device: String,
    },
    /// Make a device file from the figures of a data sheet
    New(new::NewArgs),
}

pub fn run(command: &DeviceCommand) -> Result<ExitCode, Error> {
    match command {
        DeviceCommand::List { json } => list(*json)?,
        DeviceCommand::Show { device, json } => show(device, *json)?,
        DeviceCommand::Live { json } => show_live(*json)?,
        DeviceCommand::Check { device } => check::run(device)?,
        DeviceCommand::New(args) => new::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints names and meanings, and which can run live.
fn list(as_json: bool) -> Result<(), Error> {
    let presets = sluice_config::presets();
    let mut rows = Vec::with_capacity(presets.len());
    for preset in presets {
        let config = DeviceConfig::new(&sluice_config::load(preset.name)?)?;
        rows.push((preset, obstacles(&config)));
    }
    if as_json {
        let row = |(preset, of): &(&sluice_config::Preset, Vec<_>)| NamedDevice {
            name: preset.name.to_owned(),
            meaning: preset.meaning.to_owned(),
            live: of.is_empty(),
            live_instead: (!of.is_empty()).then(|| nearest(preset.name, of)),
        };
        return outln!("{}", to_json(&Devices(rows.iter().map(row).collect())));
    }
    let width = presets.iter().map(|p| p.name.len()).max().unwrap_or(0);
    rows.iter().try_for_each(|(preset, of)| {
        let live = if of.is_empty() { "live" } else { "simulated" };
        outln!("{:<width$} {live:<9} {}", preset.name, preset.meaning)
    })
}

fn show_live(as_json: bool) -> Result<(), Error> {
    let params = LiveSettings::PARAMS;
    let values = LiveSettings::default().to_pairs();
    let source = |key: &str| {
        let param = params.iter().find(|param| param.key == key);
        param.map_or(String::new(), |param| format!("default: {}", param.source))
    };
    show_values(&values, params.iter(), source, as_json)
}

fn show(device: &str, as_json: bool) -> Result<(), Error> {
    let described = sluice_config::describe(device)?;
    let config = DeviceConfig::new(&described.given)?;
    let values = config.raw().to_pairs();
    show_values(
        &values,
        PARAMS.iter(),
        |key| described.source_of(key),
        as_json,
    )
}
