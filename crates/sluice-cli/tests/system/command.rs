//! The command, and what it prints.

use crate::schema;
use serde_json::Value;
use sluice_testkit::child;
use std::process::{Command, Output};

/// A program of 64 MB, a million instructions.
pub const SMALL: [&str; 8] = [
    "--workload",
    "srad",
    "--scale",
    "128",
    "--instructions",
    "1M",
    "--warmup",
    "200k",
];

pub fn sluice() -> Command {
    child::program(env!("CARGO_BIN_EXE_sluice"))
}

pub fn sim(system: &str, more: &[&str]) -> Output {
    let mut command = sluice();
    command.args(["sim", "--system", system]).args(more);
    command.output().unwrap()
}

pub fn object(system: &str, more: &[&str]) -> Value {
    let small = match more.contains(&"--warmup") {
        true => &SMALL[..6],
        false => &SMALL[..],
    };
    let output = sim(system, &[small, more, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    schema::checked(&output.stdout)
}

/// What is refused, in one line and with status 2.
pub fn refusal(system: &str, more: &[&str]) -> String {
    let output = sim(system, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
    said
}

pub fn number(object: &Value, place: &str) -> f64 {
    let value = object.pointer(place).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {place} in {object}"))
}

pub fn close(ours: f64, expected: f64) {
    assert!(
        (ours - expected).abs() <= expected.abs() * 1e-9,
        "{ours} for {expected}"
    );
}
