//! A device, from TOML.

use crate::described::{Describe, Described};
use crate::error::Error;
use crate::file::Source;
use crate::presets::{REQUIRED, REQUIRED_OF_MEMORY, presets};
use crate::shelf::Shelf;
use sluice_model::{DeviceConfig, PARAMS};
use sluice_params::{ConfigError, Param, RawConfig};

impl Describe for RawConfig {
    const SHELF: Shelf = Shelf {
        what: "device",
        presets,
        unknown: |name, presets| Error::UnknownDevice { name, presets },
    };

    const BLANK: fn() -> RawConfig = DeviceConfig::builder;

    fn param(key: &str) -> Option<&'static Param> {
        PARAMS.iter().find(|param| param.key == key)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        self.set(key, value)
    }
}

/// Loads a device: the name of a preset, or a path that ends in `.toml`.
///
/// A file must state what [`describe`] asks for. The result is not yet checked for contradictions,
/// so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn load(device: &str) -> Result<RawConfig, Error> {
    describe(device).map(|described| described.given)
}

/// Reads a device with the source of each value. It must state, or take from its `base`, all of
/// [`REQUIRED`], or of [`REQUIRED_OF_MEMORY`] if it is a memory expander.
///
/// # Errors
/// See [`Error`].
pub fn describe(device: &str) -> Result<Described<RawConfig>, Error> {
    complete(&RawConfig::SHELF.text(device)?, device)
}

/// Reads a device from the text of the file called `file`.
///
/// # Errors
/// [`Error::Syntax`], [`Error::Config`] and [`Error::UnknownBase`].
pub fn parse(text: &str, file: &str) -> Result<RawConfig, Error> {
    Ok(Described::read(text, file)?.given)
}

fn complete(text: &str, file: &str) -> Result<Described<RawConfig>, Error> {
    let described = Described::<RawConfig>::read(text, file)?;
    let required = match described.given.get("device.kind").as_deref() {
        Some("memory") => REQUIRED_OF_MEMORY,
        _ => REQUIRED,
    };
    let mut required = required.iter();
    match required.find(|key| !described.sources.contains_key(**key)) {
        Some(key) if !described.has_base => Err(missing_key(text, file, key)),
        _ => Ok(described),
    }
}

fn missing_key(text: &str, file: &str, key: &'static str) -> Error {
    let source = Source { text, file };
    let header = format!("[{}]", key.split('.').next().unwrap_or(key));
    let at = text.find(&header).unwrap_or(text.len());
    Error::Missing {
        place: source.place(at..at),
        key,
        expected: RawConfig::param(key).map_or_else(String::new, |param| param.kind.expected()),
    }
}
