//! From a data sheet to a device.

use std::path::Path;
use std::process::{Command, Output};

fn device(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.current_dir(folder).arg("device");
    command.args(words.split_whitespace());
    command.output().expect("the command starts")
}

fn refused(folder: &Path, words: &str) -> String {
    let output = device(folder, words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

const SHEET: &str = "new mine --read-latency 5us --program-latency 100µs --dies 16 --channels 8 \
                     --capacity 1TB --cache 16GiB --link 8GB/s";

#[test]
fn a_data_sheet_is_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(device(at, SHEET).status.code(), Some(0));
    let shown = device(at, "show mine.toml --json");
    let shown = String::from_utf8(shown.stdout).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let value = |key: &str| {
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["key"] == key);
        row.unwrap()["value"].as_str().unwrap().to_owned()
    };
    for (key, expected) in [
        ("nand.read", "5us"),
        ("nand.program", "100us"),
        ("nand.channels", "8"),
        ("device.link_bandwidth", "8000"),
        ("cache.capacity", "16GiB"),
        // Of the preset that it is built on.
        ("ftl.allocation", "idle"),
    ] {
        assert_eq!(value(key), expected, "{key}");
    }
    let chips: u64 = value("nand.chips").parse().unwrap();
    let dies: u64 = value("nand.dies").parse().unwrap();
    assert_eq!(8 * chips * dies, 16, "all dies together");
    let checked = String::from_utf8(device(at, "check mine.toml").stdout).unwrap();
    let open = checked
        .lines()
        .find(|line| line.starts_with("not in the file"));
    let open = open.expect("what it leaves open");
    assert!(
        open.contains("nand.erase=") && !open.contains("nand.read="),
        "{open}"
    );
    assert!(checked.contains("live"), "{checked}");
}

#[test]
fn what_is_there_or_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert_eq!(device(at, SHEET).status.code(), Some(0));
    let before = std::fs::read_to_string(at.join("mine.toml")).unwrap();
    let said = refused(at, "new mine --read-latency 7us");
    assert!(said.contains("--force"), "{said}");
    assert_eq!(
        std::fs::read_to_string(at.join("mine.toml")).unwrap(),
        before
    );
    assert_eq!(
        device(at, "new mine --read-latency 7us --force")
            .status
            .code(),
        Some(0)
    );
    let after = std::fs::read_to_string(at.join("mine.toml")).unwrap();
    assert!(after.contains("7us") && !after.contains("100us"), "{after}");
    for (words, parts) in [
        ("new other --link 8GB", &["--link", "8GB", "8GB/s"][..]),
        (
            "new other --dies 3 --channels 2",
            &["--dies", "3", "multiple"],
        ),
        ("new cylon --dies 16", &["NAME", "cylon", "device list"]),
        ("new other --base nothing", &["nothing", "cylon"]),
        (
            "new other --capacity 16MiB --cache 32MiB",
            &["cache.capacity"],
        ),
    ] {
        let said = refused(at, words);
        assert!(
            parts.iter().all(|part| said.contains(part)),
            "{words}: {said}"
        );
        assert!(!at.join("other.toml").exists(), "{words}");
    }
}
