//! `--store file:`: memory that is larger than what it takes.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS, finish};
use sluice_testkit::mount::Mounted;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn stored(trap: &str, folder: &Path) -> Sluice {
    let store = format!("file:{}", folder.display());
    Sluice::run(trap).args(["--store", &store])
}

/// In memory, where a page takes a microsecond.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("room")
}

/// On a disk, where requests overlap.
fn folder_on_disk() -> TempDir {
    tempfile::tempdir().expect("room")
}

fn is_empty(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).expect("the folder");
    entries.next().is_none()
}

fn path(program: &Path) -> &str {
    program.to_str().expect("plain letters")
}

/// 128 MiB in a cache of 4: without the store all of it would be in memory.
#[test]
fn a_process_takes_no_more_memory_than_the_cache_and_a_constant() {
    for trap in TRAPS {
        let folder = folder();
        let program = [path(helper!("stored.c")), "walk", "128"];
        let out = stored(trap, folder.path())
            .cache("4MiB")
            .program(program)
            .evicted();
        let words: Vec<&str> = out.own_stdout().split_whitespace().collect();
        assert_eq!(words[0], "well", "{trap}: {out:#?}");
        let kib: u64 = words[1].parse().expect("a number");
        assert!(kib * 1024 < (4 + 32) * MIB, "{trap}: {kib} KiB");
        assert_eq!(out.number("/memory/pinned"), 0, "{trap}");
        let pages = 128 * MIB / 4096;
        let (reads, writes) = (out.number("/store/reads"), out.number("/store/writes"));
        assert!(
            writes > pages && reads > 2 * pages,
            "{trap}: {reads} {writes}"
        );
        assert!(is_empty(folder.path()), "{trap}: something is left");
    }
}

/// The device did the same, page for page, as with all of it in memory.
#[test]
fn a_store_changes_no_count() {
    let folder = folder();
    let program = [path(helper!("stored.c")), "walk", "24"];
    let counts = |out: &Outcome| {
        let names = [
            "/cache/misses",
            "/flash/programs",
            "/flash/reads",
            "/cache/dirty_evictions",
        ];
        names.map(|name| out.number(name))
    };
    for trap in TRAPS {
        let kept = stored(trap, folder.path())
            .cache("4MiB")
            .program(program)
            .evicted();
        let plain = Sluice::run(trap).cache("4MiB").program(program).evicted();
        let (kept, plain) = (counts(&kept), counts(&plain));
        for (one, other) in kept.iter().zip(plain) {
            // The C library's few pages come and go between them.
            assert!(one.abs_diff(other) < 20, "{trap}: {kept:?}, {plain:?}");
        }
    }
}

#[test]
fn nobody_reads_what_a_relative_wrote() {
    for trap in TRAPS {
        let folder = folder_on_disk();
        let program = [path(helper!("stored.c")), "forks", "4"];
        let out = stored(trap, folder.path())
            .cache("1MiB")
            .program(program)
            .evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
        assert!(is_empty(folder.path()), "{trap}: something is left");
    }
}

/// What holds for memory in general.
#[test]
fn memory_forks_and_mappings_are_as_without_a_store() {
    for trap in TRAPS {
        let folder = folder();
        let programs: [&[&str]; 5] = [
            &[path(helper!("alloc.c")), "1000"],
            &[path(helper!("maps.c"))],
            &[path(helper!("fork.c")), "snapshot"],
            &[path(helper!("fork.c")), "nested"],
            &[path(helper!("fork.c")), "threads"],
        ];
        for program in programs {
            let out = stored(trap, folder.path())
                .cache("1MiB")
                .program(program)
                .evicted();
            assert!(out.own_stdout().ends_with("well\n"), "{trap}: {out:#?}");
        }
    }
}

/// The child of a fork found no thread of its own by the number that the kernel gave it there: the
/// `/proc` that it sees has other numbers.
#[test]
fn children_in_a_namespace_of_processes_read_what_their_parents_wrote() {
    let program = [path(helper!("abuse_namespaces.c")), "user-and-pid"];
    let natively = Command::new(program[0]).arg(program[1]).output();
    if !natively.is_ok_and(|out| out.status.success()) {
        println!("unchecked: this user may not have a namespace");
        return;
    }
    for trap in TRAPS {
        let folder = folder();
        let out = stored(trap, folder.path()).cache("4MiB").program(program);
        assert_eq!(out.evicted().own_stdout(), "well\n", "{trap}");
    }
}

/// A program that is started by another one has a file of its own.
#[test]
fn every_program_image_has_its_own_file() {
    let folder = folder();
    let stored_c = path(helper!("stored.c"));
    let script = format!("{stored_c} walk 16 && exec {stored_c} walk 16");
    for trap in TRAPS {
        let out = stored(trap, folder.path())
            .cache("1MiB")
            .program(["sh", "-c", &script])
            .well();
        assert_eq!(
            out.own_stdout().matches("well").count(),
            2,
            "{trap}: {out:#?}"
        );
    }
}

