//! Programs in C that command their own device.

use crate::sluice::{Outcome, Sluice, finish};
use std::process::Command;

/// Builds a program in C against `libsluice_control.so`.
pub fn c_program(source: &str, name: &str) -> std::path::PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let test = std::env::current_exe().expect("a test is a file");
    let library = test.parent().expect("in a folder");
    let program = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let out = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("crates/sluice-control/include"))
        .arg(root.join(source))
        .args(["-lsluice_control", "-L"])
        .arg(library)
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a compiler");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    program
}

/// The value behind a word at the start of a line.
fn told<'a>(text: &'a str, word: &str) -> &'a str {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {word} in {text:?}"))
}

#[test]
fn a_program_in_c_tells_its_device_what_it_will_need() {
    let program = c_program("examples/control-c/join.c", "join");
    let program = program.to_str().expect("plain letters");
    let alone = finish(&mut Command::new(program));
    assert!(alone.status.success(), "{alone:#?}");
    assert!(alone.stderr.contains("not under Sluice"), "{alone:#?}");
    let run = |arguments: &[&str]| {
        let words = [&[program][..], arguments].concat();
        let out = Sluice::run("event").cache("8MiB").program(words).well();
        assert_eq!(
            told(&out.stdout, "sum"),
            told(&alone.stdout, "sum"),
            "the same answer"
        );
        out
    };
    let (quiet, telling) = (run(&["quiet"]), run(&[]));
    let misses = |out: &Outcome| -> u64 { told(&out.stdout, "misses").parse().expect("a number") };
    // 16 MiB of rows are read once, and the index, pinned, is never missed.
    assert!(misses(&quiet) > 4096, "{quiet:#?}");
    assert!(misses(&telling) < 100, "{telling:#?}");
    assert!(telling.stderr.contains("pin: done"), "{telling:#?}");
    assert_eq!(told(&telling.stdout, "index"), "pinned");
    assert_eq!(told(&quiet.stdout, "index"), "not pinned");
    assert!(
        telling.number("/commands/prefetched") >= 4000,
        "{telling:#?}"
    );
}

#[test]
fn the_c_library_says_what_cannot_be() {
    let program = c_program(
        "crates/sluice-cli/tests/programs/control_api.c",
        "control_api",
    );
    let program = program.to_str().expect("plain letters");
    Sluice::run("event")
        .cache("8MiB")
        .program([program, "ring"])
        .well();
    Sluice::run("event")
        .args(["--control", "off"])
        .program([program, "none"])
        .well();
    Sluice::run("signal")
        .args(["--control", "on"])
        .program([program, "ring"])
        .well();
    assert!(finish(Command::new(program).arg("alone")).status.success());
    // A device that is a file: 64 MiB, as the smallest.
    let memory = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    memory.as_file().set_len(64 << 20).expect("room");
    let path = memory.path().to_str().expect("plain letters");
    Sluice::run("event")
        .cache("8MiB")
        .args(["--control", "on", "--place", &format!("dax:{path}")])
        .set("device.capacity", "64MiB")
        .program([program, "file", path])
        .well();
}
