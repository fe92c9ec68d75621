//! `workload traffic`.

use serde::Serialize;
use sluice_units::{Bytes, LINE_BYTES, Ps};
use std::time::Duration;

use super::{bind, mapping};
use crate::error::Error;
use crate::hist::Histogram;
use crate::memory::Buffer;
use crate::report::{Output, Pass, Report, Sink};
use crate::traffic::{self, HAS_PAST, Plan, Store};
use sluice_streams::{BadValue, size};

/// How a thread stores.
#[derive(Clone, Copy, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum StoreArg {
    /// Through the caches
    Cached,
    /// Past the caches, a whole line
    Nontemporal,
}

/// Flags of the traffic.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Threads, each in a region of its own
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Bytes of each region, such as 64MiB
    #[arg(long, default_value = "64MiB", value_parser = size)]
    size: u64,
    /// Bytes from one place to the next: a multiple of 64
    #[arg(long, default_value = "64", value_parser = size)]
    stride: u64,
    /// Draw each place, instead of going by address
    #[arg(long)]
    random: bool,
    /// Loads of 100 accesses; the others are stores
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(0..=100))]
    reads: u64,
    /// How a thread stores
    #[arg(long, value_enum, default_value_t = StoreArg::Cached)]
    store: StoreArg,
    /// Time from an access of a thread to its next, at least
    #[arg(long, default_value = "0ns")]
    pace: Ps,
    /// Have the threads share so many CPUs; 0: wherever the system puts them
    #[arg(long, default_value_t = 0)]
    cores: u64,
    /// Bytes in which one thread more makes dependent loads, each of them timed; 0: none
    #[arg(long, default_value = "0", value_parser = size)]
    chase: u64,
    /// Times that each thread goes through its region
    #[arg(long, default_value_t = 4)]
    passes: u64,
    /// Do not touch the pages before
    #[arg(long)]
    cold: bool,
    /// Seed of what is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Bind the memory to this NUMA node
    #[arg(long, value_name = "N")]
    numa_node: Option<u32>,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    threads: u64,
    size_bytes: u64,
    stride_bytes: u64,
    random: bool,
    reads_percent: u64,
    store: StoreArg,
    pace_ns: u64,
    cores: u64,
    chase_bytes: u64,
    passes: u64,
    cold: bool,
    seed: u64,
    numa_node: Option<u32>,
}

#[derive(Serialize)]
struct Extra {
    /// 64 for each access of the threads.
    bytes_per_s: f64,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let plan = plan(args)?;
    let sink = Sink::open(&args.output)?;
    let total = plan.total_bytes();
    let buffer = Buffer::anonymous(total as usize).map_err(mapping(total, None))?;
    bind(&buffer, args.numa_node)?;
    let report = traffic::run(&plan, &buffer, |measured| {
        report(args, &plan, measured.wall_ns, measured.chase)
    })?;
    let heading = format!(
        "traffic: {} threads over {} each, beside dependent loads over {}\n",
        plan.threads,
        Bytes(plan.size),
        Bytes(plan.chase)
    );
    let rate = report.extra.bytes_per_s / 1e9;
    sink.write(&report, &heading, &format!("{rate:.3} GB/s\n"))
}

fn plan(args: &Args) -> Result<Plan, Error> {
    let line = LINE_BYTES;
    if args.stride == 0 || !args.stride.is_multiple_of(line) {
        return Err(BadValue::new("stride", args.stride, "a positive multiple of 64 bytes").into());
    }
    if args.size < args.stride || !args.size.is_multiple_of(args.stride) {
        let expected = format!("a positive multiple of the stride, {}", Bytes(args.stride));
        return Err(BadValue::new("size", Bytes(args.size), expected).into());
    }
    if !args.chase.is_multiple_of(line) || args.chase / line > u64::from(u32::MAX) {
        let expected = "0, or a multiple of 64 bytes below 256 GiB";
        return Err(BadValue::new("chase", Bytes(args.chase), expected).into());
    }
    if args.threads == 0 && args.chase == 0 {
        let expected = "1 or more, or with --chase 0";
        return Err(BadValue::new("threads", 0, expected).into());
    }
    let of_threads = args.threads.checked_mul(args.size);
    let total = of_threads.and_then(|bytes| bytes.checked_add(args.chase));
    if total.is_none_or(|total| total > isize::MAX as u64) {
        let expected = "less than 8 EiB over all threads";
        return Err(BadValue::new("size", Bytes(args.size), expected).into());
    }
    let through = total.and_then(|total| total.checked_mul(args.passes));
    if args.passes == 0 || through.is_none() {
        let expected = "1 or more, and less than 16 EiB to go through in all";
        return Err(BadValue::new("passes", args.passes, expected).into());
    }
    if Ps::from_ns(args.pace.as_ns()) != args.pace {
        return Err(BadValue::new("pace", args.pace, "whole nanoseconds").into());
    }
    let store = match args.store {
        StoreArg::Cached => Store::Cached,
        StoreArg::Nontemporal if HAS_PAST => Store::NonTemporal,
        StoreArg::Nontemporal => {
            let expected = "cached: this program knows stores past the caches of x86-64 alone";
            return Err(BadValue::new("store", "nontemporal", expected).into());
        }
    };
    Ok(Plan {
        threads: args.threads,
        size: args.size,
        stride: args.stride,
        random: args.random,
        reads: args.reads,
        store,
        pace: Duration::from_nanos(args.pace.as_ns()),
        cores: args.cores,
        chase: args.chase,
        passes: args.passes,
        warm: !args.cold,
        seed: args.seed,
    })
}

fn report(args: &Args, plan: &Plan, wall_ns: u64, chase: &Histogram) -> Report<Params, Extra> {
    let accesses = plan.threads * plan.accesses();
    // Without threads the dependent loads are all that there is.
    let counted = match plan.threads {
        0 => chase.count(),
        _ => accesses,
    };
    let passes = vec![Pass::new(1, counted, wall_ns, chase)];
    let params = Params {
        threads: plan.threads,
        size_bytes: plan.size,
        stride_bytes: plan.stride,
        random: plan.random,
        reads_percent: plan.reads,
        store: args.store,
        pace_ns: plan.pace.as_nanos() as u64,
        cores: plan.cores,
        chase_bytes: plan.chase,
        passes: plan.passes,
        cold: args.cold,
        seed: plan.seed,
        numa_node: args.numa_node,
    };
    let extra = Extra {
        bytes_per_s: (accesses * LINE_BYTES) as f64 / (wall_ns.max(1) as f64 / 1e9),
    };
    Report::new("traffic", params, passes, chase, extra)
}
