//! `--place shared`: memory of several processes on one device.

use crate::build::helper;
use crate::sluice::{Outcome, Running, Sluice, finish};
use serde_json::Value;
use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

const PAGES: u64 = 512;

fn run() -> Sluice {
    let run = Sluice::run("event").args(["--place", "shared"]);
    run.set("device.capacity", "16MiB")
}

/// The program with its arguments.
pub fn commons(words: &str) -> Vec<OsString> {
    let words = words.split_whitespace().map(OsString::from);
    std::iter::once(helper!("commons.c").into())
        .chain(words)
        .collect()
}

/// The device of shared memory.
fn device(out: &Outcome) -> Value {
    let json = out.json();
    let all = json["processes"].as_array().expect("processes");
    let shared = all.iter().find(|process| process["shared_memory"] == true);
    shared.expect("its device").clone()
}

fn count(device: &Value, key: &str) -> u64 {
    device[key].as_u64().expect("a number")
}

/// It ended well, having found nothing wrong.
fn is_right(out: &Outcome) {
    assert!(out.status.success(), "{out:#?}");
    assert_eq!(out.own_stdout(), "0 wrong\n", "{out:#?}");
}

#[test]
fn all_kinds_are_shared_by_all() {
    for kind in ["anonymous", "memfd", "posix"] {
        let out = run()
            .cache("256KiB")
            .program(commons(&format!("{kind} 512 4 3")));
        is_right(&out);
        let device = device(&out);
        // Four processes go through all pages in orders of their own, three times.
        assert!(count(&device, "misses") > 2 * PAGES, "{kind}: {device}");
        assert!(
            count(&device, "dirty_evictions") > PAGES,
            "{kind}: {device}"
        );
        assert_eq!(count(&device, "placed_bytes"), PAGES * 4096, "{kind}");
    }
}

/// The kernel lets nobody serve the faults of System V segments.
#[test]
fn segments_of_system_v_stay_and_are_counted() {
    let out = run().program(commons("sysv 512 2 2"));
    is_right(&out);
    let json = out.json();
    let all = json["processes"].as_array().expect("processes");
    let stayed: u64 = all.iter().map(|p| count(p, "shared_bytes")).sum();
    assert_eq!(stayed, PAGES * 4096);
    assert!(
        out.stderr
            .contains("2.0 MiB of shared memory were mapped, which stays"),
        "{out:#?}"
    );
}

/// There is one cache for all. What one process has brought in is there for the others, and where
/// it is too small each of them misses each page, as one program in its place would.
#[test]
fn there_is_one_cache() {
    for (cache, policy, misses) in [
        ("4MiB", "lru", PAGES),
        ("2MiB", "fifo", PAGES),
        ("1MiB", "fifo", PAGES * 6),
        ("1MiB", "lru", PAGES * 6),
    ] {
        let run = run().cache(cache).set("cache.policy", policy);
        let out = run.program(commons("turns 512 3 2"));
        is_right(&out);
        let device = device(&out);
        assert_eq!(
            count(&device, "misses"),
            misses,
            "{cache} {policy}: {device}"
        );
        let evictions = misses.saturating_sub(if cache == "1MiB" { 256 } else { 512 });
        assert_eq!(
            count(&device, "evictions"),
            evictions,
            "{cache} {policy}: {device}"
        );
        // Every page that left had been written by somebody.
        assert_eq!(
            count(&device, "dirty_evictions"),
            evictions,
            "{cache} {policy}: {device}"
        );
    }
}

#[test]
fn a_process_that_ends_or_sleeps_takes_nobody_along() {
    for what in ["kill", "stop"] {
        for _ in 0..2 {
            let words = format!("memfd 128 4 12 {what}");
            is_right(&run().cache("128KiB").program(commons(&words)));
        }
    }
}

/// A program whose output goes to a file, where it can be waited for.
struct Told {
    running: Running,
    folder: tempfile::TempDir,
}

