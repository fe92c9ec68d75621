//! `sluice sim`: a workload on the device, in virtual time.

use crate::args::{HitsArg, SimArgs};
use crate::device;
use crate::error::Error;
use crate::run::{warn_of_refusals, warn_of_wear};
use serde_json::Value;
use sluice_fabric::Visibility;
use sluice_output::{Folder, Plan, write_config};
use std::path::PathBuf;
use std::process::ExitCode;

/// Simulates and prints.
pub fn run(args: &SimArgs) -> Result<ExitCode, Error> {
    if let Some(system) = &args.system {
        return crate::sim_system::run(system, args);
    }
    let config = device::resolve(&args.device)?;
    let spec = sluice_workload::parse_spec(&args.workload)?;
    let room = config.capacity().0;
    if spec.footprint_bytes() > room {
        return Err(Error::new(format!(
            "workload \"{}\" touches {} bytes, but the device has {room} (device.capacity)",
            args.workload,
            spec.footprint_bytes()
        )));
    }
    let folder = folder(args)?;
    let visibility = match args.hits {
        HitsArg::All => Visibility::All,
        HitsArg::Misses => Visibility::Misses,
    };
    let plan = Plan {
        device: &args.device.device,
        config: &config,
        workload: &args.workload,
        spec: &spec,
        visibility,
        seed: args.device.seed,
        bound: args.bound,
    };
    // Ctrl-C ends the process; nothing has been written by then.
    let object = plan.run(|| false)?.ok_or_else(|| Error::new("stopped"))?;
    if let Some(folder) = folder {
        let config = write_config(&config, args.device.seed);
        folder
            .write("config.toml", config)
            .and_then(|()| folder.write_stats(&object))
            .map_err(|e| Error::at("writing the output folder", e))?;
    }
    warn(&object);
    if args.json {
        println!("{object}");
    } else {
        print_table(&object);
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that was asked for, empty of what an earlier run left.
pub fn folder(args: &SimArgs) -> Result<Option<Folder>, Error> {
    let create = |path: &PathBuf| Folder::create(path).map_err(|e| Error::at(path.display(), e));
    args.out.as_ref().map(create).transpose()
}

/// What makes the figures other than they look.
pub fn warn(object: &Value) {
    let count = |place| object.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    warn_of_refusals(count("/cache/policy_refused"));
    warn_of_wear(count("/flash/writes_refused"));
}

fn print_table(object: &Value) {
    let rows = [
        ("workload", "/workload"),
        ("accesses", "/accesses"),
        ("traps", "/traps"),
        ("cache hits", "/cache/hits"),
        ("cache misses", "/cache/misses"),
        ("optimum misses", "/cache/optimum_misses"),
        ("hit ratio", "/cache/hit_ratio"),
        ("evictions", "/cache/evictions"),
        ("dirty evictions", "/cache/dirty_evictions"),
        ("latency p50, ns", "/latency_ns/accesses/p50"),
        ("latency p99, ns", "/latency_ns/accesses/p99"),
        ("flash reads", "/flash/reads"),
        ("flash programs", "/flash/programs"),
        ("simulated time, s", "/sim_time_s"),
        ("result hash", "/hash"),
    ];
    for (name, path) in rows {
        if let Some(value) = object.pointer(path).filter(|v| !v.is_null()) {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string);
            println!("{name:<20} {text}");
        }
    }
}
