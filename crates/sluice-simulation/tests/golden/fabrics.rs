//! Every fabric, and a few with each parameter.

use crate::book::Book;
use crate::vary::variants;
use serde_json::Value;
use sluice_config::{describe_fabric, fabrics};
use sluice_net::{FabricSpec, Length};
use sluice_results::to_json;
use sluice_simulation::FabricPlan;
use std::error::Error;

/// Fabrics whose parameters are tried, with settings that make them short.
const VARIED: &[(&str, &[(&str, &str)])] = &[
    (
        "esf",
        &[("topology.kind", "tree"), ("requester.reads", "70%")],
    ),
    (
        "esf-snoop",
        &[("requester.reads", "60%"), ("requester.count", "3")],
    ),
    ("skybyte-pool-64th", &[]),
];

#[test]
fn presets_give_the_results_they_gave() {
    let mut book = Book::new("fabrics.txt");
    for preset in fabrics() {
        let spec = describe_fabric(preset.name).expect("a preset").given;
        book.add(preset.name, run(&spec, 4_000));
    }
    book.close();
}

#[test]
fn parameters_give_the_results_they_gave() {
    let mut book = Book::new("fabric_parameters.txt");
    for (name, given) in VARIED {
        let mut base = describe_fabric(name).expect("a preset").given;
        for (key, value) in *given {
            base.raw.set(key, value).expect("a value");
        }
        for other in base.raw.params().iter().flat_map(variants) {
            let mut spec = base.clone();
            let set = spec.raw.set(other.key, &other.value).map_err(Into::into);
            let result = set.and_then(|()| run(&spec, 1_500));
            book.add(format!("{name} {}", other.row), result);
        }
    }
    book.close();
}

fn run(spec: &FabricSpec, requests: u64) -> Result<Value, Box<dyn Error>> {
    let plan = FabricPlan {
        name: "golden",
        spec,
        length: Length {
            warmup: requests / 4,
            requests,
        },
        seed: 1,
        replay: None,
        window: 200,
    };
    let result = plan.run(&mut |_| true)?;
    Ok(to_json(&result.expect("nobody stops it")))
}
