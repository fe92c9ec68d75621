//! Signals: what ends the program ends the command, and the program's handlers are its own.

use crate::abuse::within_limit;
use crate::build::{compile, helper};
use crate::sluice::{Outcome, Running, Sluice, TRAPS};
use sluice_abi::Counter;
use sluice_results::{Process, read_processes};
use std::process::Command;
use std::time::{Duration, Instant};

/// The program, with a quarter of its memory as cache.
fn run(trap: &str, part: &str) -> Outcome {
    let path = helper!("signals.c").to_str().expect("plain letters");
    Sluice::run(trap).cache("2MiB").program([path, part])
}

#[test]
fn the_command_ends_by_the_programs_signal() {
    let cases = [
        ("die-segv", libc::SIGSEGV),
        ("die-bus", libc::SIGBUS),
        ("raise-bus", libc::SIGBUS),
        ("abort", libc::SIGABRT),
        ("kill", libc::SIGKILL),
    ];
    for trap in TRAPS {
        for (part, signal) in cases {
            let out = run(trap, part);
            assert_eq!(out.signal(), Some(signal), "{trap} {part}: {out:#?}");
            assert_eq!(out.json()["exit"]["signal"], signal);
            assert!(out.number("/cache/evictions") > 0, "the statistics survive");
        }
    }
}

#[test]
fn the_command_ends_with_the_programs_status() {
    for trap in TRAPS {
        let out = run(trap, "status");
        assert_eq!(out.status.code(), Some(42), "{out:#?}");
        assert_eq!(out.json()["exit"]["code"], 42);
    }
}

fn runs_well(part: &str) {
    for trap in TRAPS {
        let out = run(trap, part).evicted();
        assert_eq!(out.own_stdout(), "well\n", "{trap} {part}");
    }
}

#[test]
fn handlers_of_sigbus_are_chained_and_may_miss() {
    runs_well("bus");
}

#[test]
fn handlers_of_sigsegv_are_chained_and_may_miss() {
    runs_well("segv");
}

/// zstd asks for its handler by `__sysv_signal`, and got the device's misses.
#[test]
fn system_vs_and_bsds_ways_leave_sigbus_to_the_device() {
    runs_well("old");
}

/// Handlers that miss, in the middle of misses, with every signal blocked meanwhile.
#[test]
fn alarms_interrupt_misses() {
    runs_well("alarm");
}

#[test]
fn a_program_may_block_every_signal() {
    runs_well("block");
}

/// Starts the program that runs until it is stopped, and waits until it misses.
fn spinning(trap: &str) -> Running {
    let path = helper!("signals.c").to_str().expect("plain letters");
    let mut command = Sluice::run(trap).cache("2MiB").prepare([path, "spin"]);
    let running = Running::start(&mut command);
    await_it("nothing was started", || child_of(running.id()).is_some());
    let session = running.await_session();
    let misses = |process: &Process| process.get(Counter::Misses) > 0;
    await_it("nothing missed", || {
        read_processes(&session).iter().any(misses)
    });
    running
}

/// The program, once it is the program and not the command's own copy.
fn child_of(parent: i32) -> Option<i32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(path).ok()?;
    let is_it = |child: &i32| {
        let name = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        name.contains("spin\0") && !name.contains("--trap")
    };
    let mut children = children.split_whitespace().filter_map(|p| p.parse().ok());
    children.find(is_it)
}

