//! Devices and policies: from the command line to a checked configuration, and back to tables.

use crate::args::{DeviceArgs, DeviceCommand, PolicyCommand};
use crate::error::Error;
use serde_json::{Value, json};
use sluice_model::{DeviceConfig, EVICTIONS, GC_VICTIMS, PARAMS, PREFETCHES};
use std::process::ExitCode;

/// The device that was asked for, with its changed settings, checked.
pub fn resolve(args: &DeviceArgs) -> Result<DeviceConfig, Error> {
    let mut raw = sluice_config::load(&args.device)?;
    for pair in &args.set {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Error::new(format!(
                "bad value for --set: \"{pair}\"; expected KEY=VALUE"
            ))
        })?;
        raw.set(key.trim(), value.trim())?;
    }
    sluice_plugin::make_absolute(&mut raw)?;
    let config = raw.check()?;
    sluice_plugin::check(&config)?;
    Ok(config)
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
    let presets = sluice_config::presets();
    if as_json {
        let all: Vec<Value> = presets
            .iter()
            .map(|p| json!({ "name": p.name, "meaning": p.meaning }))
            .collect();
        println!("{}", json!(all));
    } else {
        presets
            .iter()
            .for_each(|p| println!("{:<10} {}", p.name, p.meaning));
    }
}

fn show(device: &str, as_json: bool) -> Result<(), Error> {
    let described = sluice_config::describe(device)?;
    let config = described.config.check()?;
    let values = config.raw().to_pairs();
    let rows = PARAMS.iter().map(|p| {
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
                    "source": described.source_of(p.key), "default_source": p.source,
                })
            })
            .collect();
        println!("{}", json!(all));
        return Ok(());
    }
    for (p, value) in rows {
        println!("{:<24} {value:<12} {}", p.key, p.meaning);
        println!("{:<37} {}", "", described.source_of(p.key));
    }
    Ok(())
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
