//! A recorded trace on a simulated host.

use crate::{SystemError, SystemRun};
use sluice_config::System;
use sluice_host::{Program as _, RunLength};
use sluice_model::ConfigError;
use sluice_replay::Replay;
use sluice_results::{Program, SystemResult, TraceProgram};
use sluice_units::Ps;

/// A trace on a system, a thread for each of its CPUs.
pub struct TracePlan<'a> {
    /// Where it runs.
    pub run: SystemRun<'a>,
    /// The trace, and how it is replayed.
    pub replay: &'a Replay,
}

impl TracePlan<'_> {
    /// What sizes are divided by, unless somebody says otherwise.
    pub const SCALE: u32 = 1;

    /// Gives a system a thread for each CPU of a trace; cores that are left have one that ends at
    /// once.
    ///
    /// # Errors
    /// When the host cannot have as many.
    pub fn set_threads(system: &mut System, replay: &Replay) -> Result<(), ConfigError> {
        let cores = system.host.read::<u64>("cpu.cores");
        let threads = cores.max(u64::from(replay.cpus()));
        system.set("cpu.threads", &threads.to_string())
    }

    /// How long to run a trace, with what was not asked for: all of it, and everything counted.
    pub fn length(warmup: Option<u64>, measured: Option<u64>) -> RunLength {
        RunLength {
            warmup: warmup.unwrap_or(0),
            measured: measured.unwrap_or(u64::MAX),
            sample_every: Ps::ZERO,
        }
    }

    /// Runs until the length or the trace's end; `watch` is as in [`crate::SystemPlan::run`].
    ///
    /// # Errors
    /// [`SystemError`].
    ///
    /// # Panics
    /// If the host has fewer threads than the trace has CPUs.
    pub fn run(
        &self,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<SystemResult>, SystemError> {
        let ready = self.run.prepare()?;
        let workload = self.run.workload;
        ready.fits(workload, self.replay.footprint(), self.run.scale)?;
        let mut program = self.replay.program(ready.host.threads)?;
        if !watch(0) {
            return Ok(None);
        }
        let ran = ready.run(&mut program, self.run.length, watch)?;
        if let Some(error) = self.replay.failure() {
            return Err(error.into());
        }
        let trace = TraceProgram {
            trace: workload.to_owned(),
            command: self.replay.header().command.clone(),
            filter: self.replay.header().filter.clone(),
            threads: self.replay.cpus().into(),
            footprint_bytes: program.footprint().0,
        };
        Ok(ran.map(|ran| {
            let what = Program::Trace(trace);
            self.run.result(&ran, what, program.phases())
        }))
    }
}
