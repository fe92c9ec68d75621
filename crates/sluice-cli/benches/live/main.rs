//! What live emulation costs and how exact it is, each against a baseline of the same run.
//!
//! `cargo bench -p sluice-cli --bench live -- NAME..`, where a name is `overhead`, `fidelity`,
//! `hits`, `life`, `prefetch`, `programs` or `threads`; all without one.
//! `SLUICE_BENCH_ROUNDS` sets the pairs (default 7), and `RECORD=1` adds the figures to
//! docs/measurements. As a test it runs once, small.

mod bare;
mod chase;
mod life;
mod programs;
mod record;
mod together;

use bare::{Answer, Backing, Bare, Calls};
use chase::Chase;
use record::{Figure, record};

/// Medians of paired rounds, and the spread of their ratios.
struct Pairs {
    base: Vec<f64>,
    ours: Vec<f64>,
}

impl Pairs {
    fn none() -> Pairs {
        Pairs {
            base: vec![],
            ours: vec![],
        }
    }

    fn median(values: &[f64]) -> f64 {
        sluice_stats::median(values.iter().copied()).expect("a round")
    }

    fn ratios(&self) -> Vec<f64> {
        let pairs = self.ours.iter().zip(&self.base);
        pairs.map(|(o, b)| o / b).collect()
    }

