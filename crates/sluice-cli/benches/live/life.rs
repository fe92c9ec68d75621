//! What a process's own life costs: its start under `sluice run`, and its forks.

use crate::record::{Figure, record};
use crate::{Pairs, rounds};
use std::process::Command;
use std::time::Instant;

/// Memory that the forking program has written, bytes.
const WRITTEN: usize = 8 << 20;
/// The argument that makes the program fork so often.
const FORKS: &str = "forks=";

/// The argument that makes the program start another one so often.
const EXECS: &str = "execs=";
/// A device for starts and forks, and larger ones for the starts of programs that a program starts:
/// what one of those takes does not depend on the capacity.
const CAPACITIES: [&str; 4] = ["64MiB", "16GiB", "256GiB", "2TiB"];

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
                let words = |program: &str| run(command, trap, CAPACITIES[0], program);
                let times: Vec<f64> = (0..starts_a_round)
                    .map(|_| start_us(words("true")))
                    .collect();
                start.push(Pairs::median(&times));
                fork.push(time_us(words(&own_name()).arg(format!("{FORKS}{forks}"))));
            }
        }
        starts.print(&format!("{trap}: start and end of true"), "us", None);
        all.print(&format!("{trap}: fork, to the child's end"), "us", None);
    }
    execs(smoke);
}

/// The processor's time for a program that a program starts.
fn execs(smoke: bool) {
    println!("CPU of a program that a program on the device starts, us, against no device:");
    let count = if smoke { 2 } else { 60 };
    for trap in ["event", "signal"] {
        for capacity in CAPACITIES {
            let mut pairs = Pairs::none();
            for _ in 0..rounds(smoke) {
                for (command, times) in [
                    (None, &mut pairs.base),
                    (Some(env!("CARGO_BIN_EXE_sluice")), &mut pairs.ours),
                ] {
                    let mut program = run(command, trap, capacity, &own_name());
                    times.push(time_us(program.arg(format!("{EXECS}{count}"))));
                }
            }
            pairs.print(&format!("{trap}: start of true, {capacity}"), "us", None);
            let beside = pairs.ours.iter().zip(&pairs.base);
            let more_ms: Vec<f64> = beside.map(|(ours, base)| (ours - base) / 1e3).collect();
            let figure = Figure {
                group: "Live: processes",
                name: &format!("CPU of an exec above native, {trap}, {capacity}"),
                part: "life",
                unit: "ms",
                goal: "<= 2",
                promise: "",
            };
            record(&figure, &more_ms);
        }
    }
}

fn own_name() -> String {
    let path = std::env::current_exe().expect("this program");
    path.to_str().expect("plain letters").to_owned()
}

/// A program, on a device if there is a command to make one.
fn run(sluice: Option<&str>, trap: &str, capacity: &str, program: &str) -> Command {
    let Some(sluice) = sluice else {
        return Command::new(program);
    };
    let mut command = Command::new(sluice);
    command.args(["run", "--trap", trap, "--set", "cache.capacity=2MiB"]);
    command.args(["--set", &format!("device.capacity={capacity}")]);
    command.args(["--", program]);
    command
}

fn start_us(mut command: Command) -> f64 {
    let before = Instant::now();
    let output = command.output().expect("the program");
    assert!(output.status.success(), "{output:?}");
    before.elapsed().as_secs_f64() * 1e6
}

/// What a program measures and prints.
fn time_us(command: &mut Command) -> f64 {
    let output = command.output().expect("the program");
    let told = String::from_utf8_lossy(&output.stdout);
    let time = told.trim().parse();
    time.unwrap_or_else(|_| panic!("no time: {output:?}"))
}

/// If this process was started to fork, or to start others, does so and ends.
pub fn do_as_told() {
    let told = |what| std::env::args().find_map(|word| word.strip_prefix(what)?.parse().ok());
    let time_us = match (told(FORKS), told(EXECS)) {
        (Some(count), _) => forks_us(count),
        (None, Some(count)) => execs_us(count),
        (None, None) => return,
    };
    println!("{time_us}");
    std::process::exit(0);
}

fn forks_us(count: u32) -> f64 {
    let memory = vec![1u8; WRITTEN];
    let times: Vec<f64> = (0..count).map(|_| one_fork_us()).collect();
    std::hint::black_box(&memory);
    Pairs::median(&times)
}

/// The processor's time for each of so many programs, all of their threads together.
fn execs_us(count: u32) -> f64 {
    let before = children_us();
    for _ in 0..count {
        let status = Command::new("true").status().expect("the program");
        assert!(status.success(), "{status}");
    }
    (children_us() - before) / f64::from(count)
}

fn children_us() -> f64 {
    // SAFETY: zeros are valid; the output is live.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    let times = [usage.ru_utime, usage.ru_stime];
    let each_us = times.map(|time| time.tv_sec as f64 * 1e6 + time.tv_usec as f64);
    each_us.iter().sum()
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
