//! The commands that a guest's program sends to its device through the ring have their effects,
//! wherever the device is in the guest.

use super::{demo, well};
use crate::control::programs::c_program;
use serde_json::Value;

/// Pages that commands are about.
const SOME: u64 = 256;

/// Traps that may be somebody else's in the guest: they are counted of all of it, and without any
/// program at work its node takes one or two a second. On a busy host a second lies between two
/// readings of them. Nobody else uses a DAX device.
const KERNELS_OWN_MAX: u64 = SOME / 8;

/// What a program said: its lines are a word and numbers.
struct Said(String);

impl Said {
    fn numbers(&self, what: &str) -> Vec<u64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_else(|| panic!("no {what} in {}", self.0));
        line.split_whitespace()
            .map(|n| n.parse().expect("a number"))
            .collect()
    }
}

/// Boots a guest whose program commands the device. It says, for each command: its code, the
/// range's pages, those changed, already so and refused, and the traps of touching them afterwards.
fn commanded(attach: &str, arguments: &str) -> (Said, Value) {
    let program = c_program(
        "crates/sluice-cli/tests/programs/control_guest.c",
        "control_guest",
    );
    let program = program.to_str().expect("plain letters");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("plain letters");
    let command = format!("control_guest {arguments}");
    let outcome = demo(attach, &command, &["--with", program, "--out", out]);
    let (object, _) = well(&outcome);
    let said = std::fs::read_to_string(folder.path().join("guest.out")).expect("what it said");
    let said = Said(said);
    assert_effects(&said, if attach == "numa" { KERNELS_OWN_MAX } else { 0 });
    (said, object)
}

fn assert_effects(said: &Said, others_max: u64) {
    let evicted = said.numbers("evict ");
    assert!(
        evicted[2] + evicted[3] == SOME && evicted[5] >= SOME,
        "{evicted:?}"
    );
    for (what, counts, why) in [
        (
            "prefetch ",
            [0, SOME, SOME, 0, 0],
            "its next touches are hits",
        ),
        (
            "pinned ",
            [1, SOME, 0, SOME, 0],
            "it survived two passes over all",
        ),
    ] {
        let said = said.numbers(what);
        assert_eq!(said[..5], counts, "{what}");
        assert!(said[5] <= others_max, "{why}, but {} traps", said[5]);
    }
    assert_eq!(said.numbers("residency "), [0, SOME]);
    assert_eq!(said.numbers("policy "), [0]);
}

/// What the guest read when it was done with its commands is what the run reports at its end.
fn assert_same(said: &Said, object: &Value, line: &str, paths: &[&str]) {
    let host = paths.iter().map(|path| {
        let number = object.pointer(path).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number {path} in {object:#}"))
    });
    assert_eq!(said.numbers(line), host.collect::<Vec<_>>(), "{paths:?}");
}

/// In the order in which the program prints them.
const STILL: [&str; 5] = [
    "/commands/prefetched",
    "/commands/evicted",
    "/commands/pinned",
    "/commands/settings_changed",
    "/commands/answered",
];
const MOVING: [&str; 2] = ["/cache/misses", "/cache/evictions"];

#[test]
fn a_guest_commands_its_node() {
    let (said, object) = commanded("numa", "4096");
    // What its commands did, nobody else does; misses go on until the guest is down.
    assert_same(&said, &object, "still ", &STILL);
    for (guest, path) in said.numbers("moving ").iter().zip(MOVING) {
        let host = object.pointer(path).and_then(Value::as_u64);
        assert!(host >= Some(*guest), "{path}: {guest} and then {host:?}");
    }
}

#[test]
fn a_guest_commands_its_dax_device() {
    let (said, object) = commanded("dax", "4096 $DEVICE");
    assert_same(&said, &object, "still ", &STILL);
    assert_same(&said, &object, "moving ", &MOVING);
}

#[test]
fn a_guest_commands_its_cxl_device() {
    let (said, object) = commanded("cxl", "3072 $DEVICE");
    assert_same(&said, &object, "still ", &STILL);
    assert_same(&said, &object, "moving ", &MOVING);
}
