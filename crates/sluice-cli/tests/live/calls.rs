//! System calls that programs of others make on memory that has left, and what broke once.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::helper;
use crate::sluice::{Sluice, TRAPS};
use std::path::Path;
use std::process::Command;

fn calls() -> &'static Path {
    helper!("abuse_calls.c")
}

/// BIND gets datagrams by `libuv`, which calls `recvmmsg` by its number. It lost all of them.
#[test]
fn calls_by_their_numbers_move_bytes_as_those_by_name() {
    all_well(calls(), &["datagrams", "files"]);
}

/// In signal mode a copy of more than fits into the cache ended with `EFAULT`.
#[test]
fn a_process_may_copy_its_own_memory_by_the_kernel() {
    all_well(helper!("abuse_copies.c"), &[""]);
}

/// In signal mode what two of them moved came between each other's.
#[test]
fn processes_may_share_a_place_in_a_file() {
    all_well(helper!("abuse_places.c"), &[""]);
}

/// The memory was refused: what takes it does not wait for a page.
#[test]
fn sockets_may_send_frames_from_memory_of_the_programs() {
    all_well(calls(), &["frames"]);
}

#[test]
fn pages_may_leave_while_they_are_in_a_pipe() {
    all_well(calls(), &["pipes", "places"]);
}

/// In signal mode a datagram of more than a mebibyte was cut there, and FUSE's servers were refused
/// their requests.
#[test]
fn a_long_message_is_moved_as_a_whole() {
    all_well(helper!("abuse_messages.c"), &["whole", "added"]);
}

/// In signal mode the next call used the memory of the one before, which was not sent yet.
#[test]
fn what_is_sent_without_a_copy_is_what_was_given() {
    all_well(helper!("abuse_messages.c"), &["lent", "lent-by-message"]);
}

/// In signal mode the program had bytes of earlier calls in its buffer.
#[test]
fn what_is_thrown_away_leaves_the_buffer() {
    all_well(helper!("abuse_messages.c"), &["away"]);
}

/// In both modes the kernel found no page as the thread ended: who waited for that waited for ever.
#[test]
fn the_end_of_a_thread_is_seen_where_no_page_was() {
    all_well(helper!("abuse_ends.c"), &["cloned", "named"]);
}

/// The device went on with memory that was a segment's: forks failed, and after the segment's end
/// the program could not have its addresses again.
#[test]
fn a_segment_may_lie_over_memory_of_the_device() {
    all_well(helper!("abuse_segments.c"), &["over", "beside"]);
}

/// Each ended with `EFAULT`.
#[test]
fn small_records_may_have_left() {
    all_well(calls(), &["small"]);
}

/// Of what follows each call ended with `EFAULT`, waited for nothing, or ended the program.
#[test]
fn what_functions_are_given_may_have_left() {
    let parts = [
        "walks", "words", "paths", "queues", "groups", "asked", "clocks", "records",
    ];
    all_well(helper!("missing_names.c"), &parts);
}

#[test]
fn what_checked_functions_and_those_of_old_programs_are_given_may_have_left() {
    all_well(helper!("missing_names.c"), &["checked", "old"]);
}

#[test]
fn what_a_function_waits_by_may_have_left() {
    all_well(helper!("missing_names.c"), &["joins", "pauses"]);
}

#[test]
fn what_servers_of_names_answer_may_have_left() {
    all_well(helper!("missing_names.c"), &["names"]);
}

#[test]
fn addresses_inside_of_arguments_may_name_what_has_left() {
    let parts = [
        "filters", "tables", "traces", "programs", "rings", "options",
    ];
    all_well(helper!("missing_inside.c"), &parts);
}

/// In signal mode a thread kept signals back that it had let through, or learned nothing of those
/// that it had kept back.
#[test]
fn masks_of_signals_may_have_left() {
    all_well(helper!("missing_masks.c"), &["sets", "jumps"]);
}

/// In signal mode the kernel ended the program by SIGSEGV.
#[test]
fn an_area_for_restartable_sequences_may_be_on_the_heap() {
    all_well(helper!("missing_area.c"), &[""]);
}

#[test]
fn what_calls_by_their_numbers_are_given_may_have_left() {
    let parts = [
        "older", "files", "asked", "taken", "waits", "masks", "lists",
    ];
    all_well(helper!("missing_numbers.c"), &parts);
}

/// The C library's `free` ended the program: it had not allocated what it was given.
#[test]
fn the_allocator_may_be_looked_up_by_name() {
    all_well(calls(), &["library", "versions"]);
}

/// Varnish has one for all of its threads. Two that missed at once destroyed each other's stack.
#[test]
fn threads_may_have_set_one_alternate_stack() {
    all_well(helper!("abuse_stacks.c"), &["shared"]);
}

/// In signal mode their misses were on the thread's own stack, which was too small.
#[test]
fn destructors_may_miss_as_a_thread_ends() {
    all_well(helper!("abuse_stacks.c"), &["destructors"]);
}

/// Requests whose pages had left ended with `EFAULT`, and so did asking for their events.
#[test]
fn requests_to_the_kernel_may_have_left() {
    let parts = [
        "buffered number",
        "buffered names",
        "direct number",
        "direct names",
    ];
    all_well(helper!("abuse_aio.c"), &parts);
}

/// Memory could not be collapsed, and in signal mode no window be filled.
#[test]
fn advice_is_answered_as_without_a_device() {
    let program = helper!("populate.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("room");
    file.as_file().set_len(8 << 20).expect("room");
    let path = file.path().to_str().expect("plain letters");
    for trap in TRAPS {
        let native = within_limit(&mut Command::new(program));
        let out = within_limit(&mut small(trap).prepare([program]));
        assert_eq!(fault(&out), None, "{trap}: {out:#?}");
        assert_eq!(out.own_stdout(), native.stdout, "{trap}");
        let native = within_limit(Command::new(program).arg(path));
        let sluice = Sluice::run(trap).cache("4MiB");
        let sluice = sluice.args(["--place", &format!("dax:{path}")]);
        let out = within_limit(&mut sluice.prepare([program, path]));
        assert_eq!(fault(&out), None, "{trap}: {out:#?}");
        assert_eq!(out.own_stdout(), native.stdout, "{trap}");
    }
}

/// They were copied, and what another thread stored meanwhile was lost.
#[test]
fn pinned_pages_move_with_what_is_stored_to_them() {
    all_well(helper!("abuse_mremap.c"), &["pinned"]);
}

/// In signal mode the program ended by SIGBUS.
#[test]
fn what_lies_behind_the_end_of_a_file_is_refused() {
    let program = helper!("populate.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::new().expect("room");
    let path = file.path().to_str().expect("plain letters");
    let again = || std::fs::write(path, [7; 64 * 4096]).expect("room");
    again();
    let native = within_limit(Command::new(program).args([path, "behind"]));
    assert!(
        native.stdout.contains("page 16: -1, errno 14"),
        "{native:#?}"
    );
    for trap in TRAPS {
        again();
        let run = small(trap).args(["--place", "files"]);
        let out = within_limit(&mut run.prepare([program, path, "behind"]));
        assert_eq!(fault(&out), None, "{trap}: {out:#?}");
        assert_eq!(out.own_stdout(), native.stdout, "{trap}");
    }
}
