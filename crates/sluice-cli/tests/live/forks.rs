//! Forks of programs with several threads, some of which wait for pages meanwhile.

use crate::abuse::{all_well, small};
use crate::build::helper;
use crate::sluice::{Outcome, Sluice, TRAPS};

/// A run of the program, which gets so many threads that miss, streams, and forks.
fn run(run: Sluice, part: &str) -> Outcome {
    let program = helper!("forks.c").to_str().expect("plain letters");
    let all = [program].into_iter().chain(part.split_whitespace());
    let out = run.program(all).evicted();
    assert_eq!(out.own_stdout(), "well\n", "{out:#?}");
    out
}

/// The handler looked at the earliest wait alone. That was another thread's, which cannot end
/// before the fork does, and the thread that forks waited behind it for ever.
#[test]
fn a_fork_ends_while_another_thread_waits_for_a_page() {
    for handlers in ["1", "2"] {
        let few = Sluice::run("event").cache("4MiB");
        run(few.args(["--handlers", handlers]), "1 20 5");
    }
}

/// Faults of more threads than were put off at once hid that of the thread that forks.
#[test]
fn a_fork_ends_while_many_threads_fault() {
    for handlers in ["1", "2"] {
        let many = Sluice::run("event").cache("4MiB");
        run(many.args(["--handlers", handlers]), "40 20 2");
    }
}

/// In signal mode each thread that faults meanwhile has a stack of the runtime's. They had them
/// all, and the thread that forks waited for one.
#[test]
fn a_fork_ends_while_more_threads_fault_than_there_are_stacks() {
    let crowd = Sluice::run("signal").cache("1MiB");
    run(crowd.set("nand.read", "200us"), "300 50 1 crowd");
}

/// The C library resets the locks of all streams in a child whose faults nobody serves yet. Their
/// pages pushed each other out of the cache before, and the child died at a lock that was zeros.
#[test]
fn what_a_child_begins_with_is_there_together_however_small_the_cache() {
    for trap in TRAPS {
        for policy in ["fifo", "lifo", "mru", "random"] {
            let small = Sluice::run(trap).cache("64KiB");
            run(small.set("cache.policy", policy), "0 20 2");
        }
        let direct = Sluice::run(trap).cache("4MiB").set("cache.ways", "1");
        run(direct.set("cache.index", "hash"), "0 50 2");
        run(Sluice::run(trap).cache("4MiB"), "0 3000 2");
        let folder = tempfile::tempdir().expect("a folder");
        let store = format!("file:{}", folder.path().display());
        let in_file = Sluice::run(trap).cache("64KiB").args(["--store", &store]);
        run(in_file, "0 20 2");
    }
}

/// What the C library knows of a thread lies at the end of its stack, which may be far away.
#[test]
fn a_thread_may_fork_deep_down_a_stack_on_the_device() {
    for trap in TRAPS {
        run(Sluice::run(trap).cache("16KiB"), "0 20 2 stack");
    }
    // What leads to its variables lies on the heap, and others take that page away.
    run(Sluice::run("event").cache("64KiB"), "2 20 10 stack");
}

/// A child calls them before its faults are served. Their list was on the device: it was zeros, and
/// the child had none.
#[test]
fn a_program_may_have_any_number_of_handlers_of_forks() {
    for trap in TRAPS {
        let traps = |part| {
            let out = run(Sluice::run(trap).cache("64KiB"), part);
            out.number("/traps")
        };
        let (none, many) = (traps("0 20 1"), traps("0 20 1 handlers"));
        assert!(
            many < none + 400,
            "{trap}: {none} traps, and {many} with handlers"
        );
    }
}

/// Its children had no memory of the device.
#[test]
fn a_second_c_library_may_fork() {
    all_well(helper!("abuse_other_libc.c"), &["forks"]);
}

/// The threads that bring pages in went with the parent: the child read zeros.
#[test]
fn what_uses_its_parents_memory_does_not_outlive_it_in_event_mode() {
    let program = helper!("abuse_beside.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let outlives = match trap {
            "event" => "end\n",
            _ => "outlived, 0 wrong\nend\n",
        };
        let all = "lives on a b c d e f\nend\n";
        let whats = [
            ("reads", outlives),
            ("becomes", all),
            ("list", "lives on a b\nend\n"),
            ("at", "lives on a b\nend\n"),
        ];
        for (how, who) in [
            ("leaves", "clone"),
            ("killed", "clone"),
            ("leaves", "vfork"),
            ("killed", "vfork"),
            ("killed", "thread"),
        ] {
            for (what, told) in whats {
                let out = small(trap).program([program, how, what, who]);
                assert!(out.status.success(), "{trap}, {how}, {who}: {out:#?}");
                assert_eq!(out.own_stdout(), told, "{trap}, {how}, {what}, {who}");
            }
        }
    }
}
