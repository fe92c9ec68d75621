//! A store on a block device: a loop device of this test's, where the user may make one.

use super::ends::generation;
use super::{PAGES, Rig, check, is_refused, is_whole};
use crate::sluice::{Outcome, Running, Sluice, TRAPS};
use sluice_testkit::mount::Mounted;
use sluice_units::Rng;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What the store of the device takes: a page, entries of 64 bytes, and two slots for each page.
const STORE_BYTES: u64 = 4096 + 1024 * 64 + 2 * (4 << 20);

/// A loop device over a file; it goes with this.
struct Loop {
    path: PathBuf,
    file: File,
}

impl Loop {
    /// Nothing, and a word of it, where there can be none.
    fn new(rig: &Rig, name: &str, bytes: u64) -> Option<Loop> {
        let below = rig.path(name);
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true);
        let file = options.open(&below).expect("room");
        file.set_len(bytes).expect("room");
        let mut losetup = Command::new("losetup");
        let made = losetup.args(["--find", "--show"]).arg(&below).output();
        match made {
            Ok(made) if made.status.success() => {
                let path = String::from_utf8(made.stdout).expect("a path");
                let path = path.trim().into();
                Some(Loop { path, file })
            }
            made => {
                println!("unchecked: this user has no loop device: {made:?}");
                None
            }
        }
    }

    fn run(&self, rig: &Rig, trap: &str) -> Sluice {
        rig.run_with(trap, &self.path)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let ended = Command::new("losetup").arg("-d").arg(&self.path).status();
        assert!(
            ended.is_ok_and(|status| status.success()),
            "{:?}",
            self.path
        );
    }
}

#[test]
fn a_block_device_keeps_what_a_file_keeps() {
    for trap in TRAPS {
        let rig = Rig::new();
        // Of exactly what it takes, and of more.
        let bytes = [STORE_BYTES, 16 << 20][usize::from(trap == "signal")];
        let Some(device) = Loop::new(&rig, "below", bytes) else {
            return;
        };
        // What is behind the part that has to be blank, an earlier owner may have left.
        device
            .file
            .write_all_at(&[0xa5; 4096], 5 << 20)
            .expect("room");
        for (generation, how) in [(1, "none"), (2, "msync"), (3, "fsync")] {
            let words = format!("write {PAGES} {generation} {how}");
            device.run(&rig, trap).program(rig.program(&words)).well();
            assert_eq!(
                is_whole(&check(&device.path))["stored"],
                PAGES,
                "{trap} {how}"
            );
            rig.forget();
            let words = format!("check {PAGES} {generation}");
            device.run(&rig, trap).program(rig.program(&words)).well();
        }
    }
}

#[test]
fn what_was_flushed_to_a_block_device_is_there_after_any_kill() {
    let rig = Rig::new();
    let Some(device) = Loop::new(&rig, "below", 16 << 20) else {
        return;
    };
    let words = format!("rounds 512 {}", rig.path("log").display());
    let mut rng = Rng::stream(1, "kills of a block device");
    for round in 0..8 {
        let run = device.run(&rig, TRAPS[round % 2]);
        let running = Running::start(&mut run.prepare(rig.program(&words)));
        std::thread::sleep(Duration::from_micros(50_000 + rng.below(200_000)));
        running.signal_group(libc::SIGKILL);
        running.finish();
        let begun = check(&device.path);
        let flushed = super::kills::flushed(&rig);
        if begun.status.code() == Some(2) {
            assert_eq!(flushed, 0, "round {round}: {begun:#?}");
            continue;
        }
        is_whole(&begun);
        rig.forget();
        let words = format!("since 512 {flushed}");
        device
            .run(&rig, "event")
            .program(rig.program(&words))
            .well();
    }
    assert!(super::kills::flushed(&rig) > 0, "no round came to a flush");
}

/// The disk takes no more on the way: nothing on it is taken for a store, and the next start fills
/// it anew.
#[test]
fn a_device_that_fails_at_first_is_blank_again() {
    let rig = Rig::new();
    let folder = rig.path("small");
    std::fs::create_dir(&folder).expect("room");
    let Some(mounted) = Mounted::in_memory(&folder, "size=1M") else {
        println!("unchecked: this user may not mount a file system of 1 MiB");
        return;
    };
    let memory = generation(7);
    std::fs::write(rig.path("memory"), &memory).expect("room");
    let outcomes = Loop::new(&rig, "small/below", 16 << 20).map(|device| {
        let run = || device.run(&rig, "event").program(["true"]);
        let first = run();
        assert!(mounted.resize("100M"));
        (first, run(), check(&device.path))
    });
    mounted.end();
    let Some((first, second, whole)) = outcomes else {
        return;
    };
    assert_eq!(first.status.code(), Some(2), "{first:#?}");
    assert!(second.status.success(), "{second:#?}");
    assert_eq!(is_whole(&whole)["stored"], PAGES);
    let there = std::fs::read(rig.path("memory")).expect("ours");
    assert!(there == memory, "lost");
}

/// Nothing of them is written to.
#[test]
fn devices_that_are_small_or_not_blank_or_in_use_are_refused() {
    let rig = Rig::new();
    let attempt = |device: &Loop| {
        device
            .run(&rig, "event")
            .program(rig.program("check 512 1"))
    };
    let Some(small) = Loop::new(&rig, "small", STORE_BYTES - 4096) else {
        return;
    };
    let has = format!("the device has {} bytes", STORE_BYTES - 4096);
    let takes = format!("device.capacity=4194304 takes {STORE_BYTES}");
    is_refused(&attempt(&small), &[&has, &takes]);
    let is_zero = |device: &Loop| {
        let mut bytes = vec![1; 1 << 20];
        device.file.read_exact_at(&mut bytes, 0).expect("a MiB");
        bytes.iter().all(|byte| *byte == 0)
    };
    assert!(is_zero(&small));
    let other = Loop::new(&rig, "other", 16 << 20).expect("another one");
    // Where ext4 has its magic number.
    other.file.write_all_at(&[0x53, 0xef], 1080).expect("room");
    is_refused(&attempt(&other), &["not a store of Sluice", "blkdiscard"]);
    other.file.write_all_at(&[0, 0], 1080).expect("room");
    let heap = format!("file:{}", other.path.display());
    let heap = Sluice::run("event").args(["--store", &heap]);
    is_refused(
        &heap.program(["true"]),
        &["--store", "a folder of a file system on it"],
    );
    let running = super::holding_under(&rig, other.run(&rig, "event"), 5);
    let holder = format!("in use by process {}", running.id());
    is_refused(&attempt(&other), &[&holder]);
    is_refused(&check(&other.path), &[&holder]);
    running.signal_group(libc::SIGTERM);
    running.finish();
    mounted(&rig, &attempt);
}

/// A device that is mounted.
fn mounted(rig: &Rig, attempt: &dyn Fn(&Loop) -> Outcome) {
    let device = Loop::new(rig, "file system", 16 << 20).expect("another one");
    let does = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    let at = rig.path("mounted");
    std::fs::create_dir(&at).expect("room");
    let has_files = does(Command::new("mkfs.ext4").arg("-q").arg(&device.path));
    let mounted = has_files.then(|| Mounted::of_device(&device.path, &at));
    let Some(mounted) = mounted.flatten() else {
        println!("unchecked: this user may not mount a device");
        return;
    };
    let out = attempt(&device);
    mounted.end();
    is_refused(&out, &["in use by this host"]);
}
