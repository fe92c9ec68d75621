//! Waits in signal mode where more threads miss than there are CPUs.
//!
//! A thread that spins until its page is there has its CPU to itself, as a load that stalls has.
//! With more threads than CPUs it would keep the others from missing at all, which a device with
//! many dies would serve meanwhile. So they sleep. A timer ends a sleep late, by 13 to 25 µs in a
//! virtual machine; a thread that wakes another on its own CPU does so within 3 µs. Hence on each
//! CPU one of those that wait stays awake and wakes the others in time, as long as no thread of the
//! program seems to want the CPU.

use crate::active;
use crate::clock::now_ns;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use sluice_region::{CpuSet, cpu_now, sleep_on, thread_id, timer_slack, wake_one};

/// Threads that sleep at once. Others spin.
const BERTHS: usize = 256;
/// CPUs that are told apart; others share what is noted of each.
const CPUS: usize = 64;
/// From the call that wakes a thread on this CPU until it runs.
const SWITCH_NS: u64 = 2_500;
/// A sleeper's own timer is set so long before its moment.
const TIMER_NS: u64 = 14_000;
/// What is left to do for a page at its moment takes so long.
const MAP_NS: u64 = 2_000;
/// A wait this short is not slept.
const SHORT_NS: u64 = TIMER_NS + 6_000;

/// A place for a thread that waits.
struct Berth {
    /// When it is to go on; 0 for nobody, `TAKEN` for somebody who is not asleep.
    due_ns: AtomicU64,
    cpu: AtomicU32,
    /// Changes when the sleeper is called.
    word: AtomicU32,
}

const FREE: u64 = 0;
const TAKEN: u64 = u64::MAX;

static ALL: [Berth; BERTHS] = [const {
    Berth {
        due_ns: AtomicU64::new(FREE),
        cpu: AtomicU32::new(0),
        word: AtomicU32::new(0),
    }
}; BERTHS];
/// Berths from this one up were never taken.
static USED: AtomicU32 = AtomicU32::new(0);
/// Threads that wait here.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Whether somebody is awake for the sleepers of a CPU.
static WATCHED: [AtomicBool; CPUS] = [const { AtomicBool::new(false) }; CPUS];

/// Why a watch ended.
enum Watched {
    Due,
    /// Another thread is to have the CPU.
    GivesWay,
}

/// In the child of a fork: no other thread waits.
pub fn after_fork_in_child() {
    for berth in &ALL {
        berth.due_ns.store(FREE, Relaxed);
    }
    WATCHED.iter().for_each(|cpu| cpu.store(false, Relaxed));
    WAITING.store(0, Release);
}

/// Waits until shortly before a moment if more threads miss than there are CPUs. Says whether they
/// do; if not, it has not waited.
pub fn wait_among(due_ns: u64) -> bool {
    let now = now_ns();
    let due_ns = due_ns.saturating_sub(MAP_NS);
    active::note(thread_id(), now);
    let active = active::count(now);
    let cpus = CpuSet::of(0).map_or(usize::MAX, |set| set.count());
    let is_crowd = active > cpus && due_ns > now + SHORT_NS;
    let Some(berth) = is_crowd.then(Berth::take).flatten() else {
        return false;
    };
    WAITING.fetch_add(1, AcqRel);
    berth.wait(due_ns, active);
    WAITING.fetch_sub(1, AcqRel);
    berth.due_ns.store(FREE, Release);
    true
}

impl Berth {
    fn take() -> Option<&'static Berth> {
        let is_taken = |berth: &&Berth| {
            let free = berth.due_ns.load(Relaxed) == FREE;
            free && berth
                .due_ns
                .compare_exchange(FREE, TAKEN, AcqRel, Relaxed)
                .is_ok()
        };
        let (at, berth) = ALL.iter().enumerate().find(|(_, berth)| is_taken(berth))?;
        USED.fetch_max(at as u32 + 1, AcqRel);
        Some(berth)
    }

    fn wait(&self, due_ns: u64, active: usize) {
        while now_ns() < due_ns {
            let cpu = cpu_now();
            let watched = &WATCHED[cpu % CPUS];
            if !watched.swap(true, AcqRel) {
                let why = self.watch(cpu, due_ns, active);
                watched.store(false, Release);
                if let Watched::Due = why {
                    return;
                }
            }
            self.sleep(cpu, due_ns);
        }
    }

    /// Stays awake until its own moment, or wakes another thread of this CPU and gives way to it.
    fn watch(&self, cpu: usize, due_ns: u64, active: usize) -> Watched {
        let used = USED.load(Acquire) as usize;
        loop {
            let now = now_ns();
            if now >= due_ns {
                return Watched::Due;
            }
            let is_due = |berth: &&Berth| {
                let at = berth.due_ns.load(Acquire);
                at <= now + SWITCH_NS && at != FREE && berth.cpu.load(Relaxed) == cpu as u32
            };
            if let Some(next) = ALL[..used].iter().find(is_due)
                && next.call()
            {
                return Watched::GivesWay;
            }
            let others_run = active > WAITING.load(Relaxed) as usize;
            if others_run && due_ns > now + SHORT_NS {
                return Watched::GivesWay;
            }
            core::hint::spin_loop();
        }
    }

    /// Wakes the sleeper, unless somebody else does.
    fn call(&self) -> bool {
        let at = self.due_ns.load(Acquire);
        let is_mine = at != FREE
            && at != TAKEN
            && self
                .due_ns
                .compare_exchange(at, TAKEN, AcqRel, Relaxed)
                .is_ok();
        if is_mine {
            self.word.fetch_add(1, AcqRel);
            wake_one(&self.word);
        }
        is_mine
    }

    /// Sleeps until it is called, or its own timer says that the moment is near.
    fn sleep(&self, cpu: usize, due_ns: u64) {
        let until_ns = due_ns.saturating_sub(TIMER_NS);
        if now_ns() >= until_ns {
            // Nobody gains by a sleep this short, and somebody watches.
            core::hint::spin_loop();
            return;
        }
        let word = self.word.load(Acquire);
        self.cpu.store(cpu as u32, Relaxed);
        self.due_ns.store(due_ns, Release);
        let slack = timer_slack(1);
        sleep_on(&self.word, word, until_ns);
        timer_slack(slack);
        // Whoever calls from now on finds nobody asleep.
        self.due_ns.store(TAKEN, Release);
    }
}
