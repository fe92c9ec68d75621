//! Forks of programs with several threads, some of which wait for pages meanwhile.

use crate::build::helper;
use crate::sluice::Sluice;

/// A run of the program, which gets so many threads that miss, streams, and forks.
fn run(run: Sluice, part: &str) {
    let program = helper!("forks.c").to_str().expect("plain letters");
    let all = [program].into_iter().chain(part.split_whitespace());
    let out = run.program(all).evicted();
    assert_eq!(out.own_stdout(), "well\n", "{out:#?}");
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