    fn print(&self, name: &str, unit: &str, goal: Option<f64>) {
        let ratios = self.ratios();
        let (low, high) = ratios
            .iter()
            .fold((f64::MAX, 0f64), |(l, h), r| (l.min(*r), h.max(*r)));
        let ratio = Self::median(&ratios);
        let verdict = goal.map_or_else(String::new, |goal| {
            let verdict = if ratio <= goal { "within" } else { "ABOVE" };
            format!("  {verdict} {goal}")
        });
        println!(
            "{name:<34} base {:>9.1} {unit}  ours {:>9.1} {unit}  ratio {ratio:.3} \
             [{low:.3}, {high:.3}]{verdict}",
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

/// One line of the comparison: how ours runs, and what it is held against.
struct Line {
    trap: &'static str,
    bound: bool,
    answer: Answer,
    calls: Calls,
}

/// A trap with flash that takes no time, against the same kernel calls and nothing else.
///
/// The goal is for the least that a trap and an eviction can be. The lines without a goal say how
/// much of the rest is the kernel's too.
fn overhead(smoke: bool) {
    println!("trap and one eviction, NAND latency 0, median of a pass, ns:");
    let mib = if smoke { 4 } else { 64 };
    let line = |trap, bound, answer, calls| Line {
        trap,
        bound,
        answer,
        calls,
    };
    let fifo = Calls::Fifo(chase::cached_pages(mib));
    let groups = [
        vec![
            line("event", false, Answer::Blocked, Calls::Least),
            line("event", false, Answer::Polling, Calls::Least),
            line("event", false, Answer::Bound, Calls::Least),
        ],
        vec![
            line("event", true, Answer::Bound, Calls::Least),
            line("event", true, Answer::Bound, fifo),
        ],
        vec![
            line("signal", false, Answer::Signal, Calls::Least),
            line("signal", false, Answer::Signal, fifo),
        ],
    ];
    for group in &groups {
        for backing in [Backing::Heap, Backing::Dax] {
            overhead_of(group, backing, mib, rounds(smoke));
        }
    }
}

fn overhead_of(lines: &[Line], backing: Backing, mib: usize, rounds: usize) {
    let mut pairs: Vec<Pairs> = lines.iter().map(|_| Pairs::none()).collect();
    for _ in 0..rounds {
        let chase = Chase {
            trap: lines[0].trap,
            backing,
            mib,
            read: "0ns",
            passes: 3,
            bound: lines[0].bound,
        };
        let ours = chase.run().p50_ns;
        for (line, pairs) in lines.iter().zip(&mut pairs) {
            let (answer, calls) = (line.answer, line.calls);
            let bare = Bare {
                answer,
                backing,
                mib,
                calls,
            };
            pairs.base.push(bare.round_trip_ns());
            pairs.ours.push(ours);
        }
    }
    for (line, pairs) in lines.iter().zip(&pairs) {
        let bound = if line.bound { " bound" } else { "" };
        let least = line.calls == Calls::Least;
        let (calls, goal) = if least {
            ("", Some(1.25))
        } else {
            (" fifo", None)
        };
        let name = format!(
            "{}{bound}, {backing:?}, bare {:?}{calls}",
            line.trap, line.answer
        );
        let name = name.to_lowercase();
        pairs.print(&name, "ns", goal);
        if goal.is_some() {
            let figure = Figure {
                group: "Live: a trap",
                name: &format!("trap and eviction over the bare calls: {name}"),
                part: "overhead",
                unit: "×",
                goal: "<= 1.25",
                promise: "5",
            };
            record(&figure, &pairs.ratios());
        }
    }
}

/// The program's own measurement of a miss against the model's, and against what this host does to
/// a program that only looks at the clock for as long: nobody's misses can be more exact than that.
fn fidelity(smoke: bool) {
    println!("a miss as the program measures it, us; a bare wait in between:");
    for (trap, read) in [("event", 40), ("signal", 40), ("signal", 5)] {
        for backing in [Backing::Heap, Backing::Dax] {
            fidelity_of(trap, read, backing, smoke);
        }
    }
}

fn fidelity_of(trap: &'static str, read_us: u64, backing: Backing, smoke: bool) {
    let chase = Chase {
        trap,
        backing,
        mib: if smoke { 4 } else { 32 },
        read: &format!("{read_us}us"),
        passes: if smoke { 2 } else { 5 },
        bound: false,
    };
    let waits = if smoke { 100 } else { 20_000 };
    let (runs, bare): (Vec<_>, Vec<_>) = (0..rounds(smoke))
        .map(|_| (chase.run(), bare_wait(read_us * 1_000, waits)))
        .unzip();
    let median =
        |of: fn(&chase::Measured) -> f64| Pairs::median(&runs.iter().map(of).collect::<Vec<_>>());
    let (p50, p99) = (median(|m| m.p50_ns), median(|m| m.p99_ns));
    let (model, late) = (median(|m| m.modelled_p50_ns), median(|m| m.late_ratio));
    let off = |ns: f64| (ns / model - 1.0) * 100.0;
    let place = format!("{trap}, {backing:?}").to_lowercase();
    let figure = Figure {
        group: "Live: misses",
        name: &format!("median of a {read_us} µs miss off the model, {place}"),
        part: "fidelity",
        unit: "%",
        goal: if read_us == 5 { "-10 to 10" } else { "-2 to 2" },
        promise: "3",
    };
    let each: Vec<f64> = runs.iter().map(|run| off(run.p50_ns)).collect();
    record(&figure, &each);
    println!(
        "{trap:<6} {read_us:>2}us {backing:?}: model {:.2}, p50 {:.2} ({:+.1} %), p99 {:.2} \
         ({:+.1} %), late {:.2} %",
        model / 1e3,
        p50 / 1e3,
        off(p50),
        p99 / 1e3,
        off(p99),
        late * 100.0,
    );
    let wait_p99 = Pairs::median(&bare.iter().map(|w| w.0).collect::<Vec<_>>());
    let wait_late = Pairs::median(&bare.iter().map(|w| w.1).collect::<Vec<_>>());
    let excess: Vec<f64> = runs
        .iter()
        .zip(&bare)
        .map(|(m, w)| m.p99_ns - w.0)
        .collect();
    println!(
        "  bare wait: p99 {:.2}, late {:.2} %; p99 above it {:+.2} ({:+.1} % of the model)",
        wait_p99 / 1e3,
        wait_late * 100.0,
        Pairs::median(&excess) / 1e3,
        Pairs::median(&excess) / model * 100.0,
    );
}

/// 99th percentile of waits that only look at the clock, ns, and the share that is over late.
fn bare_wait(wait_ns: u64, waits: usize) -> (f64, f64) {
    let mut times: Vec<u64> = (0..waits)
        .map(|_| {
            let from = std::time::Instant::now();
            loop {
                let ns = from.elapsed().as_nanos() as u64;
                if ns >= wait_ns {
                    return ns;
                }
            }
        })
        .collect();
    let late = times.iter().filter(|ns| **ns > wait_ns + 1_000).count();
    times.sort_unstable();
    let p99 = times[waits * 99 / 100] as f64;
    (p99, late as f64 / waits as f64)
}

/// Hits at full speed: a chase that fits the cache twice, with and without the device.
fn hits(smoke: bool) {
    println!("a pointer chase within the cache, ns an access:");
    let mib = if smoke { 4 } else { 32 };
    for stride in [64, 4096] {
        let mut pairs = Pairs::none();
        for _ in 0..rounds(smoke) {
            pairs.base.push(chase::batch_ns(mib, stride, false));
            pairs.ours.push(chase::batch_ns(mib, stride, true));
        }
        pairs.print(&format!("stride {stride}"), "ns", Some(1.02));
        let figure = Figure {
            group: "Live: hits",
            name: &format!("a chase within the cache over native, stride {stride} B"),
            part: "hits",
            unit: "×",
            goal: "<= 1.02",
            promise: "4",
        };
        record(&figure, &pairs.ratios());
    }
}

fn main() {
    life::do_as_told();
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` passes no `--bench`: a smoke run keeps the code alive.
    let smoke = !args.iter().any(|a| a == "--bench");
    let names: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    for (name, part) in [
        ("overhead", overhead as fn(bool)),
        ("fidelity", fidelity),
        ("hits", hits),
        ("life", life::life),
        ("prefetch", together::prefetch),
        ("programs", programs::programs),
        ("threads", together::threads),
    ] {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            part(smoke);
        }
    }
}
