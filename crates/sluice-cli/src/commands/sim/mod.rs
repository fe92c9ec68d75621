//! `sluice sim`: a workload in virtual time, on a device or on a host with its device.

mod device;
mod system;

use crate::error::{ArgumentError, Error};
use crate::result_args::ResultArgs;
use crate::settings::DeviceArgs;
use crate::traces;
use clap::{Args, ValueEnum};
use sluice_host::RunLength;
use sluice_replay::{Placement, Replay};
use sluice_units::Ps;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(after_help = sim_help())]
pub struct SimArgs {
    #[command(flatten)]
    pub device: DeviceArgs,
    /// A host with its device: a name of `sluice system list`, or the path of a .toml file
    #[arg(long, value_name = "SYSTEM", conflicts_with = "device")]
    pub system: Option<String>,
    /// Access pattern, such as "chase:size=64MiB,stride=4096,passes=4"; with --system a kernel
    #[arg(long, value_name = "SPEC")]
    pub workload: Option<String>,
    /// A trace of `sluice trace` instead: on the device, a requester for each of its CPUs; with
    /// --system, a thread for each, with the instructions between its accesses
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub trace: Option<PathBuf>,
    /// Where the pages of the trace lie on the device, one after another
    #[arg(long, value_enum, default_value_t = PlaceArg::Touch)]
    pub place: PlaceArg,
    #[command(flatten)]
    pub host: HostArgs,
    /// What the device sees: every access, or only those that would trap in a live run
    #[arg(long, value_enum, default_value_t = HitsArg::All, conflicts_with = "system")]
    pub hits: HitsArg,
    /// Also print the fewest misses that any policy could have without prefetching (Belady's
    /// optimum); keeps 4 bytes for each access, and as much again while it counts
    #[arg(long, conflicts_with = "system")]
    pub bound: bool,
    /// Also print how the latencies of all accesses are distributed
    #[arg(long, conflicts_with = "system")]
    pub histogram: bool,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Every kernel with its keys.
fn sim_help() -> String {
    let mut text = "With --system, a kernel runs on a simulated host, such as srad:seed=3 or \
                    stream:bytes=64MB. Without, one requester for each thread of a pattern drives \
                    the device alone.\n\nPatterns and their keys:"
        .to_owned();
    for (name, keys, meaning) in sluice_streams::PATTERNS {
        text += &format!("\n  {name:<8} {meaning}\n    {}", keys.join(", "));
    }
    text += "\n\nKernels; each has the keys seed and rounds (0: without \
                    end):";
    let kernels: &[sluice_kernels::KernelInfo] = &sluice_skybyte_artifact::KERNELS;
    let width = kernels.iter().map(|kernel| kernel.name.len()).max();
    for kernel in kernels {
        let name = format!("{:<1$}", kernel.name, width.unwrap_or(0));
        text += &format!("\n  {name}  {}", kernel.meaning);
        for param in kernel.params {
            text += &format!(
                "\n    {}={}: {}",
                param.key,
                param.default,
                param.explained()
            );
        }
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlaceArg {
    /// As they are touched first in the file
    Touch,
    /// By their addresses
    Address,
}

/// How a kernel runs on a simulated host.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Divide the memory of the program, and the capacities that must keep their ratio to it; of a
    /// trace, only these [default: 8; of a trace, 1]. An L2 keeps room for what no scale divides:
    /// dlrm's networks
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub scale: Option<u32>,
    /// Threads of the program, as cpu.threads
    #[arg(long, value_name = "T", conflicts_with = "trace")]
    pub threads: Option<u32>,
    /// What is done before counting begins: accesses, such as 20M, or passes of a pattern that has
    /// them, such as 1pass [default: 0]; with --system instructions of all threads [default: 800M /
    /// scale; of a trace, 0]
    #[arg(long, value_name = "N|Npasses", value_parser = warmup)]
    pub warmup: Option<Warmup>,
    /// Instructions counted [default: 800M / scale, or to the end of a kernel with rounds, or of a
    /// trace]
    #[arg(long, value_name = "I", value_parser = sluice_units::parse_count)]
    pub instructions: Option<u64>,
    /// Also print what went on in each stretch of this much simulated time, such as 100us
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    pub timeline: Option<Ps>,
    /// Compare what the kernel's last finished round computed with a plain computation
    #[arg(long, conflicts_with = "trace")]
    pub check: bool,
}

/// What is done before counting begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Accesses, or instructions.
    Count(u64),
    /// Passes of a pattern.
    Passes(u64),
}

fn period(text: &str) -> Result<Ps, ArgumentError> {
    let least = RunLength::SAMPLE_EVERY_MIN;
    match text.parse::<Ps>()? {
        period if period < least => Err(ArgumentError::Expected(format!("{least} at least"))),
        period => Ok(period),
    }
}

impl std::fmt::Display for Warmup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warmup::Count(count) => write!(f, "{count}"),
            Warmup::Passes(passes) => write!(f, "{passes}pass"),
        }
    }
}

fn warmup(text: &str) -> Result<Warmup, ArgumentError> {
    let passes = text.strip_suffix("passes").or(text.strip_suffix("pass"));
    let count = sluice_units::parse_count(passes.unwrap_or(text))?;
    Ok(match passes {
        Some(_) => Warmup::Passes(count),
        None => Warmup::Count(count),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HitsArg {
    /// Every access
    All,
    /// Only accesses to unmapped pages
    Misses,
}

/// Simulates and prints.
pub fn run(args: &SimArgs) -> Result<ExitCode, Error> {
    if args.workload.is_none() && args.trace.is_none() {
        let why = "nothing to simulate; give --workload SPEC or --trace FILE";
        return Err(Error::unfit("sim", why));
    }
    if args.trace.is_none() && matches!(args.place, PlaceArg::Address) {
        let why = "it is for the pages of a --trace; leave it out";
        return Err(Error::value("--place", "address", why));
    }
    match &args.system {
        Some(system) => system::run(system, args),
        None => device::run(args),
    }
}

/// Reads a trace and says what a user should know of it.
pub fn trace(path: &Path, args: &SimArgs) -> Result<Replay, Error> {
    let placement = match args.place {
        PlaceArg::Touch => Placement::Touch,
        PlaceArg::Address => Placement::Address,
    };
    traces::open_replay(path, placement)
}
