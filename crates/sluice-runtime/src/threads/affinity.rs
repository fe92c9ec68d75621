//! CPUs that the program chooses for a thread while a handler holds the thread on a CPU.
//!
//! A handler notes a thread's CPUs, binds it to one, and gives it the others back when its page is
//! there. What the program has chosen meanwhile must stay. A handler waits for nobody, and gives
//! nothing back once a choice was marked. A thread that chooses does so again if a handler acted
//! meanwhile, until none did. Threads share slots by their numbers, which costs a look or a try.
//!
//! The woken thread may run before it has its CPUs back. Threads, children and programs that it
//! makes then would have one CPU for ever. So it has them back before it makes one, and is not held
//! until it has.

use crate::clock::{now_ns, sleep_until};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use sluice_region::{CpuSet, yield_cpu};

const SLOTS: usize = 64;
/// Tries to choose between two acts of handlers, each some microseconds long and many apart.
const QUICK_TRIES: u32 = 100;
/// Tries after pauses: a handler that lost its CPU in the middle of an act is to have it again.
/// They take a second and more in all, and end, so that a handler that is gone holds nobody for
/// ever.
const SLOW_TRIES: u32 = 10_000;
const PAUSE_NS: u64 = 100_000;
/// Nobody opens a file and reads it much later.
const READING_NS: u64 = 10_000_000;

#[derive(Debug)]
struct Slot {
    /// The thread for which the program chose last, and above it how many choices there were.
    chosen: AtomicU64,
    /// Acts of handlers that have begun, and that have ended.
    begun: AtomicU64,
    ended: AtomicU64,
    /// The thread that is held, or 0.
    held: AtomicU32,
    /// Calls under way that need all CPUs of a thread.
    needed: AtomicU32,
    /// Until then it has them, too.
    needed_until_ns: AtomicU64,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot {
        chosen: AtomicU64::new(0),
        begun: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        held: AtomicU32::new(0),
        needed: AtomicU32::new(0),
        needed_until_ns: AtomicU64::new(0),
    }
}; SLOTS];

/// A thread that is held, with the CPUs that it gets back.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    thread: u32,
    cpu: usize,
    before: CpuSet,
    chosen: u64,
}

/// Holds a thread on a CPU, unless it has no other, or is to keep them.
pub fn hold(thread: u32, cpu: usize) -> Option<Held> {
    let slot = slot(thread);
    slot.act(|| {
        slot.held
            .compare_exchange(0, thread, SeqCst, Relaxed)
            .ok()?;
        let held = match slot.is_needed() {
            false => slot.bind(thread, cpu),
            true => None,
        };
        if held.is_none() {
            slot.held.store(0, SeqCst);
        }
        held
    })
}

/// Has a thread have all of its CPUs from now until [`need_cpus_no_longer`]. One that ends in
/// between leaves its slot so: threads that share it are held no more, and wake up later.
pub fn need_cpus(thread: u32) {
    slot(thread).needed.fetch_add(1, SeqCst);
    await_cpus(thread);
}

/// It may be held again.
pub fn need_cpus_no_longer(thread: u32) {
    slot(thread).needed.fetch_sub(1, SeqCst);
}

/// Has a thread have all of its CPUs for as long as reading a file of the kernel's may take.
pub fn need_cpus_for_a_while(thread: u32) {
    let end_ns = now_ns() + READING_NS;
    slot(thread).needed_until_ns.fetch_max(end_ns, SeqCst);
    await_cpus(thread);
}

/// Waits until a thread is not held. It is not for long: its page is there, or about to be.
pub fn await_cpus(thread: u32) {
    let slot = slot(thread);
    for tried in 0..QUICK_TRIES + SLOW_TRIES {
        if slot.held.load(SeqCst) != thread {
            return;
        }
        match tried < QUICK_TRIES {
            // The handler may want the caller's CPU.
            true => yield_cpu(),
            false => sleep_until(now_ns() + PAUSE_NS),
        }
    }
}

impl Held {
    /// Gives the thread its CPUs back, if they were not chosen anew.
    pub fn let_go(&self) {
        let slot = slot(self.thread);
        slot.act(|| {
            let chosen = slot.chosen.load(SeqCst);
            if chosen == self.chosen || !self.is_chosen(chosen) {
                self.before.bind(self.thread);
            }
            slot.held.store(0, SeqCst);
        });
    }

    /// Whether a mark is this thread's. Behind one of another thread its own may be hidden.
    fn is_chosen(&self, mark: u64) -> bool {
        let is_own = mark as u32 == self.thread;
        is_own || CpuSet::of(self.thread).is_some_and(|now| !now.is_one(self.cpu))
    }
}

/// Makes the call by which the program chooses CPUs for a thread, so often that its choice is the
/// last. `call` says whether the kernel agreed.
pub fn choose(thread: u32, mut call: impl FnMut() -> bool) {
    let slot = slot(thread);
    for tried in 0..QUICK_TRIES + SLOW_TRIES {
        if tried >= QUICK_TRIES {
            sleep_until(now_ns() + PAUSE_NS);
        }
        let (ended, begun) = (slot.ended.load(SeqCst), slot.begun.load(SeqCst));
        if !call() {
            return;
        }
        slot.mark(thread);
        if ended == begun && slot.begun.load(SeqCst) == begun {
            return;
        }
    }
}

/// In the child of a fork: no handler acts, and nobody needs anything.
pub fn reset() {
    for slot in &TABLE {
        slot.ended.store(slot.begun.load(Relaxed), SeqCst);
        slot.held.store(0, SeqCst);
        slot.needed.store(0, SeqCst);
    }
}

