//! Devices and policies: from the command line to a checked configuration, and back to tables.

use crate::args::{DeviceArgs, DeviceCommand, PolicyCommand};
use crate::error::Error;
use serde_json::{Value, json};
use sluice_config::Preset;
use sluice_model::{DeviceConfig, EVICTIONS, GC_VICTIMS, PARAMS, PREFETCHES, Param};
use std::process::ExitCode;

/// The device that was asked for, with its changed settings, checked.
pub fn resolve(args: &DeviceArgs) -> Result<DeviceConfig, Error> {
    let mut raw = sluice_config::load(&args.device)?;
    for pair in &args.set {
        let (key, value) = key_and_value(pair)?;
        raw.set(key, value)?;
    }
    sluice_plugin::make_absolute(&mut raw)?;
    let config = raw.check()?;
    sluice_plugin::check(&config)?;
    Ok(config)
}

/// The two halves of a `--set`.
pub fn key_and_value(pair: &str) -> Result<(&str, &str), Error> {
    let (key, value) = pair.split_once('=').ok_or_else(|| {
        Error::new(format!(
            "bad value for --set: \"{pair}\"; expected KEY=VALUE"
        ))
    })?;
    Ok((key.trim(), value.trim()))
}

/// `sluice device`.
pub fn run(command: &DeviceCommand) -> Result<ExitCode, Error> {
    match command {
        DeviceCommand::List { json } => list(*json),
        DeviceCommand::Show { device, json } => show(device, *json)?,
        DeviceCommand::Check { device } => {
            let config = sluice_config::describe(device)?.config.check()?;
            let what = match config.memory {
                Some(_) => "of memory".to_owned(),
                None => format!("behind {}", config.cache.capacity()),
            };
            println!("{device}: well, {} {what}", config.capacity());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(as_json: bool) {
    list_presets(sluice_config::presets(), as_json);
}

/// Prints names and meanings.
pub fn list_presets(presets: &[Preset], as_json: bool) {
    if as_json {
        let all: Vec<Value> = presets
            .iter()
            .map(|p| json!({ "name": p.name, "meaning": p.meaning }))
            .collect();
        println!("{}", json!(all));
        return;
    }
    let width = presets.iter().map(|p| p.name.len()).max().unwrap_or(0);
    presets
        .iter()
        .for_each(|p| println!("{:<width$} {}", p.name, p.meaning));
}

fn show(device: &str, as_json: bool) -> Result<(), Error> {
    let described = sluice_config::describe(device)?;
    let config = described.config.check()?;
    let values = config.raw().to_pairs();
    show_values(
        &values,
        PARAMS.iter(),
        |key| described.source_of(key),
        as_json,
    );
    Ok(())
}

/// Prints each parameter with its value and where that comes from.
pub fn show_values(
    values: &[(&str, String)],
    params: impl Iterator<Item = &'static Param>,
    source_of: impl Fn(&str) -> String,
    as_json: bool,
) {
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
                    "expected": p.kind.expected(), "meaning": p.meaning,
                    "source": source_of(p.key), "default_source": p.source,
                })
            })
            .collect();
        println!("{}", json!(all));
        return;
    }
    for (p, value) in rows {
        println!("{:<24} {value:<12} {}", p.key, p.meaning);
        println!("{:<37} {}", "", source_of(p.key));
    }
}

/// `sluice policy`.
pub fn policies(command: &PolicyCommand) -> Result<ExitCode, Error> {
    let PolicyCommand::List { json } = command;
    let evictions = EVICTIONS.iter().map(|e| {
        let i = e.info;
        (
            "eviction",
            i.name,
            i.meaning,
            i.source,
            if i.uses_hits { "hits" } else { "misses" },
        )
    });
    let prefetches = PREFETCHES.iter().map(|e| {
        (
            "prefetch",
            e.info.name,
            e.info.meaning,
            e.info.source,
            "misses",
        )
    });
    let victims = GC_VICTIMS.iter().map(|e| {
        (
            "gc",
            e.info.name,
            e.info.meaning,
            e.info.source,
            "stale pages",
        )
    });
    let rows = evictions.chain(prefetches).chain(victims);
    if *json {
        let all: Vec<Value> = rows
            .map(|(kind, name, meaning, source, decides_by)| {
                json!({
                    "kind": kind, "name": name, "meaning": meaning, "source": source,
                    "decides_by": decides_by,
                })
            })
            .collect();
        println!("{}", json!(all));
    } else {
        for (kind, name, meaning, source, by) in rows {
            println!("{kind:<9} {name:<15} by {by:<11} {meaning}");
            println!("{:<40} from {source}", "");
        }
    }
    Ok(ExitCode::SUCCESS)
}
