//! Programs in C and C++ drive a fabric, built as their first lines say.

mod building;
mod gem5;

use building::{build, root, run, text};
use serde_json::Value;

/// Each latency is the sum of its parts: processing, two links of 1 ns and four ports of 25 ns with
/// the bytes of request and response, the controller, the memory.
#[test]
fn a_program_in_c_measures_the_sum_of_the_parts() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("latency");
    let source = root().join("examples/library-c/latency.c");
    build("cc", "-std=c11", &source, &program);
    let output = run(&program, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    let lines: Vec<&str> = told.lines().collect();
    let ps = |line: &str| -> u64 {
        let words: Vec<&str> = line.split(' ').collect();
        words[2].parse().expect("a number")
    };
    let [near_read, near_write, far_read, far_write] = [0, 1, 2, 3].map(|line| ps(lines[line]));
    assert_eq!(near_write - near_read, 20_000);
    assert_eq!(far_read - near_read, 50_000);
    assert_eq!(far_write - near_write, 30_000);
    let statistics: Value = serde_json::from_str(lines[4]).expect("JSON");
    assert_eq!(statistics["reads"], 2);
    assert_eq!(statistics["writes"], 2);
    let parts = statistics["latency_parts_ns"].as_object().expect("parts");
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    let mean = (near_read + near_write + far_read + far_write) as f64 / 4000.0;
    assert!((sum - mean).abs() < 1e-6, "{sum} instead of {mean} ns");
    assert_eq!(statistics["latency_mean_ns"].as_f64(), Some(mean));
}

const LOOP: &str = "
[topology]
kind = 'fully-connected'
[requester]
count = 4
pattern = 'external'
depth = 64
[endpoint]
count = 4
[map]
ways = 4
";

/// A load from outside and from the fabric's own requesters has one bandwidth.
#[test]
fn a_program_in_cpp_loads_a_fabric_as_its_own_requesters_do() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("closed_loop");
    let source = root().join("examples/library-cpp/closed_loop.cpp");
    build("c++", "-std=c++17", &source, &program);
    let file = folder.path().join("loop.toml");
    std::fs::write(&file, LOOP).unwrap();
    let output = run(&program, &[file.to_str().expect("text")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outside: Value = serde_json::from_slice(&output.stdout).expect("JSON");

    let own = LOOP.replace("external", "stream");
    let spec = sluice_config::parse_fabric(&own, "own.toml").unwrap();
    let config = sluice_net::FabricConfig::new(&spec, 1).unwrap();
    let mut fabric = sluice_net::Fabric::new(&config).unwrap();
    for us in [10, 100] {
        fabric.begin();
        fabric
            .advance(sluice_units::Ps::from_us(us), &mut |_| ())
            .unwrap();
    }
    let expected = fabric.stats().completed() as f64;
    let requests = outside["requests"].as_f64().expect("a number");
    assert!(
        (requests / expected - 1.0).abs() < 0.01,
        "{requests} instead of {expected}"
    );

    let none = run(&program, &["./no-such.toml"]);
    assert_eq!(none.status.code(), Some(1));
    let message = text(&none.stderr);
    assert!(
        message.contains("./no-such.toml") && message.lines().count() == 1,
        "{message}"
    );
}
