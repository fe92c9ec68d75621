//! `sluice sim --system`: a kernel or a trace on a simulated host.

use super::{HostArgs, SimArgs, Warmup};
use crate::error::Error;
use crate::progress::Progress;
use crate::settings::key_and_value;
use crate::system_result::{keep, table};
use crate::{result_args, signals, traces, warn};
use sluice_config::System;
use sluice_host::RunLength;
use sluice_kernels::KernelSpec;
use sluice_replay::Replay;
use sluice_results::{SystemResult, to_json, write_system};
use sluice_simulation::{SystemError, SystemPlan, SystemRun, TracePlan};
use sluice_skybyte_artifact::parse_kernel;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// What a host runs.
enum Source<'a> {
    Kernel(KernelSpec),
    Trace(&'a Path, Replay),
}

impl<'a> Source<'a> {
    fn read(args: &'a SimArgs) -> Result<Source<'a>, Error> {
        match &args.trace {
            Some(path) => Ok(Source::Trace(path, super::trace(path, args)?)),
            None => {
                let text = args.workload.as_deref().unwrap_or_default();
                Ok(Source::Kernel(parse_kernel(text, args.device.seed)?))
            }
        }
    }

    /// What the record calls it.
    fn name(&self, args: &SimArgs) -> String {
        match self {
            Source::Kernel(_) => args.workload.clone().unwrap_or_default(),
            Source::Trace(path, _) => traces::name_of(path),
        }
    }

    fn length(&self, host: &HostArgs, scale: u32) -> Result<RunLength, Error> {
        let warmup = match host.warmup {
            None => None,
            Some(Warmup::Count(instructions)) => Some(instructions),
            Some(passes @ Warmup::Passes(_)) => {
                let why = "a system is warmed by instructions; expected their number, such as 100M";
                return Err(Error::value("--warmup", passes, why));
            }
        };
        let length = match self {
            Source::Kernel(kernel) => SystemPlan::length(scale, kernel, warmup, host.instructions),
            Source::Trace(..) => TracePlan::length(warmup, host.instructions),
        };
        Ok(RunLength {
            sample_every: host.timeline.unwrap_or_default(),
            ..length
        })
    }

    fn run(
        self,
        run: SystemRun,
        check: bool,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<SystemResult>, Error> {
        match self {
            Source::Kernel(kernel) => Ok(SystemPlan { run, kernel, check }.run(watch)?),
            Source::Trace(path, replay) => {
                let replay = &replay;
                let result = TracePlan { run, replay }.run(watch);
                result.map_err(|error| match error {
                    SystemError::Trace(error) => traces::at(path, error),
                    other => other.into(),
                })
            }
        }
    }
}

/// Simulates and prints.
pub fn run(name: &str, args: &SimArgs) -> Result<ExitCode, Error> {
    // A name that is no system is refused before a mistake in what it would run.
    sluice_config::load_system(name)?;
    let source = Source::read(args)?;
    let system = resolve(name, args, &source)?;
    let usual = match source {
        Source::Kernel(_) => SystemPlan::SCALE,
        Source::Trace(..) => TracePlan::SCALE,
    };
    let scale = args.host.scale.unwrap_or(usual);
    let length = source.length(&args.host, scale)?;
    let workload = source.name(args);
    let run = SystemRun {
        name,
        system: &system,
        scale,
        workload: &workload,
        length,
        seed: args.device.seed,
    };
    let folder = args.result.folder()?;
    signals::await_interrupt();
    let all = length.warmup.checked_add(length.measured);
    let progress = Progress::new(all, "instructions");
    let (start, mut made, mut done) = (Instant::now(), None, 0);
    let result = source.run(run, args.host.check, &mut |instructions| {
        made.get_or_insert_with(Instant::now);
        done = instructions;
        progress.show(instructions);
        !signals::is_interrupted()
    });
    progress.end();
    let Some(result) = result? else {
        let of = "instructions";
        return Err(Error::Interrupted { done, of });
    };
    if result.figures.instructions == 0 && length.warmup > 0 {
        return Err(all_warm(args, length.warmup));
    }
    // Skipping to the part of a kernel that is simulated can take longer than simulating it.
    let made = made.unwrap_or(start);
    let (made_s, wall_s) = ((made - start).as_secs_f64(), made.elapsed().as_secs_f64());
    let kept = result_args::keep(folder.as_ref(), |folder| {
        let config = write_system(&system, scale, args.device.seed);
        keep(folder, &config, &result)
    });
    warn::of_counts(&result.figures.cache.counts, &result.flash.counts);
    let instructions = length.warmup as f64 + result.figures.instructions as f64;
    let mips = instructions / wall_s / 1e6;
    if args.result.json {
        outln!("{}", to_json(&result))?;
        errln!(
            "sluice: {wall_s:.1} s, {mips:.1} million simulated instructions a second, and \
             {made_s:.1} s for making the program"
        );
    } else {
        let mut rows = table(&result);
        rows.row("program made in", format!("{made_s:.1} s"));
        rows.row("simulated in", format!("{wall_s:.1} s, {mips:.1} MIPS"));
        rows.print()?;
    }
    kept.map(|()| ExitCode::SUCCESS)
}

/// Of a program that ends while it warms up.
fn all_warm(args: &SimArgs, warmup: u64) -> Error {
    match args.host.warmup {
        Some(_) => {
            let why = "the program has no more instructions than that";
            Error::value("--warmup", warmup, why)
        }
        None => {
            let why = format!(
                "it has no more instructions than the {warmup} that warm a system up if --warmup \
                 does not say it; give fewer, such as --warmup 0"
            );
            Error::unfit(args.workload.as_deref().unwrap_or_default(), why)
        }
    }
}

/// The system that was asked for, at full size, with its changed settings.
fn resolve(name: &str, args: &SimArgs, source: &Source) -> Result<System, Error> {
    let mut system = sluice_config::load_system(name)?;
    if let Source::Trace(..) = source {
        sluice_config::begin_from_nothing(&mut system);
    }
    for pair in &args.device.set {
        let (key, value) = key_and_value(pair)?;
        system.set(key, value)?;
    }
    if let Some(threads) = args.host.threads {
        system.set("cpu.threads", &threads.to_string())?;
    }
    if let Source::Trace(_, replay) = source {
        set_threads(&mut system, args, replay)?;
    }
    sluice_plugin::make_absolute(&mut system.device)?;
    let checked = system.check(args.device.seed)?;
    sluice_plugin::check(&checked.device)?;
    Ok(system)
}

/// Those of a trace are its CPUs.
fn set_threads(system: &mut System, args: &SimArgs, replay: &Replay) -> Result<(), Error> {
    for pair in &args.device.set {
        if key_and_value(pair)?.0 == "cpu.threads" {
            let why = format!(
                "a trace has its own threads, and this one {}",
                replay.cpus()
            );
            return Err(Error::unfit(format!("--set {pair}"), why));
        }
    }
    Ok(TracePlan::set_threads(system, replay)?)
}