impl Told {
    fn start(run: Sluice, words: &str) -> Told {
        let folder = tempfile::tempdir().expect("room");
        let mut script = OsString::from("exec \"$@\" >");
        script.push(folder.path().join("said"));
        let mut program: Vec<OsString> = ["sh", "-c"].map(OsString::from).into();
        program.extend([script, "sh".into()]);
        program.extend(commons(words));
        let running = Running::start(&mut run.prepare(program));
        Told { running, folder }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("said")).unwrap_or_default()
    }

    fn await_lines(&self, lines: usize) {
        let started = Instant::now();
        while self.said().lines().count() < lines {
            assert!(started.elapsed().as_secs() < 60, "{}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What the program shares is in memory from then on, and what it was.
#[test]
fn the_program_goes_on_without_the_server() {
    let run = run().cache("128KiB").args(["--control", "off"]);
    let told = Told::start(run, "anonymous 256 4 40 say");
    told.await_lines(1);
    // SAFETY: no pointers; started by this test.
    unsafe { libc::kill(told.running.id(), libc::SIGKILL) };
    told.await_lines(2);
    assert_eq!(told.said(), "begun\n0 wrong\n");
    told.running.finish();
}

/// Processor time of a process so far, ms.
fn cpu_ms(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("ticks");
    // SAFETY: no pointers.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
    (ticks(11) + ticks(12)) * 1_000 / a_second
}

/// While nobody misses the server takes no time of a CPU.
#[test]
fn the_server_sleeps() {
    let told = Told::start(run(), "rest 64 1 2");
    told.await_lines(1);
    let before = cpu_ms(told.running.id());
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu_ms(told.running.id()) - before;
    assert!(used < 200, "{used} ms of a second");
    assert!(told.running.finish().status.success());
}

#[test]
fn nothing_is_left() {
    let mut command = run().prepare(commons("memfd 256 3 6"));
    let running = Running::start(&mut command);
    let session = running.await_session();
    is_right(&running.finish());
    assert!(!session.exists(), "{session:?}");
}

#[test]
fn what_a_program_does_to_its_mappings_is_as_without() {
    let program = helper!("remapped.c");
    let plain = finish(&mut Command::new(program));
    assert!(plain.status.success(), "{plain:#?}");
    for cache in ["32KiB", "256KiB"] {
        for policy in ["lifo", "lru"] {
            let run = run().cache(cache).set("cache.policy", policy);
            let out = run.program([&program]);
            assert!(out.status.success(), "{cache} {policy}: {out:#?}");
            assert_eq!(out.own_stdout(), plain.stdout, "{cache} {policy}");
            assert!(count(&device(&out), "evictions") > 100, "{cache} {policy}");
        }
    }
}

/// It is in address space that the heap's device has reserved, and is not that device's to pin.
#[test]
fn a_shared_mapping_in_reserved_memory_is_locked_as_without() {
    let program = helper!("remapped.c");
    let plain = finish(&mut Command::new(program));
    let run = run().args(["--place", "heap"]).cache("32KiB");
    let out = run.program([&program]);
    assert!(out.status.success(), "{out:#?}");
    assert_eq!(out.own_stdout(), plain.stdout);
}

/// Objects for which there is no room stay in DRAM, and are counted.
#[test]
fn a_full_device_says_so() {
    let run = run().set("device.capacity", "1MiB").cache("128KiB");
    let out = run.program(commons("memfd 512 2 1"));
    is_right(&out);
    assert_eq!(count(&device(&out), "traps"), 0);
    assert!(
        out.stderr
            .contains("of shared memory were mapped, which stays"),
        "{out:#?}"
    );
}

#[test]
fn signal_mode_refuses() {
    let out = Sluice::run("signal")
        .args(["--place", "shared"])
        .program(["true"]);
    assert_eq!(out.status.code(), Some(2), "{out:#?}");
    let told = "--place: `shared`";
    assert!(
        out.stderr.contains("--trap event") && out.stderr.lines().count() == 1,
        "{told} {out:#?}"
    );
}

/// Counts of the device of shared memory, with a cache of 256 pages of which the first in leaves
/// first, after children have ended as `words` say.
fn ended(words: &str, capacity: &str) -> [u64; 2] {
    let run = run().cache("1MiB").set("cache.policy", "fifo");
    let program = helper!("endings.c").to_str().expect("plain letters");
    let words = [program, "512"].into_iter().chain(words.split(' '));
    let out = run.set("device.capacity", capacity).program(words);
    assert_eq!(out.own_stdout(), "well\n", "{out:#?}");
    let device = device(&out);
    ["misses", "dirty_evictions"].map(|key| count(&device, key))
}

/// What a process that ended by `_exit` had mapped counted as written, though it had only read. Of
/// one that is killed nobody knows.
#[test]
fn what_was_read_leaves_clean_however_its_process_ends() {
    let silent = [
        "exit", "_exit", "_Exit", "quick", "number", "handler", "become",
    ];
    for how in silent {
        let counts = ended(&format!("own {how} {how}"), "16MiB");
        // The parent has written each page once, and four times all pages come in.
        assert_eq!(counts, [4 * PAGES, PAGES], "{how}");
    }
    assert_eq!(ended("own vfork vfork", "16MiB"), [6 * PAGES, PAGES]);
    assert_eq!(ended("own kill _exit", "16MiB"), [4 * PAGES, PAGES + 256]);
}

/// Half of the pages, which are in the cache then and are not protected by another fault.
#[test]
fn what_is_written_after_a_process_said_that_it_ends_counts() {
    let counts = ended("own goes-on _exit", "16MiB");
    assert_eq!(counts, [4 * PAGES, PAGES + 256]);
}

/// What was known of the pages of an object that is gone was taken for those of the next one.
#[test]
fn an_object_inherits_no_writes() {
    assert_eq!(ended("wrote read", "2MiB"), [3 * PAGES, 256]);
    let counts = ended("wrote read wrote read", "2MiB");
    assert_eq!(counts, [6 * PAGES, 2 * 256]);
}

/// The server has no descriptors for the last ones. Their threads that served it ended first, and
/// others began on the stacks of those that ran.
#[test]
fn processes_that_the_server_refuses_go_on() {
    let program = helper!("crowd.c").to_str().expect("plain letters");
    for descriptors in [121, 123, 125, 127] {
        let command = run().cache("1MiB").prepare([program, "40"]);
        let few = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &few]).arg(command.get_program());
        let out = finish(shell.args(command.get_args()));
        assert_eq!(out.own_stdout(), "0 lost\n", "{descriptors}: {out:#?}");
        let warned = "processes came to the device of shared memory";
        assert!(out.stderr.contains(warned), "{descriptors}: {out:#?}");
    }
}

/// Of 40 processes 14 stayed in DRAM under this soft limit. The program still has it.
#[test]
fn many_processes_come_whatever_the_soft_limit_is() {
    let program = helper!("crowd.c").to_str().expect("plain letters");
    let script = format!("ulimit -n; exec {program} 40");
    let command = run().cache("1MiB").prepare(["sh", "-c", &script]);
    let mut shell = Command::new("sh");
    let few = "ulimit -S -n 121; exec \"$0\" \"$@\"";
    shell.args(["-c", few]).arg(command.get_program());
    let out = finish(shell.args(command.get_args()));
    assert_eq!(out.own_stdout(), "121\n0 lost\n", "{out:#?}");
    assert!(!out.stderr.contains("DRAM"), "{out:#?}");
    let json = out.json();
    let all = json["processes"].as_array().expect("processes");
    assert!(
        all.iter()
            .all(|process| count(process, "shared_bytes") == 0)
    );
}
