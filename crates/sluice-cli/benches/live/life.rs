//! What a process's own life costs: its start under `sluice run`, and its forks.

use crate::{Pairs, rounds};
use std::process::Command;
use std::time::Instant;

/// Memory that the forking program has written, bytes.
const WRITTEN: usize = 8 << 20;
/// What the program is told, to fork so often.
const FORKS: &str = "forks=";

/// Starts and forks against the same without a device, or against another build of the command:
/// `SLUICE_BENCH_BESIDE=/path/to/sluice`.
pub fn life(smoke: bool) {
    let beside = std::env::var("SLUICE_BENCH_BESIDE").ok();
    let against = beside.as_deref().unwrap_or("no device");
    println!("a process's life, us, against {against}:");
    let (forks, starts_a_round) = if smoke { (3, 1) } else { (200, 15) };
    for trap in ["event", "signal"] {
        let mut starts = Pairs::none();
        let mut all = Pairs::none();
        for _ in 0..rounds(smoke) {
            for (command, start, fork) in [
                (beside.as_deref(), &mut starts.base, &mut all.base),
                (
                    Some(env!("CARGO_BIN_EXE_sluice")),
                    &mut starts.ours,
                    &mut all.ours,
                ),
            ] {
                let words = |program: &str| run(command, trap, program);
                let times: Vec<f64> = (0..starts_a_round)
                    .map(|_| start_us(words("true")))
                    .collect();
                start.push(Pairs::median(&times));
                fork.push(fork_us(words(&own_name()).arg(format!("{FORKS}{forks}"))));
            }
        }
        starts.print(&format!("{trap}: start and end of true"), "us", None);
        all.print(&format!("{trap}: fork, to the child's end"), "us", None);
    }
}

fn own_name() -> String {
    let path = std::env::current_exe().expect("this program");
    path.to_str().expect("plain letters").to_owned()
}

/// A program, on a device if there is a command to make one.
fn run(sluice: Option<&str>, trap: &str, program: &str) -> Command {
    let Some(sluice) = sluice else {
        return Command::new(program);
    };
    let mut command = Command::new(sluice);
    command.args(["run", "--trap", trap, "--set", "device.capacity=64MiB"]);
    command.args(["--set", "cache.capacity=2MiB", "--", program]);
    command
}

fn start_us(mut command: Command) -> f64 {
    let before = Instant::now();
    let output = command.output().expect("the program");
    assert!(output.status.success(), "{output:?}");
    before.elapsed().as_secs_f64() * 1e6
}

fn fork_us(command: &mut Command) -> f64 {
    let output = command.output().expect("the program");
    let told = String::from_utf8_lossy(&output.stdout);
    let time = told.trim().parse();
    time.unwrap_or_else(|_| panic!("no time: {output:?}"))
}

/// If this process was started to fork, does so and ends.
pub fn fork_if_told() {
    let told = std::env::args().find_map(|word| word.strip_prefix(FORKS)?.parse().ok());
    let Some(count) = told else { return };
    let memory = vec![1u8; WRITTEN];
    let times: Vec<f64> = (0..count).map(|_: u32| one_fork_us()).collect();
    std::hint::black_box(&memory);
    println!("{}", Pairs::median(&times));
    std::process::exit(0);
}

fn one_fork_us() -> f64 {
    let before = Instant::now();
    let mut status = 0;
    // SAFETY: the child ends at once; the output is live.
    let ended = unsafe {
        match libc::fork() {
            0 => libc::_exit(0),
            child => libc::waitpid(child, &mut status, 0),
        }
    };
    assert!(ended > 0 && status == 0, "{ended} {status}");
    before.elapsed().as_secs_f64() * 1e6
}
