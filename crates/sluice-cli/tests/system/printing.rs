//! Folders, tables and lists.

use crate::command::{SMALL, object, sim, sluice};
use serde_json::Value;

#[test]
fn a_folder_has_all_that_a_second_run_needs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let more = [
        "--out",
        out,
        "--timeline",
        "20us",
        "--set",
        "nand.read=5us",
        "--seed",
        "3",
    ];
    let first = object("skybyte-wp", &more);
    let config = format!("{out}/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(text.starts_with("# System as resolved, at full size; run it again with"));
    let again = ["--timeline", "20us", "--seed", "3"];
    let second = object(&config, &again);
    assert_eq!(first["hash"], second["hash"]);
    assert_eq!(first["config"], second["config"]);
    let stats = std::fs::read_to_string(format!("{out}/stats.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap(), first);
    let lines = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(format!("{out}/{name}")).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let rows = first["timeline"].as_array().unwrap().len();
    assert!(rows > 1);
    let timeline = lines("timeline.csv");
    assert_eq!(timeline.len(), rows + 1);
    assert!(timeline[0].starts_with("t_s,"), "{}", timeline[0]);
    let buckets = first["latency_ns"]["histogram"].as_array().unwrap().len();
    assert_eq!(lines("latency.csv").len(), buckets + 1);
}

/// A kernel with rounds runs to its end, whatever the system, and computes what it should.
#[test]
fn a_kernel_with_rounds_ends_and_is_checked() {
    let run = |system, threads| {
        let more = [
            "--threads",
            threads,
            "--workload",
            "srad:rounds=1",
            "--scale",
            "1024",
            "--warmup",
            "0",
            "--check",
        ];
        let output = sim(system, &[&more[..], &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(object["program"]["rounds"], 1);
        assert_eq!(object["program"]["checked"], true);
        object["instructions"].as_u64().unwrap()
    };
    let (eight, many) = (run("base-cssd", "8"), run("skybyte-wp", "24"));
    // The work is the same; threads add a little of their own.
    assert!(eight.abs_diff(many) * 20 <= eight, "{eight} and {many}");
}

#[test]
fn the_table_is_one_screen() {
    let output = sim("skybyte-full", &SMALL);
    assert!(output.status.success() && output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().count() <= 24, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    for said in [
        "scale 1/128",
        "IPC",
        "memory ",
        "AMAT, ns",
        "program made in",
        "MIPS",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn systems_are_listed_shown_and_checked() {
    let run = |arguments: &[&str]| {
        let output = sluice().arg("system").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Value = serde_json::from_str(&run(&["list", "--json"])).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 16);
    let shown: Value = serde_json::from_str(&run(&["show", "skybyte-c", "--json"])).unwrap();
    let value = |shown: &Value, key: &str| {
        let rows = shown.as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        row["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&shown, "cpu.threads"), "24");
    assert_eq!(value(&shown, "cache.capacity"), "512MiB");
    let shown = run(&["show", "skybyte-c", "--scale", "8", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(value(&shown, "cache.capacity"), "64MiB");
    assert_eq!(
        run(&["check", "skybyte-full", "--scale", "8"]),
        "skybyte-full: valid: 8 cores, 24 threads, a device of 12GiB\n"
    );
}
