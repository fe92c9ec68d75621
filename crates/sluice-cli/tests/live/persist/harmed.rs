//! What others do to a store in use, and limits: no page is reported as kept that is not.

use super::{PAGES, Rig, ctl, holding, is_refused, is_whole};
use crate::sluice::{Outcome, TRAPS, finish};
use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Does something to the store, and says what a flush and the run's end answer.
fn after(rig: &Rig, trap: &str, harm: impl Fn(&Path)) -> (Outcome, Outcome) {
    let running = holding(rig, trap, 3);
    harm(&rig.path("store"));
    let flushed = ctl(running.id(), "flush");
    running.signal_group(libc::SIGTERM);
    (flushed, running.finish())
}

fn change(store: &Path, change: impl Fn(&fs::File) -> std::io::Result<()>) {
    let file = fs::File::options().write(true).open(store);
    change(&file.expect("ours")).expect("room");
}

fn remove(store: &Path) {
    fs::remove_file(store).expect("ours");
}

fn replace(store: &Path) {
    let other = store.with_extension("other");
    fs::write(&other, "another file").expect("room");
    fs::rename(&other, store).expect("ours");
}

fn cut(store: &Path) {
    change(store, |file| file.set_len(8_192));
}

fn write_over(store: &Path) {
    change(store, |file| file.write_all_at(&[0x55; 512], 0));
}

/// A flush and the run's end succeeded, and the store was gone with the command.
#[test]
fn a_store_that_is_harmed_while_it_is_in_use_is_said() {
    for trap in TRAPS {
        for (words, harm) in [
            ("was removed", remove as fn(&Path)),
            ("was removed", replace),
            ("was cut", cut),
            ("was written over", write_over),
        ] {
            let rig = Rig::new();
            rig.does(trap, &format!("write {PAGES} 2 msync"));
            let (flushed, ended) = after(&rig, trap, harm);
            assert!(!flushed.status.success(), "{trap} {words}: {flushed:#?}");
            assert!(ended.stderr.contains(words), "{trap} {words}: {ended:#?}");
            let lost = "not all of the device was kept";
            assert!(ended.stderr.contains(lost), "{trap} {words}: {ended:#?}");
        }
    }
}

/// A store that got another name is the same store.
#[test]
fn a_store_may_be_renamed_while_it_is_in_use() {
    let rig = Rig::new();
    let harm = |store: &Path| fs::rename(store, store.with_extension("moved")).expect("ours");
    let (flushed, ended) = after(&rig, "event", harm);
    assert!(flushed.status.success(), "{flushed:#?}");
    assert_eq!(ended.signal(), Some(libc::SIGTERM), "{ended:#?}");
    fs::rename(rig.path("store").with_extension("moved"), rig.path("store")).expect("ours");
    rig.forget();
    rig.does("event", &format!("check {PAGES} 3"));
}

/// With a limit of file sizes, as `ulimit -f` sets it.
fn limited(mut command: Command, bytes: u64) -> Outcome {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: one system call between fork and exec, with a live limit.
    let limited = unsafe {
        command.pre_exec(move || {
            let answer = libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            (answer == 0)
                .then_some(())
                .ok_or_else(std::io::Error::last_os_error)
        })
    };
    finish(limited)
}

/// SIGXFSZ ended the command without a word, and the program with it.
#[test]
fn a_limit_of_file_sizes_is_an_error_of_the_store() {
    // The memory is shorter, the store is longer.
    const LIMIT: u64 = 3 << 20;
    let rig = Rig::new();
    let refused = limited(rig.run("event").prepare(["true"]), LIMIT);
    is_refused(&refused, &["the store's size", "File too large"]);
    rig.does("event", &format!("write {PAGES} 1 msync"));
    let words = rig.program(&format!("write {PAGES} 2 msync"));
    let out = limited(rig.run("event").prepare(words), LIMIT);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    for words in ["msync: File too large", "not all of the device was kept"] {
        assert!(out.stderr.contains(words), "{words}: {out:#?}");
    }
    is_whole(&rig.check());
    rig.does("event", &format!("since {PAGES} 1"));
}

/// What a program writes to the memory's file behind the end of the device is nowhere kept. A flush
/// and the run's end had succeeded.
#[test]
fn what_lies_behind_the_device_is_not_taken_for_kept() {
    for trap in TRAPS {
        let rig = Rig::new();
        rig.does(trap, &format!("write {PAGES} 1 msync"));
        let memory = rig.path("memory");
        let behind = format!(
            "dd if=/bin/sh of={} bs=4096 seek=1024 count=1 conv=notrunc,fsync",
            memory.display()
        );
        let out = rig.run(trap).program(["sh", "-c", &behind]);
        assert_eq!(out.status.code(), Some(2), "{trap}: {out:#?}");
        let lost = "not all of the device was kept";
        for words in [": File too large", "the device ends at 4194304", lost] {
            assert!(out.stderr.contains(words), "{trap}: {words}: {out:#?}");
        }
        // Nor does a run begin with it.
        let refused = rig.run(trap).program(["true"]);
        let why = [
            "memory has 4198400 bytes, and device.capacity is 4194304",
            "truncate -s 4194304",
        ];
        is_refused(&refused, &why);
        rig.forget();
        rig.does(trap, &format!("check {PAGES} 1"));
    }
}

/// A program that writes a new file and gives it the name of the old one has nothing on the device,
/// and the next start would fill the new file with what the store has. Nobody had said so.
#[test]
fn another_file_in_the_place_of_the_memory_is_said() {
    let rig = Rig::new();
    rig.does("event", &format!("write {PAGES} 1 msync"));
    let script = r#"cp "$0" "$0.other" && mv "$0.other" "$0""#;
    let memory = rig.path("memory");
    let memory = memory.to_str().expect("plain letters");
    let out = rig.run("event").program(["sh", "-c", script, memory]);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert!(out.stderr.contains("nothing of that was kept"), "{out:#?}");
    // One that removes its file may.
    let out = rig.run("event").program(["rm", memory]);
    assert!(out.status.success(), "{out:#?}");
}
