//! `sluice fabric` with hosts that replay traces.

use crate::sluice;
use serde_json::Value;
use sluice_trace::{Access, Header, Kind, Writer};
use std::path::Path;

/// A fabric file with a host that replays `prog.trace` beside it.
const HOST: &str = r#"
[topology]
kind = "star"
[[requesters]]
name = "host"
count = 1
system = "cxl-ssd-sim"
trace = "prog.trace"
[[endpoints]]
name = "m"
count = 1
"#;

/// Accesses of one CPU to 64 pages in turn, enough for more blocks than one.
fn trace(path: &Path) {
    let mut writer = Writer::create(path, &Header::new("a test")).unwrap();
    for number in 0..100_000 {
        let access = Access {
            cpu: 0,
            instructions: 3 * number,
            address: number % 64 * 4096 + number % 61 * 64,
            size: 8,
            kind: Kind::Load,
        };
        writer.push(&access).unwrap();
    }
    writer.finish(&[300_000]).unwrap();
}

/// Status, what it printed and what it said.
fn fabric(words: &[&str], file: &Path) -> (Option<i32>, Vec<u8>, String) {
    let file = file.to_str().unwrap();
    let (command, flags) = words.split_first().expect("a command");
    let output = sluice(&[&["fabric", command, file], flags].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.stdout, said)
}

#[test]
fn a_trace_beside_its_file_is_replayed_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hosts.toml");
    std::fs::write(&file, HOST).unwrap();
    trace(&dir.path().join("prog.trace"));
    let (status, _, said) = fabric(&["check"], &file);
    assert_eq!((status, &said[..]), (Some(0), ""));
    let all = ["run", "--warmup", "0", "--json"];
    let (status, out, said) = fabric(&all, &file);
    assert_eq!((status, &said[..]), (Some(0), ""));
    let host = &crate::schema::checked(&out)["hosts"][0];
    assert_eq!(host["instructions"], 300_000);
    assert_eq!(host["loads"], 100_000);
    let name = format!("trace:{}", dir.path().join("prog.trace").display());
    assert_eq!(host["workload"], Value::String(name));
    // Its requests all come back before 100,000 have, which are the usual warm-up.
    let (status, _, said) = fabric(&["run"], &file);
    assert_eq!(status, Some(2));
    assert!(said.contains("give a smaller --warmup"), "{said}");
}

#[test]
fn what_cannot_be_replayed_is_one_line_and_a_part_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hosts.toml");
    std::fs::write(&file, HOST).unwrap();
    let path = dir.path().join("prog.trace");
    let refused = |said: &str| {
        for command in ["check", "run"] {
            let (status, _, told) = fabric(&[command], &file);
            assert_eq!((status, told.lines().count()), (Some(2), 1), "{told}");
            assert!(told.contains(said), "{told}");
        }
    };
    refused("prog.trace: no such file; give a trace");
    std::fs::write(&path, "0 1 2\n".repeat(100)).unwrap();
    refused("not a Sluice trace; `sluice trace convert");
    trace(&path);
    let set = ["run", "--set", "host.workload=bfs"];
    let (status, _, told) = fabric(&set, &file);
    assert_eq!(status, Some(2));
    assert!(told.contains("these hosts replay a trace"), "{told}");
    // As its writer leaves it when it is killed: the index is not there, nor its place.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() * 3 / 4);
    bytes[16..24].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let (status, _, told) = fabric(&["run", "--warmup", "0"], &file);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.starts_with("sluice: warning: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}
