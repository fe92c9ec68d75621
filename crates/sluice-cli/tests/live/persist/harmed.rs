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
