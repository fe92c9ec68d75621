//! `sluice fabric`: requesters, switches and memories joined by links.

mod replay;
mod show;

use crate::error::{ArgumentError, Error};
use crate::listing::list_presets;
use crate::output::{Rows, parts};
use crate::progress::Progress;
use crate::result_args::{ResultArgs, keep};
use crate::settings;
use crate::signals;
use crate::traces;
use clap::{Args, Subcommand};
use sluice_config::{describe_fabric, fabrics};
use sluice_driver::recording::SPREADS;
use sluice_net::{
    EndpointType, FabricConfig, FabricSpec, HostProgram, Length, PATTERNS, ROUTINGS, TOPOLOGIES,
};
use sluice_results::{FabricChoices, FabricHost, FabricResult, Named, VcsUse, to_json};
use sluice_simulation::{FabricPlan, check_hosts, check_objects};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    /// Simulate a fabric, in virtual time
    Run(FabricArgs),
    /// List the fabrics that come with Sluice
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List topologies, routing policies, patterns and types of endpoints
    Choices {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show every setting of a fabric, with its meaning and source
    Show {
        /// Name, or path to a fabric file ending in .toml
        #[arg(default_value = "esf")]
        fabric: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a fabric file
    Check {
        /// Name, or path to a fabric file
        fabric: String,
        /// Change one setting
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct FabricArgs {
    /// A name of `sluice fabric list`, or the path of a .toml file
    #[arg(value_name = "FABRIC")]
    pub fabric: String,
    /// Change one setting, such as link.bandwidth=16000, or of a group, such as host.depth=8
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Requests that come back before counting begins, such as 100k
    #[arg(long, value_name = "N", default_value = "100k", value_parser = sluice_units::parse_count)]
    pub warmup: u64,
    /// Requests counted; of coherent memory perhaps a few more
    #[arg(long, value_name = "N", default_value = "256k", value_parser = one_at_least)]
    pub requests: u64,
    #[command(flatten)]
    pub replay: replay::ReplayArgs,
    /// Report mix degree and bandwidth of every N requests that come back
    #[arg(long, value_name = "N", default_value = "0", value_parser = sluice_units::parse_count)]
    pub window: u64,
    #[command(flatten)]
    pub result: ResultArgs,
}

fn one_at_least(text: &str) -> Result<u64, ArgumentError> {
    match sluice_units::parse_count(text)? {
        0 => Err(ArgumentError::Expected("1 at least".to_owned())),
        count => Ok(count),
    }
}

/// The seed does not matter where nothing runs.
const ANY_SEED: u64 = 1;

/// `sluice fabric`.
pub fn run(command: &FabricCommand) -> Result<ExitCode, Error> {
    match command {
        FabricCommand::Run(args) => return simulate(args),
        FabricCommand::List { json } => list_presets(fabrics(), *json)?,
        FabricCommand::Choices { json } => choices(*json)?,
        FabricCommand::Show { fabric, json } => {
            let described = describe_fabric(fabric)?;
            FabricConfig::new(&described.given, ANY_SEED)?;
            show::run(fabric, &described, *json)?;
        }
        FabricCommand::Check { fabric, set } => {
            let spec = settings::fabric(fabric, set)?;
            let config = FabricConfig::new(&spec, ANY_SEED)?;
            look_at_traces(&spec)?;
            check_objects(&config)?;
            check_hosts(&spec)?;
            let graph = &config.graph;
            outln!(
                "{fabric}: valid: {} requesters, {} endpoints, {} switches, {} links",
                graph.requesters,
                graph.endpoints,
                config.switches(),
                graph.links.len()
            )?;
            for vcs in &config.vcs {
                let devices: Vec<&str> = vcs.vppbs.iter().map(|vppb| &*vppb.name).collect();
                outln!(
                    "vcs {} of {}: {} reaches {}",
                    vcs.name,
                    graph.name(vcs.switch),
                    graph.name(vcs.host.node()),
                    devices.join(", ")
                )?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a user should know of the traces that hosts replay.
fn look_at_traces(spec: &FabricSpec) -> Result<(), Error> {
    let runs = spec
        .requesters
        .iter()
        .filter_map(|group| group.host.as_ref());
    let traces = runs.filter_map(|host| match &host.runs {
        HostProgram::Trace(path) => Some(path),
        HostProgram::Kernel(_) => None,
    });
    let each_once: BTreeSet<&PathBuf> = traces.collect();
    each_once
        .into_iter()
        .try_for_each(|path| traces::open(path).map(drop))
}

/// Prints the registries.
fn choices(as_json: bool) -> Result<(), Error> {
    let named = |name: &str, meaning: &str| Named {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
    };
    let listed = named("list", "switches and links as the file lists them");
    let topologies = TOPOLOGIES.iter().map(|one| named(one.name, one.meaning));
    let endpoints = EndpointType::ALL.iter();
    let all = FabricChoices {
        topologies: topologies.chain([listed]).collect(),
        routings: ROUTINGS.iter().map(|r| named(r.name, r.meaning)).collect(),
        patterns: PATTERNS.iter().map(|p| named(p.name, p.meaning)).collect(),
        endpoints: endpoints.map(|e| named(e.name(), e.meaning())).collect(),
        spreads: SPREADS.iter().map(|s| named(s.name, s.meaning)).collect(),
    };
    if as_json {
        return outln!("{}", to_json(&all));
    }
    for (key, rows) in [
        ("topologies", &all.topologies),
        ("routings", &all.routings),
        ("patterns", &all.patterns),
        ("endpoints", &all.endpoints),
        ("spreads", &all.spreads),
    ] {
        for of in rows {
            outln!("{key:<11} {:<16} {}", of.name, of.meaning)?;
        }
    }
    Ok(())
}

fn simulate(args: &FabricArgs) -> Result<ExitCode, Error> {
    let spec = settings::fabric(&args.fabric, &args.set)?;
    look_at_traces(&spec)?;
    let folder = args.result.folder()?;
    let recorded = args.replay.record(args.seed)?;
    let plan = FabricPlan {
        name: &args.fabric,
        spec: &spec,
        length: Length {
            warmup: args.warmup,
            requests: args.requests,
        },
        seed: args.seed,
        replay: recorded.as_ref(),
        window: args.window,
    };
    signals::await_interrupt();
    let (start, mut done) = (Instant::now(), 0);
    let progress = Progress::new(None, "requests");
    let result = plan.run(&mut |requests| {
        done = requests;
        progress.show(requests);
        !signals::is_interrupted()
    });
    progress.end();
    let Some(result) = result? else {
        let of = "requests";
        return Err(Error::Interrupted { done, of });
    };
    let wall_s = start.elapsed().as_secs_f64();
    let kept = keep(folder.as_ref(), |folder| folder.write_stats(&result));
    if args.result.json {
        outln!("{}", to_json(&result))?;
    } else {
        let speed = result.figures.events as f64 / wall_s / 1e6;
        let mut rows = table(&result);
        let speed = format!("{wall_s:.2} s, {speed:.1} million events a second");
        rows.row("simulated in", speed);
        rows.print()?;
    }
    kept.map(|()| ExitCode::SUCCESS)
}

/// One screen: how much, how long, and where the time went.
fn table(result: &FabricResult) -> Rows {
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    let (nodes, figures) = (&result.nodes, &result.figures);
    row(
        "fabric",
        format!(
            "{}: {} requesters, {} endpoints, {} switches",
            result.fabric, nodes.requesters, nodes.endpoints, nodes.switches
        ),
    );
    if let Some(workload) = &result.workload {
        let writes = 100.0 * workload.writes as f64 / workload.accesses as f64;
        row(
            "workload",
            format!(
                "{}: {} accesses, {writes:.1} % writes, to requesters: {}",
                workload.name, workload.accesses, workload.spread
            ),
        );
    }
    let time_us = figures.time_s * 1e6;
    row(
        "requests",
        format!("{} in {time_us:.3} us", figures.requests),
    );
    let bandwidth = or_zero(figures.bandwidth_mb_s);
    row("bandwidth", format!("{bandwidth:.1} MB/s"));
    let latency = &figures.latency_ns;
    let quantiles = [
        ("mean", latency.mean),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("max", latency.max),
    ]
    .map(|(name, ns)| format!("{name} {ns:.1}"));
    row("latency, ns", quantiles.join(", "));
    row("of it", parts(figures.latency_parts_ns.named()));
    for host in &result.hosts {
        row(&format!("host {}", host.name), of_host(host));
    }
    for vcs in &figures.vcs {
        row(
            &format!("vcs {}", vcs.name),
            format!(
                "{} on {}: {:.1} MB/s, {:.1} ns; {}",
                vcs.host,
                vcs.switch,
                or_zero(vcs.bandwidth_mb_s),
                or_zero(vcs.host_latency_mean_ns),
                bindings(vcs)
            ),
        );
    }
    row(
        "bottleneck",
        format!(
            "{} {}, {:.1} % busy",
            figures.bottleneck.kind,
            figures.bottleneck.name,
            100.0 * or_zero(figures.bottleneck.utility)
        ),
    );
    row("result hash", figures.hash.clone());
    rows
}

/// What a simulated host did.
fn of_host(host: &FabricHost) -> String {
    format!(
        "{}: {} instructions in {:.3} us, {:.3} a cycle, {} requests, {:.1} ns each",
        host.workload,
        host.instructions,
        host.time_s * 1e6,
        or_zero(host.ipc),
        host.requests.total,
        or_zero(host.amat_ns.total)
    )
}

/// A ratio of nothing is shown as 0.
fn or_zero(ratio: Option<f64>) -> f64 {
    ratio.unwrap_or_default()
}

/// What a virtual switch is bound to, with the requests that each served.
fn bindings(vcs: &VcsUse) -> String {
    let each = vcs.vppbs.iter();
    let each = each.map(|vppb| format!("{} {}", vppb.device, vppb.requests));
    each.collect::<Vec<_>>().join(", ")
}
