//! Programs on every system, and on a few with each parameter of the host and its device.

use crate::book::Book;
use crate::vary::variants;
use serde_json::Value;
use sluice_config::{System, load_system, systems};
use sluice_host::RunLength;
use sluice_results::to_json;
use sluice_simulation::{SystemPlan, SystemRun};
use sluice_skybyte_artifact::parse_kernel;
use sluice_units::Ps;
use std::error::Error;

const SCALE: u32 = 512;

/// Systems whose parameters are tried, and a program with reads, writes and reuse.
const VARIED: &[(&str, &str)] = &[
    ("skybyte-full", "ycsb"),
    ("astriflash-cxl", "tpcc"),
    ("cxl-ssd-sim", "viper"),
];

#[test]
fn presets_give_the_results_they_gave() {
    let mut book = Book::new("systems.txt");
    for preset in systems() {
        let system = load_system(preset.name).expect("a preset");
        for workload in ["ycsb", "tpcc", "srad", "bfs-dense"] {
            let name = format!("{} {workload}", preset.name);
            book.add(name, run(&system, workload, 60_000));
        }
    }
    book.close();
}

#[test]
fn parameters_give_the_results_they_gave() {
    let mut book = Book::new("system_parameters.txt");
    for (name, workload) in VARIED {
        let base = load_system(name).expect("a preset");
        for other in System::params().flat_map(variants) {
            let mut system = base.clone();
            let set = system.set(other.key, &other.value).map_err(Into::into);
            let result = set.and_then(|()| run(&system, workload, 40_000));
            book.add(format!("{name} {workload} {}", other.row), result);
        }
    }
    book.close();
}

fn run(system: &System, workload: &str, instructions: u64) -> Result<Value, Box<dyn Error>> {
    let plan = SystemPlan {
        run: SystemRun {
            name: "golden",
            system,
            scale: SCALE,
            workload,
            length: RunLength {
                warmup: instructions / 2,
                measured: instructions,
                sample_every: Ps::from_us(50),
            },
            seed: 1,
        },
        kernel: parse_kernel(workload, 1).expect("a kernel"),
        check: false,
    };
    let result = plan.run(&mut |_| true)?;
    Ok(to_json(&result.expect("nobody stops it")))
}
