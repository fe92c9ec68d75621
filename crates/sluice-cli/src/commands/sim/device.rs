//! `sluice sim`: a workload on the device, in virtual time.

use super::{HitsArg, SimArgs, folder, trace};
use crate::error::Error;
use crate::output::Rows;
use crate::progress::Progress;
use crate::{settings, signals, traces, warn};
use serde_json::Value;
use sluice_driver::Visibility;
use sluice_replay::Replay;
use sluice_results::write_config;
use sluice_simulation::{Plan, STOP_EVERY};
use sluice_streams::{Spec, Stream};
use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;

/// Simulates and prints.
pub fn run(args: &SimArgs) -> Result<ExitCode, Error> {
    let config = settings::resolve(&args.device)?;
    let workload = Workload::read(args)?;
    let (name, footprint, room) = (
        workload.name(),
        workload.footprint_bytes(),
        config.capacity(),
    );
    if footprint > room.0 {
        return Err(Error::TooLarge {
            workload: name,
            bytes: footprint,
            room: room.0,
        });
    }
    let streams = workload.streams()?;
    let folder = folder(args)?;
    let visibility = match args.hits {
        HitsArg::All => Visibility::All,
        HitsArg::Misses => Visibility::Misses,
    };
    let plan = Plan {
        device: &args.device.device,
        config: &config,
        workload: &name,
        visibility,
        seed: args.device.seed,
        bound: args.bound,
    };
    signals::await_interrupt();
    let progress = Progress::new(workload.accesses(), "accesses");
    let done = Cell::new(0);
    let object = plan.run(streams, || {
        done.set(done.get() + STOP_EVERY);
        progress.show(done.get());
        signals::is_interrupted()
    });
    progress.end();
    let object = object?;
    workload.failed()?;
    let Some(object) = object else {
        let (done, of) = (done.get(), "accesses");
        return Err(Error::Interrupted { done, of });
    };
    if let Some(folder) = folder {
        let config = write_config(&config, args.device.seed);
        folder
            .write("config.toml", config)
            .and_then(|()| folder.write_stats(&object))
            .map_err(Error::system("writing the output folder"))?;
    }
    warn::of_result(&object);
    if args.json {
        outln!("{object}")?;
    } else {
        table(&object).print()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the requesters of a device do.
enum Workload<'a> {
    Pattern(&'a str, Spec),
    Trace(&'a Path, Replay),
}

impl<'a> Workload<'a> {
    fn read(args: &'a SimArgs) -> Result<Workload<'a>, Error> {
        if let Some(path) = &args.trace {
            return Ok(Workload::Trace(path, trace(path, args)?));
        }
        let text = args.workload.as_deref().unwrap_or_default();
        Ok(Workload::Pattern(
            text,
            sluice_kernels::parse_stream(text, args.device.seed)?,
        ))
    }

    fn name(&self) -> String {
        match self {
            Workload::Pattern(text, _) => (*text).to_owned(),
            Workload::Trace(path, _) => traces::name_of(path),
        }
    }

    /// How many there are, if that is known.
    fn accesses(&self) -> Option<u64> {
        match self {
            Workload::Pattern(..) => None,
            Workload::Trace(_, replay) => Some(replay.accesses()),
        }
    }

    fn footprint_bytes(&self) -> u64 {
        match self {
            Workload::Pattern(_, spec) => spec.footprint_bytes(),
            Workload::Trace(_, replay) => replay.footprint().0,
        }
    }

    fn streams(&self) -> Result<Vec<Stream>, Error> {
        match self {
            Workload::Pattern(_, spec) => Ok(spec.streams()),
            Workload::Trace(path, replay) => {
                replay.streams().map_err(|error| traces::at(path, error))
            }
        }
    }

    /// Whether the trace could not be read to its end.
    fn failed(&self) -> Result<(), Error> {
        match self {
            Workload::Pattern(..) => Ok(()),
            Workload::Trace(path, replay) => traces::failed(path, replay),
        }
    }
}

fn table(object: &Value) -> Rows {
    let rows = [
        ("workload", "/workload"),
        ("accesses", "/accesses"),
        ("traps", "/traps"),
        ("cache hits", "/cache/hits"),
        ("cache misses", "/cache/misses"),
        ("optimum misses", "/cache/optimum_misses"),
        ("hit ratio, %", "/cache/hit_ratio"),
        ("evictions", "/cache/evictions"),
        ("dirty evictions", "/cache/dirty_evictions"),
        ("latency mean, ns", "/latency_ns/accesses/mean"),
        ("of it", "/latency_parts_ns"),
        ("latency p50, ns", "/latency_ns/accesses/p50"),
        ("latency p99, ns", "/latency_ns/accesses/p99"),
        ("flash reads", "/flash/reads"),
        ("flash programs", "/flash/programs"),
        ("simulated time, s", "/sim_time_s"),
        ("result hash", "/hash"),
    ];
    let mut table = Rows::new(20);
    for (name, path) in rows {
        if let Some(value) = object.pointer(path).filter(|v| !v.is_null()) {
            table.row(name, shown(path, value));
        }
    }
    table
}

/// A value of the object, to be read.
fn shown(path: &str, value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::String(text), _) => text.clone(),
        (Value::Object(parts), _) => {
            let ns = |part: &Value| part.as_f64().unwrap_or(0.0);
            let some = parts.iter().filter(|(_, part)| ns(part) > 0.0);
            let some =
                some.map(|(name, part)| format!("{} {:.1}", name.replace('_', " "), ns(part)));
            some.collect::<Vec<_>>().join(", ")
        }
        (_, Some(ratio)) if path.ends_with("_ratio") => format!("{:.4}", ratio * 100.0),
        (_, Some(ns)) if path.starts_with("/latency") => format!("{ns:.1}"),
        _ => value.to_string(),
    }
}
