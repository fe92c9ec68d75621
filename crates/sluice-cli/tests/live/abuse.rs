//! What programs may do to descriptors, signals, forks, stacks and mappings, and what broke once.
//!
//! Each program ends itself after 25 to 28 seconds, and each run is killed after 30.

use crate::build::{compile, helper};
use crate::control::programs::c_program;
use crate::sluice::{Outcome, Running, Sluice, TRAPS};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs a command to its end, and kills its whole group at the limit.
pub fn within_limit(command: &mut Command) -> Outcome {
    let running = Running::start(command);
    let group = running.id();
    let (done, told) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if told.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: no pointers; the group is that of our own child, which nobody waited for yet.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    });
    let out = running.finish();
    drop(done);
    watch.join().expect("it only waits");
    out
}

/// A live run in 64 MiB of device and 4 MiB of cache.
pub fn small(trap: &str) -> Sluice {
    Sluice::run(trap)
        .set("device.capacity", "64MiB")
        .cache("4MiB")
}

/// What is wrong with a run of a program that should print "well" as its last line.
pub fn fault(out: &Outcome) -> Option<String> {
    if out.status.success() && out.own_stdout().ends_with("well\n") {
        return None;
    }
    let lines: Vec<&str> = out.stderr.lines().collect();
    let last = lines[lines.len().saturating_sub(4)..].join("\n    ");
    Some(format!("{}\n    {last}", out.status))
}

