//! What comes with the program by name, and what is in a file: devices, systems, fabrics.

use crate::error::Error;
use crate::file::Source;
use crate::presets::Preset;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::DeValue;

/// The key at the top of a file that names the preset it starts from.
pub(crate) const BASE: &str = "base";

/// Things of one kind that can be loaded.
pub(crate) struct Shelf {
    /// What they are, in a word.
    pub what: &'static str,
    /// The presets that come with the program.
    pub presets: fn() -> &'static [Preset],
    /// The error for a name that none has: the name, and those that there are.
    pub unknown: fn(String, String) -> Error,
}

impl Shelf {
    fn preset(&self, name: &str) -> Option<&'static Preset> {
        (self.presets)().iter().find(|preset| preset.name == name)
    }

    fn names(&self) -> String {
        let names: Vec<&str> = (self.presets)().iter().map(|preset| preset.name).collect();
        names.join(", ")
    }

    /// The text behind a name, or in the file of a path that ends in `.toml`.
    pub fn text(&self, name: &str) -> Result<Cow<'static, str>, Error> {
        if let Some(preset) = self.preset(name) {
            return Ok(Cow::Borrowed(preset.toml));
        }
        if !name.ends_with(".toml") {
            return Err((self.unknown)(name.to_owned(), self.names()));
        }
        let text = std::fs::read_to_string(name).map_err(|source| Error::Unreadable {
            what: self.what,
            path: name.to_owned(),
            source,
        })?;
        Ok(Cow::Owned(text))
    }

    /// The preset that a text names as its base.
    pub fn base(
        &self,
        source: &Source<'_>,
        name: &Spanned<DeValue<'_>>,
    ) -> Result<&'static Preset, Error> {
        let given = source.plain(name);
        self.preset(&given).ok_or_else(|| Error::UnknownBase {
            place: source.place(name.span()),
            name: given,
            presets: self.names(),
        })
    }
}
