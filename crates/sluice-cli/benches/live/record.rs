//! Figures of this machine for docs/measurements.md, if the variable `RECORD` asks for them.

use std::path::Path;
use std::process::Command;

/// What is recorded besides the values: where it belongs, and what it should be.
pub struct Figure<'a> {
    pub group: &'a str,
    pub name: &'a str,
    /// The part of the bench that measures it.
    pub part: &'a str,
    pub unit: &'a str,
    pub goal: &'a str,
    /// The number of the promise, where there is a goal.
    pub promise: &'a str,
}

/// Adds a figure with the value of each round.
pub fn record(figure: &Figure<'_>, values: &[f64]) {
    if std::env::var_os("RECORD").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bench = format!("cargo bench -p sluice-cli --bench live -- {}", figure.part);
    let mut command = Command::new("python3");
    command
        .arg(root.join("scripts/measurements.py"))
        .args(["add", figure.group, figure.name, "--command", &bench])
        .args(["--unit", figure.unit, "--goal", figure.goal])
        .args(["--promise", figure.promise])
        .args(values.iter().map(f64::to_string));
    let status = command.status().expect("python3 runs");
    assert!(status.success(), "scripts/measurements.py: {status}");
}
