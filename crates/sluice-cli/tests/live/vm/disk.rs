//! The device as a guest's disk, beside its memory window: one device with one content.

use super::guest_program::Guest;
use super::{demo, my_turn, well};
use crate::control::programs::c_program;
use crate::sluice::{Sluice, finish};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Pages of the device in a request of the kernel's own: it reads a partition table.
const KERNELS_OWN_MAX: u64 = 64;

fn number(object: &Value, path: &str) -> u64 {
    let found = object.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number {path} in {object:#}"))
}

#[test]
fn what_either_door_writes_the_other_reads() {
    let program = c_program(
        "crates/sluice-cli/tests/programs/guest_disk.c",
        "guest_disk",
    );
    let program = program.to_str().expect("plain letters");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("plain letters");
    let more = ["--disk", "--with", program, "--out", out];
    let outcome = demo("dax", "guest_disk", &more);
    let (object, _) = well(&outcome);
    let said = std::fs::read_to_string(folder.path().join("guest.out")).expect("what it said");
    let pages = said.lines().find_map(|line| line.strip_prefix("disk "));
    let pages = pages.unwrap_or_else(|| panic!("no pages in {said}"));
    let pages: Vec<u64> = pages
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    let disk = |what: &str| number(&object, &format!("/vm/disk/{what}"));
    let read = disk("read_bytes") / super::PAGE;
    assert!(
        (pages[0]..=pages[0] + KERNELS_OWN_MAX).contains(&read),
        "{read} pages were read, and the guest's program read {pages:?}"
    );
    assert_eq!(disk("written_bytes") / super::PAGE, pages[1]);
    assert!(disk("trims") > 0 && pages[2] > 0, "{pages:?}");
    assert!(disk("flushes") > 0, "{object:#}");
    assert_eq!(disk("failed"), 0, "{object:#}");
    // No answer comes before the device is done.
    assert!(
        disk("answered_p50_ns") >= disk("device_p50_ns"),
        "{object:#}"
    );
    assert!(
        disk("device_p99_ns") >= 20_000,
        "a page of flash takes 20 us"
    );
}

/// A partition behind the labels of the memory window. The guest's start writes those anew, and
/// zeros where the table is.
const PARTITION: &str = r#"
printf 'n\np\n1\n512\n\nw\n' | fdisk "$DISK" >/dev/null 2>&1
for _ in $(seq 100); do [ -b "${DISK}1" ] && break; sleep 0.05; done
"#;

/// Makes a file system, writes files until it is stopped, and says which are durable.
const WRITE: &str = r#"
/bin/mke2fs -q -F -t ext4 "${DISK}1" || exit 3
mkdir -p /tmp/mnt && mount -t ext4 "${DISK}1" /tmp/mnt || exit 4
i=0
while :; do
    seq "$i" 20000 >/tmp/mnt/file$i && sync && echo "durable $i"
    i=$((i + 1))
done
"#;

/// Looks at the file system after that, and at the files that were durable.
const CHECK: &str = r#"
e2fsck -p "${DISK}1"; status=$?
[ $status -le 1 ] || exit $status
e2fsck -f -n "${DISK}1" >/dev/null || exit 5
mkdir -p /tmp/mnt && mount -t ext4 "${DISK}1" /tmp/mnt || exit 6
for i in $(seq 0 LAST); do
    seq "$i" 20000 | cmp - /tmp/mnt/file$i || exit 7
done
umount /tmp/mnt && echo "whole LAST"
"#;

/// A guest on a persistent device.
fn persistent(store: &Path, command: &str, tool: &str) -> Command {
    let mut sluice = Sluice::command();
    let store = format!("file:{}", store.display());
    sluice.args(["vm", "--demo", "--attach", "dax", "--disk"]);
    sluice.args(["--store", &store, "--set", "device.persistent=yes"]);
    sluice.args(["--set", "device.capacity=128MiB", "--with", tool]);
    sluice.args(["--guest-command", command]);
    sluice
}

#[test]
fn a_file_system_survives_a_power_cut() {
    let _turn = my_turn();
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let mut guest = Guest::of(&mut persistent(
        &store,
        &(PARTITION.to_owned() + WRITE),
        "mke2fs",
    ));
    let last = "3";
    while guest.line() != format!("durable {last}") {}
    let mut cut = Sluice::command();
    let cut = finish(cut.args(["ctl", &guest.pid().to_string(), "powercut"]));
    assert!(cut.status.success(), "{cut:#?}");
    guest.end();
    let check = PARTITION.to_owned() + &CHECK.replace("LAST", last);
    let outcome = finish(&mut persistent(&store, &check, "e2fsck"));
    assert!(outcome.status.success(), "{outcome:#?}");
    assert!(
        outcome.stdout.contains(&format!("whole {last}")),
        "{outcome:#?}"
    );
}
