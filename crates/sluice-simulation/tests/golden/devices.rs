//! A workload on every device, and on a small one with each parameter.

use crate::book::Book;
use crate::vary::variants;
use serde_json::Value;
use sluice_config::{load, presets};
use sluice_driver::Visibility;
use sluice_model::{DeviceConfig, RawConfig};
use sluice_results::to_json;
use sluice_simulation::Plan;
use sluice_streams::parse_spec;
use std::error::Error;

/// Settings of devices whose parameters are tried: a cache alone, a log before it with blocks that
/// are collected, memory of DRAM.
const VARIED: &[(&str, &[(&str, &str)])] = &[
    (
        "cylon",
        &[("device.capacity", "16MiB"), ("cache.capacity", "512KiB")],
    ),
    (
        "skybyte",
        &[
            ("device.capacity", "64MiB"),
            ("cache.capacity", "1MiB"),
            ("write_log.capacity", "256KiB"),
            ("nand.channels", "2"),
            ("nand.chips", "1"),
            ("nand.dies", "2"),
            ("nand.pages_per_block", "32"),
        ],
    ),
    ("cxl-dram", &[("device.capacity", "16MiB")]),
];

#[test]
fn presets_give_the_results_they_gave() {
    let mut book = Book::new("devices.txt");
    let mixed = "zipf:size=4MiB,stride=64,ops=4000,write=0.3,threads=3";
    let swept = "stream:size=512KiB,stride=64,passes=1,write=true,threads=2";
    for preset in presets() {
        let raw = load(preset.name).expect("a preset");
        for (visibility, workload) in [(Visibility::All, mixed), (Visibility::Misses, swept)] {
            let name = format!("{} {workload}", preset.name);
            book.add(name, run(&raw, workload, visibility));
        }
    }
    book.close();
}

#[test]
fn parameters_give_the_results_they_gave() {
    let mut book = Book::new("device_parameters.txt");
    for (name, given) in VARIED {
        let mut base = load(name).expect("a preset");
        for (key, value) in *given {
            base.set(key, value).expect("a value");
        }
        for other in base.params().iter().flat_map(variants) {
            let mut raw = base.clone();
            let set = raw.set(other.key, &other.value).map_err(Into::into);
            let workload = "zipf:size=8MiB,stride=64,ops=12000,write=0.5,threads=2";
            let result = set.and_then(|()| run(&raw, workload, Visibility::All));
            book.add(format!("{name} {}", other.row), result);
        }
    }
    book.close();
}

fn run(raw: &RawConfig, workload: &str, visibility: Visibility) -> Result<Value, Box<dyn Error>> {
    let config = DeviceConfig::new(raw)?;
    let spec = parse_spec(workload, 1).expect("a workload");
    if spec.footprint_bytes() > config.capacity().0 {
        return Err("the workload has no room".into());
    }
    let plan = Plan {
        device: "golden",
        config: &config,
        workload,
        visibility,
        seed: 1,
        bound: true,
        histogram: false,
        warmup: 0,
    };
    let result = plan.run(spec.streams(), || false)?;
    Ok(to_json(&result.expect("nobody stops it")))
}
