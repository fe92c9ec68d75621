//! Hints of programs: the kernel's answers, contents as without a device, and fewer misses.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS};
use std::process::Command;

/// The same program with and without a device, in which 128 pages can be pinned: as much as its
/// limit lets it lock.
#[test]
fn every_hint_for_every_range_is_answered_as_by_the_kernel() {
    let path = helper!("hints.c").to_str().expect("plain letters");
    let natively = Command::new(path).output().expect("a program");
    assert!(natively.status.success(), "{natively:?}");
    let natively = String::from_utf8(natively.stdout).expect("text");
    assert!(natively.lines().count() > 900 && !natively.contains('?'));
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("1MiB").program([path]).evicted();
        let here = out.own_stdout();
        let mut pairs = here.lines().zip(natively.lines()).enumerate();
        if let Some((n, (here, there))) = pairs.find(|(_, (here, there))| here != there) {
            panic!("{trap}, line {n}: {here:?}, and without a device {there:?}");
        }
        assert_eq!(here, natively, "{trap}");
        assert_eq!(out.number("/memory/pinned"), 0, "{trap}");
        for path in [
            "/hints/willneed/pages",
            "/hints/cold/pages",
            "/hints/cold/evicted",
            "/hints/pageout/pages",
            "/hints/free/pages",
            "/hints/dontneed/pages",
            "/hints/sequential/pages",
            "/hints/sequential/prefetched",
            "/hints/random/pages",
            "/hints/normal/pages",
            "/hints/mlock/pages",
            "/hints/munlock/pages",
            "/hints/ignored/calls",
        ] {
            assert!(out.number(path) > 0, "{trap} {path}");
        }
    }
}

/// `MADV_DONTNEED_LOCKED` answered success and left the contents of pages that were locked off the
/// device.
#[test]
fn locked_memory_that_has_left_the_device_is_the_kernels() {
    let path = helper!("lockedoff.c").to_str().expect("plain letters");
    let natively = Command::new(path).output().expect("a program");
    let natively = String::from_utf8(natively.stdout).expect("text");
    assert!(natively.contains("24: 0 0: 7 7 0 0 0 0 7 7"), "{natively}");
    for trap in TRAPS {
        let out = Sluice::run(trap).cache("1MiB").program([path]).well();
        assert_eq!(out.own_stdout(), natively, "{trap}");
        assert!(out.number("/memory/host_pages") > 0, "{trap}");
    }
}

/// `mlockall` of a program whose device is a file was the kernel's, which brought in 64 GiB of the
/// emulation's own addresses until the host had no memory left: a QEMU's `-overcommit mem-lock=on`.
#[test]
fn all_that_is_locked_of_a_device_file_is_the_device() {
    let path = helper!("lockfile.c").to_str().expect("plain letters");
    let memory = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    memory.as_file().set_len(64 << 20).expect("room");
    let name = memory.path().to_str().expect("plain letters");
    let out = Sluice::run("event")
        .cache("1MiB")
        .args(["--place", &format!("dax:{name}")])
        .set("device.capacity", "64MiB")
        .program([path, name])
        .well();
    assert_eq!(out.own_stdout(), "well\n", "{out:#?}");
    assert!(out.number("/hints/mlock/pages") > 0, "{out:#?}");
}

/// A table of 2,048 pages and an index of 64, behind a cache of 256.
fn workload(trap: &str, case: &str) -> Outcome {
    let out = Sluice::run(trap)
        .set("device.capacity", "64MiB")
        .set("nand.read", "100us")
        .cache("1MiB")
        .workload(&format!(
            "hints {case} --size 8MiB --index 256KiB --rows 4000"
        ));
    out.well()
}

/// Misses in closed form, but for the few of the program's other pages: filling takes 2,112.
#[test]
fn what_is_told_is_not_missed() {
    const FILLED: u64 = 2_112;
    /// Pages of the program's heap and what else it misses.
    const OTHERS: u64 = 96;
    for trap in TRAPS {
        let misses = |case: &str, expected: std::ops::RangeInclusive<u64>| {
            let out = workload(trap, case);
            let all = FILLED + expected.start()..=FILLED + expected.end() + OTHERS;
            let found = out.number("/trap_kinds/miss");
            assert!(all.contains(&found), "{trap} {case}: {found}, not {all:?}");
            out
        };
        // What filling has left of the end of the table is gone before the scan is there.
        misses("scan", 2_048..=2_048);
        let out = misses("scan --told", 1..=16);
        assert!(out.number("/hints/sequential/prefetched") > 1_900);
        // Each row but those that the cache happens to have, 1 in 8.
        misses("join", 3_350..=3_650);
        // The cache no longer has some of those when their turn comes, for it took in the rows
        // hinted meanwhile. In event mode another thread sends for rows, and may not have come to
        // them.
        let late = if trap == "event" { 600 } else { 0 };
        misses("join --told", 20..=120 + late);
        // The table's pages, and of the index what leaves with each 256 that come.
        misses("index", 2_048 + 450..=2_048 + 650);
        let out = misses("index --told", 2_040..=2_048);
        assert_eq!(out.number("/hints/mlock/pages"), 64);
        misses("pass", 2_048 + 450..=2_048 + 650);
        // What filling has left of the table is there when the pass comes to it.
        let out = misses("pass --told", 2_048 - 192 - 8..=2_048 + 64);
        assert!(out.number("/hints/cold/evicted") > 1_700);
    }
}
