//! From TOML to raw values.

use crate::error::{Error, Place};
use crate::presets::{REQUIRED, REQUIRED_OF_MEMORY, presets};
use crate::sources::sources;
use sluice_model::{ConfigError, PARAMS, RawConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The key at the top of a file that names the preset it starts from.
const BASE: &str = "base";

/// A device as a file describes it.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its values, not yet checked for contradictions.
    pub config: RawConfig,
    sources: BTreeMap<String, String>,
}

impl Described {
    /// Where the value of a key comes from: what the file says before it, or, for a value that it
    /// leaves out, the source of the default.
    pub fn source_of(&self, key: &str) -> String {
        let default = || {
            let param = PARAMS.iter().find(|param| param.key == key);
            param.map_or_else(String::new, |param| format!("default: {}", param.source))
        };
        self.sources.get(key).cloned().unwrap_or_else(default)
    }
}

/// Loads a device: the name of a preset, or a path that ends in `.toml`.
///
/// The result is not yet checked for contradictions, so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn load(device: &str) -> Result<RawConfig, Error> {
    match text_of(device)? {
        Text::Preset(text) => complete(text, device).map(|described| described.config),
        Text::File(text) => parse(&text, device),
    }
}

/// Reads a device with the source of each value. It must state, or take from its `base`, all of
/// [`REQUIRED`], or of [`REQUIRED_OF_MEMORY`] if it is a memory expander.
///
/// # Errors
/// See [`Error`].
pub fn describe(device: &str) -> Result<Described, Error> {
    match text_of(device)? {
        Text::Preset(text) => complete(text, device),
        Text::File(text) => complete(&text, device),
    }
}

/// Reads a device from the text of the file called `file`.
///
/// # Errors
/// [`Error::Syntax`], [`Error::Config`] and [`Error::UnknownBase`].
pub fn parse(text: &str, file: &str) -> Result<RawConfig, Error> {
    Ok(read(text, file)?.described.config)
}

enum Text {
    Preset(&'static str),
    File(String),
}

fn preset_names() -> String {
    let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    names.join(", ")
}

fn text_of(device: &str) -> Result<Text, Error> {
    if let Some(preset) = presets().iter().find(|preset| preset.name == device) {
        return Ok(Text::Preset(preset.toml));
    }
    if !device.ends_with(".toml") {
        return Err(Error::UnknownDevice {
            name: device.to_owned(),
            presets: preset_names(),
        });
    }
    let text = std::fs::read_to_string(device).map_err(|source| Error::Unreadable {
        path: device.to_owned(),
        source,
    })?;
    Ok(Text::File(text))
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
    let mut root = DeTable::parse(text).map_err(|error| Error::Syntax {
        place: source.place(error.span().unwrap_or(0..0)),
        message: error.message().replace('\n', " "),
    })?;
    let base = root.get_mut().remove(BASE);
    let has_base = base.is_some();
    let mut described = match base {
        Some(base) => source.base(&base)?,
        None => Described {
            config: RawConfig::default(),
            sources: BTreeMap::new(),
        },
    };
    let mut keys = BTreeSet::new();
    source.read_table(root.get_ref(), "", &mut described.config, &mut keys)?;
    let stated = sources(text);
    for key in &keys {
        // A value of the file's own no longer has the base's source.
        described.sources.remove(key);
        let said = stated.get(key).cloned();
        let own = said.unwrap_or_else(|| format!("no source given in {file}"));
        described.sources.insert(key.clone(), own);
    }
    Ok(Read {
        described,
        keys,
        has_base,
    })
}

struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    /// The preset that the file starts from.
    fn base(&self, name: &Spanned<DeValue<'_>>) -> Result<Described, Error> {
        let given = match name.get_ref() {
            DeValue::String(text) => text.as_ref(),
            _ => &self.text[name.span()],
        };
        match presets().iter().find(|preset| preset.name == given) {
            Some(preset) => complete(preset.toml, preset.name),
            None => Err(Error::UnknownBase {
                place: self.place(name.span()),
                name: given.to_owned(),
                presets: preset_names(),
            }),
        }
    }

    fn read_table(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        config: &mut RawConfig,
        keys: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        // In the file's order, so that the first mistake is the one reported.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => {
                    self.read_table(inner, &format!("{key}."), config, keys)?;
                }
                other => {
                    self.read_value(&key, name.span(), value, other, config)?;
                    keys.insert(key);
                }
            }
        }
        Ok(())
    }

    fn read_value(
        &self,
        key: &str,
        key_span: Range<usize>,
        spanned: &Spanned<DeValue<'_>>,
        value: &DeValue<'_>,
        config: &mut RawConfig,
    ) -> Result<(), Error> {
        let text = match value {
            DeValue::String(text) => text.to_string(),
            // Anything else stands for itself; the parameter's kind accepts or refuses it.
            _ => self.text[spanned.span()].to_owned(),
        };
        config.set(key, &text).map_err(|source| {
            let at_key = matches!(source, ConfigError::UnknownKey { .. });
            let span = if at_key { key_span } else { spanned.span() };
            Error::Config {
                place: self.place(span),
                source,
            }
        })
    }

    fn place(&self, span: Range<usize>) -> Place {
        let before = &self.text[..span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
