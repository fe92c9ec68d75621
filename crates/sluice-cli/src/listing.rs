//! What `list` and `show` print of presets and parameters.

use crate::error::Error;
use sluice_config::Preset;
use sluice_model::Param;
use sluice_results::{Named, Parameter, Parameters, Presets, to_json};

/// Prints names and meanings.
pub fn list_presets(presets: &[Preset], as_json: bool) -> Result<(), Error> {
    if as_json {
        let row = |of: &Preset| Named {
            name: of.name.to_owned(),
            meaning: of.meaning.to_owned(),
        };
        let all = Presets(presets.iter().map(row).collect());
        return outln!("{}", to_json(&all));
    }
    let width = presets.iter().map(|p| p.name.len()).max().unwrap_or(0);
    presets
        .iter()
        .try_for_each(|p| outln!("{:<width$} {}", p.name, p.meaning))
}

/// Prints each parameter with its value and where that comes from.
pub fn show_values(
    values: &[(&str, String)],
    params: impl Iterator<Item = &'static Param>,
    source_of: impl Fn(&str) -> String,
    as_json: bool,
) -> Result<(), Error> {
    let rows = params.map(|p| {
        let value = values.iter().find(|(key, _)| *key == p.key);
        parameter(
            p,
            p.key,
            value.map_or("", |(_, value)| value),
            source_of(p.key),
        )
    });
    show(rows.collect(), as_json)
}

/// A parameter as it is listed, by the key with which it is set.
pub fn parameter(p: &Param, key: &str, value: &str, source: String) -> Parameter {
    Parameter {
        key: key.to_owned(),
        value: value.to_owned(),
        default: p.default.to_owned(),
        expected: p.kind.expected(),
        meaning: p.explained(),
        source,
        default_source: p.source.to_owned(),
    }
}

/// Prints parameters.
pub fn show(rows: Vec<Parameter>, as_json: bool) -> Result<(), Error> {
    if as_json {
        return outln!("{}", to_json(&Parameters(rows)));
    }
    for row in rows {
        outln!("{:<24} {:<12} {}", row.key, row.value, row.meaning)?;
        outln!("{:<37} {}", "", row.source)?;
    }
    Ok(())
}
