//! `--place files`: files that a program maps, on the device.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS, finish};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn files(trap: &str) -> Sluice {
    Sluice::run(trap).args(["--place", "heap", "--place", "files:*.dat"])
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("room")
}

/// Runs the helper on a file of this folder.
fn mapped(sluice: Sluice, folder: &Path, what: &[&str]) -> Outcome {
    let file = folder.join("file.dat");
    let words = [helper!("mapped.c").as_os_str(), file.as_os_str()];
    sluice.program(
        words
            .into_iter()
            .chain(what.iter().map(std::ffi::OsStr::new)),
    )
}

fn is_well(out: &Outcome, what: &str) {
    assert_eq!(out.own_stdout(), "well\n", "{what}: {out:#?}");
}

/// The kernel itself is what the helper compares with.
#[test]
fn a_program_cannot_tell_the_device_from_the_kernel() {
    let all = ["reads", "writes", "moves", "ends", "others"];
    let folder = folder();
    let file = folder.path().join("file.dat");
    let plain = finish(Command::new(helper!("mapped.c")).arg(&file).args(all));
    assert_eq!(plain.stdout, "well\n", "without Sluice: {plain:#?}");
    for trap in TRAPS {
        for (cache, inactive) in [("1MiB", "none"), ("64KiB", "none"), ("256KiB", "30%")] {
            let what = format!("{trap} {cache} {inactive}");
            let sluice = files(trap).cache(cache).set("cache.inactive", inactive);
            let out = mapped(sluice, folder.path(), &all).evicted();
            is_well(&out, &what);
            assert!(out.number("/memory/file_bytes") >= 4 << 20, "{what}");
            assert_eq!(out.number("/memory/pinned"), 0, "{what}");
        }
    }
}

#[test]
fn what_is_written_is_kept_in_a_store_too() {
    let (folder, store) = (folder(), tempfile::tempdir_in("/dev/shm").expect("room"));
    for trap in TRAPS {
        let at = format!("file:{}", store.path().display());
        let sluice = files(trap).cache("256KiB").args(["--store", &at]);
        let out = mapped(sluice, folder.path(), &["reads", "writes", "ends"]).evicted();
        is_well(&out, trap);
        assert!(out.number("/store/writes") > 0, "{trap}");
    }
}

/// Each page is read from flash as often as the cache loses it, and nothing is programmed.
#[test]
fn pages_of_files_are_read_from_flash() {
    let folder = folder();
    let out = mapped(files("event").cache("64KiB"), folder.path(), &["reads"]).evicted();
    is_well(&out, "reads");
    let (misses, reads) = (out.number("/cache/misses"), out.number("/flash/reads"));
    let pages = out.number("/memory/file_bytes") / 4096;
    assert!(misses > 2 * pages, "two passes over it: {misses}");
    assert!(reads >= misses - 64, "{reads} of {misses}");
    assert!(out.number("/flash/programs") < 64);
}

/// What stays with the kernel is counted by its reason.
#[test]
fn what_is_not_placed_is_named() {
    let folder = folder();
    let out = mapped(files("signal").cache("64KiB"), folder.path(), &["reads"]).well();
    is_well(&out, "shared ones need a thread that watches leases");
    assert_eq!(out.number("/memory/files_unleased_bytes"), 4 << 20);
    assert!(
        out.stderr.contains("others may change the files"),
        "{out:#?}"
    );
    let out = mapped(files("event").cache("64KiB"), folder.path(), &["stays"]).well();
    is_well(&out, "stays");
    for counter in ["writable", "unleased", "other"] {
        let bytes = out.number(&format!("/memory/files_{counter}_bytes"));
        assert_eq!(bytes, 4 << 20, "{counter}: {out:#?}");
    }
    // A pattern that does not fit places nothing, without a warning.
    let sluice = Sluice::run("event").args(["--place", "heap", "--place", "files:*.other"]);
    let out = mapped(sluice.cache("64KiB"), folder.path(), &["stays", "reads"]).well();
    assert_eq!(out.number("/memory/file_bytes"), 0);
    assert_eq!(out.number("/memory/files_other_bytes"), 0);
}