/// Runs each part of a program in both modes, and fails with all that went wrong.
pub fn all_well(program: &Path, parts: &[&str]) {
    let program = program.to_str().expect("plain letters");
    let mut wrong = String::new();
    for part in parts {
        let words: Vec<&str> = [program]
            .into_iter()
            .chain(part.split_whitespace())
            .collect();
        let native = within_limit(Command::new(words[0]).args(&words[1..]));
        assert!(native.stdout.ends_with("well\n"), "natively: {native:#?}");
        for trap in TRAPS {
            let out = within_limit(&mut small(trap).prepare(&words));
            match fault(&out) {
                None => drop(out.evicted()),
                Some(what) => writeln!(wrong, "{trap}, {part}: {what}").expect("a string grows"),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn descriptors() -> &'static Path {
    helper!("abuse_descriptors.c")
}

#[test]
fn a_program_may_close_every_descriptor() {
    let parts = [
        "close self",
        "close_range self",
        "raw self",
        "closefrom self",
    ];
    all_well(descriptors(), &parts);
}

#[test]
fn a_program_may_put_its_own_files_over_every_number() {
    all_well(descriptors(), &["dup2 self", "dup3 self"]);
}

#[test]
fn a_daemon_may_close_what_it_inherited() {
    let parts = [
        "close child",
        "close_range child",
        "closefrom child",
        "dup2 child",
    ];
    all_well(descriptors(), &parts);
}

/// A shell's `exec 3<file` reads its file, every line of it.
#[test]
fn a_shell_reads_its_own_descriptor_three() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines");
    std::fs::write(&path, "line\n".repeat(1_000)).expect("room");
    let path = path.to_str().expect("plain letters");
    let script = "for ((i = 0; i < 60000; i++)); do a[i]=$i; done; exec 3<$0; n=0; \
                  while read -r l <&3; do n=$((n + 1)); done; \
                  [[ $n == 1000 && ${a[59999]} == 59999 ]] && echo well";
    let mut wrong = String::new();
    for trap in TRAPS {
        let words = ["bash", "-c", script, path];
        let out = within_limit(&mut small(trap).prepare(words));
        if let Some(what) = fault(&out) {
            writeln!(wrong, "{trap}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Signal mode puts its own descriptors above the limit, and found no number there.
#[test]
fn a_program_may_have_descriptors_above_its_limit() {
    let script = "for n in {29..60}; do eval \"exec $n</dev/null\"; done; ulimit -Sn 29; \
                  bash -c '(:) && [[ -e /proc/self/fd/60 ]] && echo well'";
    let mut wrong = String::new();
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare(["bash", "-c", script]));
        if let Some(what) = fault(&out) {
            writeln!(wrong, "{trap}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn python_closes_a_range_of_descriptors() {
    let script = "
import os
before = [bytes([n % 251]) * 4096 for n in range(4096)]
os.closerange(3, 256)
after = [bytes([n % 251]) * 4096 for n in range(4096)]
print('well' if before == after else 'wrong')
";
    let mut wrong = String::new();
    for trap in TRAPS {
        let run = small(trap).cache("8MiB");
        let out = within_limit(&mut run.prepare(["python3", "-c", script]));
        if let Some(what) = fault(&out) {
            writeln!(wrong, "{trap}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The handler's miss needs the lock of the function; also the handlers of ILL, TRAP, FPE, SEGV.
#[test]
fn handlers_may_miss_while_memory_comes_and_goes() {
    let plain = ["map 1000", "map 300", "malloc 1000", "malloc 300"];
    let faults = ["map 500 4", "map 500 5", "map 500 8", "map 500 11"];
    all_well(helper!("abuse_handlers.c"), &[plain, faults].concat());
}

#[test]
fn handlers_may_miss_around_forks() {
    all_well(helper!("abuse_handlers.c"), &["fork 1000"]);
}

/// LIFO evicts the first page of a load for its second. The handler's page, another one each time,
/// came before the load had faulted often enough to count as stuck: it was never over.
#[test]
fn a_load_across_pages_gets_on_between_handlers() {
    let program = helper!("abuse_handlers.c").to_str().expect("plain letters");
    for policy in ["lifo", "mru"] {
        for trap in TRAPS {
            let sluice = small(trap).set("cache.policy", policy);
            let out = within_limit(&mut sluice.prepare([program, "across", "300"]));
            assert_eq!(fault(&out), None, "{trap} {policy}");
        }
    }
}

/// Forks for eight seconds: a page has to be stored to in the middle of one.
#[test]
fn a_snapshot_holds_while_another_thread_stores() {
    all_well(helper!("abuse_fork_stores.c"), &["8"]);
}

#[test]
fn an_allocator_may_hold_its_lock_around_forks() {
    all_well(helper!("abuse_atfork.c"), &[""]);
}

fn forks() -> &'static Path {
    helper!("abuse_forks.c")
}

#[test]
fn a_child_of_clone_keeps_its_snapshot() {
    all_well(forks(), &["clone", "heap-clone"]);
}

#[test]
fn a_child_of_fork_without_handlers_does() {
    all_well(forks(), &["_Fork"]);
}

#[test]
fn a_child_of_a_raw_system_call_does() {
    all_well(forks(), &["raw-fork", "raw-clone", "raw-clone3"]);
}

/// The child's own number went with the page that the kernel had written it to, and in signal mode
/// the calls failed, since the kernel does not wait for a page.
#[test]
fn the_numbers_of_a_child_are_where_the_call_was_to_put_them() {
    all_well(forks(), &["clone-ids", "raw-clone-ids", "raw-clone3-ids"]);
}

/// It finds no memory, rather than memory with wrong contents. Its first call of a hook says so.
#[test]
fn a_child_of_an_instruction_of_the_program_has_no_memory_of_the_device() {
    let program = helper!("abuse_own_call.c").to_str().expect("plain letters");
    let ends = |end: &str| format!("{end}\n").repeat(3) + "well\n";
    for part in ["reads", "maps"] {
        let native = within_limit(Command::new(program).arg(part));
        assert_eq!(native.stdout, ends("status 0"), "natively: {native:#?}");
        for trap in TRAPS {
            let out = within_limit(&mut small(trap).prepare([program, part]));
            let said = "the child cannot have the device";
            let (end, messages) = match part {
                "reads" => ("signal 11", 0),
                _ => ("status 2", 3),
            };
            assert_eq!(out.own_stdout(), ends(end), "{trap}, {part}: {out:#?}");
            assert_eq!(out.stderr.matches(said).count(), messages, "{trap}");
        }
    }
}

#[test]
fn the_last_thread_ends_a_program_that_its_first_has_left() {
    let parts = ["pthread_exit", "alone", "raw"];
    all_well(helper!("abuse_exits.c"), &parts);
}

/// OpenSSH's child before a login waited for ever at its end.
#[test]
fn a_child_in_a_cage_ends_as_it_does_without_a_device() {
    let parts = ["cage exit", "cage thread", "cage filter"];
    all_well(helper!("abuse_exits.c"), &parts);
}

#[test]
fn long_vectors_are_read_as_a_whole() {
    all_well(helper!("abuse_transfers.c"), &["vectors"]);
}

#[test]
fn a_socket_is_received_as_a_whole() {
    all_well(helper!("abuse_transfers.c"), &["recv", "recvmsg"]);
}

/// `dd` with blocks of more than a mebibyte copied a mebibyte of each.
#[test]
fn more_than_a_mebibyte_is_moved_by_one_call() {
    all_well(
        helper!("abuse_transfers.c"),
        &["all", "all-by-message", "files"],
    );
}

/// What the kernel had taken away was lost: a connection that was refused seemed to be made.
#[test]
fn what_a_call_took_away_is_told_where_no_page_is() {
    let parts = ["error", "room", "messages", "queues", "random", "sets"];
    all_well(helper!("abuse_taken.c"), &parts);
    let more = ["semaphores", "populated", "counts", "numbers"];
    all_well(helper!("abuse_taken.c"), &more);
}

/// The thread waited for the lock of the heap, or of the library's own, that it held itself.
#[test]
fn handlers_may_fork_and_read_in_the_midst_of_an_allocation() {
    let parts = ["fork", "_Fork", "read", "action"];
    all_well(helper!("abuse_interrupted.c"), &parts);
}

/// In signal mode the first ended with `EFAULT`, and its datagram was lost.
#[test]
fn several_messages_are_moved_by_one_call() {
    all_well(helper!("abuse_transfers.c"), &["messages"]);
}

#[test]
fn memory_is_filled_with_random_bytes() {
    all_well(helper!("abuse_transfers.c"), &["random"]);
}

/// Erlang waits by `ppoll`.
#[test]
fn what_a_call_waited_for_is_told_where_no_page_is() {
    let parts = ["descriptors", "events", "children", "connections", "times"];
    all_well(helper!("abuse_waits.c"), &parts);
}

/// The C library ends a program whose lock the kernel cannot read. LIFO takes its page away at the
/// next miss of any thread.
#[test]
fn threads_may_wait_at_locks_on_the_device() {
    let program = helper!("abuse_locks.c").to_str().expect("plain letters");
    let file = tempfile::NamedTempFile::new_in("/dev/shm").expect("a file in memory");
    file.as_file().set_len(16 << 20).expect("room");
    let path = file.path().to_str().expect("plain letters");
    let (dax, mut wrong) = (format!("dax:{path}"), String::new());
    for (place, words) in [("heap", &[program][..]), (&dax, &[program, path])] {
        for trap in TRAPS {
            let run = small(trap).cache("256KiB").set("cache.policy", "lifo");
            let run = run.set("nand.read", "5us").args(["--place", place]);
            if let Some(what) = fault(&within_limit(&mut run.prepare(words))) {
                writeln!(wrong, "{trap} {place}: {what}").expect("a string grows");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What a hook gives back at its end it gives back as the thread's stack is unwound.
#[test]
fn a_thread_may_be_cancelled_while_a_call_waits() {
    all_well(helper!("abuse_cancel.c"), &["all"]);
}

/// A mask for the time of a wait held SIGBUS back, and so the handler's pages.
#[test]
fn handlers_may_miss_while_a_call_waits() {
    all_well(helper!("abuse_waits.c"), &["signals"]);
}

fn stacks() -> &'static Path {
    helper!("abuse_stacks.c")
}

#[test]
fn nothing_below_a_small_stack_is_written() {
    all_well(stacks(), &["small"]);
}

#[test]
fn stacks_may_lie_on_the_heap() {
    let parts = ["heap", "alternate", "raw-alternate", "alternate-of-a-child"];
    all_well(stacks(), &parts);
}

/// Erlang installs every action again that it finds, with an alternate stack.
#[test]
fn a_program_sees_no_action_but_its_own() {
    let parts = ["name none", "name stack", "alias none", "alias stack"];
    all_well(helper!("abuse_sigaction.c"), &parts);
}

/// Erlang wraps `sigaction` by way of the next `__sigaction`, which called the wrapper again. And
/// the runtime's threads called the program's `fchmod`: `fakeroot-tcp` ended with an error.
#[test]
fn a_program_may_wrap_functions_of_the_c_library() {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compile("abuse_wrappers.c", &["-rdynamic"]));
    all_well(program, &[""]);
}

/// A stressor of `stress-ng` reads the page before the first that it gets, and died of it.
#[test]
fn there_is_memory_below_the_break() {
    all_well(helper!("abuse_break.c"), &[""]);
}

#[test]
fn every_readable_mapping_can_be_read() {
    all_well(helper!("abuse_maps.c"), &[""]);
}

#[test]
fn mremap_moves_to_a_given_place_and_grows_into_a_hole() {
    all_well(helper!("abuse_mremap.c"), &["hole", "fixed", "refusals"]);
}

#[test]
fn buffers_that_may_not_be_accessed_are_refused() {
    all_well(helper!("abuse_access.c"), &["all"]);
}

#[test]
fn mremap_may_keep_the_old_place() {
    all_well(helper!("abuse_mremap.c"), &["dontunmap", "counted"]);
}

#[test]
fn behind_the_end_of_a_truncated_device_file_is_a_bus_error() {
    let builder = tempfile::Builder::new();
    let mut wrong = String::new();
    for trap in TRAPS {
        let file = builder.tempfile_in("/dev/shm").expect("a file in memory");
        let path = file.path().to_str().expect("plain letters");
        let program = helper!("abuse_truncate.c").to_str().expect("plain letters");
        let run = small(trap)
            .cache("1MiB")
            .args(["--place", &format!("dax:{path}")]);
        let out = within_limit(&mut run.prepare([program, path]));
        if let Some(what) = fault(&out) {
            writeln!(wrong, "{trap}: {what}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Each switch took 32 MiB of an allocator that gives nothing back.
#[test]
fn a_policy_can_be_switched_a_thousand_times() {
    let source = "crates/sluice-cli/tests/programs/abuse_switches.c";
    let program = c_program(source, "abuse_switches");
    let run = Sluice::run("event")
        .set("device.capacity", "24GiB")
        .cache("16GiB");
    let out = within_limit(&mut run.prepare([program.to_str().expect("plain letters"), "1200"]));
    assert_eq!(fault(&out), None, "{out:#?}");
}

/// The kernel does not count the runtime's threads as the program's either, where that matters.
#[test]
fn a_program_with_one_thread_may_have_what_only_such_a_one_gets() {
    let parts = ["parts", "user", "user-and-pid", "threads", "count", "links"];
    all_well(helper!("abuse_namespaces.c"), &parts);
}

#[test]
fn a_program_may_fork_at_another_root() {
    all_well(helper!("abuse_namespaces.c"), &["chroot"]);
}

/// A filter for all threads forbids `ioctl`, without which no page can be served.
#[test]
fn a_filter_for_all_threads_of_a_program_with_one_binds_that_one() {
    let program = helper!("abuse_namespaces.c")
        .to_str()
        .expect("plain letters");
    let out = within_limit(&mut small("event").prepare([program, "filter"]));
    assert!(fault(&out).is_none(), "{out:#?}");
    out.evicted();
}

/// What a program may open itself is what it has asked for. Children and other images could not
/// have their device then, and ended.
#[test]
fn a_program_may_lower_its_limit_of_descriptors() {
    let script = "ulimit -Sn 6; a=(); for ((i = 0; i < 60000; i++)); do a[i]=$i; done; \
                  (exec 5</dev/null && ! exec 6</dev/null && echo ${a[59999]}) 2>/dev/null; \
                  /usr/bin/python3 -c 'print(sum(bytearray(8 << 20)), \
                  __import__(\"resource\").getrlimit(7)[0])'; echo well";
    let mut wrong = String::new();
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare(["bash", "-c", script]));
        if fault(&out).is_some() || out.own_stdout() != "59999\n0 6\nwell\n" {
            writeln!(wrong, "{trap}: {out:#?}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// SIGXFSZ ended each program that was started under the limit, for the runtime's own files.
#[test]
fn a_program_may_lower_its_limit_of_file_sizes() {
    let stored = helper!("stored.c").to_str().expect("plain letters");
    let script = format!(
        "ulimit -Sf 8; {stored} once 16 | grep -c well; {stored} forks 4; \
         head -c 9000 /dev/zero >\"$0\" 2>/dev/null; echo $(($? > 0)) $(stat -c %s \"$0\")"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    let file = file.to_str().expect("plain letters");
    let mut wrong = String::new();
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare(["bash", "-c", &script, file]));
        if !out.own_stdout().ends_with("1\nwell\n1 8192\n") {
            writeln!(wrong, "{trap}: {out:#?}").expect("a string grows");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
