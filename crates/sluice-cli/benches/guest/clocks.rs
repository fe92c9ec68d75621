//! Waits by the guest's own clock, beside those that the run reports.
//!
//! A thread chases on each virtual CPU. A guest boots for each line, so that its run counts nothing
//! but the line's chase.

use crate::booted::Guest;
use crate::number;
use serde_json::Value;
use std::path::Path;

const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];
/// What is not shorter is a wait for a page, as in `below_1us` of a chase.
const WAIT_NS: f64 = 1e3;
/// How far p50 and p90 of the guest's may be from the report's.
const APART: f64 = 0.05;
/// From this share of late waits on, a run says that it is late.
const LATE: f64 = 0.05;
/// Of all threads together: twice the cache.
const MIB: usize = 48;

/// Guests of one, two and four virtual CPUs, without and with prefetches.
pub fn clocks(smoke: bool) {
    println!("waits for flash of 40 us, by the guest's clock and by the run's report, us:");
    for degree in [0, 8] {
        for cpus in [1, 2, 4] {
            let dir = tempfile::tempdir().expect("a folder");
            line(dir.path(), cpus, degree);
            if smoke {
                return;
            }
        }
    }
}

fn line(dir: &Path, cpus: usize, degree: usize) {
    let (policy, order) = match degree {
        0 => ("none", "--random"),
        _ => ("nextn", ""),
    };
    let keys = [
        format!("prefetch.policy={policy}"),
        format!("prefetch.degree={degree}"),
    ];
    let sets = keys.each_ref().map(String::as_str);
    let mut guest = Guest::Sluice.boot_with(dir, &sets, &["-smp", &cpus.to_string()]);
    let size = MIB / cpus;
    let flags = format!("--size {size}MiB --stride 4096 --threads {cpus} {order}");
    let waits = Waits::of(&guest.chase(&flags));
    let run = guest.end();
    let late = number(&run, "/workload/late/ratio");
    print!("{cpus} vCPUs, prefetch {degree}: ");
    let mut near = true;
    for (name, share) in QUANTILES {
        let theirs = waits.at(share);
        let ours = number(&run, &format!("/workload/latency_ns/achieved/{name}"));
        near &= name == "p99" || (ours / theirs - 1.0).abs() <= APART;
        print!("{name} {:.1} and {:.1}, ", theirs / 1e3, ours / 1e3);
    }
    let verdict = match (near, late > LATE) {
        (true, _) => "near",
        (false, true) => "apart, and the run says that it is late",
        (false, false) => "APART",
    };
    println!("{:.1} % late: {verdict}", 100.0 * late);
}

/// A chase's accesses that waited: from how long, how many; shortest first.
struct Waits(Vec<(f64, f64)>);

impl Waits {
    fn of(chase: &Value) -> Waits {
        let bars = chase["histogram"].as_array().expect("bars");
        let bars = bars
            .iter()
            .map(|bar| (number(bar, "/0"), number(bar, "/1")));
        Waits(bars.filter(|&(ns, _)| ns >= WAIT_NS).collect())
    }

    fn at(&self, share: f64) -> f64 {
        let all: f64 = self.0.iter().map(|bar| bar.1).sum();
        let mut left = all * share;
        let bar = self.0.iter().find(|bar| {
            left -= bar.1;
            left <= 0.0
        });
        bar.expect("a chase that waits").0
    }
}
