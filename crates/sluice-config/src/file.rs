//! A TOML file, flattened to keys and values with their places.

use crate::error::{Error, Position};
use sluice_params::ConfigError;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Takes a key and its value.
pub(crate) type Set<'a> = dyn FnMut(&str, &str) -> Result<(), ConfigError> + 'a;

/// The text of a file.
pub(crate) struct Source<'a> {
    pub text: &'a str,
    /// Its name, for messages.
    pub file: &'a str,
}

impl<'a> Source<'a> {
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|error| Error::Syntax {
            place: self.place(error.span().unwrap_or(0..0)),
            message: error.message().replace('\n', " "),
        })
    }

    /// A value as it stands there, without quotes.
    pub fn plain(&self, value: &Spanned<DeValue<'_>>) -> String {
        match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            // Anything else stands for itself; the parameter's kind accepts or refuses it.
            _ => self.text[value.span()].to_owned(),
        }
    }

    /// Sets all values of a table and of those in it. Returns their keys, each with the byte of the
    /// text where it stands.
    pub fn read_table(
        &self,
        table: &DeTable<'_>,
        set: &mut Set<'_>,
    ) -> Result<BTreeMap<String, usize>, Error> {
        let mut keys = BTreeMap::new();
        self.read_below(table, "", set, &mut keys)?;
        Ok(keys)
    }

    fn read_below(
        &self,
        table: &DeTable<'_>,
        prefix: &str,
        set: &mut Set<'_>,
        keys: &mut BTreeMap<String, usize>,
    ) -> Result<(), Error> {
        // In the file's order, so that the first mistake is the one reported.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in entries {
            let key = format!("{prefix}{}", name.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                self.read_below(inner, &format!("{key}."), set, keys)?;
                continue;
            }
            if keys.contains_key(&key) {
                return Err(Error::Syntax {
                    place: self.place(name.span()),
                    message: format!("duplicate key: `{key}` is given before"),
                });
            }
            set(&key, &self.plain(value)).map_err(|source| {
                let at_key = matches!(source, ConfigError::UnknownKey { .. });
                let span = if at_key { name.span() } else { value.span() };
                Error::Config {
                    place: self.place(span),
                    source,
                }
            })?;
            keys.insert(key, name.span().start);
        }
        Ok(())
    }

    pub fn place(&self, span: Range<usize>) -> Position {
        let before = &self.text[..span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
