//! What prefetchers spare whole programs: live beside the simulator.
//!
//! A first run in a very small cache records which pages the program uses, in order. The simulator
//! plays this record with each prefetcher; the program itself runs with each in both modes. A use
//! waits for a miss, or for the rest of one that a late prefetch left. The others are served at
//! once.

use crate::chase::{read_json, scratch, sluice};
use crate::together::PREFETCHERS;
use serde_json::Value;
use sluice_abi::RecordHeader;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DEVICE: [&str; 2] = ["device.capacity=1GiB", "nand.program=0ns"];
/// 32 pages: of the pages a program asks for, the record has all but what it has just used.
const RECORDING: [&str; 2] = ["cache.capacity=128KiB", "nand.read=0ns"];
const ROOM: &str = "20000000";
/// Points between a share that was simulated and the same live.
const APART: f64 = 5.0;
const SERVER_WAIT: Duration = Duration::from_secs(30);

/// A program, and a cache that holds less than half of what it uses.
struct Program {
    name: &'static str,
    cache: &'static str,
    words: &'static [&'static str],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "a graph",
        cache: "cache.capacity=512KiB",
        words: &[
            "graph",
            "--scale",
            "13",
            "--sources",
            "2",
            "--iterations",
            "4",
        ],
    },
    Program {
        name: "Redis",
        cache: "cache.capacity=4MiB",
        words: &[
            "redis",
            "--records",
            "8000",
            "--ops",
            "16000",
            "--connections",
            "1",
        ],
    },
];

/// Uses that are served at once with each prefetcher, simulated and in both modes.
pub fn programs(smoke: bool) {
    println!("uses of pages served at once, %: simulated, event, signal:");
    for program in &PROGRAMS {
        let (trace, uses) = record(program);
        println!("{}: {uses} uses", program.name);
        for (policy, degree) in PREFETCHERS {
            let keys = [
                format!("prefetch.policy={policy}"),
                format!("prefetch.degree={degree}"),
            ];
            let sets = [program.cache, &keys[0], &keys[1]];
            let results = [
                simulated(&trace, &sets),
                live(program, "event", &sets, &[]),
                live(program, "signal", &sets, &[]),
            ];
            let at_once = results.map(|of| 100.0 * (1.0 - waits(&of) / uses as f64));
            let [sim, event, signal] = at_once;
            let near = (event - sim).abs() <= APART && (signal - sim).abs() <= APART;
            let verdict = if near { "near" } else { "APART" };
            println!("  {policy} {degree}: {sim:.1}, {event:.1}, {signal:.1}: {verdict}");
            if smoke {
                break;
            }
        }
    }
}

fn waits(result: &Value) -> f64 {
    let of = |name: &str| result["cache"][name].as_f64().expect("a count");
    of("misses") + of("prefetch_late")
}

/// The trace of the pages that a program uses, in order, and how many uses it has.
fn record(program: &Program) -> (PathBuf, u64) {
    live(program, "signal", &RECORDING, &["--record-traps", ROOM]);
    let bytes = std::fs::read(scratch("out").join("traps.bin")).expect("a record");
    let mut words = bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word));
    let head: Vec<u64> = words.by_ref().take(size_of::<RecordHeader>() / 8).collect();
    let (room, traps) = (head[1], head[2]);
    assert!(
        traps <= room,
        "{traps} traps are more than the record's {room}"
    );
    let mut lines = String::new();
    for page in words {
        writeln!(lines, "R,{},64", page << 12).expect("a line");
    }
    let (csv, trace) = (scratch("pages.csv"), scratch("pages.trace"));
    std::fs::write(&csv, lines).expect("scratch");
    let _ = std::fs::remove_file(&trace);
    let mut convert = sluice();
    convert.args([
        "trace",
        "convert",
        "--from",
        "csv",
        "--columns",
        "op,address,size",
    ]);
    done(convert.arg(&csv).arg(&trace));
    (trace, traps)
}

fn simulated(trace: &Path, sets: &[&str]) -> Value {
    let mut sim = sluice();
    sim.args(["sim", "--json", "--hits", "misses", "--place", "address"]);
    sim.arg("--trace").arg(trace);
    set(&mut sim, sets);
    serde_json::from_slice(&done(&mut sim)).expect("the run's object")
}

fn live(program: &Program, trap: &str, sets: &[&str], flags: &[&str]) -> Value {
    let out = scratch("out");
    let mut run = sluice();
    run.args(["run", "--trap", trap, "--force", "--out"])
        .arg(&out);
    set(&mut run, sets);
    run.args(flags).arg("--");
    if program.words[0] == "redis" {
        serve(run, program.words);
    } else {
        run.arg(env!("CARGO_BIN_EXE_sluice")).arg("workload");
        done(run.args(program.words));
    }
    read_json(&out.join("stats.json"))
}

/// A server on the device, and a client that is not.
fn serve(mut run: Command, client: &[&str]) {
    let socket = scratch("redis.socket");
    let _ = std::fs::remove_file(&socket);
    run.args(["redis-server", "--port", "0", "--save", "", "--unixsocket"]);
    run.arg(&socket).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = run.spawn().expect("sluice");
    let begun = Instant::now();
    while !socket.exists() {
        assert!(
            begun.elapsed() < SERVER_WAIT,
            "redis-server does not listen"
        );
        assert!(
            server.try_wait().expect("a child").is_none(),
            "redis-server ended"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut workload = sluice();
    workload.arg("workload").args(client);
    done(workload.arg("--socket").arg(&socket));
    let mut end = Command::new("redis-cli");
    end.arg("-s").arg(&socket).args(["shutdown", "nosave"]);
    let _ = end.output();
    assert!(server.wait().expect("sluice").success());
}

fn set(command: &mut Command, sets: &[&str]) {
    for set in DEVICE.iter().chain(sets) {
        command.args(["--set", set]);
    }
}

/// Runs a command to its end; its standard output.
fn done(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("sluice");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    output.stdout
}
