//! What QEMU executes, on a simulated host with its device.

use super::part::{self, PartArgs};
use super::{Emulated, Plugin};
use crate::child::leave;
use crate::error::Error;
use crate::output;
use crate::result_args::{ResultArgs, keep};
use crate::settings::{DeviceArgs, key_and_value};
use crate::system_result;
use clap::Args;
use sluice_config::System;
use sluice_results::{Exit, Folder, Program, SystemResult, to_json};
use sluice_simulation::Part;
use std::process::ExitCode;

/// How a program is simulated while it runs.
#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// Simulate the device instead of emulating it: the program or guest runs under QEMU, and
    /// each of its loads and stores on a simulated host with the device, in virtual time
    #[arg(long)]
    pub simulate: bool,
    /// The simulated host with its device, of `sluice system list` or a .toml file; else the host
    /// of base-cssd with --device. One core, unless --set cpu.cores says otherwise
    #[arg(long, value_name = "SYSTEM", conflicts_with = "device")]
    pub system: Option<String>,
    /// Divide the system's capacities, as `sluice sim --scale` does
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub scale: u32,
    #[command(flatten)]
    pub part: PartArgs,
}

/// A simulation that was asked for.
pub struct Simulation<'a> {
    /// The device, and settings of it and its host.
    pub device: &'a DeviceArgs,
    /// Which host and device it runs on.
    pub args: &'a SimulateArgs,
    /// Settings that the user's come after.
    pub settings: Vec<String>,
    /// Which part of it counts.
    pub part: Part,
    /// Where the result goes.
    pub result: &'a ResultArgs,
    /// What is executed.
    pub command: &'a [String],
}

/// A simulation that can be.
pub struct Ready<'a> {
    asked: Simulation<'a>,
    system: System,
    folder: Option<Folder>,
    /// The plugin, with all that it must know of the system.
    pub plugin: Plugin,
}

impl<'a> Simulation<'a> {
    /// Makes the system, as the plugin will, and the folder.
    pub fn prepare(self) -> Result<Ready<'a>, Error> {
        let system = self.system()?;
        let plugin = self.plugin()?;
        let folder = self.result.folder()?;
        Ok(Ready {
            asked: self,
            system,
            folder,
            plugin,
        })
    }

    fn settings(&self) -> impl Iterator<Item = &String> {
        self.settings.iter().chain(&self.device.set)
    }

    /// The device to put behind the host instead of its own.
    fn device(&self) -> Option<&str> {
        match self.args.system {
            Some(_) => None,
            None => Some(&self.device.device),
        }
    }

    fn system(&self) -> Result<System, Error> {
        let mut system = sluice_config::load_in_line(self.args.system.as_deref(), self.device())?;
        for pair in self.settings() {
            let (key, value) = key_and_value(pair)?;
            system.set(key, value)?;
        }
        sluice_plugin::make_absolute(&mut system.device)?;
        let checked = system.scaled(self.args.scale)?.check(self.device.seed)?;
        sluice_plugin::check(&checked.device)?;
        Ok(system)
    }

    fn plugin(&self) -> Result<Plugin, Error> {
        let mut plugin = Plugin::find("simulate")?;
        if let Some(system) = &self.args.system {
            plugin.set("system", system);
        }
        if let Some(device) = self.device() {
            plugin.set("device", device);
        }
        for pair in self.settings() {
            let (key, value) = key_and_value(pair)?;
            plugin.set("set", format!("{key}={value}"));
        }
        plugin.set("seed", self.device.seed.to_string());
        plugin.set("scale", self.args.scale.to_string());
        plugin.set_command(self.command);
        for (key, mark) in [("from", &self.part.from), ("to", &self.part.to)] {
            if let Some(mark) = mark {
                plugin.set(key, mark);
            }
        }
        Ok(plugin)
    }
}

impl Ready<'_> {
    /// The folder for the result, if there is one.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Prints the result. `add` adds to it what only the caller knows.
    pub fn finish(
        self,
        emulated: Emulated,
        add: impl FnOnce(&mut SystemResult),
    ) -> Result<ExitCode, Error> {
        let (exit, wall_s) = (emulated.exit, emulated.wall_s);
        let result = emulated.result::<SystemResult>();
        let Some(mut result) = result.filter(has_executed) else {
            // What ended the simulation has said why.
            if emulated.result::<String>().is_none() {
                errln!("sluice: QEMU ended before the simulation did; there is no result");
            }
            // Before the end, which may be by a signal.
            drop(self);
            return Ok(match exit {
                Exit::Code(0) => ExitCode::from(2),
                exit => leave(exit),
            });
        };
        let asked = self.asked;
        result.command = Some(asked.command.to_vec());
        result.exit = Some(exit);
        add(&mut result);
        let kept = keep(self.folder.as_ref(), |folder| {
            let (scale, seed) = (asked.args.scale, asked.device.seed);
            let config = sluice_results::write_system(&self.system, scale, seed);
            system_result::keep(folder, &config, &result)
        });
        crate::warn::of_counts(&result.figures.cache.counts, &result.flash.counts);
        part::print(&result);
        if asked.result.json {
            output::after_program(to_json(&result))?;
        } else {
            // Standard output is the program's.
            system_result::table(&result).note();
        }
        print_speed(&result, wall_s);
        kept?;
        // The demo has said why its guest did not come to its command.
        if result.guest.is_none() || exit == Exit::Code(0) {
            part::check(&result)?;
        }
        Ok(leave(exit))
    }
}

/// Whether there is anything to have figures of: QEMU finds some mistakes in its arguments when the
/// plugin has begun.
fn has_executed(result: &SystemResult) -> bool {
    match &result.program {
        Program::Executed(program) => program.instructions.iter().any(|of| *of > 0),
        Program::Kernel(_) | Program::Trace(_) => true,
    }
}

/// Of all that was executed, also where a part of it counts.
fn print_speed(result: &SystemResult, wall_s: f64) {
    let figures = &result.figures;
    let (instructions, accesses) = match &result.program {
        Program::Executed(program) => (program.instructions.iter().sum(), program.accesses),
        Program::Kernel(_) | Program::Trace(_) => {
            (figures.instructions, figures.loads + figures.stores)
        }
    };
    let rate = |count: u64| count as f64 / wall_s / 1e6;
    errln!(
        "sluice: {wall_s:.1} s, {:.1} million instructions and {:.1} million accesses a second \
         simulated",
        rate(instructions),
        rate(accesses),
    );
}
