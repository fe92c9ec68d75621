//! Prefetches and threads: what the program measures, beside the simulator and the run's report.

use crate::chase::{read_json, scratch, sluice};
use serde_json::Value;

/// A page more than 16 MiB: dies do not repeat with the cache.
const CACHE: &str = "cache.capacity=16388KiB";
const DEVICE: [&str; 4] = [
    "device.capacity=1GiB",
    CACHE,
    "nand.read=40us",
    "nand.program=0ns",
];
const TRAPS: [&str; 2] = ["event", "signal"];
/// Bytes from a node to the next.
const STRIDES: [usize; 2] = [4096, 16384];
pub const PREFETCHERS: [(&str, u32); 8] = [
    ("none", 0),
    ("nextn", 1),
    ("nextn", 2),
    ("nextn", 4),
    ("nextn", 8),
    ("stride", 8),
    ("stream", 8),
    ("best-offset", 8),
];

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The last pass of a chase under `sluice run`, and what the run says.
fn live(trap: &str, sets: &[&str], chase: &[&str]) -> (Value, Value) {
    let (out, program) = (scratch("out"), scratch("program.json"));
    let mut run = sluice();
    run.args(["run", "--trap", trap, "--force", "--out"])
        .arg(&out);
    DEVICE.iter().chain(sets).for_each(|set| {
        run.args(["--set", set]);
    });
    run.arg("--").arg(env!("CARGO_BIN_EXE_sluice"));
    run.args(["workload", "chase"]).args(chase);
    run.arg("--out").arg(&program);
    let output = run.output().expect("sluice");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passes = read_json(&program)["passes"].clone();
    let last = passes
        .as_array()
        .and_then(|all| all.last())
        .expect("passes");
    (last.clone(), read_json(&out.join("stats.json")))
}

/// The last pass of the same chase as a simulated device sees it that sees no hits: the share of
/// accesses below 1 us, p50 and p90.
fn simulated(sets: &[&str], mib: usize, stride: usize) -> (f64, f64, f64) {
    let pages = mib << 8;
    let mut sim = sluice();
    sim.args(["sim", "--json", "--hits", "misses", "--histogram"]);
    // One pass builds the chain, two more go before the one that counts.
    sim.args(["--warmup", &(3 * pages).to_string(), "--workload"]);
    let size = pages * stride;
    sim.arg(format!("chase:size={size}B,stride={stride},passes=3"));
    DEVICE.iter().chain(sets).for_each(|set| {
        sim.args(["--set", set]);
    });
    let output = sim.output().expect("sluice");
    let json: Value = serde_json::from_slice(&output.stdout).expect("the run's object");
    let of_all = |name: &str| number(&json["latency_ns"]["accesses"][name]);
    let bars = json["latency_ns"]["histogram"].as_array().expect("bars");
    let below = bars.iter().filter(|bar| number(&bar[0]) < 1e3);
    let below = below.fold(0.0, |sum, bar| sum + number(&bar[1]));
    let all = bars.iter().fold(0.0, |sum, bar| sum + number(&bar[1]));
    assert_eq!(all as usize, pages, "one pass");
    (below / all, of_all("p50"), of_all("p90"))
}

/// Chases in address order by prefetcher, of each page, and of each fourth in a larger buffer: the
/// share of accesses below 1 us, p50 and p90, live beside simulated, and late misses.
pub fn prefetch(smoke: bool) {
    let (mib, strides) = if smoke {
        (20, &STRIDES[..1])
    } else {
        (64, &STRIDES[..])
    };
    for &stride in strides {
        println!("a chase by {stride} B, flash 40 us: live by its own clock, and simulated:");
        let few = if smoke { 1 } else { PREFETCHERS.len() };
        for (policy, degree) in &PREFETCHERS[..few] {
            let keys = [
                format!("prefetch.policy={policy}"),
                format!("prefetch.degree={degree}"),
            ];
            prefetcher(&keys.each_ref().map(String::as_str), mib, stride);
        }
    }
}

fn prefetcher(sets: &[&str; 2], mib: usize, stride: usize) {
    let (hits, p50, p90) = simulated(sets, mib, stride);
    println!(
        "{}: simulated {:.1} % below 1 us, p50 {:.2} us, p90 {:.2} us",
        sets.join(" "),
        100.0 * hits,
        p50 / 1e3,
        p90 / 1e3
    );
    for trap in TRAPS {
        let (size, stride) = ((mib << 8) * stride, stride.to_string());
        let size = size.to_string();
        let chase = ["--size", &size, "--stride", &stride, "--passes", "3"];
        let (pass, run) = live(trap, sets, &chase);
        let at = |name: &str| number(&pass["latency_ns"][name]) / 1e3;
        println!(
            "  {trap:<6} {:.1} % below 1 us, p50 {:.2} us, p90 {:.2} us, {:.1} % late",
            100.0 * number(&pass["below_1us"]),
            at("p50"),
            at("p90"),
            100.0 * number(&run["late"]["ratio"]),
        );
    }
}

/// Random misses by threads: how many a second, and p50 by the program and by the report.
pub fn threads(smoke: bool) {
    println!("random misses, flash 40 us: misses a second, p50 by the program and by the report:");
    for trap in TRAPS {
        for threads in [1, 2, 4, 8, 16, 32] {
            let chase = [
                "--random",
                "--stride",
                "4096",
                "--passes",
                "2",
                "--size",
                &format!("{}MiB", 128 / threads),
                "--threads",
                &threads.to_string(),
            ];
            let (pass, run) = live(trap, &["cache.capacity=8MiB"], &chase);
            println!(
                "{trap:<6} {threads:>2} threads: {:>7.0} /s, p50 {:.1} us, report {:.1} us, \
                 {:.1} % late",
                number(&pass["accesses"]) / number(&pass["wall_s"]),
                number(&pass["latency_ns"]["p50"]) / 1e3,
                number(&run["latency_ns"]["achieved"]["p50"]) / 1e3,
                100.0 * number(&run["late"]["ratio"]),
            );
            if smoke {
                break;
            }
        }
    }
}
