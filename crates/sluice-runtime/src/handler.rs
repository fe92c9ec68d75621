//! Event mode: a thread that reads faults, waits for their deadlines, and maps pages.
//!
//! The thread runs on the CPU of the program's thread and keeps it there across the wake-up: a
//! switch on one CPU costs 3 µs here, a wake-up across CPUs 20 to 100 µs. While it waits it spins
//! in the place of the thread whose load would have stalled that CPU.

use crate::clock::{now_ns, sleep_until};
use crate::engine::{Engine, FORK_LOOK_NS};
use crate::pace::wait_until;
use crate::state::{Plan, Wait};
use crate::thread;
use sluice_region::{CpuSet, Event, cpu_now, raise_priority};

/// Waiting faults a handler keeps; more stay in the kernel until one is done.
const MAX_WAITING: usize = 1024;
/// Events read at once.
const BATCH: usize = 16;
/// Holding a thread on this CPU takes two system calls before it may be woken.
const PREPARE_NS: u64 = 2_000;

struct Handler {
    engine: &'static Engine,
    cpu: usize,
    own: u32,
    waiting: Box<[Option<Pending>]>,
    count: usize,
    deferred: [Option<(Event, u64)>; BATCH],
}

#[derive(Clone, Copy)]
struct Pending {
    wait: Wait,
    thread: u32,
}

/// Starts the session's handler threads, all signals blocked. Returns their number.
///
/// The first shares the CPU of the caller, the others take the CPUs that follow.
pub fn start(engine: &'static Engine) -> Result<usize, i32> {
    let all = CpuSet::of(0);
    let mut cpu = cpu_now();
    for n in 0..engine.session.handlers {
        spawn(engine, cpu)?;
        cpu = all.map_or(cpu, |set| set.after(cpu));
        debug_assert!(n < engine.session.handlers);
    }
    Ok(engine.session.handlers)
}

struct Start {
    engine: &'static Engine,
    cpu: usize,
}

fn spawn(engine: &'static Engine, cpu: usize) -> Result<(), i32> {
    let start = Box::into_raw(Box::new(Start { engine, cpu }));
    // SAFETY: the argument is handed to the new thread, which frees it.
    let spawned = unsafe { thread::spawn(main, start.cast()) };
    spawned.inspect_err(|_| {
        // SAFETY: there is no thread that has it.
        drop(unsafe { Box::from_raw(start) });
    })
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn main(start: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: made by `spawn` for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    CpuSet::one(start.cpu).bind(0);
    raise_priority();
    let mut handler = Handler {
        engine: start.engine,
        cpu: start.cpu,
        own: sluice_region::thread_id(),
        waiting: vec![None; MAX_WAITING].into(),
        count: 0,
        deferred: [None; BATCH],
    };
    drop(start);
    loop {
        handler.turn();
    }
}

impl Handler {
    /// Reads what has come, then does what is due.
    fn turn(&mut self) {
        let mut events = [Event {
            address: 0,
            write: false,
            thread: 0,
        }; BATCH];
        self.retry_deferred();
        let deferred = self.deferred.iter().flatten().count();
        let room = (BATCH - deferred).min(MAX_WAITING - self.count - deferred);
        let idle = self.count + deferred == 0;
        let n = self.engine.events().read(&mut events[..room], idle);
        let seen_ns = now_ns();
        for event in &events[..n] {
            self.take(*event, seen_ns);
        }
        match self.earliest() {
            Some(first) if self.due(first) => self.finish(first),
            // Nothing else waits and none has come: spin without asking the kernel again.
            Some(first) if self.count == 1 => {
                let wait = self.waiting[first].map(|p| p.wait);
                if let Some(wait) = wait {
                    self.linger(&wait);
                }
            }
            None if deferred > 0 => sleep_until(now_ns() + FORK_LOOK_NS),
            _ => core::hint::spin_loop(),
        }
    }

    /// Waits a little, at most until the deadline; other threads may fault meanwhile, so the
    /// descriptor is looked at again soon.
    fn linger(&self, wait: &Wait) {
        const LOOK_AGAIN_NS: u64 = 4_000;
        const MAY_SLEEP_NS: u64 = 500_000;
        let now = now_ns();
        if wait.may_sleep && wait.act_ns > now + MAY_SLEEP_NS {
            wait_until(now + MAY_SLEEP_NS / 2, true);
        } else {
            wait_until((wait.act_ns - PREPARE_NS).min(now + LOOK_AGAIN_NS), false);
        }
    }

    /// Events put off while a thread forked.
    fn retry_deferred(&mut self) {
        for at in 0..BATCH {
            if let Some((event, seen_ns)) = self.deferred[at].take() {
                self.take(event, seen_ns);
            }
        }
    }

    fn take(&mut self, event: Event, seen_ns: u64) {
        match self
            .engine
            .trap(event.address, event.write, seen_ns, || event.thread)
        {
            None => {
                // There is room: no more events are read than fit.
                if let Some(slot) = self.deferred.iter_mut().find(|d| d.is_none()) {
                    *slot = Some((event, seen_ns));
                }
            }
            Some(Plan::Wait(wait)) => {
                let pending = Pending {
                    wait,
                    thread: event.thread,
                };
                // There is room: no more events are read than fit.
                if let Some(slot) = self.waiting.iter_mut().find(|w| w.is_none()) {
                    *slot = Some(pending);
                    self.count += 1;
                }
            }
            Some(Plan::Done | Plan::Outside) => {}
        }
    }

    fn earliest(&self) -> Option<usize> {
        let mut left = self.count;
        let mut best: Option<(usize, u64)> = None;
        for (at, slot) in self.waiting.iter().enumerate() {
            if left == 0 {
                break;
            }
            if let Some(p) = slot {
                left -= 1;
                if best.is_none_or(|(_, ns)| p.wait.act_ns < ns) {
                    best = Some((at, p.wait.act_ns));
                }
            }
        }
        best.map(|(at, _)| at)
    }

    /// Time to prepare the wake-up has come.
    fn due(&self, at: usize) -> bool {
        self.waiting[at].is_some_and(|p| p.wait.act_ns <= now_ns() + PREPARE_NS)
    }

    fn finish(&mut self, at: usize) {
        let Some(p) = self.waiting[at] else { return };
        let mut filled = false;
        self.wake_here(p.thread, || {
            let now = wait_until(p.wait.act_ns, false);
            filled = self.engine.fill(&p.wait, now, || p.thread);
        });
        if filled {
            self.waiting[at] = None;
            self.count -= 1;
        }
    }

    /// Runs `wake` with the woken thread held on this CPU, then gives it its CPUs back.
    fn wake_here(&self, thread: u32, wake: impl FnOnce()) {
        let own = thread == 0 || thread == self.own;
        match CpuSet::of(thread).filter(|s| !own && s.count() > 1 && s.contains(self.cpu)) {
            Some(before) => {
                CpuSet::one(self.cpu).bind(thread);
                wake();
                before.bind(thread);
            }
            None => wake(),
        }
    }
}
