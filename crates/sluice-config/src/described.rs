//! What a file describes: the values of its base, changed by its own, each with its source.

use crate::error::Error;
use crate::file::Source;
use crate::shelf::{BASE, Shelf};
use crate::sources::Sources;
use sluice_params::{ConfigError, Kind, Param, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;
use toml::de::DeTable;

/// A device, a system or a fabric as a file describes it.
#[derive(Clone, Debug)]
pub struct Described<T> {
    /// Its values, not yet checked for contradictions.
    pub given: T,
    /// Where the values that files state come from.
    pub(crate) sources: BTreeMap<String, String>,
    /// Whether the file names a preset that it starts from.
    pub(crate) has_base: bool,
    /// The keys that the file itself states, and not its base.
    pub(crate) keys: BTreeSet<String>,
}

/// Something that files describe.
pub(crate) trait Describe: Sized {
    /// Where those are that come with the program.
    const SHELF: Shelf;

    /// Makes one with every parameter at its default.
    const BLANK: fn() -> Self;

    /// The parameter of a key.
    fn param(key: &str) -> Option<&'static Param>;

    /// Gives a parameter a value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError>;

    /// Takes out of a file what is no value of a parameter.
    fn take(
        _described: &mut Described<Self>,
        _source: &Source<'_>,
        _root: &mut Spanned<DeTable<'_>>,
    ) -> Result<(), Error> {
        Ok(())
    }
}

#[expect(private_bounds, reason = "files describe no other things than these")]
impl<T: Describe> Described<T> {
    /// Where the value of a key comes from: what the file says before it, or, for a value that it
    /// leaves out, the source of the default.
    pub fn source_of(&self, key: &str) -> String {
        let default = || T::param(key).map(|param| format!("default: {}", param.source));
        let stated = self.sources.get(key).cloned();
        stated.or_else(default).unwrap_or_default()
    }

    /// Whether the file itself states a key, and not its base.
    pub fn states(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// The keys that its base states, and the file itself does not.
    pub fn inherited(&self) -> impl Iterator<Item = &str> {
        let stated = self.sources.keys().map(String::as_str);
        stated.filter(|key| !self.states(key))
    }

    /// Reads a text of a file called `file`.
    pub(crate) fn read(text: &str, file: &str) -> Result<Described<T>, Error> {
        let source = Source { text, file };
        let mut root = source.parse()?;
        let base = root.get_mut().remove(BASE);
        let mut described = match &base {
            Some(base) => {
                let base = T::SHELF.base(&source, base)?;
                Described::read(base.toml, base.name)?
            }
            None => Described {
                given: (T::BLANK)(),
                sources: BTreeMap::new(),
                has_base: false,
                keys: BTreeSet::new(),
            },
        };
        described.has_base = base.is_some();
        T::take(&mut described, &source, &mut root)?;
        let given = &mut described.given;
        let mut set = |key: &str, value: &str| given.set(key, &placed::<T>(&source, key, value));
        let keys = source.read_table(root.get_ref(), &mut set)?;
        // A value of the file's own no longer has the base's source.
        let said = Sources::new(text);
        described.keys = keys.keys().cloned().collect();
        described.sources.extend(keys.into_iter().map(|(key, at)| {
            let said = said.at(at).map(str::to_owned);
            let own = said.unwrap_or_else(|| format!("no source given in {file}"));
            (key, own)
        }));
        Ok(described)
    }
}

/// A value as the file means it: the path of a shared object counts from the file's folder.
fn placed<'v, T: Describe>(source: &Source<'_>, key: &str, value: &'v str) -> Cow<'v, str> {
    let kind = T::param(key).map(|param| &param.kind);
    let is_path = matches!(kind, Some(Kind::ChoiceOrPath(_)))
        && matches!(
            kind.and_then(|kind| kind.parse(value)),
            Some(Value::Path(_))
        );
    match Path::new(source.file).parent().filter(|_| is_path) {
        Some(folder) => Cow::Owned(folder.join(value).to_string_lossy().into_owned()),
        None => Cow::Borrowed(value),
    }
}
