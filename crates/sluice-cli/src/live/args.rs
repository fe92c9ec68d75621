//! The arguments of every live run.

use super::metrics::MetricsTo;
use crate::error::{ArgumentError, Error};
use crate::result_args::ResultArgs;
use crate::settings::{self, DeviceArgs};
use clap::{Args, ValueEnum};
use sluice_model::DeviceConfig;
use sluice_runtime::LiveSettings;
use sluice_units::Ps;

/// A time of a nanosecond or more.
fn nonzero_time(text: &str) -> Result<Ps, ArgumentError> {
    let time: Ps = text.parse()?;
    match time.as_ns() {
        0 => Err(ArgumentError::Expected("1ns at least".to_owned())),
        _ => Ok(time),
    }
}

/// The shortest window of samples. One costs a trap of a microsecond at least, and samples take
/// 5 % of the time at most.
const WINDOW_MIN: Ps = Ps::from_us(20);

/// A time in which pages can be sampled.
fn window(text: &str) -> Result<Ps, ArgumentError> {
    let time: Ps = text.parse()?;
    match time < WINDOW_MIN {
        true => Err(ArgumentError::Expected(format!("{WINDOW_MIN} at least"))),
        false => Ok(time),
    }
}

/// The options of every live run.
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Handler threads in event mode
    #[arg(long, conflicts_with = "simulate", value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=64))]
    pub handlers: u64,
    /// Whether the program has a control ring, for `sluice ctl` and the C library. Its thread makes
    /// signal mode look twice at each page that leaves, so `auto` is event mode only
    #[arg(long, conflicts_with = "simulate", value_enum, default_value_t = ControlArg::Auto)]
    pub control: ControlArg,
    /// How often the ring's server looks by itself, such as 5ms: for a guest of QEMU, which cannot
    /// wake it
    #[arg(long, conflicts_with = "simulate", value_name = "PERIOD", value_parser = nonzero_time)]
    pub control_poll: Option<Ps>,
    /// Sample hits: take cached pages away at random and see which are touched within this window,
    /// such as 100ms, which gives a hit ratio. Also take those away that the policy lets go, so
    /// that it sees hits (cache.inactive, 10 % unless set). Both cost soft traps
    #[arg(long, conflicts_with = "simulate", value_name = "WINDOW", value_parser = window)]
    pub sample_hits: Option<Ps>,
    /// Keep the first N trapped pages, in order, in DIR/traps.bin
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "N",
        default_value_t = 0
    )]
    pub record_traps: u64,
    /// Publish the counters of the run for Prometheus: at http://ADDRESS:PORT/metrics, or in a file
    /// ending in .prom, once a second, for the textfile collector. Give it again for both
    #[arg(
        long,
        conflicts_with = "simulate",
        value_name = "ADDRESS:PORT|FILE.prom"
    )]
    pub metrics: Vec<MetricsTo>,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Inactive pages by default where hits are sampled. A tenth of the cache is enough for CLOCK to
/// come more than half of the way to what it does if it sees every hit.
const INACTIVE: (&str, &str) = ("cache.inactive", "10%");

impl LiveArgs {
    /// The device that was asked for, checked, and what is set of the run beside it.
    pub fn config(&self) -> Result<(DeviceConfig, LiveSettings), Error> {
        let unless_set = self.sample_hits.map(|_| INACTIVE);
        settings::resolve_live(&self.device, unless_set.as_slice())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlArg {
    /// On in event mode, off in signal mode
    Auto,
    /// On
    On,
    /// Off
    Off,
}

impl ControlArg {
    /// Whether there is a ring in a trap mode.
    pub fn is_on(self, trap: TrapArg) -> bool {
        match self {
            ControlArg::Auto => trap == TrapArg::Event,
            ControlArg::On => true,
            ControlArg::Off => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrapArg {
    /// A thread of the runtime reads faults from userfaultfd
    Event,
    /// The faulting thread serves itself inside SIGBUS
    Signal,
}

impl TrapArg {
    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            TrapArg::Event => "event",
            TrapArg::Signal => "signal",
        }
    }
}
