//! `sluice device check`: what a device file leaves open, and whether live can keep up.

use crate::error::Error;
use crate::live::fitness::{nearest, obstacles};
use serde_json::Value;
use sluice_config::Described;
use sluice_model::{DeviceConfig, Op, RawConfig, Request};
use sluice_units::{Ps, printable};
use std::process::Command;

/// What objects are tried out with: that of `--seed` where it is left out.
const SEED: u64 = 1;

pub fn run(device: &str) -> Result<(), Error> {
    let described = sluice_config::describe(device)?;
    let config = DeviceConfig::new(&described.given)?;
    sluice_plugin::try_out(&config, SEED)?;
    let what = match config.memory {
        Some(_) => "of memory".to_owned(),
        None => format!("behind {}", config.cache.capacity()),
    };
    let obstacles = obstacles(&config);
    let live = match &obstacles[..] {
        [] => "runs live".to_owned(),
        of => format!("not live, for {}; {} does", of[0].why, nearest(device, of)),
    };
    let (name, capacity) = (printable(device), config.capacity());
    outln!("{name}: valid: {capacity} {what}; {live}")?;
    if device.ends_with(".toml") {
        missing(&described, &config)?;
    }
    match obstacles.is_empty() {
        true => pace(&config),
        false => Ok(()),
    }
}

/// What the file leaves to its base, which states all that makes a device.
fn missing(described: &Described<RawConfig>, config: &DeviceConfig) -> Result<(), Error> {
    let open = described
        .inherited()
        .map(|key| format!("{key}={}", config.raw().get(key).unwrap_or_default()));
    let open: Vec<String> = open.collect();
    match open.is_empty() {
        true => Ok(()),
        false => outln!(
            "not in the file, and taken from its base: {}",
            open.join(", ")
        ),
    }
}

/// What a miss takes while nothing else goes on, of a page that was written once.
fn miss_time(config: &DeviceConfig) -> Result<Ps, Error> {
    let mut raw = config.raw().clone();
    raw.set("ftl.precondition", "sequential")?;
    let mut device = sluice_plugin::device(&DeviceConfig::new(&raw)?, SEED)?;
    let request = Request {
        addr: 0,
        op: Op::Read,
    };
    Ok(device.access(Ps::ZERO, request, &mut ()).done_at)
}

/// What a trap takes on this host, beside a miss of the device.
fn pace(config: &DeviceConfig) -> Result<(), Error> {
    let miss = miss_time(config)?;
    let us = |time: Ps| format!("{:.1} us", time.0 as f64 / 1e6);
    match trap() {
        Trap::Unknown(why) => {
            outln!("whether live keeps up is not known, as nothing ran here: {why}")
        }
        Trap::Takes(trap) if trap > miss => outln!(
            "live does not keep up: a miss of the device takes {}, and no trap on this host less \
             than {}; simulate it, or try --trap signal",
            us(miss),
            us(trap)
        ),
        Trap::Takes(trap) => outln!(
            "live keeps up: a trap takes {} here, and a miss {}",
            us(trap),
            us(miss)
        ),
    }
}

/// What a trap takes on this host, or why that is unknown.
enum Trap {
    Takes(Ps),
    Unknown(String),
}

/// What a trap takes, measured as at the start of a live run.
fn trap() -> Trap {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(why) => return Trap::Unknown(why.to_string()),
    };
    let mut command = Command::new(own);
    command.args(["run", "--json", "--set", "device.capacity=64MiB", "true"]);
    let told = match command.output() {
        Ok(told) => told,
        Err(why) => return Trap::Unknown(why.to_string()),
    };
    let result: Option<Value> = serde_json::from_slice(told.stdout.trim_ascii()).ok();
    let measured = result.and_then(|result| {
        let ns = |key: &str| result["host"][key].as_u64();
        Some(Ps::from_ns(ns("entry_ns")? + ns("exit_ns")?))
    });
    measured.map_or_else(
        || {
            let said = String::from_utf8_lossy(&told.stderr);
            let why = said.lines().rev().find(|line| !line.contains("warning:"));
            let why = why.map(|line| line.trim_start_matches("sluice: ").to_owned());
            Trap::Unknown(why.unwrap_or_else(|| format!("`sluice run` ended with {}", told.status)))
        },
        Trap::Takes,
    )
}
