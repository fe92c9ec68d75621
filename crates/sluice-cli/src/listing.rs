//! What `list` and `show` print of presets and parameters.

use crate::error::Error;
use serde_json::{Value, json};
use sluice_config::Preset;
use sluice_model::Param;

/// Prints names and meanings.
pub fn list_presets(presets: &[Preset], as_json: bool) -> Result<(), Error> {
    if as_json {
        let all: Vec<Value> = presets
            .iter()
            .map(|p| json!({ "name": p.name, "meaning": p.meaning }))
            .collect();
        return outln!("{}", json!(all));
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
        let all: Vec<Value> = rows
            .map(|(p, value)| {
                json!({
                    "key": p.key, "value": value, "default": p.default,
                    "expected": p.kind.expected(), "meaning": p.explained(),
                    "source": source_of(p.key), "default_source": p.source,
                })
            })
            .collect();
        return outln!("{}", json!(all));
    }
    for (p, value) in rows {
        outln!("{:<24} {value:<12} {}", p.key, p.explained())?;
        outln!("{:<37} {}", "", source_of(p.key))?;
    }
    Ok(())
}
