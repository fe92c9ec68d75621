//! What belongs to each of QEMU's CPUs, found by its number without a lock.

use crate::barrier::{before_look, everywhere};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// CPUs of the first segment, which is there from the start. Each further one has twice as many as
/// the one before.
const FIRST: usize = 64;
/// Segments beside the first, for all numbers that there can be.
const MORE: usize = (u32::BITS - FIRST.ilog2()) as usize;

/// One `T` for each CPU. Made when the CPU is, and kept for as long as the process lives.
///
/// The thread of a CPU is the only one that uses its `T`, until [`Cpus::close`]. QEMU gives a
/// thread of a program the number above the highest that lives: where each thread starts another
/// before it ends, numbers have no bound.
pub struct Cpus<T> {
    first: [AtomicPtr<Own<T>>; FIRST],
    /// The first slot of each further segment.
    more: [AtomicPtr<AtomicPtr<Own<T>>>; MORE],
    /// Nobody enters any more.
    is_closed: AtomicBool,
}

// SAFETY: `enter` and `all` say who may use a `T`: one thread at a time.
unsafe impl<T: Send> Sync for Cpus<T> {}

/// What a CPU has.
struct Own<T> {
    /// Whether its thread uses it.
    is_in_use: AtomicBool,
    own: UnsafeCell<T>,
}

/// What a CPU has, in use by its thread.
pub struct InUse<'a, T>(&'a Own<T>);

impl<T> Deref for InUse<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody else uses it: see `Cpus::enter`.
        unsafe { &*self.0.own.get() }
    }
}

impl<T> DerefMut for InUse<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: nobody else uses it: see `Cpus::enter`.
        unsafe { &mut *self.0.own.get() }
    }
}

impl<T> Drop for InUse<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_in_use.store(false, Release);
    }
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
            is_closed: AtomicBool::new(false),
        }
    }

    /// Gives a CPU its own, if it has none: numbers of threads that have ended are used again.
    pub fn add(&self, cpu: u32, make: impl FnOnce() -> T) {
        let slot = self.made(cpu as usize);
        if slot.load(Acquire).is_null() {
            let own = Own {
                is_in_use: AtomicBool::new(false),
                own: UnsafeCell::new(make()),
            };
            slot.store(Box::into_raw(Box::new(own)), Release);
        }
    }

    /// The slot of a CPU, whose segment is made if it is the first of it.
    fn made(&self, cpu: usize) -> &AtomicPtr<Own<T>> {
        if let Some(slot) = self.first.get(cpu) {
            return slot;
        }
        let (segment, at) = place(cpu);
        let known = &self.more[segment];
        if known.load(Acquire).is_null() {
            let slots: Box<[AtomicPtr<Own<T>>]> =
                (0..len(segment)).map(|_| AtomicPtr::default()).collect();
            let slots = Box::into_raw(slots);
            let slots_at = slots.cast::<AtomicPtr<Own<T>>>();
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

    /// What a CPU has, for its thread; none once they are closed.
    ///
    /// # Safety
    /// Only in a callback of this CPU that came after [`Cpus::add`] for it, and one at a time.
    #[inline]
    pub unsafe fn enter(&self, cpu: u32) -> Option<InUse<'_, T>> {
        let slot = match self.first.get(cpu as usize) {
            Some(slot) => slot,
            // SAFETY: the segment was made when the CPU was added, as the caller says.
            None => unsafe {
                let (segment, at) = place(cpu as usize);
                &*self.more.get_unchecked(segment).load(Relaxed).add(at)
            },
        };
        // SAFETY: leaked when it was made.
        let own = unsafe { &*slot.load(Relaxed) };
        own.is_in_use.store(true, Relaxed);
        let in_use = InUse(own);
        before_look();
        (!self.is_closed.load(Relaxed)).then_some(in_use)
    }

    /// Waits until no CPU uses what it has. None does any more then: a guest may end QEMU by an
    /// instruction of one CPU, and the others go on until the process is gone.
    pub fn close(&self) {
        self.is_closed.store(true, SeqCst);
        everywhere();
        for (_, own) in self.owns() {
            while own.is_in_use.load(Acquire) {
                std::thread::yield_now();
            }
        }
    }

    /// Those that there are.
    ///
    /// # Safety
    /// Only when no CPU runs, or after [`Cpus::close`].
    pub unsafe fn all(&self) -> impl Iterator<Item = (u32, &mut T)> {
        // SAFETY: nobody else uses them, as the caller says.
        self.owns()
            .map(|(cpu, own)| (cpu, unsafe { &mut *own.own.get() }))
    }

    fn owns(&self) -> impl Iterator<Item = (u32, &Own<T>)> {
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
            // SAFETY: leaked when it was made.
            let own = unsafe { slot.load(Acquire).as_ref() }?;
            Some((cpu as u32, own))
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
            let own = unsafe { cpus.enter(cpu) }.expect("nobody has closed");
            assert_eq!(*own, u64::from(cpu) * 3);
        }
        // SAFETY: nobody else uses them.
        let all: Vec<_> = unsafe { cpus.all() }
            .map(|(cpu, own)| (cpu, *own))
            .collect();
        let expected: Vec<_> = numbers().map(|cpu| (cpu, u64::from(cpu) * 3)).collect();
        assert!(all == expected, "{} and {}", all.len(), expected.len());
    }

    /// A CPU that went on while another ended QEMU sent its accesses a second time.
    #[test]
    fn after_the_end_no_cpu_uses_what_it_has() {
        let cpus: Cpus<[u64; 2]> = Cpus::new();
        (0..2).for_each(|cpu| cpus.add(cpu, || [0; 2]));
        // SAFETY: each by a thread of its own.
        let enter = |cpu| unsafe { cpus.enter(cpu) };
        let (begun, cpus, enter) = (std::sync::Barrier::new(3), &cpus, &enter);
        std::thread::scope(|scope| {
            for cpu in 0..2 {
                let begun = &begun;
                scope.spawn(move || {
                    enter(cpu).expect("nobody has closed")[0] += 1;
                    begun.wait();
                    while let Some(mut own) = enter(cpu) {
                        own[0] += 1;
                        std::hint::black_box(&mut own);
                        own[1] += 1;
                    }
                });
            }
            begun.wait();
            cpus.close();
            // SAFETY: closed.
            for (cpu, own) in unsafe { cpus.all() } {
                assert!(own[0] == own[1] + 1, "CPU {cpu}: {own:?}");
                *own = [0; 2];
            }
        });
        // SAFETY: closed.
        assert!(unsafe { cpus.all() }.all(|(_, own)| *own == [0; 2]));
    }
}
