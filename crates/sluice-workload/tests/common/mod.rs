//! Running the built program.

use sluice_testkit::child;
use std::process::Output;

/// Runs `sluice-workload` with flags separated by blanks.
pub fn workload(flags: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_sluice-workload");
    child::program(program)
        .args(flags.split_whitespace())
        .output()
        .expect("the program was built")
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The JSON object on the last line of standard output.
pub fn json(output: &Output) -> serde_json::Value {
    let text = text(&output.stdout);
    let line = text.lines().last().expect("a line on standard output");
    serde_json::from_str(line).expect("JSON on the last line")
}
