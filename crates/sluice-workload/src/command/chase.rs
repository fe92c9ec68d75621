//! `workload chase`.

use std::path::PathBuf;

use serde::Serialize;
use sluice_units::Bytes;

use super::{bind, mapping};
use crate::chase::{self, Measure, Measured, REVISIT};
use crate::error::Error;
use crate::memory::Buffer;
use crate::report::{Output, Pass, Report, Sink};
use sluice_stats::median;
use sluice_streams::order::ChaseOrder;
use sluice_streams::plan::{Parameters, Plan};
use sluice_streams::{BadValue, size};

/// Flags of the chase.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bytes of each thread's buffer, such as 64MiB
    #[arg(long, default_value = "64MiB", value_parser = size)]
    size: u64,
    /// Bytes between neighbouring nodes: a power of two from 8 to the size
    #[arg(long, default_value = "64", value_parser = size)]
    stride: u64,
    /// Visit the nodes along one random cycle instead of in address order
    #[arg(long, conflicts_with = "uniform")]
    random: bool,
    /// Visit independent uniformly random nodes
    #[arg(long)]
    uniform: bool,
    /// Threads, each with its own buffer in one shared mapping
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Measured passes, after the one that builds the chain
    #[arg(long, default_value_t = 4)]
    passes: u64,
    /// Count up a word in each node visited, and check the counts at the end
    #[arg(long)]
    write: bool,
    /// Seed of the random orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Map this file, made or extended as needed, instead of anonymous memory
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Time whole passes only, at native speed
    #[arg(long)]
    batch: bool,
    /// Time whole passes of nothing but loads, sixteen in a row, as latency checkers do: what the
    /// program itself takes is left out. Short chains are gone round more often
    #[arg(long, conflicts_with_all = ["batch", "uniform", "write"])]
    bare: bool,
    /// Time not the accesses but one after each, to the node of 4096 accesses earlier: where the
    /// accesses miss and that one is still cached, a hit right after a miss
    #[arg(long, conflicts_with_all = ["batch", "bare", "uniform", "write"])]
    revisit: bool,
    /// Refuse transparent huge pages, to compare with memory managed page by page
    #[arg(long)]
    small_pages: bool,
    /// Bind the memory to this NUMA node
    #[arg(long, value_name = "N", conflicts_with = "file")]
    numa_node: Option<u32>,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    size_bytes: u64,
    stride_bytes: u64,
    order: &'static str,
    threads: u64,
    passes: u64,
    write: bool,
    seed: u64,
    batch: bool,
    bare: bool,
    revisit: bool,
    small_pages: bool,
    file: Option<PathBuf>,
    numa_node: Option<u32>,
}

#[derive(Serialize)]
struct Extra {
    build_s: f64,
    checksum: String,
    mismatches: u64,
    timer: Clock,
    /// Wall time of an access in nanoseconds, over the passes.
    pass_ns: Spread,
}

#[derive(Serialize)]
struct Spread {
    min: f64,
    median: f64,
}

#[derive(Serialize)]
struct Clock {
    source: &'static str,
    overhead_ns: f64,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let plan = Plan::new(Parameters {
        size: args.size,
        stride: args.stride,
        order: match (args.random, args.uniform) {
            (true, _) => ChaseOrder::Cycle,
            (_, true) => ChaseOrder::Uniform,
            _ => ChaseOrder::Sequential,
        },
        write: args.write,
        passes: args.passes,
        threads: args.threads,
        seed: args.seed,
    })?;
    if args.revisit && plan.nodes() <= REVISIT as u64 {
        let least = Bytes(REVISIT as u64 * args.stride);
        let expected = format!("more than {least}, {REVISIT} strides, with --revisit");
        return Err(BadValue::new("size", Bytes(args.size), expected).into());
    }
    let sink = Sink::open(&args.output)?;
    let (total, file) = (plan.total_bytes(), args.file.as_deref());
    let buffer = Buffer::open(file, total as usize).map_err(mapping(total, file))?;
    bind(&buffer, args.numa_node)?;
    if args.small_pages {
        buffer
            .small_pages()
            .map_err(Error::system("asking for small pages"))?;
    }
    let measure = match (args.batch, args.bare, args.revisit) {
        (_, true, _) => Measure::Loads,
        (true, ..) => Measure::Passes,
        (.., true) => Measure::Revisits,
        _ => Measure::Accesses,
    };
    let report = chase::run(&plan, measure, &buffer, |measured| {
        report(args, &plan, measured)
    })?;
    sink.write(&report, &heading(&plan), &footer(&report.extra))
}

fn report(args: &Args, plan: &Plan, measured: &Measured) -> Report<Params, Extra> {
    let p = plan.parameters();
    let accesses = plan.nodes() * p.threads * measured.laps;
    let passes = measured.pass_ns.iter().zip(measured.passes).enumerate();
    let passes: Vec<Pass> = passes
        .map(|(i, (ns, hist))| Pass::new(i + 1, accesses, *ns, hist))
        .collect();
    let params = Params {
        size_bytes: p.size,
        stride_bytes: p.stride,
        order: p.order.name(),
        threads: p.threads,
        passes: p.passes,
        write: p.write,
        seed: p.seed,
        batch: args.batch,
        bare: args.bare,
        revisit: args.revisit,
        small_pages: args.small_pages,
        file: args.file.clone(),
        numa_node: args.numa_node,
    };
    let extra = Extra {
        build_s: measured.build_ns as f64 / 1e9,
        checksum: format!("{:#018x}", measured.checksum),
        mismatches: 0,
        timer: Clock {
            source: measured.timer.source(),
            overhead_ns: measured.timer.overhead_ns(),
        },
        pass_ns: spread(&passes),
    };
    Report::new("chase", params, passes, measured.total, extra)
}

fn spread(passes: &[Pass]) -> Spread {
    let times = || passes.iter().map(|pass| pass.ns_per_access);
    Spread {
        min: times().fold(f64::INFINITY, f64::min),
        median: median(times()).unwrap_or_default(),
    }
}

fn heading(plan: &Plan) -> String {
    let p = plan.parameters();
    let (size, stride) = (Bytes(p.size), Bytes(p.stride));
    let (order, threads, seed) = (p.order.name(), p.threads, p.seed);
    format!("chase: {size} a thread, stride {stride}, {order}, {threads} threads, seed {seed}")
}

fn footer(extra: &Extra) -> String {
    let Extra {
        build_s,
        checksum,
        timer,
        ..
    } = extra;
    let (source, overhead) = (timer.source, timer.overhead_ns);
    format!("built in {build_s:.3} s; clock {source}, {overhead:.1} ns subtracted; {checksum}")
}
