//! The adapter for Ramulator 2 (`examples/memory-ramulator2`), with a stand-in that is easy to
//! foretell, and with Ramulator 2 itself where `SLUICE_RAMULATOR2` names its folder.

use crate::adapter::{self, build, compile, drive, memory, run};
use sluice_testkit::objects::root;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "memory-ramulator2/ramulator2.cpp";

fn options(mut more: Vec<String>) -> Vec<String> {
    more.push("-std=c++20".to_owned());
    more
}

fn stand_in(folder: &Path) -> String {
    build(SOURCE, folder, &options(vec![adapter::stand_in()]))
}

/// A file with a text of the stand-in's.
fn config(folder: &Path, text: &str) -> String {
    let file = folder.join("config");
    std::fs::write(&file, text).unwrap();
    file.to_str().expect("text").to_owned()
}

fn alone(reads: &str) -> [(&str, &str); 2] {
    [("requester.depth", "1"), ("requester.reads", reads)]
}

/// Every time of this fabric is a multiple of 250 ps.
#[test]
fn reads_take_their_cycles_and_writes_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    let mean = |text, reads| {
        let config = config(folder.path(), text);
        memory(&run(&path, &config, &alone(reads)))
    };
    assert_eq!(mean("0.25", "100%"), 40 * 250);
    assert_eq!(mean("0.25", "none"), 250);
    // One that comes within a cycle waits for the next.
    let between = mean("1.5", "100%");
    assert!((40 * 1_500..41 * 1_500).contains(&between), "{between} ps");
}

#[test]
fn what_the_queue_has_no_room_for_waits_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    // Four at once, of 40 ns each, whether they read or write.
    for reads in ["100%", "none", "60%"] {
        let set = [("requester.depth", "64"), ("requester.reads", reads)];
        let fabric = run(&path, &config(folder.path(), "1"), &set);
        let each = fabric.stats().time().0 / 20_000;
        assert!((9_990..=10_010).contains(&each), "{each} ps a request");
    }
}

/// An exception in the middle of a run ends the fabric, not the program.
#[test]
fn an_exception_is_a_fabric_in_which_nothing_happens_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = stand_in(folder.path());
    let config = config(folder.path(), "1 throws");
    let mut fabric = adapter::fabric(&path, &config, &alone("60%"));
    let error = drive(&mut fabric).unwrap_err().to_string();
    assert!(error.starts_with("deadlock after"), "{error}");
}

/// Builds a memory, as Sluice does, in a program of its own.
const BUILDS: &str = r#"
#include "sluice_memory.h"
int main(int, char **arguments) {
  const sluice_memory_space space = {1ull << 30, 1, arguments[1]};
  return sluice_memory.build(&space) == nullptr ? 2 : 0;
}
"#;

fn builder(folder: &Path, mut more: Vec<String>) -> PathBuf {
    let (source, program) = (folder.join("builds.cpp"), folder.join("builds"));
    std::fs::write(&source, BUILDS).unwrap();
    more.push(source.to_str().unwrap().to_owned());
    // Where the linker looks for what the files before it lack.
    more.rotate_right(1);
    compile(SOURCE, &program, &options(more));
    program
}

/// What building says of a configuration that cannot be.
fn refusal(program: &Path, config: &str) -> String {
    let output = Command::new(program).arg(config).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{config}: {said}");
    let start = format!("Ramulator 2 cannot take `{config}`: ");
    let why = said
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{said}"));
    assert_eq!(why.lines().count(), 1, "{said}");
    why.to_owned()
}

#[test]
fn a_configuration_that_cannot_be_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = builder(folder.path(), vec![adapter::stand_in()]);
    let why = refusal(&program, "/no/such/file");
    assert!(why.starts_with("no such file, or an empty one"), "{why}");
    for (text, says) in [
        ("", "no such file, or an empty one"),
        ("scalar", "not what Ramulator 2 has exported"),
        ("-1", "a burst has 32 bytes instead of 64"),
        ("0", "a cycle takes no time"),
    ] {
        let why = refusal(&program, &config(folder.path(), text));
        assert!(why.starts_with(says), "{text}: {why}");
    }
}

/// Exports the configuration that is beside the adapter, as its first lines say.
fn exported(ramulator: &Path, folder: &Path) -> String {
    let file = folder.join("ddr4.yaml");
    let status = Command::new("python3")
        .env("PYTHONPATH", ramulator.join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["-m", "ramulator", "export"])
        .arg(root().join("examples/memory-ramulator2/ddr4.py"))
        .arg("-o")
        .arg(&file)
        .status()
        .expect("Python");
    assert!(status.success());
    file.to_str().expect("text").to_owned()
}

/// Closed rows take tRCD, tCL and the burst, 38 cycles, and others tRP more.
#[test]
fn ramulator_itself_takes_its_time_and_refuses_in_one_line() {
    let Some(ramulator) = adapter::folder("SLUICE_RAMULATOR2", "Ramulator 2") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let with = adapter::with(&ramulator, "ramulator");
    let path = build(SOURCE, folder.path(), &options(with.clone()));
    let config = exported(&ramulator, folder.path());
    let set = [
        ("requester.depth", "1"),
        ("requester.reads", "100%"),
        ("requester.interval", "260ns"),
        ("endpoint.capacity", "1GiB"),
    ];
    let mean = memory(&run(&path, &config, &set));
    assert!((45_000..52_000).contains(&mean), "{mean} ps");

    let program = builder(folder.path(), with);
    let good = std::fs::read_to_string(&config).unwrap();
    for (what, instead, says) in [
        ("impl: GenericDRAM", "impl: Wishful", "\"Wishful\""),
        ("impl: DDR4", "impl: DDR9", "DDR9"),
        ("impl: DDR4", "impl: [", "yaml-cpp: error at line"),
        (
            "channel_width: 64",
            "channel_width: 32",
            "a burst has 32 bytes",
        ),
    ] {
        let bad = folder.path().join("bad.yaml");
        std::fs::write(&bad, good.replacen(what, instead, 1)).unwrap();
        let why = refusal(&program, bad.to_str().unwrap());
        assert!(why.contains(says), "{instead}: {why}");
    }
}
