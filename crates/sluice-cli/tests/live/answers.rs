//! Answers of the kernel that a program got otherwise because the runtime was beside it.

use crate::abuse::all_well;
use crate::build::helper;
use std::path::Path;

fn answers() -> &'static Path {
    helper!("abuse_answers.c")
}

/// It had `sluice run` for a parent: one that waited for the first process of the system waited for
/// ever, and one that sent its parent a signal ended the command without a result.
#[test]
fn a_process_without_its_parent_sees_the_first_of_the_system() {
    all_well(answers(), &["orphan"]);
}

/// Whom the command had adopted saw it again after `exec`.
#[test]
fn so_does_the_program_that_it_becomes() {
    all_well(answers(), &["execs"]);
}

/// In event mode the runtime's threads had made them differ.
#[test]
fn semaphores_have_nothing_to_undo_in_either_process() {
    all_well(answers(), &["undo"]);
}

/// In signal mode there were as many as one page has room for.
#[test]
fn as_many_events_are_found_as_there_are() {
    all_well(answers(), &["events"]);
}

/// `pkey_mprotect` went past the device.
#[test]
fn memory_may_be_protected_with_a_key() {
    all_well(answers(), &["keys"]);
}

/// The first store below it was SIGSEGV.
#[test]
fn a_mapping_grows_down_in_what_was_unmapped() {
    all_well(answers(), &["grows"]);
}

/// The heap grew into the hole, and was gone with what was mapped there again.
#[test]
fn memory_may_be_mapped_again_where_it_was_unmapped() {
    all_well(answers(), &["hole"]);
}

/// Its `_exit` asked for the process's number, for which the filter ended it.
#[test]
fn a_filter_may_forbid_all_but_the_end() {
    all_well(answers(), &["filter"]);
}
