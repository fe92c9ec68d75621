//! A curve for people: a sentence, then a line for each pace.

use crate::error::Error;
use crate::output::text;
use sluice_results::{CurveOn, CurveResult};
use sluice_units::printable;
use std::fmt::Write as _;

/// Prints both on standard output.
pub fn print(result: &CurveResult) -> Result<(), Error> {
    text(table_of(result))
}

fn table_of(result: &CurveResult) -> String {
    let of = match (result.on, &result.device) {
        (CurveOn::Simulated, Some(device)) => format!("{device}, simulated"),
        (CurveOn::System, Some(system)) => format!("{system}, a simulated host"),
        (CurveOn::Fabric, Some(fabric)) => format!("{fabric}, a simulated fabric"),
        (CurveOn::Live, Some(device)) => format!("{device}, live"),
        _ => match result.traffic.numa_node {
            Some(node) => format!("this host's memory, of node {node}"),
            None => "this host's memory".to_owned(),
        },
    };
    let traffic = &result.traffic;
    let mut told = format!(
        "{}: {} threads, {} % loads, {} start\n",
        printable(&of),
        traffic.threads,
        traffic.reads_percent,
        traffic.start
    );
    if let Some(knee) = result.knee.and_then(|at| result.loads.get(at as usize)) {
        let latency = knee.chase_latency_ns.map_or(0.0, |latency| latency.p50);
        let _ = writeln!(
            told,
            "knee: {:.2} GB/s at a latency of {latency:.0} ns",
            knee.bytes_per_s / 1e9
        );
    }
    let columns = ["pace ns", "GB/s", "misses", "latency ns", "p50", "p99"];
    let line = |cells: [String; 6]| {
        let cells = cells.map(|cell| format!("{cell:>11}"));
        format!("{}\n", cells.concat())
    };
    told += &line(columns.map(str::to_owned));
    for load in &result.loads {
        let latency = |of: fn(&sluice_stats::Summary<f64>) -> f64| {
            load.chase_latency_ns
                .as_ref()
                .map_or_else(|| "-".to_owned(), |latency| format!("{:.0}", of(latency)))
        };
        told += &line([
            format!("{}", load.pace_ns),
            format!("{:.3}", load.bytes_per_s / 1e9),
            load.misses
                .map_or_else(|| "-".to_owned(), |misses| misses.to_string()),
            latency(|l| l.mean),
            latency(|l| l.p50),
            latency(|l| l.p99),
        ]);
    }
    told
}
