//! System calls that programs of others make on memory that has left, and what broke once.

use crate::abuse::all_well;
use crate::build::helper;
use std::path::Path;

fn calls() -> &'static Path {
    helper!("abuse_calls.c")
}

/// BIND gets datagrams by `libuv`, which calls `recvmmsg` by its number. It lost all of them.
#[test]
fn calls_by_their_numbers_move_bytes_as_those_by_name() {
    all_well(calls(), &["datagrams", "files"]);
}

#[test]
fn pages_may_leave_while_they_are_in_a_pipe() {
    all_well(calls(), &["pipes", "places"]);
}

/// Each ended with `EFAULT`.
#[test]
fn small_records_may_have_left() {
    all_well(calls(), &["small"]);
}

/// The C library's `free` ended the program: it had not allocated what it was given.
#[test]
fn the_allocator_may_be_looked_up_by_name() {
    all_well(calls(), &["library"]);
}

/// Varnish has one for all of its threads. Two that missed at once destroyed each other's stack.
#[test]
fn threads_may_have_set_one_alternate_stack() {
    all_well(helper!("abuse_stacks.c"), &["shared"]);
}
