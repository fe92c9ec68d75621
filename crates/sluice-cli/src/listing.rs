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
        let value = values
            .iter()
            .find(|(key, _)| *key == p.key)
            .map_or("", |(_, v)| v);
        (p, value)
    });
    if as_json {
        let row = |(p, value): (&Param, &str)| Parameter {
            key: p.key.to_owned(),
            value: value.to_owned(),
            default: p.default.to_owned(),
            expected: p.kind.expected(),
            meaning: p.explained(),
            source: source_of(p.key),
            default_source: p.source.to_owned(),
        };
        return outln!("{}", to_json(&Parameters(rows.map(row).collect())));
    }
    for (p, value) in rows {
        outln!("{:<24} {value:<12} {}", p.key, p.explained())?;
        outln!("{:<37} {}", "", source_of(p.key))?;
    }
    Ok(())
}
