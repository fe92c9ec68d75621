//! A host with its device, from TOML.

use crate::described::{Describe, Described};
use crate::error::Error;
use crate::file::Source;
use crate::host::{HOST_PARAMS, table_of};
use crate::read::describe;
use crate::shelf::Shelf;
use crate::systems::systems;
use sluice_host::HostConfig;
use sluice_model::{DeviceConfig, PARAMS};
use sluice_params::{ConfigError, Param, RawConfig, unknown_key};
use sluice_skybyte_artifact::SkyByte;
use sluice_units::PAGE_BYTES;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key at the top of a file that names its device.
const DEVICE: &str = "device";

/// The command that lists all parameters, for messages.
const SHOWN_BY: &str = "sluice system show";

/// A host and its device as they are built.
#[derive(Clone, Debug)]
pub struct CheckedSystem {
    /// What the device is, checked.
    pub device: DeviceConfig,
    /// What the host is, checked.
    pub host: HostConfig,
    /// What the host does otherwise than hardware, as SkyByte's artifact does.
    pub artifact: Option<SkyByte>,
}

/// A host and its device, not yet checked for contradictions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// What was set of the device, by key.
    pub device: RawConfig,
    /// What was set of the host, by key.
    pub host: RawConfig,
}

impl Default for System {
    /// Every parameter at its default.
    fn default() -> System {
        System {
            device: DeviceConfig::builder(),
            host: RawConfig::of(&HOST_PARAMS).shown_by(SHOWN_BY),
        }
    }
}

impl System {
    /// Gives a parameter of the host or of the device a value.
    ///
    /// # Errors
    /// [`ConfigError::UnknownKey`] and [`ConfigError::BadValue`]. Nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        if self.host.get(key).is_some() {
            return self.host.set(key, value);
        }
        if self.device.get(key).is_some() {
            return self.device.set(key, value);
        }
        let table = key.split('.').next().unwrap_or(key);
        let has = |params: &[Param]| params.iter().any(|param| table_of(param) == table);
        let unknown = |raw: &RawConfig| raw.clone().set(key, value);
        match (has(&HOST_PARAMS), has(PARAMS)) {
            (true, _) => unknown(&self.host),
            (_, true) => unknown(&self.device),
            _ => {
                let keys: Vec<&str> = System::params().map(|param| param.key).collect();
                Err(unknown_key(key, &keys, SHOWN_BY))
            }
        }
    }

    /// The canonical text of a parameter's value, or `None` for an unknown key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.host.get(key).or_else(|| self.device.get(key))
    }

    /// Every parameter, the host's first.
    pub fn params() -> impl Iterator<Item = &'static Param> {
        HOST_PARAMS.iter().chain(PARAMS)
    }

    /// Every key with the canonical text of its value, the host's first.
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = self.host.to_pairs();
        pairs.extend(self.device.to_pairs());
        pairs
    }

    /// Checks the values of both, each for itself and against each other.
    ///
    /// # Errors
    /// [`ConfigError::Impossible`].
    pub fn check(&self, seed: u64) -> Result<CheckedSystem, ConfigError> {
        let (device, host) = (
            DeviceConfig::simulated(&self.device)?,
            HostConfig::new(&self.host, seed)?,
        );
        let artifact = SkyByte::new(&self.host)?;
        if artifact.is_some() && host.link.messages.is_some() {
            let message = "departures of SkyByte's artifact need link.model = constant; give each \
                           its default";
            let keys = [&["link.model"][..], &SkyByte::departures(&self.host)].concat();
            return Err(self.host.impossible(&keys, message));
        }
        if device.page_bytes() != PAGE_BYTES {
            let message = "a simulated host has pages of 4KiB; give the device the same";
            return Err(self.device.impossible(&["device.page"], message.to_owned()));
        }
        Ok(CheckedSystem {
            device: match &artifact {
                Some(artifact) => artifact.device(device),
                None => device,
            },
            host,
            artifact,
        })
    }
}

impl Describe for System {
    const SHELF: Shelf = Shelf {
        what: "system",
        presets: systems,
        unknown: |name, systems| Error::UnknownSystem { name, systems },
    };

    const BLANK: fn() -> System = System::default;

    fn param(key: &str) -> Option<&'static Param> {
        System::params().find(|param| param.key == key)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        self.set(key, value)
    }

    /// The device that the file names.
    fn take(
        described: &mut Described<System>,
        source: &Source<'_>,
        root: &mut Spanned<DeTable<'_>>,
    ) -> Result<(), Error> {
        // A table of this name is the device's own; only a text names a device.
        let is_name = |value: &Spanned<DeValue<'_>>| !matches!(value.get_ref(), DeValue::Table(_));
        if root.get_ref().get(DEVICE).is_some_and(is_name)
            && let Some(device) = root.get_mut().remove(DEVICE)
        {
            let device = device_of(source, &device)?;
            described.given.device = device.given;
            let is_host = |key: &String| HOST_PARAMS.iter().any(|param| param.key == key);
            described.sources.retain(|key, _| is_host(key));
            described.sources.extend(device.sources);
        }
        Ok(())
    }
}

/// Loads a system: the name of one that comes with the program, or a path that ends in `.toml`.
///
/// The result is not yet checked for contradictions, so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn load_system(system: &str) -> Result<System, Error> {
    Ok(describe_system(system)?.given)
}

/// Reads a system with the source of each value.
///
/// # Errors
/// See [`Error`].
pub fn describe_system(system: &str) -> Result<Described<System>, Error> {
    Described::read(&System::SHELF.text(system)?, system)
}

/// Reads a system from the text of the file called `file`.
///
/// # Errors
/// All of [`Error`] but [`Error::UnknownSystem`].
pub fn parse_system(text: &str, file: &str) -> Result<System, Error> {
    Ok(Described::read(text, file)?.given)
}

/// A path in a file counts from the folder of that file; a name stands for itself.
pub(crate) fn beside(source: &Source<'_>, given: &str) -> String {
    let folder = Path::new(source.file).parent();
    match folder.filter(|_| given.ends_with(".toml") || given.ends_with(".so")) {
        Some(folder) => folder.join(given).to_string_lossy().into_owned(),
        None => given.to_owned(),
    }
}

/// The device that a system's file names.
fn device_of(
    source: &Source<'_>,
    name: &Spanned<DeValue<'_>>,
) -> Result<Described<RawConfig>, Error> {
    let given = source.plain(name);
    describe(&beside(source, &given)).map_err(|error| Error::Device {
        place: source.place(name.span()),
        source: Box::new(error),
    })
}
