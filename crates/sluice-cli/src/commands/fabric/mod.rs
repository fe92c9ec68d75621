//! `sluice fabric`: requesters, switches and memories joined by links.

mod replay;

use crate::error::Error;
use crate::listing::{list_presets, show_values};
use crate::output::Rows;
use crate::program;
use crate::progress::Progress;
use crate::settings::key_and_value;
use crate::signals;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sluice_config::{describe_fabric, fabrics};
use sluice_driver::recording::SPREADS;
use sluice_net::{
    ENDPOINTS, FABRIC_PARAMS, FabricConfig, FabricSpec, Length, PATTERNS, ROUTINGS, TOPOLOGIES,
};
use sluice_simulation::FabricPlan;
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
    /// Requests counted
    #[arg(long, value_name = "N", default_value = "256k", value_parser = sluice_units::parse_count)]
    pub requests: u64,
    #[command(flatten)]
    pub replay: replay::ReplayArgs,
    /// Tell mix degree and bandwidth of every N requests that come back
    #[arg(long, value_name = "N", default_value = "0", value_parser = sluice_units::parse_count)]
    pub window: u64,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Keep the statistics in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
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
            FabricConfig::new(&described.spec, ANY_SEED)?;
            let pairs = described.spec.raw.to_pairs();
            let source = |key: &str| described.source_of(key);
            show_values(&pairs, FABRIC_PARAMS.iter(), source, *json)?;
        }
        FabricCommand::Check { fabric, set } => {
            let config = FabricConfig::new(&resolve(fabric, set)?, ANY_SEED)?;
            let graph = &config.graph;
            outln!(
                "{fabric}: well, {} requesters, {} endpoints, {} switches, {} links",
                graph.requesters,
                graph.endpoints,
                graph.names.len() as u32 - graph.edges(),
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

/// Prints the registries.
fn choices(as_json: bool) -> Result<(), Error> {
    let topologies = TOPOLOGIES.iter().map(|one| (one.name, one.meaning));
    let topologies = topologies.chain([("list", "switches and links as the file lists them")]);
    let all: [(&str, Vec<(&str, &str)>); 5] = [
        ("topologies", topologies.collect()),
        (
            "routings",
            ROUTINGS.iter().map(|one| (one.name, one.meaning)).collect(),
        ),
        (
            "patterns",
            PATTERNS.iter().map(|one| (one.name, one.meaning)).collect(),
        ),
        (
            "endpoints",
            ENDPOINTS
                .iter()
                .map(|one| (one.name, one.meaning))
                .collect(),
        ),
        (
            "spreads",
            SPREADS.iter().map(|one| (one.name, one.meaning)).collect(),
        ),
    ];
    if as_json {
        let one = |(name, meaning): &(&str, &str)| json!({ "name": name, "meaning": meaning });
        let of = |(key, rows): &(&str, Vec<(&str, &str)>)| {
            ((*key).to_owned(), rows.iter().map(one).collect::<Value>())
        };
        return outln!("{}", Value::Object(all.iter().map(of).collect()));
    }
    for (key, rows) in all {
        for (name, meaning) in rows {
            outln!("{key:<11} {name:<16} {meaning}")?;
        }
    }
    Ok(())
}

/// The fabric that was asked for, with its changed settings.
fn resolve(fabric: &str, set: &[String]) -> Result<FabricSpec, Error> {
    let mut spec = describe_fabric(fabric)?.spec;
    for pair in set {
        let (key, value) = key_and_value(pair)?;
        spec.set(key, value)?;
    }
    Ok(spec)
}

fn simulate(args: &FabricArgs) -> Result<ExitCode, Error> {
    let spec = resolve(&args.fabric, &args.set)?;
    let folder = args.out.as_deref().map(program::out_folder).transpose()?;
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
    let Some(object) = result? else {
        let of = "requests";
        return Err(Error::Interrupted { done, of });
    };
    let wall_s = start.elapsed().as_secs_f64();
    if let Some(folder) = folder {
        let written = folder.write_stats(&object);
        written.map_err(Error::system("writing the output folder"))?;
    }
    if args.json {
        outln!("{object}")?;
    } else {
        let speed = number(&object, "/events") / wall_s / 1e6;
        let speed = format!("{wall_s:.2} s, {speed:.1} million events a second");
        let mut rows = table(&object);
        rows.row("simulated in", speed);
        rows.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn number(object: &Value, place: &str) -> f64 {
    object.pointer(place).and_then(Value::as_f64).unwrap_or(0.0)
}

/// One screen: how much, how long, and where the time went.
fn table(object: &Value) -> Rows {
    let at = |place: &str| number(object, place);
    let text = |place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or("");
    let mut rows = Rows::new(18);
    let mut row = |name: &str, value: String| rows.row(name, value);
    row(
        "fabric",
        format!(
            "{}: {} requesters, {} endpoints, {} switches",
            text("/fabric"),
            at("/nodes/requesters"),
            at("/nodes/endpoints"),
            at("/nodes/switches")
        ),
    );
    if object["workload"].is_object() {
        let told = format!(
            "{}: {} accesses, {:.1} % writes, to requesters: {}",
            text("/workload/name"),
            at("/workload/accesses"),
            100.0 * at("/workload/writes") / at("/workload/accesses"),
            text("/workload/spread"),
        );
        row("workload", told);
    }
    row(
        "requests",
        format!("{} in {:.3} us", at("/requests"), at("/time_s") * 1e6),
    );
    row("bandwidth", format!("{:.1} MB/s", at("/bandwidth_mb_s")));
    let quantiles = ["mean", "p50", "p90", "p99", "max"]
        .map(|q| format!("{q} {:.1}", at(&format!("/latency_ns/{q}"))));
    row("latency, ns", quantiles.join(", "));
    if let Some(parts) = object["latency_parts_ns"].as_object() {
        let parts: Vec<String> = parts
            .iter()
            .filter_map(|(name, ns)| ns.as_f64().map(|ns| (name, ns)))
            .filter(|(_, ns)| *ns > 0.0)
            .map(|(name, ns)| format!("{} {ns:.1}", name.replace('_', " ")))
            .collect();
        row("of it", parts.join(", "));
    }
    for vcs in object["vcs"].as_array().into_iter().flatten() {
        let text = |key: &str| vcs[key].as_str().unwrap_or("").to_owned();
        row(
            &format!("vcs {}", text("name")),
            format!(
                "{} on {}: {:.1} MB/s, {:.1} ns; {}",
                text("host"),
                text("switch"),
                number(vcs, "/bandwidth_mb_s"),
                number(vcs, "/host_latency_mean_ns"),
                bindings(vcs)
            ),
        );
    }
    row(
        "bottleneck",
        format!(
            "{} {}, {:.1} % busy",
            text("/bottleneck/kind"),
            text("/bottleneck/name"),
            100.0 * at("/bottleneck/utility")
        ),
    );
    row("result hash", text("/hash").to_owned());
    rows
}

/// What a virtual switch is bound to, with the requests that each served.
fn bindings(vcs: &Value) -> String {
    let vppbs = vcs["vppbs"].as_array().into_iter().flatten();
    let each = vppbs.map(|vppb| {
        let device = vppb["device"].as_str().unwrap_or("");
        format!("{device} {}", vppb["requests"])
    });
    each.collect::<Vec<_>>().join(", ")
}
