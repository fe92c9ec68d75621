//! `device.persistent=yes`: what a device holds is there for its next run.

mod block;
mod ends;
mod harmed;
mod kills;
mod power;
mod refused;

use crate::build::helper;
use crate::sluice::{Outcome, Running, Sluice, TRAPS, finish};
use serde_json::Value;
use sluice_region::is_running;
use sluice_testkit::mount::Mounted;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Pages of the program, of which the cache has an eighth.
const PAGES: u64 = 512;
const PAGE: u64 = 4096;

/// A device's memory, its store and a log, in a folder in memory.
struct Rig {
    folder: TempDir,
}

impl Rig {
    fn new() -> Rig {
        let folder = tempfile::tempdir_in("/dev/shm").expect("room");
        let rig = Rig { folder };
        rig.forget();
        rig
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The memory is empty: what is there next comes from the store.
    fn forget(&self) {
        let memory = File::create(self.path("memory")).expect("room");
        memory.set_len(PAGES * PAGE).expect("room");
    }

    fn run(&self, trap: &str) -> Sluice {
        self.run_with(trap, &self.path("store"))
    }

    fn run_with(&self, trap: &str, store: &Path) -> Sluice {
        let place = format!("dax:{}", self.path("memory").display());
        let store = format!("file:{}", store.display());
        Sluice::run(trap)
            .args(["--place", &place, "--store", &store])
            .set("device.persistent", "yes")
            .set("device.capacity", "4MiB")
            .cache("256KiB")
    }

    /// The program with its arguments, after the path of the memory.
    fn program(&self, words: &str) -> Vec<String> {
        let memory = self.path("memory").display().to_string();
        let program = helper!("persist.c").display().to_string();
        let words = words.split_whitespace().map(ToOwned::to_owned);
        [program, memory].into_iter().chain(words).collect()
    }

    fn does(&self, trap: &str, words: &str) -> Outcome {
        self.run(trap).program(self.program(words)).well()
    }

    fn check(&self) -> Outcome {
        check(&self.path("store"))
    }
}

fn check(store: &Path) -> Outcome {
    let mut command = Sluice::command();
    finish(command.args(["store", "check", "--json"]).arg(store))
}

/// Whether it was refused in one line with these words.
fn is_refused(out: &Outcome, words: &[&str]) {
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    assert_eq!(out.stderr.lines().count(), 1, "{out:#?}");
    for word in words {
        assert!(out.stderr.contains(word), "{word}: {out:#?}");
    }
}

/// Whether a store is whole; what the command prints is valid by its schema.
fn is_whole(outcome: &Outcome) -> Value {
    assert!(outcome.status.success(), "{outcome:#?}");
    let found = outcome.json();
    assert_eq!(found["whole"], true);
    found
}

fn await_it(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `sluice ctl PID` with some words.
fn ctl(pid: i32, words: &str) -> Outcome {
    let mut command = Sluice::command();
    let command = command.arg("ctl").arg(pid.to_string());
    finish(command.args(words.split_whitespace()))
}

/// A program that has written a generation and waits.
fn holding(rig: &Rig, trap: &str, generation: u64) -> Running {
    holding_under(rig, rig.run(trap), generation)
}

/// Holds the store under a command with more settings.
fn holding_under(rig: &Rig, run: Sluice, generation: u64) -> Running {
    let run = run.args(["--control", "on"]);
    let words = format!("hold {PAGES} {generation} {}", rig.path("ready").display());
    let running = Running::start(&mut run.prepare(rig.program(&words)));
    await_it("it does not begin", || rig.path("ready").exists());
    running
}

/// The children of a process.
fn programs(of: i32) -> Vec<i32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

#[test]
fn what_was_written_is_there_for_the_next_run() {
    for trap in TRAPS {
        let rig = Rig::new();
        for (generation, how) in [(1, "none"), (2, "msync"), (3, "fsync"), (4, "async")] {
            rig.does(trap, &format!("write {PAGES} {generation} {how}"));
            let found = is_whole(&rig.check());
            assert_eq!(found["stored"], PAGES, "{trap} {how}");
            rig.forget();
            rig.does(trap, &format!("check {PAGES} {generation}"));
        }
        // Nothing was written: nothing is.
        let before = is_whole(&rig.check())["writes"].clone();
        rig.does(trap, &format!("check {PAGES} 4"));
        assert_eq!(is_whole(&rig.check())["writes"], before, "{trap}");
    }
}

/// The device has its power when a program is killed.
#[test]
fn a_killed_program_loses_nothing() {
    for trap in TRAPS {
        let rig = Rig::new();
        let running = holding(&rig, trap, 5);
        let program = std::fs::read_to_string(rig.path("ready")).expect("its number");
        // SAFETY: no pointers; started by this test.
        unsafe { libc::kill(program.trim().parse().expect("a number"), libc::SIGKILL) };
        assert_eq!(running.finish().signal(), Some(libc::SIGKILL), "{trap}");
        rig.forget();
        rig.does(trap, &format!("check {PAGES} 5"));
    }
}

const FLUSHES: [&str; 12] = [
    "msync",
    "fsync",
    "fdatasync",
    "ctl",
    "syncfs",
    "sync",
    "aio",
    "SYS_msync",
    "SYS_fsync",
    "SYS_fdatasync",
    "SYS_syncfs",
    "SYS_sync",
];

/// What was flushed is there although the command was killed, and nothing was kept at its end.
#[test]
fn every_way_to_flush_makes_it_durable() {
    for trap in TRAPS {
        for (generation, how) in (1..).zip(FLUSHES) {
            let rig = Rig::new();
            let run = rig.run(trap).args(["--control", "on"]);
            let ready = rig.path("ready");
            let words = format!("keep {PAGES} {generation} {} {how}", ready.display());
            let running = Running::start(&mut run.prepare(rig.program(&words)));
            await_it("it does not flush", || ready.exists());
            if how == "ctl" {
                let out = ctl(running.id(), "flush --json");
                assert!(out.status.success(), "{out:#?}");
                assert_eq!(out.json()["ranges"][0]["status"], "done");
            }
            running.signal_group(libc::SIGKILL);
            running.finish();
            rig.forget();
            is_whole(&rig.check());
            rig.does(trap, &format!("check {PAGES} {generation}"));
        }
    }
}

/// A child of a fork writes and flushes; its parent's device and its own have one store.
#[test]
fn processes_share_a_store() {
    for trap in TRAPS {
        let rig = Rig::new();
        let program = rig.program("");
        let script = format!(
            "{0} {1} write 512 6 msync && {0} {1} check 512 6 && {0} {1} write 512 7 none & \
             {0} {1} write 512 6 fsync; wait; {0} {1} write 512 8 fdatasync",
            program[0], program[1]
        );
        let out = rig.run(trap).program(["sh", "-c", &script]);
        assert!(out.status.success(), "{out:#?}");
        rig.forget();
        rig.does(trap, &format!("check {PAGES} 8"));
    }
}

/// A run with a home of its own: commands of other tests end what they find left in the usual one.
fn run_at_home(rig: &Rig) -> Sluice {
    rig.run("event").env("XDG_RUNTIME_DIR", rig.folder.path())
}

/// A program that holds the device as the child of a shell, and that child's number.
fn held_by_a_grandchild(rig: &Rig, how: &str) -> (Running, u32) {
    let words = rig.program(&format!("{how} {PAGES} 5 {}", rig.path("ready").display()));
    let script = format!("{} & wait", words.join(" "));
    let running = Running::start(&mut run_at_home(rig).prepare(["sh", "-c", &script]));
    await_it("it does not begin", || rig.path("ready").exists());
    let pid = std::fs::read_to_string(rig.path("ready")).expect("its number");
    (running, pid.trim().parse().expect("a number"))
}

fn kill(pid: i32) {
    // SAFETY: no pointers; a process of a test's, which has not been waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// The command is killed: nobody keeps the store, and nobody may go on to write to the memory that
/// the next command fills. The grandchild did, and later one that had written over its environment.
#[test]
fn all_of_the_program_ends_with_its_command() {
    for how in ["hold", "titled"] {
        let rig = Rig::new();
        let (running, pid) = held_by_a_grandchild(&rig, how);
        kill(running.id());
        await_it("it goes on", || !is_running(pid));
        running.finish();
    }
}

/// Who kills the command may kill its keeper as well.
#[test]
fn the_next_command_ends_what_a_killed_one_has_left() {
    let rig = Rig::new();
    let (running, pid) = held_by_a_grandchild(&rig, "hold");
    let is_keeper = |pid: &i32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline"));
        words.is_ok_and(|words| words.contains("keep-session"))
    };
    let keeper = programs(running.id()).into_iter().find(is_keeper);
    kill(keeper.expect("a keeper"));
    kill(running.id());
    await_it("the command goes on", || {
        !is_running(running.id().cast_unsigned())
    });
    assert!(is_running(pid), "nobody has ended it");
    let mut second = run_at_home(&rig).prepare(["true"]);
    let second = finish(&mut second);
    let goes_on = is_running(pid);
    kill(pid.cast_signed());
    running.finish();
    assert!(second.status.success(), "{second:#?}");
    assert!(!goes_on, "it writes to the memory of the next command");
}

/// A device without the setting does to its file what it did before, and needs no store.
#[test]
fn a_new_store_begins_with_what_the_memory_has() {
    let rig = Rig::new();
    let place = format!("dax:{}", rig.path("memory").display());
    let plain = Sluice::run("event").args(["--place", &place]);
    plain.program(rig.program("write 512 9 msync")).well();
    assert!(!rig.path("store").exists());
    rig.does("event", "check 512 9");
    rig.forget();
    rig.does("event", "check 512 9");
}

/// Somebody else has the store, and is named.
#[test]
fn a_store_is_one_commands_at_a_time() {
    let rig = Rig::new();
    let running = holding(&rig, "event", 5);
    let holder = format!("in use by process {}", running.id());
    let second = rig.run("event").program(rig.program("check 512 5"));
    assert_eq!(second.status.code(), Some(2), "{second:#?}");
    assert!(second.stderr.contains(&holder), "{second:#?}");
    let looked = rig.check();
    assert_eq!(looked.status.code(), Some(2), "{looked:#?}");
    assert!(looked.stderr.contains(&holder), "{looked:#?}");
    running.signal_group(libc::SIGTERM);
    running.finish();
    // Who looks at it sees nothing half done, and does not mind others who look.
    let looks = sluice_store::open_to_look(&rig.path("store")).expect("nobody has it");
    is_whole(&rig.check());
    let holder = format!("in use by process {}", std::process::id());
    is_refused(&rig.run("event").program(["true"]), &["store", &holder]);
    drop(looks);
    rig.does("event", "check 512 5");
}

/// A file system for the store that is full: the flush says so, and the run's end; what was flushed
/// before is there.
#[test]
fn a_full_store_is_said_and_keeps_what_it_had() {
    let rig = Rig::new();
    let folder = rig.path("small");
    std::fs::create_dir(&folder).expect("room");
    let Some(mounted) = Mounted::in_memory(&folder, "size=3M") else {
        println!("unchecked: this user may not mount a file system of 3 MiB");
        return;
    };
    let store = folder.join("store");
    let run = |words: &str| rig.run_with("event", &store).program(rig.program(words));
    let outcomes = [
        run("write 512 1 msync"),
        run("write 512 2 msync"),
        run("since 512 1"),
    ];
    let whole = check(&store);
    // It is tried again every 20 ms.
    let words = format!("hold 512 2 {}", rig.path("ready").display());
    let mut held = rig.run_with("event", &store).prepare(rig.program(&words));
    let running = Running::start(&mut held);
    await_it("it does not begin", || rig.path("ready").exists());
    std::thread::sleep(Duration::from_millis(300));
    running.signal_group(libc::SIGTERM);
    let held = running.finish();
    mounted.end();
    let [first, second, third] = outcomes;
    first.well();
    assert_eq!(second.status.code(), Some(2), "{second:#?}");
    assert!(
        second.stderr.contains("msync: No space left"),
        "{second:#?}"
    );
    assert!(
        second.stderr.contains("not all of the device was kept"),
        "{second:#?}"
    );
    third.well();
    let warnings = held.stderr.matches("warning: the store").count();
    assert_eq!(warnings, 1, "{held:#?}");
    is_whole(&whole);
}
