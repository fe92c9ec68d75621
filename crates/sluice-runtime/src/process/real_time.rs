//! Real-time priorities: in event mode the runtime's threads stay above those of the program.
//!
//! A thread of the program may spin until another has had its page. If it has a real-time priority
//! the kernel gives its CPU to nobody below it, and a handler there would never bring the page. So
//! each thread of the runtime is one priority above the highest that the program has had.
//!
//! Where there is none above it, or none that the process may have, they have the same one. They
//! can then not take a CPU from a thread that spins, but may run on any other.

use core::sync::atomic::{AtomicI32, Ordering::*};
use sluice_region::{CpuSet, set_real_time};

/// The highest that a thread of the program has had, or was about to get. 0 if none had one.
static HIGHEST: AtomicI32 = AtomicI32::new(0);

/// Notes a priority that a thread of the program is about to get, or has.
pub fn note(priority: i32) {
    HIGHEST.fetch_max(priority, SeqCst);
}

/// Whether a thread of the program has had such a priority.
pub fn is_used() -> bool {
    HIGHEST.load(SeqCst) > 0
}

/// Puts a thread of the runtime above the program's. The service thread may run on all CPUs.
pub fn raise(thread: u32, service: u32) {
    let highest = HIGHEST.load(SeqCst);
    if highest == 0 || set_real_time(thread, highest + 1) {
        return;
    }
    set_real_time(thread, highest);
    if let Some(all) = CpuSet::of(service) {
        all.bind(thread);
    }
}
