//! Commands that only print end quietly when nobody reads any more, as in `sluice .. | head`.

use sluice_testkit::child;
use std::os::unix::process::ExitStatusExt;

const SIGPIPE: i32 = 13;

fn printing(arguments: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = child::program(env!("CARGO_BIN_EXE_sluice"))
        .args(arguments)
        .stdout(writer)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(said, "", "{arguments:?}");
    assert_eq!(child.status.signal(), Some(SIGPIPE), "{arguments:?}");
}

#[test]
fn a_closed_pipe_ends_tables_and_objects() {
    for arguments in [
        &["device", "list"][..],
        &["device", "show", "cylon"],
        &["device", "show", "cylon", "--json"],
        &["device", "check", "cylon"],
        &["policy", "list"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        printing(arguments);
    }
}

/// What a simulation wrote to its folder is there by then.
#[test]
fn a_closed_pipe_ends_a_simulation_after_its_folder_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    printing(&[
        "sim",
        "--workload",
        "chase:size=1MiB,stride=4096,passes=1",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(out.join("stats.json").is_file());
}

/// It was a panic, with a backtrace.
#[test]
fn a_full_disk_is_told_in_one_line() {
    for arguments in [
        &["device", "list"][..],
        &["sim", "--workload", "chase:size=1MiB"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let out = child::program(env!("CARGO_BIN_EXE_sluice"))
            .args(arguments)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("sluice: standard output: No space"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
