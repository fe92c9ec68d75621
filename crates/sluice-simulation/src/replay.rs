//! A recorded trace on a simulated host, told as one JSON object.

use crate::{SystemError, SystemRun};
use serde_json::{Value, json};
use sluice_host::{Program, RunLength};
use sluice_replay::Replay;
use sluice_units::Ps;

/// A trace on a system, a thread for each of its CPUs.
pub struct TracePlan<'a> {
    /// Where it runs.
    pub run: SystemRun<'a>,
    /// The trace.
    pub replay: &'a Replay,
}

impl TracePlan<'_> {
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
    pub fn run(&self, watch: &mut dyn FnMut(u64) -> bool) -> Result<Option<Value>, SystemError> {
        let ready = self.run.prepare()?;
        let workload = self.run.workload;
        ready.fits(workload, self.replay.footprint(), self.run.scale)?;
        let mut program = self.replay.program(ready.host.threads)?;
        if !watch(0) {
            return Ok(None);
        }
        let ran = ready.run(&mut program, self.run.length, watch);
        if let Some(error) = self.replay.failure() {
            return Err(error.into());
        }
        let told = json!({
            "trace": workload,
            "command": self.replay.header().command,
            "filter": self.replay.header().filter,
            "threads": self.replay.cpus(),
            "footprint_bytes": program.footprint().0,
        });
        Ok(ran.map(|ran| self.run.object(&ran, told, program.phases())))
    }
}
