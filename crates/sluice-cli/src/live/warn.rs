//! What a user should know although all went well.

use crate::session::{SessionDir, is_full};
use crate::warn::{of_refusals, of_wear};
use sluice_abi::Counter;
use sluice_results::{Exit, Run};
use sluice_runtime::Place;
use sluice_units::printable;
use std::path::Path;

/// A program that stores to a file in memory for which there is none gets a SIGBUS, and nobody says
/// why.
pub fn of_full(exit: Exit, session: &SessionDir, place: &Place) {
    if exit != Exit::Signal(libc::SIGBUS) {
        return;
    }
    let file = match place {
        Place::Dax(path) => is_full(path).then_some(path.as_path()),
        Place::Heap => None,
    };
    let session = session.is_full().then(|| session.path());
    if let Some(path) = file.or(session) {
        let at = path.parent().unwrap_or(Path::new("/"));
        errln!(
            "sluice: warning: the file system of {} is full, which ends a program that stores to \
             a file there by this signal (SIGBUS); make room, or let the file be smaller",
            printable(&at.to_string_lossy())
        );
    }
}

/// What a user should know although the program may have ended well.
pub fn of_run(result: &Run<'_>) {
    if result.main().is_none() {
        errln!(
            "sluice: warning: the preload library did not start in the program; nothing of it \
             was on the device"
        );
        return;
    }
    // Of all its processes: a script does little itself.
    let count = |counter| result.processes.iter().map(|p| p.get(counter)).sum::<u64>();
    of_nothing(count(Counter::Traps), result.place);
    if count(Counter::KernelFaults) > 0 {
        errln!(
            "sluice: warning: {} system calls met missing pages and were tried again; \
             `--trap event` needs no such help",
            count(Counter::KernelFaults)
        );
    }
    of_refusals(count(Counter::PolicyRefused));
    of_wear(count(Counter::WritesRefused));
    of_sharing(count(Counter::SharedBytes));
    if count(Counter::DeviceFull) > 0 {
        errln!(
            "sluice: warning: the device was full {} times (raise device.capacity)",
            count(Counter::DeviceFull)
        );
    }
    if count(Counter::PrivateDax) > 0 {
        errln!(
            "sluice: warning: {} private mappings of the DAX file stayed outside the device",
            count(Counter::PrivateDax)
        );
    }
}

/// Figures of nothing look like those of a fast device.
fn of_nothing(traps: u64, place: &str) {
    // A guest may leave its device alone.
    if traps == 0 && !place.starts_with("guest") {
        let why = match place.strip_prefix("dax:") {
            Some(path) => format!("nobody touched a shared mapping of {}", printable(path)),
            None => "it used no memory that can be placed there".into(),
        };
        errln!("sluice: warning: nothing of the program was on the device: {why}");
    }
}

/// Their memory was anywhere but on the device, and so were the programs that they started.
pub fn of_programs(outside: u64) {
    if outside > 0 {
        errln!(
            "sluice: warning: {outside} {} not on the device, for the preload library did not \
             start there: statically linked, set-user-ID, of another machine or C library, or \
             started without LD_PRELOAD in the environment",
            if outside == 1 {
                "program was"
            } else {
                "programs were"
            }
        );
    }
}

/// What processes share is no part of the device, and of the program's figures.
fn of_sharing(bytes: u64) {
    if bytes > 0 {
        errln!(
            "sluice: warning: {:.1} MiB of shared memory were mapped, which stays in DRAM and not \
             on the device",
            bytes as f64 / f64::from(1 << 20)
        );
    }
}