/// Waits, for a busy machine.
fn await_it(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn control_c_ends_the_program_and_gives_a_result() {
    for trap in TRAPS {
        let running = spinning(trap);
        running.signal_group(libc::SIGINT);
        let out = running.finish();
        assert_eq!(out.signal(), Some(libc::SIGINT), "{out:#?}");
        assert_eq!(out.json()["exit"]["signal"], libc::SIGINT);
        assert!(out.number("/traps") > 0);
    }
}

/// A request to end reaches the program, whichever process got it, and the result is printed all
/// the same.
#[test]
fn a_request_to_end_is_passed_on() {
    for whole_group in [false, true] {
        let running = spinning("event");
        if whole_group {
            running.signal_group(libc::SIGTERM);
        } else {
            // SAFETY: no pointers; the process is our own child.
            unsafe { libc::kill(running.id(), libc::SIGTERM) };
        }
        let out = running.finish();
        assert_eq!(out.signal(), Some(libc::SIGTERM), "{out:#?}");
        assert_eq!(out.json()["exit"]["signal"], libc::SIGTERM);
    }
}

/// It was ignored, as what the terminal sends to both is.
#[test]
fn control_c_that_the_command_alone_is_sent_is_passed_on() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        let running = spinning("event");
        // SAFETY: no pointers; the process is our own child.
        unsafe { libc::kill(running.id(), signal) };
        let out = running.finish();
        assert_eq!(out.signal(), Some(signal), "{out:#?}");
        assert_eq!(out.json()["exit"]["signal"], signal);
    }
}

/// They ended the command without a result, and the program went on. What the program sends to its
/// parent itself goes to the one that it would have without Sluice.
#[test]
fn signals_of_the_users_are_the_programs() {
    for signal in ["USR1", "USR2", "ALRM", "PROF", "IO", "RTMIN", "RTMAX"] {
        let program = format!(
            "trap 'echo got; exit 3' {signal}; kill -s {signal} $PPID
             for n in $(seq 2000); do sleep 0.01; done"
        );
        let outer =
            format!("trap 'echo parent; kill -s {signal} $!' {signal}; \"$@\" & wait; wait $!");
        let sluice = Sluice::run("event").prepare(["sh", "-c", &program]);
        let mut command = Command::new("sh");
        command.args(["-c", &outer, "sh"]).arg(sluice.get_program());
        command.args(sluice.get_args());
        for (name, value) in sluice.get_envs() {
            command.env(name, value.expect("only set"));
        }
        let out = within_limit(&mut command);
        assert!(out.stdout.starts_with("parent\ngot\n"), "{out:#?}");
        assert_eq!(out.status.code(), Some(3), "{out:#?}");
        assert_eq!(out.json()["exit"]["code"], 3);
    }
}

#[test]
fn a_program_that_is_killed_leaves_nothing_behind() {
    for trap in TRAPS {
        let running = spinning(trap);
        let child = child_of(running.id()).expect("the program runs");
        let session = running.await_session();
        // SAFETY: no pointers; the process is our own grandchild.
        unsafe { libc::kill(child, libc::SIGKILL) };
        let out = running.finish();
        assert_eq!(out.signal(), Some(libc::SIGKILL), "{out:#?}");
        assert!(out.number("/traps") > 0);
        assert!(!session.exists(), "{session:?}");
    }
}

/// The program goes on with its device. A process that has ended but is not waited for by its new
/// parent counts as ended.
#[test]
fn a_killed_command_leaves_its_session_to_its_program_and_no_longer() {
    let running = spinning("event");
    let command = running.id();
    let child = child_of(command).expect("the program runs");
    let session = running.await_session();
    let is_there = || session.exists();
    // SAFETY: no pointers; the process is our own child.
    unsafe { libc::kill(command, libc::SIGKILL) };
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_there(), "its program is still there");
    // SAFETY: no pointers; our own grandchild, which nothing but this ends.
    unsafe { libc::kill(child, libc::SIGKILL) };
    await_it("its session is left", || !is_there());
    assert_eq!(running.finish().signal(), Some(libc::SIGKILL));
}

/// The C library's handler has no mask that a hook could change.
#[test]
fn a_program_may_be_profiled_by_the_c_library() {
    let program = compile("gprof.c", &["-pg"]);
    let program = program.to_str().expect("plain letters");
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("gmon");
    let prefix = prefix.to_str().expect("plain letters");
    for trap in TRAPS {
        let out = Sluice::run(trap)
            .cache("1MiB")
            .env("GMON_OUT_PREFIX", prefix);
        let out = out.program([program]);
        assert!(out.status.success(), "{out:#?}");
        assert_eq!(out.own_stdout(), "well\n");
    }
    let profiles = std::fs::read_dir(folder.path()).expect("a folder");
    assert_eq!(profiles.count(), TRAPS.len());
}
