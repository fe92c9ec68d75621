//! The pages of `bare` through the whole of Sluice: the pointer chase under `sluice run`.

use crate::bare::Backing;
use serde_json::Value;
use sluice_region::{CpuSet, PAGE, cpu_now};
use std::path::PathBuf;
use std::process::Command;

/// Cache of the device as a share of the working set, so that a FIFO never hits.
const CACHE_SHARE: f64 = 0.6;

/// MiB of cache for a chase over so many.
fn cache_mib(mib: usize) -> usize {
    (mib as f64 * CACHE_SHARE) as usize
}

/// Pages of cache for a chase over so many MiB.
pub fn cached_pages(mib: usize) -> usize {
    (cache_mib(mib) << 20) / PAGE
}

/// A chase over more memory than the cache holds: every access is a miss.
#[derive(Clone, Copy, Debug)]
pub struct Chase<'a> {
    pub trap: &'static str,
    pub backing: Backing,
    pub mib: usize,
    pub read: &'a str,
    pub passes: usize,
    /// Program and handler have one CPU between them.
    pub bound: bool,
}

/// What the program itself measured, and what the device said.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub p50_ns: f64,
    pub p99_ns: f64,
    pub modelled_p50_ns: f64,
    pub late_ratio: f64,
}

pub fn sluice() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sluice"))
}

pub fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("sluice-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("scratch folder");
    dir.join(name)
}

pub fn read_json(path: &PathBuf) -> Value {
    let text = std::fs::read_to_string(path).expect("the run's file");
    serde_json::from_str(&text).expect("the run's object")
}

impl Chase<'_> {
    /// Runs it and returns the figures of the last pass.
    pub fn run(self) -> Measured {
        let file = PathBuf::from(format!("/dev/shm/sluice-bench-{}", std::process::id()));
        let (out, program) = (scratch("out"), scratch("program.json"));
        let mut run = sluice();
        run.args([
            "run",
            "--force",
            "--trap",
            self.trap,
            "--set",
            "device.capacity=1GiB",
        ]);
        let cache = cache_mib(self.mib);
        run.arg("--set").arg(format!("cache.capacity={cache}MiB"));
        run.arg("--set").arg(format!("nand.read={}", self.read));
        // Only reads are timed: the writes of the build must not queue before them.
        run.args([
            "--set",
            "nand.program=0ns",
            "--set",
            "cache.hit_latency=0ns",
        ]);
        run.arg("--out").arg(&out);
        if self.backing == Backing::Dax {
            let made =
                std::fs::File::create(&file).and_then(|f| f.set_len((self.mib as u64) << 20));
            made.expect("a file in memory");
            run.arg("--place").arg(format!("dax:{}", file.display()));
        }
        run.arg("--").arg(env!("CARGO_BIN_EXE_sluice"));
        run.args(["workload", "chase", "--stride", "4096", "--size"]);
        run.arg(format!("{}MiB", self.mib))
            .args(["--passes", &self.passes.to_string()]);
        run.arg("--out").arg(&program);
        if self.backing == Backing::Dax {
            run.arg("--file").arg(&file);
        }
        let before = CpuSet::of(0).expect("affinity");
        if self.bound {
            CpuSet::one(cpu_now()).bind(0);
        }
        let output = run.output().expect("sluice");
        before.bind(0);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let _ = std::fs::remove_file(&file);
        let (program, stats) = (read_json(&program), read_json(&out.join("stats.json")));
        let last = program["passes"]
            .as_array()
            .and_then(|p| p.last())
            .expect("passes");
        let number = |v: &Value| v.as_f64().expect("a number");
        Measured {
            p50_ns: number(&last["latency_ns"]["p50"]),
            p99_ns: number(&last["latency_ns"]["p99"]),
            modelled_p50_ns: number(&stats["latency_ns"]["modelled"]["p50"]),
            late_ratio: number(&stats["late"]["ratio"]),
        }
    }
}

/// Time of an access in the last pass of an untimed chase, ns, with the cache twice as large.
pub fn batch_ns(mib: usize, stride: usize, emulated: bool) -> f64 {
    let program = scratch("batch.json");
    let mut command = sluice();
    if emulated {
        command.args(["run", "--set", "device.capacity=1GiB", "--set"]);
        command
            .arg(format!("cache.capacity={}MiB", 2 * mib))
            .arg("--");
        command.arg(env!("CARGO_BIN_EXE_sluice"));
    }
    command.args([
        "workload",
        "chase",
        "--batch",
        "--small-pages",
        "--random",
        "--passes",
        "4",
    ]);
    command
        .arg("--size")
        .arg(format!("{mib}MiB"))
        .arg("--stride")
        .arg(stride.to_string());
    command.arg("--out").arg(&program);
    let output = command.output().expect("sluice");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let program = read_json(&program);
    let last = program["passes"]
        .as_array()
        .and_then(|p| p.last())
        .expect("passes");
    let accesses = last["accesses"].as_f64().expect("accesses");
    last["wall_s"].as_f64().expect("wall_s") * 1e9 / accesses
}
