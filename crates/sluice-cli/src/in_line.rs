//! `sluice run --simulate`: a program under QEMU, on a simulated host with its device.

use crate::args::RunArgs;
use crate::device::key_and_value;
use crate::emulator::{Emulated, Emulator, Plugin};
use crate::error::Error;
use crate::run::leave;
use crate::sim_system;
use clap::Args;
use serde_json::Value;
use sluice_config::System;
use sluice_output::{Exit, Folder};
use std::process::ExitCode;

/// How a program is simulated while it runs.
#[derive(Debug, Args)]
pub struct InLineArgs {
    /// Do not emulate the device, simulate it: the program runs under qemu-x86_64, and each of its
    /// loads and stores on a simulated host with the device, in virtual time
    #[arg(long, conflicts_with_all = ["trap", "place", "mmap_min", "handlers", "sample_hits",
                                      "record_traps"])]
    pub simulate: bool,
    /// The simulated host with its device, of `sluice system list` or a .toml file; else the host
    /// of base-cssd with --device. One core, unless --set cpu.cores says otherwise
    #[arg(
        long,
        value_name = "SYSTEM",
        requires = "simulate",
        conflicts_with = "device"
    )]
    pub system: Option<String>,
    /// Divide the system's capacities, as `sluice sim --scale` does
    #[arg(long, value_name = "N", requires = "simulate", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub scale: u32,
}

/// Runs the program, and tells what the simulated host and device did.
pub fn run(args: &RunArgs) -> Result<ExitCode, Error> {
    let system = resolve(args)?;
    let emulator = Emulator::find()?;
    let plugin = plugin(args)?;
    let folder = match &args.out {
        Some(path) => Some(Folder::create(path).map_err(|e| Error::at(path.display(), e))?),
        None => None,
    };
    let Emulated { exit, wall_s, said } = emulator.run(plugin, &args.program)?;
    let Some(mut object) = said else {
        eprintln!("sluice: QEMU ended before the program did; there is no result");
        return Ok(match exit {
            Exit::Code(0) => ExitCode::from(2),
            exit => leave(exit),
        });
    };
    complete(&mut object, args, exit);
    if let Some(folder) = folder {
        let config = sluice_output::write_system(&system, args.in_line.scale, args.device.seed);
        sim_system::keep(&folder, &config, &object)
            .map_err(|e| Error::at("writing the output folder", e))?;
    }
    crate::sim::warn(&object);
    if args.json {
        println!("{object}");
    } else {
        // Standard output is the program's.
        sim_system::tell_table(&object, &|line| eprintln!("{line}"));
    }
    tell_speed(&object, wall_s);
    Ok(leave(exit))
}

/// The system that was asked for. The plugin makes the same.
fn resolve(args: &RunArgs) -> Result<System, Error> {
    let mut system = sluice_config::load_in_line(args.in_line.system.as_deref(), device(args))?;
    for pair in &args.device.set {
        let (key, value) = key_and_value(pair)?;
        system.set(key, value)?;
    }
    sluice_plugin::make_absolute(&mut system.device)?;
    let (device, _) = system.scaled(args.in_line.scale)?.check(args.device.seed)?;
    sluice_plugin::check(&device)?;
    Ok(system)
}

fn device(args: &RunArgs) -> Option<&str> {
    match args.in_line.system {
        Some(_) => None,
        None => Some(&args.device.device),
    }
}

fn plugin(args: &RunArgs) -> Result<Plugin, Error> {
    let mut plugin = Plugin::find("simulate")?;
    if let Some(system) = &args.in_line.system {
        plugin.set("system", system);
    }
    if let Some(device) = device(args) {
        plugin.set("device", device);
    }
    for pair in &args.device.set {
        let (key, value) = key_and_value(pair)?;
        plugin.set("set", &format!("{key}={value}"));
    }
    plugin.set("seed", &args.device.seed.to_string());
    plugin.set("scale", &args.in_line.scale.to_string());
    plugin.set("command", &args.program.join(" "));
    Ok(plugin)
}

/// What this command knows and the plugin does not.
fn complete(object: &mut Value, args: &RunArgs, exit: Exit) {
    object["command"] = args.program.as_slice().into();
    object["exit"] = exit.told();
}

fn tell_speed(object: &Value, wall_s: f64) {
    let number = |place| object.pointer(place).and_then(Value::as_f64).unwrap_or(0.0);
    let rate = |count: f64| count / wall_s / 1e6;
    eprintln!(
        "sluice: {wall_s:.1} s, {:.1} million instructions and {:.1} million accesses a second \
         simulated",
        rate(number("/instructions")),
        rate(number("/program/accesses")),
    );
}
