//! What belongs to each of QEMU's CPUs, found by its number without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Most CPUs of a machine, and most threads of a program at a time.
pub const CPUS_MAX: usize = 1024;

/// One `T` for each CPU. Made when the CPU is, and kept for as long as the process lives.
///
/// The thread of a CPU is the only one that uses its `T`, but at the end, when the CPUs have
/// stopped.
pub struct Cpus<T> {
    slots: [AtomicPtr<T>; CPUS_MAX],
}

impl<T> Cpus<T> {
    /// Room for what each CPU has, before QEMU has started one.
    pub const fn new() -> Cpus<T> {
        Cpus {
            slots: [const { AtomicPtr::new(ptr::null_mut()) }; CPUS_MAX],
        }
    }

    /// Gives a CPU its own, if it has none: numbers of threads that have ended are used again.
    pub fn add(&self, cpu: u32, make: impl FnOnce() -> T) {
        let Some(slot) = self.slots.get(cpu as usize) else {
            eprintln!("sluice: more than {CPUS_MAX} CPUs or threads at a time");
            std::process::abort();
        };
        if slot.load(Acquire).is_null() {
            slot.store(Box::into_raw(Box::new(make())), Release);
        }
    }

    /// What a CPU has.
    ///
    /// # Safety
    /// Only in a callback of this CPU that came after [`Cpus::add`] for it, or when no CPU runs;
    /// and one at a time.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "as said: each belongs to one thread")]
    pub unsafe fn get(&self, cpu: u32) -> &mut T {
        // SAFETY: leaked when it was made, and nobody else uses it, as the caller says.
        unsafe { &mut *self.slots.get_unchecked(cpu as usize).load(Relaxed) }
    }

    /// Those that there are.
    ///
    /// # Safety
    /// Only when no CPU runs.
    pub unsafe fn all(&self) -> impl Iterator<Item = (u32, &mut T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(cpu, slot)| {
            // SAFETY: leaked when it was made, and nobody else uses it, as the caller says.
            let cpu_state = unsafe { slot.load(Acquire).as_mut() }?;
            Some((cpu as u32, cpu_state))
        })
    }
}
