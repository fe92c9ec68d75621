//! How many instructions a second a simulated host gets through, by system and kernel.
//!
//! `cargo bench -p sluice-testkit --bench host [-- SYSTEM..]` measures; `cargo test` runs a small
//! size. The hash says that two builds did the same thing: compare speeds only if it is equal.

use sluice_config::load_system;
use sluice_host::{HostStats, RunLength};
use sluice_kernels::{KernelInfo, KernelOptions};
use sluice_model::Device;
use sluice_model::RawConfig;
use sluice_skybyte_artifact::{KERNELS, simulate};
use sluice_units::Ps;
use std::time::Instant;

const SYSTEMS: [&str; 3] = ["skybyte-full", "base-cssd", "dram-only"];

fn main() {
    let measure = std::env::args().any(|arg| arg == "--bench");
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let named = |name: &str| measure && given.iter().any(|arg| arg == name);
    let systems: Vec<&str> = SYSTEMS.into_iter().filter(|name| named(name)).collect();
    let systems = if systems.is_empty() {
        SYSTEMS.to_vec()
    } else {
        systems
    };
    let any = KERNELS.iter().any(|kernel| named(kernel.name));
    let (scale, length) = if measure {
        (32, 50_000_000)
    } else {
        (128, 200_000)
    };
    println!(
        "{:14} {:10} {:>8} {:>8}  hash",
        "system", "kernel", "MIPS", "IPC"
    );
    for system in systems {
        for kernel in KERNELS.iter().filter(|kernel| !any || named(kernel.name)) {
            show(system, kernel, scale, length);
        }
    }
}

fn show(system: &str, kernel: &KernelInfo, scale: u32, length: u64) {
    let (seconds, stats) = run(system, kernel, scale, length);
    let speed = stats.instructions as f64 / seconds / 1e6;
    let cycles = stats.time.0 as f64 / 250.0 * 8.0;
    let ipc = stats.instructions as f64 / cycles;
    let name = kernel.name;
    println!(
        "{system:14} {name:10} {speed:8.1} {ipc:8.2}  {:016x}",
        stats.hash
    );
}

fn run(system: &str, kernel: &KernelInfo, scale: u32, length: u64) -> (f64, HostStats) {
    let given = RawConfig::of(kernel.params);
    let system = load_system(system).expect("a system");
    let system = system
        .scaled_with(scale, (kernel.thread_bytes)(&given))
        .expect("a scale");
    let checked = system.check(1).expect("a possible system");
    let mut program = (kernel.make)(&KernelOptions {
        threads: checked.host.threads,
        scale,
        seed: 1,
        rounds: 0,
        given,
    });
    let device = Device::new(&checked.device, 1).expect("a device");
    let length = RunLength {
        warmup: length / 5,
        measured: length,
        sample_every: Ps::ZERO,
    };
    let begun = Instant::now();
    let mut counted = begun;
    let mut watch = |retired: u64| {
        if retired < length.warmup {
            counted = Instant::now();
        }
        true
    };
    let (stats, _) = simulate(
        &checked.host,
        checked.artifact,
        device,
        program.as_mut(),
        length,
        &mut watch,
    );
    (counted.elapsed().as_secs_f64(), stats)
}
