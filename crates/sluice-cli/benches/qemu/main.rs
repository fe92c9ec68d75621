//! How fast programs under QEMU are recorded and simulated, beside QEMU alone in the same run.
//!
//! `cargo bench -p sluice-cli --bench qemu -- [sort|gzip|redis]..`; without a name, all.
//! `SLUICE_BENCH_ROUNDS` sets the rounds (default 3). Times are of all threads together, the
//! encoder's or simulator's too: what one core would take. As a test it runs once, small.

mod programs;

use programs::{Program, Run};
use std::path::Path;

const MODES: [(&str, &[&str]); 4] = [
    (
        "recorded, no filter",
        &["trace", "record", "--filter", "none"],
    ),
    (
        "recorded, filter L1",
        &["trace", "record", "--filter", "L1=32KiB/8"],
    ),
    ("recorded, filter L1, L2", &["trace", "record"]),
    ("simulated", &["run", "--simulate"]),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let smoke = !words.iter().any(|word| word == "--bench");
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let rounds = match std::env::var("SLUICE_BENCH_ROUNDS") {
        Ok(rounds) if !smoke => rounds.parse().expect("SLUICE_BENCH_ROUNDS: a number"),
        _ => {
            if smoke {
                1
            } else {
                3
            }
        }
    };
    let dir = tempfile::tempdir().expect("a folder");
    println!(
        "{:<6} {:<24} {:>9} {:>9} {:>14} {:>10} {:>8}",
        "", "", "CPU s", "to plain", "M accesses/s", "M instr/s", "B/access"
    );
    for program in programs::all(dir.path(), smoke) {
        if names.is_empty() || names.iter().any(|name| *name == program.name) {
            measure(&program, rounds, dir.path());
        }
    }
}

fn median(values: Vec<f64>) -> f64 {
    sluice_stats::median(values).expect("a round")
}

/// Rounds of each mode in turn, so that all see the same machine.
fn measure(program: &Program, rounds: usize, dir: &Path) {
    let mut plain = Vec::new();
    let mut runs: [Vec<Run>; MODES.len()] = Default::default();
    for _ in 0..rounds {
        plain.push(program.plain());
        for ((_, mode), runs) in MODES.iter().zip(&mut runs) {
            runs.push(program.under(mode, dir));
        }
    }
    let base = median(plain);
    println!(
        "{:<6} {:<24} {base:>9.2} {:>9.2}",
        program.name, "QEMU alone", 1.0
    );
    for ((name, _), runs) in MODES.iter().zip(&runs) {
        let seconds = median(runs.iter().map(|run| run.cpu_s).collect());
        let run = &runs[0];
        println!(
            "{:<6} {name:<24} {seconds:>9.2} {:>9.1} {:>14.1} {:>10.1} {:>8}",
            program.name,
            seconds / base,
            run.accesses / seconds / 1e6,
            run.instructions / seconds / 1e6,
            run.bytes_per_access
                .map_or(String::new(), |bytes| format!("{bytes:.2}")),
        );
    }
}
