//! What belongs to each of QEMU's CPUs, found by its number without a lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// CPUs of the first segment, which is there from the start. Each further one has twice as many as
/// the one before.
const FIRST: usize = 64;
/// Segments beside the first, for all numbers that there can be.
const MORE: usize = (u32::BITS - FIRST.ilog2()) as usize;

/// One `T` for each CPU. Made when the CPU is, and kept for as long as the process lives.
///
/// The thread of a CPU is the only one that uses its `T`, but at the end, when the CPUs have
/// stopped. QEMU gives a thread of a program the number above the highest that lives: where each
/// thread starts another before it ends, numbers have no bound.
pub struct Cpus<T> {
    first: [AtomicPtr<T>; FIRST],
    /// The first slot of each further segment.
    more: [AtomicPtr<AtomicPtr<T>>; MORE],
}

/// The further segment that a number above the first one's lies in, and its place there.
fn place(cpu: usize) -> (usize, usize) {
    let segment = (cpu / FIRST).ilog2();
    (segment as usize, cpu - (FIRST << segment))
}

/// Slots of a further segment.
fn len(segment: usize) -> usize {
    FIRST << segment
}

impl<T> Cpus<T> {
    /// Room for what each CPU has, before QEMU has started one.
    pub const fn new() -> Cpus<T> {
        Cpus {
            first: [const { AtomicPtr::new(ptr::null_mut()) }; FIRST],
            more: [const { AtomicPtr::new(ptr::null_mut()) }; MORE],
        }
    }

    /// Gives a CPU its own, if it has none: numbers of threads that have ended are used again.
    pub fn add(&self, cpu: u32, make: impl FnOnce() -> T) {
        let slot = self.made(cpu as usize);
        if slot.load(Acquire).is_null() {
            slot.store(Box::into_raw(Box::new(make())), Release);
        }
    }

    /// The slot of a CPU, whose segment is made if it is the first of it.
    fn made(&self, cpu: usize) -> &AtomicPtr<T> {
        if let Some(slot) = self.first.get(cpu) {
            return slot;
        }
        let (segment, at) = place(cpu);
        let known = &self.more[segment];
        if known.load(Acquire).is_null() {
            let slots: Box<[AtomicPtr<T>]> =
                (0..len(segment)).map(|_| AtomicPtr::default()).collect();
            let slots = Box::into_raw(slots);
            let slots_at = slots.cast::<AtomicPtr<T>>();
            let null = ptr::null_mut();
            if known
                .compare_exchange(null, slots_at, AcqRel, Acquire)
                .is_err()
            {
                // SAFETY: made here; another thread was faster, and nobody has seen this one.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
        // SAFETY: a segment that is never freed, of more slots than that.
        unsafe { &*known.load(Acquire).add(at) }
    }

    /// What a CPU has.
    ///
    /// # Safety
    /// Only in a callback of this CPU that came after [`Cpus::add`] for it, or when no CPU runs;
    /// and one at a time.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "as said: each belongs to one thread")]
    pub unsafe fn get(&self, cpu: u32) -> &mut T {
        let slot = match self.first.get(cpu as usize) {
            Some(slot) => slot,
            // SAFETY: the segment was made when the CPU was added, as the caller says.
            None => unsafe {
                let (segment, at) = place(cpu as usize);
                &*self.more.get_unchecked(segment).load(Relaxed).add(at)
            },
        };
        // SAFETY: leaked when it was made, and nobody else uses it, as the caller says.
        unsafe { &mut *slot.load(Relaxed) }
    }

    /// Those that there are.
    ///
    /// # Safety
    /// Only when no CPU runs.
    pub unsafe fn all(&self) -> impl Iterator<Item = (u32, &mut T)> {
        let segments = self.more.iter().enumerate();
        let more = segments.flat_map(|(segment, slots)| {
            let slots = match slots.load(Acquire) {
                at if at.is_null() => &[],
                // SAFETY: a segment that is never freed, of so many slots.
                at => unsafe { std::slice::from_raw_parts(at, len(segment)) },
            };
            (FIRST << segment..).zip(slots)
        });
        let slots = self.first.iter().enumerate().chain(more);
        slots.filter_map(|(cpu, slot)| {
            // SAFETY: leaked when it was made, and nobody else uses it, as the caller says.
            let cpu_state = unsafe { slot.load(Acquire).as_mut() }?;
            Some((cpu as u32, cpu_state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        let mut next = FIRST;
        for segment in 0..MORE {
            assert_eq!(place(next), (segment, 0));
            next += len(segment);
            assert_eq!(place(next - 1), (segment, len(segment) - 1));
        }
        assert_eq!(next, 1 << u32::BITS);
    }

    /// Up to 1,024 numbers there was room, and the next one ended the program.
    #[test]
    fn numbers_have_no_bound() {
        let cpus = Cpus::new();
        let numbers = || (0..3_000).chain([70_000, 4_000_000]);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let cpus = &cpus;
                let own = numbers().filter(move |cpu| cpu % 2 == thread);
                scope.spawn(move || own.for_each(|cpu| cpus.add(cpu, || u64::from(cpu) * 3)));
            }
        });
        cpus.add(5, || 0);
        for cpu in numbers() {
            // SAFETY: added, and nobody else uses it.
            assert_eq!(unsafe { *cpus.get(cpu) }, u64::from(cpu) * 3);
        }
        // SAFETY: nobody else uses them.
        let all: Vec<_> = unsafe { cpus.all() }
            .map(|(cpu, own)| (cpu, *own))
            .collect();
        let expected: Vec<_> = numbers().map(|cpu| (cpu, u64::from(cpu) * 3)).collect();
        assert!(all == expected, "{} and {}", all.len(), expected.len());
    }
}
