//! What commands that list, show and look print as JSON is valid by the published schemas.

#[path = "schema/mod.rs"]
mod schema;

use serde_json::Value;
use std::process::Command;

fn told(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(words.split_whitespace()).arg("--json");
    let output = command.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{words}: {e}: {said}"))
}

#[test]
fn every_list_is_of_its_schema() {
    for (words, name) in [
        ("device list", "devices"),
        ("device show cylon", "parameters"),
        ("device live", "parameters"),
        ("system list", "presets"),
        ("system show skybyte-c", "parameters"),
        ("fabric list", "presets"),
        ("fabric show esf", "parameters"),
        ("fabric choices", "fabric-choices"),
        ("policy list", "policies"),
        ("doctor", "doctor"),
    ] {
        let value = told(words);
        schema::check_by(name, &value);
        let rows = value.as_array().map_or(1, Vec::len);
        assert!(rows > 0, "{words}: nothing is listed");
    }
}

/// What a folder says of its command is one of the files that `sluice again` reads.
#[test]
fn the_command_of_a_folder_is_of_its_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let pattern = "chase:size=1MiB,stride=4096,passes=1";
    told(&format!("sim --workload {pattern} --out {}", out.display()));
    let text = std::fs::read(out.join("command.json")).expect("a file");
    let kept = schema::checked(&text);
    assert_eq!(kept["arguments"][0], "sim");
}
