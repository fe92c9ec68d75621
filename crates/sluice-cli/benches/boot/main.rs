//! What it takes to boot a guest with its accesses simulated: Debian's kernel to a command, by
//! `sluice vm --demo`, beside the same guest on QEMU alone.
//!
//! `cargo bench -p sluice-cli --bench boot`; `SLUICE_BENCH_ROUNDS` sets the rounds (default 3), of
//! one boot in each way. What counts is CPU time, of QEMU and of the command: a busy machine takes
//! less of it than of the wall. As a test it boots once, on QEMU alone.

use serde_json::Value;
use std::process::{Command, Stdio};

/// What is simulated when the guest's clock counts instructions, as it does with one CPU.
const COUNTED: &str = "-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm -seed 1";

/// A way to boot: its name, flags of `sluice vm`, and arguments of QEMU.
const WAYS: [(&str, &str, &str); 4] = [
    ("QEMU alone", "--baseline --accel tcg", ""),
    (
        "QEMU alone, clock by instructions",
        "--baseline --accel tcg",
        COUNTED,
    ),
    ("simulated, cylon", "--simulate --device cylon", ""),
    (
        "simulated, skybyte-full",
        "--simulate --system skybyte-full",
        "",
    ),
];

/// What was measured of one boot.
struct Boot {
    cpu_s: f64,
    /// Accesses and instructions that were simulated; none without.
    accesses: f64,
    instructions: f64,
}

fn main() {
    let smoke = !std::env::args().any(|word| word == "--bench");
    let set = std::env::var("SLUICE_BENCH_ROUNDS").ok();
    let set = set.map(|n| n.parse().expect("SLUICE_BENCH_ROUNDS: a number"));
    let (rounds, ways) = match smoke {
        true => (1, 1),
        false => (set.unwrap_or(3), WAYS.len()),
    };
    let mut boots: Vec<Vec<Boot>> = WAYS.map(|_| Vec::new()).into();
    for _ in 0..rounds {
        for (boots, (_, flags, more)) in boots.iter_mut().zip(WAYS).take(ways) {
            boots.push(boot(flags, more));
        }
    }
    println!("booting to a command, CPU time, median [least, greatest] of {rounds} rounds");
    for (way, (name, ..)) in boots.iter().zip(WAYS).take(ways) {
        let times = spread(way.iter().map(|boot| boot.cpu_s).collect());
        let alone = boots[0].iter();
        let ratios = spread(
            way.iter()
                .zip(alone)
                .map(|(a, b)| a.cpu_s / b.cpu_s)
                .collect(),
        );
        println!("  {name}: {times} s; {ratios} times QEMU alone");
        let rate = |of: fn(&Boot) -> f64| {
            let rates = way.iter().map(|boot| of(boot) / boot.cpu_s / 1e6);
            spread(rates.collect())
        };
        if way[0].accesses > 0.0 {
            let (accesses, instructions) = (rate(|b| b.accesses), rate(|b| b.instructions));
            println!("    million a second: {accesses} accesses, {instructions} instructions");
        }
    }
}

/// Boots a guest that runs `true`.
fn boot(flags: &str, more: &str) -> Boot {
    let before = cpu_s();
    let mut sluice = Command::new(env!("CARGO_BIN_EXE_sluice"));
    sluice.args(["vm", "--demo", "--json", "--guest-command", "true"]);
    sluice.args(flags.split_whitespace()).arg("--");
    sluice.args(more.split_whitespace()).stdout(Stdio::piped());
    let ended = sluice.output().expect("sluice");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{flags}: {said}");
    let text = String::from_utf8_lossy(&ended.stdout);
    let last = text.lines().last().unwrap_or_default();
    let object: Value = serde_json::from_str(last).expect("an object");
    assert_eq!(object["guest"]["status"], 0, "{flags}: {object}");
    let number = |place| object.pointer(place).and_then(Value::as_f64).unwrap_or(0.0);
    Boot {
        cpu_s: cpu_s() - before,
        accesses: number("/program/accesses"),
        instructions: number("/instructions"),
    }
}

/// CPU time of all children that have ended, with theirs.
fn cpu_s() -> f64 {
    // SAFETY: plain data, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a live buffer.
    let rc = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    assert_eq!(rc, 0, "getrusage");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let median = sluice_stats::median(values.iter().copied()).expect("a round");
    let last = values[values.len() - 1];
    format!("{median:.1} [{:.1}, {last:.1}]", values[0])
}
