//! From TOML to raw values.

use crate::error::Error;
use crate::file::Source;
use crate::presets::{REQUIRED, REQUIRED_OF_MEMORY, presets};
use crate::shelf::{BASE, Shelf};
use crate::sources::sources;
use sluice_model::{DeviceConfig, PARAMS};
use sluice_params::{Param, RawConfig};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const SHELF: Shelf = Shelf {
    what: "device",
    presets,
    unknown: |name, presets| Error::UnknownDevice { name, presets },
};

/// A device as a file describes it.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its values, not yet checked for contradictions.
    pub config: RawConfig,
    pub(crate) sources: BTreeMap<String, String>,
}

impl Described {
    /// Where the value of a key comes from: what the file says before it, or, for a value that it
    /// leaves out, the source of the default.
    pub fn source_of(&self, key: &str) -> String {
        source_of(&self.sources, PARAMS, key)
    }
}

/// The source of a key of these parameters.
pub(crate) fn source_of(stated: &BTreeMap<String, String>, params: &[Param], key: &str) -> String {
    let default = || {
        let param = params.iter().find(|param| param.key == key);
        param.map_or_else(String::new, |param| format!("default: {}", param.source))
    };
    stated.get(key).cloned().unwrap_or_else(default)
}

/// Loads a device: the name of a preset, or a path that ends in `.toml`.
///
/// The result is not yet checked for contradictions, so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn load(device: &str) -> Result<RawConfig, Error> {
    let text = SHELF.text(device)?;
    match text {
        Cow::Borrowed(preset) => complete(preset, device).map(|described| described.config),
        Cow::Owned(file) => parse(&file, device),
    }
}

/// Reads a device with the source of each value. It must state, or take from its `base`, all of
/// [`REQUIRED`], or of [`REQUIRED_OF_MEMORY`] if it is a memory expander.
///
/// # Errors
/// See [`Error`].
pub fn describe(device: &str) -> Result<Described, Error> {
    complete(&SHELF.text(device)?, device)
}

/// Reads a device from the text of the file called `file`.
///
/// # Errors
/// [`Error::Syntax`], [`Error::Config`] and [`Error::UnknownBase`].
pub fn parse(text: &str, file: &str) -> Result<RawConfig, Error> {
    Ok(read(text, file)?.described.config)
}

fn complete(text: &str, file: &str) -> Result<Described, Error> {
    let read = read(text, file)?;
    let kind = read.described.config.get("device.kind");
    let required = match kind.as_deref() {
        Some("memory") => REQUIRED_OF_MEMORY,
        _ => REQUIRED,
    };
    let missing = required.iter().find(|key| !read.keys.contains(**key));
    match missing {
        Some(key) if !read.has_base => Err(missing_key(text, file, key)),
        _ => Ok(read.described),
    }
}

fn missing_key(text: &str, file: &str, key: &'static str) -> Error {
    let source = Source { text, file };
    let header = format!("[{}]", key.split('.').next().unwrap_or(key));
    let at = text.find(&header).unwrap_or(text.len());
    let param = PARAMS.iter().find(|param| param.key == key);
    Error::Missing {
        place: source.place(at..at),
        key,
        expected: param.map_or_else(String::new, |param| param.kind.expected()),
    }
}

struct Read {
    described: Described,
    /// The keys that the file states.
    keys: BTreeSet<String>,
    has_base: bool,
}

fn read(text: &str, file: &str) -> Result<Read, Error> {
    let source = Source { text, file };
    let mut root = source.parse()?;
    let base = root.get_mut().remove(BASE);
    let has_base = base.is_some();
    let mut described = match base {
        Some(base) => {
            let base = SHELF.base(&source, &base)?;
            complete(base.toml, base.name)?
        }
        None => Described {
            config: DeviceConfig::builder(),
            sources: BTreeMap::new(),
        },
    };
    let config = &mut described.config;
    let keys = source.read_table(root.get_ref(), &mut |key, value| config.set(key, value))?;
    restate(&mut described.sources, &keys, text, file);
    Ok(Read {
        described,
        keys,
        has_base,
    })
}

/// A value of the file's own no longer has the base's source.
pub(crate) fn restate(
    known: &mut BTreeMap<String, String>,
    keys: &BTreeSet<String>,
    text: &str,
    file: &str,
) {
    let stated = sources(text);
    for key in keys {
        let said = stated.get(key).cloned();
        let own = said.unwrap_or_else(|| format!("no source given in {file}"));
        known.insert(key.clone(), own);
    }
}
