//! What the device costs a guest, measured in the guest: `sluice vm` beside the same QEMU without
//! Sluice, and beside QEMU's own `cxl-type3`, in the same rounds.
//!
//! `cargo bench -p sluice-cli --bench guest`; `SLUICE_BENCH_ROUNDS` sets the rounds (default 5), of
//! three guests each. QEMU without Sluice is `sluice vm` with a QEMU that drops `LD_PRELOAD`: the
//! same guest and memory backend, and nothing trapped. As a test it runs once, small.

mod chases;

use chases::{Chases, Guest};

/// A figure and what it is of.
type Figure = (&'static str, fn(&Chases) -> f64);

/// Passes over resident pages at full speed.
const RESIDENT: [Figure; 3] = [
    ("in order, stride 64", |c| c.ordered_ns),
    ("random, stride 64", |c| c.lines_ns),
    ("random, stride 4096", |c| c.pages_ns),
];

fn main() {
    let smoke = !std::env::args().any(|word| word == "--bench");
    let set = std::env::var("SLUICE_BENCH_ROUNDS").ok();
    let set = set.map(|n| n.parse().expect("SLUICE_BENCH_ROUNDS: a number"));
    let rounds = if smoke { 1 } else { set.unwrap_or(5) };
    let dir = tempfile::tempdir().expect("a folder");
    let mut of = [const { Vec::new() }; Guest::ALL.len()];
    for round in 0..rounds {
        // Nobody is always first.
        for turn in 0..Guest::ALL.len() {
            let which = (round + turn) % Guest::ALL.len();
            of[which].push(Guest::ALL[which].boot(dir.path(), smoke));
        }
    }
    let [plain, sluice, cxl] = of;
    resident(&plain, &sluice);
    misses(&plain, &sluice);
    beside_cxl(&sluice, &cxl);
}

/// Median of the rounds with the least and the greatest.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let (median, last) = (values[values.len() / 2], values[values.len() - 1]);
    format!("{median:.2} [{:.2}, {last:.2}]", values[0])
}

/// A figure of each round.
fn each(rounds: &[Chases], figure: impl Fn(&Chases) -> f64) -> Vec<f64> {
    rounds.iter().map(figure).collect()
}

/// Ratios of a figure, round by round.
fn ratios(over: &[Chases], under: &[Chases], figure: impl Fn(&Chases) -> f64) -> Vec<f64> {
    let pairs = over.iter().zip(under);
    pairs
        .map(|(over, under)| figure(over) / figure(under))
        .collect()
}

fn resident(plain: &[Chases], sluice: &[Chases]) {
    println!("resident pages, ns an access: best of the last passes, median of rounds");
    for (name, figure) in RESIDENT {
        let [alone, ours] = [plain, sluice].map(|of| spread(each(of, figure)));
        let ratio = spread(ratios(sluice, plain, figure));
        println!("  {name}: QEMU alone {alone}; with Sluice {ours}; ratio {ratio}");
    }
}

fn misses(plain: &[Chases], sluice: &[Chases]) {
    println!("misses of 40 us, stride 4096, median of the last pass, ns");
    let walk = |c: &Chases| c.missing_p50_ns;
    let [alone, ours] = [plain, sluice].map(|of| spread(each(of, walk)));
    println!("  the guest measures {ours}; without Sluice, all resident, {alone}");
    let pairs = sluice.iter().zip(plain);
    let net = pairs
        .map(|(ours, alone)| walk(ours) - walk(alone))
        .collect();
    println!("  difference {}", spread(net));
}

fn beside_cxl(sluice: &[Chases], cxl: &[Chases]) {
    println!("hits beside QEMU's own cxl-type3 without Sluice, ns an access");
    let timed: Figure = ("random, stride 4096, each timed, median", |c| {
        c.resident_p50_ns
    });
    for (name, figure) in RESIDENT.into_iter().chain([timed]) {
        let [ours, theirs] = [sluice, cxl].map(|of| spread(each(of, figure)));
        let ratio = spread(ratios(cxl, sluice, figure));
        println!("  {name}: ours {ours}; cxl-type3 {theirs}; ratio {ratio}");
    }
}