fn slot(thread: u32) -> &'static Slot {
    &TABLE[thread as usize % SLOTS]
}

impl Slot {
    fn act<T>(&self, act: impl FnOnce() -> T) -> T {
        self.begun.fetch_add(1, SeqCst);
        let result = act();
        self.ended.fetch_add(1, SeqCst);
        result
    }

    fn bind(&self, thread: u32, cpu: usize) -> Option<Held> {
        let chosen = self.chosen.load(SeqCst);
        let before = CpuSet::of(thread).filter(|set| set.count() > 1 && set.contains(cpu))?;
        let held = Held {
            thread,
            cpu,
            before,
            chosen,
        };
        CpuSet::one(cpu).bind(thread).then_some(held)
    }

    fn is_needed(&self) -> bool {
        let until_ns = self.needed_until_ns.load(SeqCst);
        // Most threads have opened no such file, and a trap asks for the time no more than it must.
        self.needed.load(SeqCst) > 0 || until_ns > 0 && now_ns() < until_ns
    }

    fn mark(&self, thread: u32) {
        let next = |mark: u64| Some((mark >> 32).wrapping_add(1) << 32 | u64::from(thread));
        // It always changes something.
        let _ = self.chosen.fetch_update(SeqCst, SeqCst, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::{cpu_now, thread_id};
    use std::sync::{Barrier, Mutex};
    use std::time::Duration;

    /// The tests count acts on the table.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    fn only() -> std::sync::MutexGuard<'static, ()> {
        ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner())
    }

    #[test]
    fn what_is_chosen_while_a_thread_is_held_stays() {
        let _only = only();
        let (me, cpu) = (thread_id(), cpu_now());
        let all = CpuSet::of(0).unwrap();
        if all.count() < 2 {
            println!("not tested: needs two CPUs");
            return;
        }
        let other = CpuSet::one(all.after(cpu));
        let own = CpuSet::one(cpu);
        let hidden = || slot(me).mark(me + SLOTS as u32);
        // What is chosen meanwhile, whether for another thread as well, CPUs that it has then.
        let cases = [
            (None, false, all.count()),
            (None, true, all.count()),
            (Some(other), false, 1),
            (Some(other), true, 1),
            (Some(own), false, 1),
        ];
        for (choice, is_shared, count) in cases {
            let held = hold(me, cpu).unwrap();
            assert_eq!(CpuSet::of(0).unwrap().count(), 1);
            if let Some(set) = choice {
                choose(me, || set.bind(me));
            }
            if is_shared {
                hidden();
            }
            held.let_go();
            assert_eq!(
                CpuSet::of(0).unwrap().count(),
                count,
                "{choice:?} {is_shared}"
            );
            all.bind(me);
        }
    }

    /// A handler loses its CPU between its look at a thread's CPUs and its own choice of them.
    #[test]
    fn a_choice_outlasts_an_act_that_is_held_up() {
        const HELD_UP: Duration = Duration::from_millis(50);
        let _only = only();
        let thread = 9 + SLOTS as u32;
        let (is_begun, cpus) = (Barrier::new(2), Mutex::new("all"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                slot(thread).act(|| {
                    is_begun.wait();
                    std::thread::sleep(HELD_UP);
                    *cpus.lock().unwrap() = "the handler's";
                });
            });
            is_begun.wait();
            choose(thread, || {
                *cpus.lock().unwrap() = "the program's";
                true
            });
        });
        assert_eq!(*cpus.lock().unwrap(), "the program's");
    }

    /// A thread that was woken made another one before it had its CPUs back.
    #[test]
    fn a_thread_that_needs_its_cpus_has_them_back_and_is_not_held() {
        let _only = only();
        let (me, cpu) = (thread_id(), cpu_now());
        let all = CpuSet::of(0).unwrap();
        if all.count() < 2 {
            println!("not tested: needs two CPUs");
            return;
        }
        let held = hold(me, cpu).unwrap();
        assert!(hold(me, cpu).is_none(), "once at a time");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                held.let_go();
            });
            need_cpus(me);
            assert_eq!(CpuSet::of(0).unwrap().count(), all.count());
        });
        assert!(hold(me, cpu).is_none(), "it needs them");
        need_cpus_no_longer(me);
        hold(me, cpu).expect("it does not any more").let_go();
        need_cpus_for_a_while(me);
        assert!(hold(me, cpu).is_none(), "it needs them for a while");
        slot(me).needed_until_ns.store(0, SeqCst);
        hold(me, cpu).expect("that is over").let_go();
        assert_eq!(CpuSet::of(0).unwrap().count(), all.count());
    }

    #[test]
    fn a_choice_is_made_again_if_a_handler_acted_meanwhile_and_not_if_it_was_refused() {
        let _only = only();
        let thread = 7 + SLOTS as u32;
        let mut calls = 0;
        choose(thread, || {
            calls += 1;
            if calls < 3 {
                slot(thread).act(|| ());
            }
            true
        });
        assert_eq!(calls, 3);
        let before = slot(thread).chosen.load(SeqCst);
        choose(thread, || false);
        assert_eq!(slot(thread).chosen.load(SeqCst), before);
        // One that had begun before may end later.
        slot(thread).begun.fetch_add(1, SeqCst);
        let mut calls = 0;
        choose(thread, || {
            calls += 1;
            if calls == 2 {
                slot(thread).ended.fetch_add(1, SeqCst);
            }
            true
        });
        assert_eq!(calls, 3);
        slot(thread).begun.fetch_add(1, SeqCst);
        reset();
        assert_eq!(
            slot(thread).ended.load(SeqCst),
            slot(thread).begun.load(SeqCst)
        );
    }
}
