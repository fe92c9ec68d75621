//! `workload graph`.

use serde::Serialize;

use super::pages::at_most;
use crate::error::Error;
use crate::graph::{self, Load, Measured, Searched};
use crate::hist::Histogram;
use crate::report::{Output, Pass, Report, Sink};
use sluice_stats::median;
use sluice_streams::BadValue;
use sluice_streams::plan::{THREADS_MAX, within};

/// Graph500's searches.
const SOURCES_MAX: u64 = 64;
const NS_PER_S: f64 = 1e9;

/// Flags of the graph.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Graph500's Kronecker graph: both directions of every edge, loops and multiple edges too. Searches
are validated by its five rules, and the last iteration of PageRank is done once more along the
edges as they are drawn. The answers, and with one thread the accesses, depend on the flags only.")]
pub struct Args {
    /// Two to this power are the vertices
    #[arg(long, default_value_t = 20)]
    scale: u64,
    /// Edges drawn for each vertex, on average
    #[arg(long, default_value_t = 16)]
    edges_per_vertex: u64,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Seed of the graph and of the sources
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Breadth-first searches, each from another vertex; 0 for none
    #[arg(long, default_value_t = 8)]
    sources: u64,
    /// Iterations of PageRank; 0 for none
    #[arg(long, default_value_t = 20)]
    iterations: u64,
    /// Do not check the answers, which takes several times as long as finding them
    #[arg(long)]
    skip_validation: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Params {
    scale: u64,
    edges_per_vertex: u64,
    threads: u64,
    seed: u64,
    sources: u64,
    iterations: u64,
    skip_validation: bool,
}

#[derive(Serialize)]
struct Extra {
    vertices: u64,
    edges: u64,
    memory_bytes: u64,
    validated: bool,
    mismatches: u64,
    bfs: Option<Bfs>,
    pagerank: Option<PageRank>,
}

#[derive(Serialize)]
struct Bfs {
    teps_min: f64,
    teps_median: f64,
    teps_max: f64,
    teps_harmonic_mean: f64,
    searches: Vec<Search>,
}

#[derive(Serialize)]
struct Search {
    source: u32,
    reached: u64,
    depth: u32,
    edges: u64,
    wall_s: f64,
    teps: f64,
}

#[derive(Serialize)]
struct PageRank {
    iterations: u64,
    edges_per_s: f64,
    sum: f64,
    change: f64,
    error: Option<f64>,
    checksum: String,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let load = check(args)?;
    let sink = Sink::open(&args.output)?;
    let measured = graph::run(&load)?;
    let report = report(args, &load, &measured);
    let heading = format!(
        "graph: 2^{} vertices, {} edges, {:.1} MiB, {} threads, seed {}",
        load.scale,
        report.extra.edges,
        measured.memory_bytes as f64 / f64::from(1 << 20),
        load.threads,
        load.seed
    );
    sink.write(&report, &heading, &footer(&report.extra))?;
    match measured.wrong.len() {
        0 => Ok(()),
        count => Err(Error::Mismatch {
            wrong: format!("{count} answers wrong"),
            examples: measured.wrong,
        }),
    }
}

fn check(args: &Args) -> Result<Load, BadValue> {
    within("--scale", args.scale, 31)?;
    within("--edges-per-vertex", args.edges_per_vertex, 1024)?;
    within("--threads", args.threads, THREADS_MAX as u64)?;
    at_most("--sources", args.sources, SOURCES_MAX)?;
    at_most("--iterations", args.iterations, 1000)?;
    Ok(Load {
        scale: args.scale as u32,
        edges_per_vertex: args.edges_per_vertex,
        threads: args.threads as usize,
        seed: args.seed,
        sources: args.sources as usize,
        iterations: args.iterations as u32,
        validate: !args.skip_validation,
    })
}

fn report(args: &Args, load: &Load, measured: &Measured) -> Report<Params, Extra> {
    let untimed = Histogram::new();
    let edges = load.edges_per_vertex << load.scale;
    let mut passes = vec![Pass::new(1, edges, measured.build_ns, &untimed).named("build")];
    for search in &measured.searches {
        let pass = Pass::new(passes.len() + 1, search.edges, search.wall_ns, &untimed);
        passes.push(pass.named("bfs"));
    }
    let followed = 2 * edges * args.iterations;
    if let Some(ranked) = &measured.ranks {
        let pass = Pass::new(passes.len() + 1, followed, ranked.wall_ns, &untimed);
        passes.push(pass.named("pagerank"));
    }
    let params = Params {
        scale: args.scale,
        edges_per_vertex: args.edges_per_vertex,
        threads: args.threads,
        seed: args.seed,
        sources: args.sources,
        iterations: args.iterations,
        skip_validation: args.skip_validation,
    };
    let extra = Extra {
        vertices: 1 << load.scale,
        edges,
        memory_bytes: measured.memory_bytes,
        validated: load.validate,
        mismatches: measured.wrong.len() as u64,
        bfs: bfs(&measured.searches),
        pagerank: measured.ranks.as_ref().map(|ranked| PageRank {
            iterations: args.iterations,
            edges_per_s: rate(followed, ranked.wall_ns),
            sum: ranked.sum,
            change: ranked.change,
            error: ranked.error,
            checksum: format!("{:#018x}", ranked.checksum),
        }),
    };
    Report::new("graph", params, passes, &untimed, extra)
}

fn bfs(searches: &[Searched]) -> Option<Bfs> {
    let teps = |search: &Searched| rate(search.edges, search.wall_ns);
    let mut sorted: Vec<f64> = searches.iter().map(teps).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let inverse: f64 = sorted.iter().map(|teps| teps.recip()).sum();
    let searches = searches.iter().map(|search| Search {
        source: search.source,
        reached: search.reached,
        depth: search.depth,
        edges: search.edges,
        wall_s: search.wall_ns as f64 / NS_PER_S,
        teps: teps(search),
    });
    Some(Bfs {
        teps_min: *sorted.first()?,
        teps_median: median(sorted.iter().copied())?,
        teps_max: *sorted.last()?,
        teps_harmonic_mean: count as f64 / inverse,
        searches: searches.collect(),
    })
}

/// A second; a time of nothing counts as a nanosecond.
fn rate(edges: u64, wall_ns: u64) -> f64 {
    edges as f64 * NS_PER_S / wall_ns.max(1) as f64
}

fn footer(extra: &Extra) -> String {
    let millions = |rate: f64| format!("{:.2} million edges a second", rate / 1e6);
    let mut lines = Vec::new();
    if let Some(bfs) = &extra.bfs {
        let mean = millions(bfs.teps_harmonic_mean);
        lines.push(format!("bfs: {mean} (harmonic mean)"));
    }
    if let Some(ranks) = &extra.pagerank {
        let (rate, checksum) = (millions(ranks.edges_per_s), &ranks.checksum);
        lines.push(format!(
            "pagerank: {rate}; sum {:.12}, {checksum}",
            ranks.sum
        ));
    }
    lines.push(match extra.validated {
        true => format!("{} answers wrong", extra.mismatches),
        false => "answers not validated".to_owned(),
    });
    lines.join("\n")
}
