//! What live emulation costs and how exact it is, each against a baseline of the same run.
//!
//! `cargo bench -p sluice-cli --bench live -- [overhead|fidelity|hits]..`; without a name, all.
//! `SLUICE_BENCH_ROUNDS` sets the pairs (default 7). As a test it runs once, small.

mod bare;
mod chase;

use bare::{Answer, Backing, Bare};
use chase::Chase;

/// Medians of paired rounds, and the spread of their ratios.
struct Pairs {
    base: Vec<f64>,
    ours: Vec<f64>,
}

impl Pairs {
    fn median(values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    fn print(&self, name: &str, unit: &str, goal: f64) {
        let ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(&self.base)
            .map(|(o, b)| o / b)
            .collect();
        let (low, high) = ratios
            .iter()
            .fold((f64::MAX, 0f64), |(l, h), r| (l.min(*r), h.max(*r)));
        let ratio = Self::median(&ratios);
        let verdict = if ratio <= goal { "within" } else { "ABOVE" };
        println!(
            "{name:<34} base {:>9.1} {unit}  ours {:>9.1} {unit}  ratio {ratio:.3} \
             [{low:.3}, {high:.3}]  {verdict} {goal}",
            Self::median(&self.base),
            Self::median(&self.ours),
        );
    }
}

fn rounds(smoke: bool) -> usize {
    let set = std::env::var("SLUICE_BENCH_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok());
    if smoke { 1 } else { set.unwrap_or(7) }
}

/// A trap with flash that takes no time, against the same kernel calls and nothing else.
fn overhead(smoke: bool) {
    println!("trap and one eviction, NAND latency 0, median of a pass, ns:");
    let mib = if smoke { 4 } else { 64 };
    let event = [Answer::Blocked, Answer::Polling, Answer::Bound];
    for (trap, answers) in [("event", &event[..]), ("signal", &[Answer::Signal])] {
        for backing in [Backing::Heap, Backing::Dax] {
            overhead_of(trap, backing, answers, mib, rounds(smoke));
        }
    }
}

fn overhead_of(
    trap: &'static str,
    backing: Backing,
    answers: &[Answer],
    mib: usize,
    rounds: usize,
) {
    let none = || Pairs {
        base: vec![],
        ours: vec![],
    };
    let mut pairs: Vec<Pairs> = answers.iter().map(|_| none()).collect();
    for _ in 0..rounds {
        let (read, passes) = ("0ns", 3);
        let chase = Chase {
            trap,
            backing,
            mib,
            read,
            passes,
        };
        let ours = chase.run().p50_ns;
        for (answer, pairs) in answers.iter().zip(&mut pairs) {
            let (answer, backing) = (*answer, backing);
            let bare = Bare {
                answer,
                backing,
                mib,
            };
            pairs.base.push(bare.round_trip_ns());
            pairs.ours.push(ours);
        }
    }
    for (answer, pairs) in answers.iter().zip(&pairs) {
        let name = format!("{trap}, {backing:?}, bare {answer:?}");
        pairs.print(&name.to_lowercase(), "ns", 1.25);
    }
}

/// The program's own measurement of a miss against the model's.
fn fidelity(smoke: bool) {
    println!("a miss as the program measures it, us:");
    let waits = if smoke { 100 } else { 40_000 };
    host_floor(40, waits);
    host_floor(5, waits);
    let mib = if smoke { 4 } else { 32 };
    for (trap, read) in [("event", "40us"), ("signal", "40us"), ("signal", "5us")] {
        for backing in [Backing::Heap, Backing::Dax] {
            let passes = if smoke { 2 } else { 5 };
            let runs: Vec<_> = (0..rounds(smoke).div_ceil(2))
                .map(|_| {
                    Chase {
                        trap,
                        backing,
                        mib,
                        read,
                        passes,
                    }
                    .run()
                })
                .collect();
            let median = |of: fn(&chase::Measured) -> f64| {
                Pairs::median(&runs.iter().map(of).collect::<Vec<_>>())
            };
            let (p50, p99, model) = (
                median(|m| m.p50_ns),
                median(|m| m.p99_ns),
                median(|m| m.modelled_p50_ns),
            );
            println!(
                "{trap:<6} {read:<5} {backing:?}: model {:.2}, p50 {:.2} ({:+.1} %), p99 {:.2} \
                 ({:+.1} %), late {:.2} %",
                model / 1e3,
                p50 / 1e3,
                (p50 / model - 1.0) * 100.0,
                p99 / 1e3,
                (p99 / model - 1.0) * 100.0,
                median(|m| m.late_ratio) * 100.0,
            );
        }
    }
}

/// What this host does to a program that only looks at the clock for as long as a miss: nobody's
/// misses can be more exact than that.
fn host_floor(read_us: u64, waits: usize) {
    let mut times: Vec<u64> = (0..waits)
        .map(|_| {
            let from = std::time::Instant::now();
            loop {
                let ns = from.elapsed().as_nanos() as u64;
                if ns >= read_us * 1_000 {
                    return ns;
                }
            }
        })
        .collect();
    let late = times
        .iter()
        .filter(|ns| **ns > read_us * 1_000 + 1_000)
        .count();
    times.sort_unstable();
    let p99 = times[waits * 99 / 100] as f64 / 1e3;
    println!(
        "this host, a bare wait of {read_us} us: p99 {p99:.2} ({:+.1} %), late {:.2} %",
        (p99 / read_us as f64 - 1.0) * 100.0,
        late as f64 / waits as f64 * 100.0,
    );
}

/// Hits at full speed: a chase that fits the cache twice, with and without the device.
fn hits(smoke: bool) {
    println!("a pointer chase within the cache, ns an access:");
    let mib = if smoke { 4 } else { 32 };
    for stride in [64, 4096] {
        let mut pairs = Pairs {
            base: vec![],
            ours: vec![],
        };
        for _ in 0..rounds(smoke) {
            pairs.base.push(chase::batch_ns(mib, stride, false));
            pairs.ours.push(chase::batch_ns(mib, stride, true));
        }
        pairs.print(&format!("stride {stride}"), "ns", 1.02);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` passes no `--bench`: a smoke run keeps the code alive.
    let smoke = !args.iter().any(|a| a == "--bench");
    let names: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    for (name, part) in [
        ("overhead", overhead as fn(bool)),
        ("fidelity", fidelity),
        ("hits", hits),
    ] {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            part(smoke);
        }
    }
}