/// The kernel's mapping of a file may lie over memory of the heap. In signal mode the program asked
/// for a page behind the file's end for ever.
#[test]
fn a_file_over_memory_of_the_heap_may_become_shorter() {
    for trap in TRAPS {
        let file = tempfile::NamedTempFile::new().expect("room");
        let path = file.path().to_str().expect("plain letters");
        let program = helper!("abuse_truncate.c").to_str().expect("plain letters");
        let sluice = Sluice::run(trap).set("device.capacity", "64MiB");
        let out = sluice.cache("1MiB").program([program, path, "over"]);
        is_well(&out, trap);
    }
}

/// Files alone: the heap stays where it is.
#[test]
fn a_place_is_what_it_names_and_no_more() {
    let folder = folder();
    let sluice = Sluice::run("event")
        .args(["--place", "files"])
        .cache("64KiB");
    let out = mapped(sluice, folder.path(), &["reads"]).evicted();
    is_well(&out, "files");
    assert_eq!(out.number("/memory/placed_bytes"), 0, "all was unmapped");
    assert_eq!(out.json()["place"], "files");
}

/// A process that opens the file for writing waits for the lease, which goes with its owner.
#[test]
fn nobody_waits_for_a_program_that_was_killed() {
    let folder = folder();
    let file = folder.path().join("file.dat");
    let words = [
        helper!("mapped.c").as_os_str(),
        file.as_os_str(),
        "hold".as_ref(),
    ];
    for is_killed in [false, true] {
        let mut command = files("event").cache("64KiB").prepare(words);
        let mut running = command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a command");
        let mut first = [0u8; 5];
        let stdout = running.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(stdout, &mut first).expect("a word");
        assert_eq!(&first, b"held\n");
        if is_killed {
            running.kill().expect("our own");
        }
        let began = Instant::now();
        let opened = std::fs::File::options().append(true).open(&file);
        assert!(
            opened.is_ok() && began.elapsed() < Duration::from_secs(5),
            "{is_killed}"
        );
        let _ = running.kill();
        let _ = running.wait();
    }
}

/// The standard library's maps, and SQLite's, which reads what it writes beside them.
#[test]
fn programs_that_map_files_give_the_answers_of_plain_ones() {
    const SCRIPT: &str = "
import hashlib, mmap, os, sqlite3, sys
at, size = sys.argv[1], 2 << 20
with open(at + '/bytes.dat', 'wb') as f:
    f.write(b''.join(n.to_bytes(8, 'little') for n in range(size // 8)))
with open(at + '/bytes.dat', 'rb') as f:
    read = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    copy = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
for n in range(0, size, 5000):
    copy[n] = 7
print(hashlib.sha256(read).hexdigest(), hashlib.sha256(copy).hexdigest(), read.find(b'\\x10\\x20'))
db = sqlite3.connect(at + '/rows.dat')
db.execute('pragma mmap_size=268435456')
db.execute('create table if not exists t(a integer primary key, b text)')
for round in range(3):
    rows = ((None, '%d-%d' % (round, n) * 9) for n in range(3000))
    db.executemany('insert into t values(?, ?)', rows)
    db.commit()
    print(db.execute('select count(*), sum(length(b)), max(b) from t').fetchone())
db.execute('delete from t where a % 3 = 0')
db.commit()
print(db.execute('pragma integrity_check').fetchone(), db.execute('pragma mmap_size').fetchone())
for how in ('?mode=rw', '?mode=ro'):
    db.close()
    db = sqlite3.connect('file:' + at + '/rows.dat' + how, uri=True)
    db.execute('pragma mmap_size=268435456')
    print(db.execute('select count(*), sum(a), max(b), sum(length(b)) from t').fetchone())
";
    let run = |sluice: Option<Sluice>| {
        let folder = folder();
        let at = folder.path().to_str().expect("plain letters").to_owned();
        let words = ["python3", "-c", SCRIPT, &at];
        match sluice {
            Some(sluice) => sluice.program(words).evicted(),
            None => finish(Command::new(words[0]).args(&words[1..])),
        }
    };
    let plain = run(None);
    assert!(plain.status.success(), "{plain:#?}");
    for trap in TRAPS {
        let out = run(Some(files(trap).cache("1MiB")));
        assert_eq!(out.own_stdout(), plain.stdout, "{trap}");
        // One of the copy, and in event mode those of what is only read.
        let least = if trap == "event" { 4 << 20 } else { 2 << 20 };
        let bytes = out.number("/memory/file_bytes");
        assert!(bytes >= least, "{trap}: {out:#?}");
        let stays = out.number("/memory/files_unleased_bytes");
        assert!(stays > 0, "{trap}: SQLite has its file open for writing");
    }
}
