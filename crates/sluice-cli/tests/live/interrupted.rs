//! Handlers of signals that come in the midst of a call, calls that never return, and forks that
//! the kernel refuses.

use crate::abuse::{all_well, fault, small, within_limit};
use crate::build::helper;
use crate::sluice::TRAPS;

/// The thread waited for the heap's lock, which it had. Without a device the C library takes none
/// for a program with one thread; what becomes of its lists then is its own affair.
#[test]
fn handlers_may_allocate_in_the_midst_of_an_allocation() {
    let program = helper!("abuse_interrupted.c");
    let program = program.to_str().expect("plain letters");
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare([program, "allocate"]));
        assert_eq!(fault(&out), None, "{trap}");
        out.evicted();
    }
}

/// Signals of the thread's own instructions were left open while it had the runtime's locks. The
/// handler of one that was only sent waited for its own thread.
#[test]
fn what_faults_send_may_be_sent_to_a_thread_in_the_midst_of_a_call() {
    let signals = [libc::SIGBUS, libc::SIGSYS];
    let parts = signals.map(|signal| format!("{signal} maps"));
    all_well(
        helper!("abuse_sent.c"),
        &parts.each_ref().map(String::as_str),
    );
}

#[test]
fn what_faults_send_may_be_sent_to_a_thread_that_forks() {
    let signals = [libc::SIGBUS, libc::SIGSYS, libc::SIGSEGV];
    let parts = signals.map(|signal| format!("{signal} forks"));
    all_well(
        helper!("abuse_sent.c"),
        &parts.each_ref().map(String::as_str),
    );
}

/// In signal mode memory of the library's own was lost each time, until there was none.
#[test]
fn a_handler_may_leave_a_call_for_good() {
    all_well(helper!("abuse_jumps.c"), &[""]);
}

/// The report counted them as forks.
#[test]
fn forks_that_are_refused_are_none() {
    let program = helper!("abuse_refused.c").to_str().expect("plain letters");
    for trap in TRAPS {
        let out = within_limit(&mut small(trap).prepare([program]));
        assert_eq!(fault(&out), None, "{trap}");
        assert_eq!(out.number("/host/forks"), 3, "{trap}");
        out.evicted();
    }
}
