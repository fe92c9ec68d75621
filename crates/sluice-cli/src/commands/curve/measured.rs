//! A curve in wall time: `sluice workload traffic` once for each pace, live or as it is.

use super::{Asked, CurveArgs, OnArg, StartArg, StoreArg};
use crate::child::tied_to_us;
use crate::error::Error;
use crate::signals;
use serde::Deserialize;
use sluice_driver::Traffic;
use sluice_model::DeviceConfig;
use sluice_results::{CurveLoad, CurveOn, CurveResult, CurveSchema, CurveTraffic};
use sluice_results::{LiveRun, settings, version};
use sluice_simulation::curve_traffic;
use sluice_stats::Summary;
use sluice_units::Ps;
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// What `sluice workload traffic --json` prints, as far as it counts here.
#[derive(Deserialize)]
struct Told {
    bytes_per_s: f64,
    passes: Vec<ToldPass>,
}

#[derive(Deserialize)]
struct ToldPass {
    accesses: u64,
    wall_s: f64,
    latency_ns: Option<Summary<f64>>,
}

/// Runs the program at each pace. None if it was interrupted.
pub fn run(
    args: &CurveArgs,
    asked: &Asked,
    config: &DeviceConfig,
) -> Result<Option<CurveResult>, Error> {
    let mut loads = Vec::with_capacity(asked.paces.len());
    for pace in &asked.paces {
        let load = load(args, &asked.traffic, *pace);
        // Ctrl-C ends the program as well.
        if signals::is_interrupted() {
            return Ok(None);
        }
        loads.push(load?);
    }
    let is_live = args.on == OnArg::Live;
    Ok(Some(CurveResult {
        schema: CurveSchema::default(),
        on: match is_live {
            true => CurveOn::Live,
            false => CurveOn::Host,
        },
        device: is_live.then(|| args.device.device.clone()),
        config: is_live.then(|| settings(config.raw().to_pairs())),
        seed: args.device.seed,
        version: version(),
        // How many accesses are under way, the processor decides.
        traffic: CurveTraffic {
            depth: None,
            numa_node: args.numa_node.map(u64::from),
            ..curve_traffic(&asked.traffic)
        },
        knee: CurveResult::knee_of(&loads),
        loads,
    }))
}

fn load(args: &CurveArgs, traffic: &Traffic, pace: Ps) -> Result<CurveLoad, Error> {
    let own = std::env::current_exe().map_err(Error::system("finding this command"))?;
    let mut command = Command::new(&own);
    if args.on == OnArg::Live {
        command.args(["run", "--json", "--device", &args.device.device]);
        command.args(["--seed", &args.device.seed.to_string()]);
        for pair in &args.device.set {
            command.args(["--set", pair]);
        }
        command.arg("--").arg(&own);
    }
    command.args(program(args, traffic, pace));
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    tied_to_us(&mut command);
    let output = command
        .output()
        .map_err(Error::system("running sluice workload traffic"))?;
    if !output.status.success() {
        // It has said why on standard error.
        let why = format!("sluice workload traffic ended with {}", output.status);
        return Err(Error::unfit("curve", why));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let objects: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    let unread = || Error::unfit("curve", "sluice workload traffic printed no result");
    let told: Told = objects
        .iter()
        .find_map(|line| serde_json::from_str(line).ok())
        .ok_or_else(unread)?;
    let live: Option<LiveRun> = objects
        .last()
        .and_then(|line| serde_json::from_str(line).ok());
    let pass = told.passes.first().ok_or_else(unread)?;
    Ok(CurveLoad {
        pace_ns: pace.0 as f64 / 1e3,
        bytes_per_s: told.bytes_per_s,
        accesses: pass.accesses,
        time_s: pass.wall_s,
        misses: live.map(|run| run.figures.cache.misses),
        latency_ns: None,
        hit_latency_ns: None,
        miss_latency_ns: None,
        chase_latency_ns: pass.latency_ns,
        hash: None,
    })
}

fn program(args: &CurveArgs, traffic: &Traffic, pace: Ps) -> Vec<OsString> {
    let mut words = vec![
        "workload".to_owned(),
        "traffic".to_owned(),
        "--json".to_owned(),
    ];
    let store = match args.store {
        StoreArg::Cached => "cached",
        StoreArg::Nontemporal => "nontemporal",
    };
    for (flag, value) in [
        ("--threads", traffic.threads.to_string()),
        ("--size", traffic.size.to_string()),
        ("--stride", args.stride.0.to_string()),
        ("--reads", args.reads.to_string()),
        ("--store", store.to_owned()),
        ("--pace", format!("{}ps", pace.0)),
        ("--cores", args.cores.to_string()),
        ("--chase", traffic.chase.to_string()),
        ("--passes", args.passes.to_string()),
        ("--seed", args.device.seed.to_string()),
    ] {
        words.extend([flag.to_owned(), value]);
    }
    if let Some(node) = args.numa_node {
        words.extend(["--numa-node".to_owned(), node.to_string()]);
    }
    if args.random {
        words.push("--random".to_owned());
    }
    if args.start == StartArg::Cold {
        words.push("--cold".to_owned());
    }
    words.into_iter().map(OsString::from).collect()
}
