//! What cannot be: each has one line that says why, and nothing is started or changed.

use super::{PAGE, PAGES, Rig, check, is_refused};
use crate::sluice::{Sluice, finish};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

#[test]
fn a_persistent_device_without_its_place_or_its_store_is_refused() {
    let rig = Rig::new();
    let place = format!("dax:{}", rig.path("memory").display());
    let folder = format!("file:{}", rig.folder.path().display());
    let memory = format!("file:{}", rig.path("memory").display());
    let refused = |args: &[&str], words: &[&str]| {
        let mut command = Sluice::command();
        command.args(["run", "--set", "device.persistent=yes"]);
        is_refused(&finish(command.args(args).args(["--", "true"])), words);
    };
    let key = "`device.persistent`";
    refused(
        &[],
        &[key, "a heap cannot be opened again", "--place dax:PATH"],
    );
    refused(
        &["--store", &folder],
        &[key, "a heap cannot be opened again"],
    );
    refused(&["--place", &place], &["--store", "\"dram\"", "file:STORE"]);
    refused(
        &["--place", &place, "--store", &folder],
        &["it is a folder"],
    );
    refused(&["--place", &place, "--store", &memory], &["another file"]);
    refused(
        &["--place", &place, "--store", "file:/nowhere/store"],
        &["/nowhere/store", "No such file"],
    );
    let mut command = Sluice::command();
    let args = ["run", "--set", "device.persistent=perhaps", "--", "true"];
    is_refused(&finish(command.args(args)), &["\"perhaps\"", "no", "yes"]);
}

/// A run and the check refuse each of them with a reason of its own.
#[test]
fn what_is_no_store_of_this_device_is_refused() {
    let rig = Rig::new();
    rig.does("event", &format!("write {PAGES} 1 none"));
    let store = rig.path("store");
    let whole = fs::read(&store).expect("the store");
    let refused = |words: &[&str]| {
        let out = rig.run("event").program(rig.program("check 512 1"));
        is_refused(&out, words);
    };
    let change = |at: u64, to: &[u8]| {
        fs::write(&store, &whole).expect("room");
        let file = fs::File::options().write(true).open(&store);
        file.expect("ours").write_all_at(to, at).expect("room");
    };
    let checked = |status: i32, words: &[&str]| {
        let out = check(&store);
        assert_eq!(out.status.code(), Some(status), "{out:#?}");
        let told = out.stdout + &out.stderr;
        words
            .iter()
            .for_each(|word| assert!(told.contains(word), "{word}: {told}"));
    };
    change(8, &[2]);
    refused(&["a store of version 2", "version 1"]);
    checked(2, &["a store of version 2"]);
    change(16, &[9]);
    refused(&["header is damaged"]);
    checked(1, &["header is damaged", "\"whole\":false"]);
    change(0, b"ELF");
    refused(&["not a store of Sluice"]);
    checked(2, &["not a store of Sluice"]);
    fs::write(&store, &whole[..whole.len() - 4096]).expect("room");
    refused(&["it was cut, or added to"]);
    checked(1, &["it was cut, or added to"]);
    fs::write(&store, &whole).expect("room");
    let other = rig.run("event").set("device.capacity", "8MiB");
    is_refused(
        &other.program(rig.program("check 512 1")),
        &["a device of 4194304 bytes", "device.capacity is 8388608"],
    );
    let other = rig.run("event").args(["--device", "cylon"]);
    is_refused(
        &other.program(rig.program("check 512 1")),
        &["a store of device \"cxl-ssd\"", "\"cylon\""],
    );
    // One page of another store, and one byte of a page.
    damaged_pages(&rig, &store, &whole);
    fs::write(&store, &whole).expect("room");
    rig.does("event", "check 512 1");
    // No flush of such a file succeeds, and that is not what is wrong with it.
    let other = rig.run_with("event", Path::new("/proc/version"));
    let why = ["--store file:/proc/version", "not a store of Sluice"];
    is_refused(&other.program(["true"]), &why);
}

fn damaged_pages(rig: &Rig, store: &Path, whole: &[u8]) {
    let entries = 4096..4096 + 2 * 32 * (4 << 20 >> 12);
    let first_page = (entries.end as u64).next_multiple_of(PAGE);
    for (at, byte, page) in [
        (first_page + 7 * PAGE + 100, 0xff, 7),
        (4096 + 9 * 64 + 8, 0xff, 9),
    ] {
        let mut changed = whole.to_owned();
        changed[at as usize] ^= byte;
        fs::write(store, &changed).expect("room");
        let out = rig.run("event").program(rig.program("check 512 1"));
        let told = format!("1 pages of the store are damaged, the first is page {page}");
        is_refused(&out, &[&told]);
        let out = check(store);
        assert_eq!(out.status.code(), Some(1), "{out:#?}");
        let found = out.json();
        assert_eq!(found["damaged"], 1);
        assert_eq!(found["first_damaged"][0]["page"], page);
    }
}
