//! Forks: the child keeps a true snapshot, and every other way to start a program works too.

use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS};
use std::path::Path;

fn program() -> &'static Path {
    helper!("fork.c")
}

/// Runs one of the program's parts with a quarter of its memory as cache.
fn run(trap: &str, part: &[&str]) -> Outcome {
    let path = program().to_str().expect("plain letters");
    let all = [path].into_iter().chain(part.iter().copied());
    let out = Sluice::run(trap).cache("4MiB").program(all).evicted();
    assert!(out.own_stdout().ends_with("well\n"), "{out:#?}");
    out
}

/// Processes that came from a fork, each of which had the device.
fn forked(out: &Outcome) -> Vec<u64> {
    let json = out.json();
    let processes = json["processes"].as_array().expect("a list");
    let forked = processes.iter().filter(|p| p["forked"] == true);
    forked
        .map(|p| p["traps"].as_u64().expect("a count"))
        .collect()
}

#[test]
fn a_child_keeps_its_snapshot_and_its_parent_its_own() {
    for trap in TRAPS {
        let out = run(trap, &["snapshot"]);
        let forked = forked(&out);
        assert!(
            matches!(forked[..], [traps] if traps > 1_000),
            "{trap}: {forked:?}"
        );
        assert_eq!(out.number("/host/forks"), 1);
    }
}

#[test]
fn a_child_of_a_child_does_too() {
    for trap in TRAPS {
        let forked = forked(&run(trap, &["nested"]));
        assert!(
            forked.len() == 2 && forked.iter().all(|traps| *traps > 1_000),
            "{trap}: {forked:?}"
        );
    }
}

/// The child has no other thread, and the locks that the others held are free in it.
#[test]
fn forks_while_four_threads_miss() {
    for trap in TRAPS {
        let out = run(trap, &["threads"]);
        assert_eq!(forked(&out).len(), 5, "{trap}");
    }
}

/// The child's handler and control threads start while nobody serves the heap.
#[test]
fn locale_and_libraries_are_there_when_the_childs_threads_start() {
    for trap in TRAPS {
        let program = [program().to_str().expect("plain letters"), "system"];
        let run = Sluice::run(trap).cache("4MiB").args(["--control", "on"]);
        let out = run.program(program).evicted();
        assert!(out.own_stdout().ends_with("well\n"), "{out:#?}");
        assert_eq!(forked(&out).len(), 1, "{trap}");
    }
}

/// Memory of 280 MB and page tables of 200 MB, as they were, cost each start and fork 0.2 to 0.4 s.
#[test]
fn a_fork_costs_what_is_used_of_a_large_device() {
    for trap in TRAPS {
        let program = [program().to_str().expect("plain letters"), "small"];
        let run = Sluice::run(trap).set("device.capacity", "96GiB");
        let out = run.program(program).well();
        assert!(out.own_stdout().ends_with("well\n"), "{out:#?}");
    }
}

/// In signal mode the program can see the runtime's descriptors. Each child had one more than its
/// parent.
#[test]
fn children_of_children_have_no_more_descriptors() {
    let script = "
import os
for _ in range(4):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    os.write(1, b'%d\\n' % len(os.listdir('/proc/self/fd')))
";
    for trap in TRAPS {
        let out = Sluice::run(trap).program(["/usr/bin/python3", "-c", script]);
        let counts: Vec<&str> = out.own_stdout().lines().collect();
        assert_eq!(counts.len(), 4, "{trap}: {out:#?}");
        assert!(counts.iter().all(|n| *n == counts[0]), "{trap}: {counts:?}");
    }
}

#[test]
fn open_streams_survive_a_fork() {
    for trap in TRAPS {
        let folder = tempfile::tempdir().expect("a folder");
        run(
            trap,
            &["streams", folder.path().to_str().expect("plain letters")],
        );
    }
}

#[test]
fn exec_vfork_posix_spawn_system_and_popen() {
    for trap in TRAPS {
        let out = run(trap, &["spawn"]);
        let own = program().to_str().expect("plain letters");
        let json = out.json();
        let processes = json["processes"].as_array().expect("a list");
        let images = processes
            .iter()
            .filter(|p| p["command"][0] == own && p["command"][1] == "snapshot");
        let with_device = images.filter(|p| p["forked"] == false && p["traps"] != 0);
        assert_eq!(with_device.count(), 4, "{trap}: {json:#}");
    }
}

/// What the kernel moved out of the device's addresses was not there in a child.
#[test]
fn children_have_memory_that_left_the_device_and_moved() {
    let natively = std::process::Command::new(program()).arg("moved").output();
    assert_eq!(natively.expect("a program").stdout, b"well\n");
    for trap in TRAPS {
        let program = [program().to_str().expect("plain letters"), "moved"];
        let out = Sluice::run(trap).cache("1MiB").program(program).well();
        assert_eq!(out.own_stdout(), "well\n", "{trap}: {out:#?}");
        assert!(out.number("/memory/host_pages") > 0, "{trap}");
    }
}

/// The child of `posix_spawn` has all signals blocked: in signal mode a missing page ends it.
#[test]
fn what_the_child_of_posix_spawn_reads_stays() {
    for trap in TRAPS {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().to_str().expect("plain letters");
        let program = [helper!("spawns.c").to_str().expect("plain letters"), folder];
        let run = Sluice::run(trap)
            .cache("1MiB")
            .set("cache.policy", "s3fifo");
        let out = run.program(program).evicted();
        assert!(out.own_stdout().ends_with("well\n"), "{out:#?}");
    }
}