#[test]
fn a_full_store_ends_the_program_by_sigbus_and_says_which_page() {
    let folder = folder();
    let Some(mounted) = Mounted::in_memory(folder.path(), "size=8M") else {
        println!("unchecked: this user may not mount a file system of 8 MiB");
        return;
    };
    let outcomes = TRAPS.map(|trap| {
        let program = [path(helper!("stored.c")), "walk", "64"];
        stored(trap, folder.path()).cache("1MiB").program(program)
    });
    mounted.end();
    for (trap, out) in TRAPS.iter().zip(outcomes) {
        assert_eq!(out.signal(), Some(libc::SIGBUS), "{trap}: {out:#?}");
        let told = out
            .stderr
            .lines()
            .find(|line| line.contains("cannot write page"));
        let told = told.unwrap_or_else(|| panic!("{trap}: {out:#?}"));
        assert!(told.contains("No space left on device"), "{trap}: {told}");
        assert!(
            told.contains(&*folder.path().to_string_lossy()),
            "{trap}: {told}"
        );
    }
}

/// The first eviction beyond the limit ended the program. A file of its own still ends there.
#[test]
fn a_program_may_lower_its_limit_of_file_sizes() {
    let program = path(helper!("stored.c"));
    let script = format!(
        "ulimit -Sf 8; {program} once 32 | grep -c well; {program} forks 4; \
         head -c 9000 /dev/zero >\"$0\" 2>/dev/null; stat -c %s \"$0\"; exec {program} once 32"
    );
    for trap in TRAPS {
        for folder in [folder(), folder_on_disk()] {
            let file = folder.path().join("file");
            let run = stored(trap, folder.path()).cache("1MiB");
            let out = run.program(["bash", "-c", &script, path(&file)]).evicted();
            let is_well = out.own_stdout().starts_with("1\nwell\n8192\nwell ");
            assert!(is_well, "{trap}: {out:#?}");
        }
    }
}

/// Whether this user may have more than a hard limit allows.
fn may_raise_limits() -> bool {
    const SYS_RESOURCE: u32 = 24;
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = u64::from_str_radix(held.expect("capabilities").trim(), 16).expect("a number");
    held >> SYS_RESOURCE & 1 == 1
}

/// Where calls wrote, the error was looked at one miss later, and SIGXFSZ ended the program before.
#[test]
fn a_hard_limit_of_file_sizes_ends_the_program_in_the_same_way() {
    let script = format!("ulimit -f 2000; exec {} once 32", path(helper!("stored.c")));
    for trap in TRAPS {
        let folder = folder_on_disk();
        let sluice = stored(trap, folder.path()).cache("1MiB");
        let out = sluice.program(["sh", "-c", &script]);
        if may_raise_limits() {
            assert!(out.evicted().own_stdout().starts_with("well"), "{trap}");
            continue;
        }
        assert_eq!(out.signal(), Some(libc::SIGBUS), "{trap}: {out:#?}");
        assert!(out.stderr.contains("cannot write page"), "{trap}: {out:#?}");
        assert!(out.stderr.contains("File too large"), "{trap}: {out:#?}");
    }
}

/// What the command prints after it stands in the same file, and follows.
#[test]
fn the_reason_stays_in_a_log() {
    let (folder, logs) = (folder(), folder_on_disk());
    let Some(mounted) = Mounted::in_memory(folder.path(), "size=8M") else {
        println!("unchecked: this user may not mount a file system of 8 MiB");
        return;
    };
    for trap in TRAPS {
        let log = logs.path().join(trap);
        let run = stored(trap, folder.path()).cache("1MiB");
        let run = run.prepare([path(helper!("stored.c")), "once", "32"]);
        let mut logged = Command::new("sh");
        logged.args(["-c", "\"$@\" > \"$0\" 2>&1"]).arg(&log);
        logged.arg(run.get_program()).args(run.get_args());
        finish(&mut logged);
    }
    mounted.end();
    for trap in TRAPS {
        let text = std::fs::read_to_string(logs.path().join(trap)).expect("the log");
        let told = text.find("cannot write page").unwrap_or(usize::MAX);
        let figures = text.find("{\"cache\"").unwrap_or(0);
        assert!(told < figures, "{trap}: {text}");
    }
}

#[test]
fn what_cannot_be_a_store_is_refused_before_anything_starts() {
    let refused = |args: &[&str], words: &[&str]| {
        let mut command = Sluice::command();
        let out = finish(command.arg("run").args(args).args(["--", "true"]));
        assert_eq!(out.status.code(), Some(2), "{out:#?}");
        assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
        for word in words {
            assert!(out.stderr.contains(word), "{word}: {out:#?}");
        }
    };
    refused(
        &["--store", "disk"],
        &["--store", "\"disk\"", "dram or file:FOLDER"],
    );
    refused(
        &["--store", "file:/nowhere"],
        &["--store", "a folder that exists"],
    );
    refused(
        &["--store", "file:/proc/version"],
        &["--store", "a folder that exists"],
    );
    let device = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    device.as_file().set_len(MIB).expect("room");
    let place = format!("dax:{}", device.path().display());
    refused(
        &["--place", &place, "--store", "file:/tmp"],
        &["--store", "--place dax"],
    );
}
