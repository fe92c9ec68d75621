//! `workload mixed`.

use std::time::Duration;

use serde::Serialize;
use sluice_streams::BadValue;
use sluice_streams::plan::within;
use sluice_streams::size;
use sluice_units::Bytes;

use super::mapping;
use super::pages::{all_right, untimed, whole_pages};
use crate::error::Error;
use crate::hist::Histogram;
use crate::memory::Buffer;
use crate::mixed::{self, Load};
use crate::report::{Output, Report, Sink};

const THREADS_MAX: u64 = 1024;

/// Flags of threads that compute and threads that load.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Threads that compute
    #[arg(long, default_value_t = 2)]
    computing: u64,
    /// Threads that load from pages at random
    #[arg(long, default_value_t = 2)]
    loading: u64,
    /// Bytes in which those pages are, such as 64MiB
    #[arg(long, default_value = "64MiB", value_parser = size)]
    size: u64,
    /// How long
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Seed of the order, and of the contents
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    computing: u64,
    loading: u64,
    size_bytes: u64,
    seconds: u64,
    seed: u64,
}

#[derive(Serialize)]
struct Extra {
    cpu_share: Vec<f64>,
    cpu_of_process: f64,
    steps: u64,
    mismatches: u64,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    check(args)?;
    let sink = Sink::open(&args.output)?;
    let memory = Buffer::anonymous(args.size as usize).map_err(mapping(args.size, None))?;
    let load = Load {
        computing: args.computing,
        loading: args.loading,
        time: Duration::from_secs(args.seconds),
        seed: args.seed,
    };
    let found = mixed::run(&load, &memory);
    let passes = untimed([("fill", found.filled), ("read", found.read)]);
    let params = Params {
        computing: args.computing,
        loading: args.loading,
        size_bytes: args.size,
        seconds: args.seconds,
        seed: args.seed,
    };
    let shares: Vec<String> = found.cpu_share.iter().map(percent).collect();
    let mismatches = found.mismatches;
    let extra = Extra {
        cpu_share: found.cpu_share,
        cpu_of_process: found.cpu_of_process,
        steps: found.steps,
        mismatches,
    };
    let report = Report::new("mixed", params, passes, &Histogram::new(), extra);
    let (computing, loading, size) = (args.computing, args.loading, Bytes(args.size));
    let heading = format!("mixed: {computing} threads compute, {loading} load from {size}");
    let wrong = format!("{mismatches} loads wrong");
    let of_process = percent(&found.cpu_of_process);
    let footer = format!(
        "CPU of each computing thread: {}; {of_process} of the process's; {wrong}",
        shares.join(", ")
    );
    sink.write(&report, &heading, &footer)?;
    all_right(mismatches, wrong)
}

fn percent(share: &f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn check(args: &Args) -> Result<(), BadValue> {
    within("--computing", args.computing, THREADS_MAX)?;
    within("--loading", args.loading, THREADS_MAX)?;
    within("--seconds", args.seconds, 1 << 20)?;
    whole_pages("--size", args.size)
}
