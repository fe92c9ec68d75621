//! What the C library does past the hooks, in threads of its own or by records of the program's.

use crate::abuse::all_well;
use crate::build::helper;

/// In signal mode its threads ended the program, or found no page where they were to write; those
/// that it makes for the program had no stack for signals. In event mode they had one CPU for ever.
#[test]
fn threads_of_the_c_library_may_need_what_has_left() {
    let program = helper!("abuse_helpers.c");
    all_well(program, &["timers", "queues", "names", "files", "list"]);
    // The sixty-fifth function had one CPU, and in signal mode its first miss ended the program.
    all_well(program, &["other", "many"]);
}

/// In signal mode the next miss ended the program.
#[test]
fn signals_may_be_held_back_by_attributes_and_contexts() {
    all_well(helper!("abuse_masks.c"), &["attributes", "contexts"]);
}
