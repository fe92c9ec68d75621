//! What is recorded is what another tool sees: valgrind's lackey.
//!
//! The program has no start-up code, no library and no stack but its own, so that every address is
//! the same under both. What differs is written here, in [`pieces`] and [`lackey`], and nothing
//! else may:
//! - lackey reports a load and store of one instruction as one modification, we as two accesses;
//! - valgrind executes a locked instruction as a load, and a compare-and-swap that loads again;
//! - QEMU executes accesses of 16 bytes as two of 8.

use crate::rig::{accesses, plain, record};
use sluice_trace::{Access, Kind};
use std::path::Path;
use std::process::Command;

type Piece = (Kind, u64, u64);

/// An access as QEMU executes it.
fn pieces(kind: Kind, address: u64, size: u64) -> impl Iterator<Item = Piece> {
    (0..size)
        .step_by(8)
        .map(move |at| (kind, address + at, (size - at).min(8)))
}

/// What lackey says: the accesses, each with the instructions before it, and all instructions.
fn lackey(program: &Path, log: &Path) -> (Vec<(u64, Piece)>, u64) {
    let status = Command::new("valgrind")
        .args(["-q", "--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .status();
    status.expect("valgrind, which `scripts/system oracle` installs");
    let text = std::fs::read_to_string(log).expect("lackey's log");
    let (mut all, mut instructions) = (Vec::new(), 0);
    // Lines of valgrind itself begin with its process.
    for line in text.lines().filter(|line| !line.starts_with("==")) {
        let Some((what, (address, size))) = line
            .split_at_checked(3)
            .and_then(|(what, rest)| Some((what.trim(), rest.split_once(',')?)))
        else {
            continue;
        };
        let address = u64::from_str_radix(address.trim(), 16).expect("an address");
        let size = size.trim().parse().expect("a size");
        let kinds: &[Kind] = match what {
            "I" => {
                instructions += 1;
                continue;
            }
            "L" => &[Kind::Load],
            "S" => &[Kind::Store],
            "M" => &[Kind::Load, Kind::Store],
            _ => panic!("lackey says {line:?}"),
        };
        let again = pieces(Kind::Load, address, size).map(|piece| (instructions - 1, piece));
        if what == "M" && all.ends_with(&again.collect::<Vec<_>>()) {
            all.pop();
        }
        for kind in kinds {
            all.extend(pieces(*kind, address, size).map(|piece| (instructions - 1, piece)));
        }
    }
    (all, instructions)
}

#[test]
fn a_trace_is_what_lackey_sees() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("plain.trace");
    let out = record(&trace, "none", &[&plain().to_string_lossy()]);
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).expect("an object");
    let ours = accesses(&trace);
    let ours: Vec<(u64, Piece)> = ours
        .iter()
        .map(|a: &Access| (a.instructions, (a.kind, a.address, u64::from(a.size))))
        .collect();
    let (theirs, instructions) = lackey(plain(), &dir.path().join("lackey"));
    assert!(theirs.len() > 50_000, "{} accesses", theirs.len());
    for (at, pair) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(pair.0.1, pair.1.1, "access {at}: {pair:x?}");
    }
    for (at, pair) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(pair.0.0, pair.1.0, "instructions before access {at}");
    }
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(said["instructions"][0], instructions);
}
