//! The device, or the fabric, that a command line describes.

use crate::error::Error;
use clap::Args;
use sluice_model::DeviceConfig;
use sluice_net::FabricSpec;
use sluice_params::RawConfig;
use sluice_runtime::LiveSettings;

/// A device, and settings of it that differ.
#[derive(Clone, Debug, Args)]
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

/// The device that was asked for, with its changed settings, checked: it will be simulated.
pub fn resolve(args: &DeviceArgs) -> Result<DeviceConfig, Error> {
    let raw = with(args, &[], |_, _| Ok(false))?;
    checked(DeviceConfig::simulated(&raw)?)
}

/// The device and the live settings of a run, with other values for what the command line does not
/// set.
pub fn resolve_live(
    args: &DeviceArgs,
    unless_set: &[(&str, &str)],
) -> Result<(DeviceConfig, LiveSettings), Error> {
    let mut live = RawConfig::of(LiveSettings::PARAMS).shown_by("sluice device live");
    let raw = with(args, unless_set, |key, value| {
        if key == "device.hint_threshold" {
            let why = "live, the host says what a long delay is; set host.switch_threshold";
            return Err(Error::value("`device.hint_threshold`", value, why));
        }
        // No device has a table of that name.
        let is_live = LiveSettings::has(key) || key.starts_with("host.");
        if is_live {
            live.set(key, value)?;
        }
        Ok(is_live)
    })?;
    Ok((checked(DeviceConfig::live(&raw)?)?, LiveSettings::new(live)))
}

/// The fabric that was asked for, with its changed settings.
pub fn fabric(name: &str, set: &[String]) -> Result<FabricSpec, Error> {
    let mut spec = sluice_config::describe_fabric(name)?.given;
    for pair in set {
        let (key, value) = key_and_value(pair)?;
        spec.set(key, value)?;
    }
    Ok(spec)
}

/// The device, whose policies can be used if they are shared objects.
fn checked(config: DeviceConfig) -> Result<DeviceConfig, Error> {
    sluice_plugin::check(&config)?;
    Ok(config)
}

/// What is set of the device, without the pairs that something else takes.
fn with(
    args: &DeviceArgs,
    unless_set: &[(&str, &str)],
    mut takes: impl FnMut(&str, &str) -> Result<bool, Error>,
) -> Result<RawConfig, Error> {
    let mut raw = sluice_config::load(&args.device)?;
    for (key, value) in unless_set {
        raw.set(key, value)?;
    }
    for pair in &args.set {
        let (key, value) = key_and_value(pair)?;
        if !takes(key, value)? {
            raw.set(key, value)?;
        }
    }
    sluice_plugin::make_absolute(&mut raw)?;
    Ok(raw)
}

/// The two halves of a `--set`.
pub fn key_and_value(pair: &str) -> Result<(&str, &str), Error> {
    match pair.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim(), value.trim())),
        _ => {
            let expected = "expected KEY=VALUE, such as cache.capacity=16MiB";
            Err(Error::value("--set", pair, expected))
        }
    }
}
