//! From TOML to raw values.

use crate::error::{Error, Place};
use crate::presets::presets;
use sluice_model::{ConfigError, RawConfig};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Loads a device: the name of a preset, or a path that ends in `.toml`.
///
/// The result is not yet checked for contradictions, so that single values can still be set.
///
/// # Errors
/// See [`Error`].
pub fn load(device: &str) -> Result<RawConfig, Error> {
    if let Some(preset) = presets().iter().find(|preset| preset.name == device) {
        return parse(preset.toml, preset.name);
    }
    if !device.ends_with(".toml") {
        let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
        return Err(Error::UnknownDevice {
            name: device.to_owned(),
            presets: names.join(", "),
        });
    }
    let text = std::fs::read_to_string(device).map_err(|source| Error::Unreadable {
        path: device.to_owned(),
        source,
    })?;
    parse(&text, device)
}

/// Reads a device from the text of the file called `file`.
///
/// # Errors
/// [`Error::Syntax`] and [`Error::Config`].
pub fn parse(text: &str, file: &str) -> Result<RawConfig, Error> {
    let source = Source { text, file };
    let root = DeTable::parse(text).map_err(|error| Error::Syntax {
        place: source.place(error.span().unwrap_or(0..0)),
        message: error.message().replace('\n', " "),
    })?;
    let mut config = RawConfig::default();
    source.read_table(root.get_ref(), "", &mut config)?;
    Ok(config)
}

struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn read_table(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        config: &mut RawConfig,
    ) -> Result<(), Error> {
        // In the file's order, so that the first mistake is the one reported.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.read_table(inner, &format!("{key}."), config)?,
                other => self.read_value(&key, name.span(), value, other, config)?,
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
