//! Mutexes of which the kernel itself reads and writes words: robust ones, and ones that inherit
//! priorities. A program may use them as it does without Sluice.

use crate::abuse::{fault, small, within_limit};
use crate::build::helper;
use crate::sluice::{Sluice, TRAPS};
use std::fmt::Write;
use std::process::Command;

/// So small a cache that the pages of a mutex leave at the next miss of any thread.
fn tiny(trap: &str, policy: &str) -> Sluice {
    let run = small(trap).cache("256KiB");
    run.set("cache.policy", policy).set("nand.read", "5us")
}

/// Runs a part of the program, natively and in both modes.
fn well(part: &str) {
    let program = helper!("abuse_robust.c").to_str().expect("plain letters");
    let native = within_limit(Command::new(program).arg(part));
    assert_eq!(native.stdout, "well\n", "natively: {native:#?}");
    let mut wrong = String::new();
    for trap in TRAPS {
        let out = within_limit(&mut tiny(trap, "lifo").prepare([program, part]));
        if let Some(what) = fault(&out) {
            writeln!(wrong, "{trap}, {part}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The kernel found no page as the owner ended: nobody learned of it, and the next owner waited for
/// ever.
#[test]
fn the_next_owner_learns_that_the_last_one_has_ended() {
    well("dies");
}

#[test]
fn an_owner_may_end_with_any_number_of_mutexes() {
    well("many");
}

#[test]
fn a_child_of_a_fork_learns_of_owners_that_have_ended() {
    well("children");
}

#[test]
fn threads_may_want_a_mutex_at_once_that_the_kernel_gives() {
    well("contended");
}

#[test]
fn owners_may_end_while_others_wait_at_a_condition() {
    well("waits");
}

/// A filter may forbid to ask which threads are gone: their pages stayed for ever.
#[test]
fn pages_of_owners_that_have_ended_leave_under_a_filter() {
    let program = helper!("abuse_robust.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = within_limit(&mut tiny(trap, "lru").prepare([program, "filtered"]));
        assert_eq!(fault(&out), None, "{trap}");
        assert_eq!(out.own_stdout(), "0 pages have stayed\nwell\n", "{trap}");
    }
}

/// They failed with `EFAULT`.
#[test]
fn the_kernel_may_take_and_give_words_by_number() {
    well("numbers");
}

/// Its pages are this process's own business, wherever others have them.
#[test]
fn an_owner_may_be_killed_in_memory_that_processes_share() {
    let program = helper!("abuse_robust.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in memory");
    file.as_file().set_len(16 << 20).expect("room");
    let path = file.path().to_str().expect("plain letters");
    let (dax, mut wrong) = (format!("dax:{path}"), String::new());
    let of_file = [program, "shared", path];
    let runs = [
        ("event", "shared", &of_file[..2]),
        ("event", &dax, &of_file),
        ("signal", &dax, &of_file),
    ];
    for (trap, place, words) in runs {
        let run = tiny(trap, "lru").args(["--place", place]);
        if let Some(what) = fault(&within_limit(&mut run.prepare(words))) {
            writeln!(wrong, "{trap}, {place}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
