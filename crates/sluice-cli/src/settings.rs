//! The device that a command line describes.

use crate::error::Error;
use clap::Args;
use sluice_model::DeviceConfig;

/// A device, and settings of it that differ.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// Preset, or path to a device file ending in .toml
    #[arg(long, value_name = "DEVICE", default_value = sluice_config::DEFAULT)]
    pub device: String,
    /// Change one setting, such as cache.capacity=16MiB (see `sluice device show`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The device that was asked for, with its changed settings, checked.
pub fn resolve(args: &DeviceArgs) -> Result<DeviceConfig, Error> {
    resolve_over(args, &[])
}

/// The same, with other values for what the command line does not set.
pub fn resolve_over(args: &DeviceArgs, unless_set: &[(&str, &str)]) -> Result<DeviceConfig, Error> {
    let mut raw = sluice_config::load(&args.device)?;
    for (key, value) in unless_set {
        raw.set(key, value)?;
    }
    for pair in &args.set {
        let (key, value) = key_and_value(pair)?;
        raw.set(key, value)?;
    }
    sluice_plugin::make_absolute(&mut raw)?;
    let config = DeviceConfig::new(&raw)?;
    sluice_plugin::check(&config)?;
    Ok(config)
}

/// The two halves of a `--set`.
pub fn key_and_value(pair: &str) -> Result<(&str, &str), Error> {
    let both = pair.split_once('=');
    let (key, value) = both.ok_or_else(|| Error::value("--set", pair, "expected KEY=VALUE"))?;
    Ok((key.trim(), value.trim()))
}
