//! Event mode: a thread that reads faults, waits for their deadlines, and maps pages.
//!
//! The thread runs on the CPU of the program's thread and keeps it there across the wake-up: a
//! switch on one CPU costs 3 µs here, a wake-up across CPUs 20 to 100 µs. While it waits it spins
//! in the place of the thread whose load would have stalled that CPU.

use crate::affinity::{Held, hold, reset};
use crate::clock::{now_ns, sleep_until};
use crate::engine::{Engine, FORK_LOOK_NS};
use crate::pace::wait_until;
use crate::state::{Plan, Wait};
use crate::thread;
use sluice_region::{CpuSet, Descriptors, Event, name_thread, raise_priority};

/// Waiting faults a handler keeps; more stay in the kernel until one is done.
const MAX_WAITING: usize = 1024;
/// Events read at once.
const BATCH: usize = 16;
/// So long before a moment nothing else is looked at any more.
const NEAR_NS: u64 = 1_000;
/// So long before a moment no other wait is made ready any more, which takes about as long.
const READY_NS: u64 = 4_000;

struct Handler {
    engine: &'static Engine,
    cpu: usize,
    own: u32,
    /// Never longer than its first capacity: nothing is allocated while a fault waits. It has no
    /// entries that were never used, whose memory each forked child would have to get.
    waiting: Vec<Option<Pending>>,
    count: usize,
    /// Whether it was roused for its end.
    leaves: bool,
    deferred: [Option<(Event, u64)>; BATCH],
}

#[derive(Clone, Copy)]
struct Pending {
    wait: Wait,
    thread: u32,
    stage: Stage,
}

/// How far a wait has come.
#[derive(Clone, Copy)]
enum Stage {
    /// Nothing but time has passed.
    Begun,
    /// The page is there, if that can be, and the thread held on this CPU: then with the CPUs that
    /// it gets back.
    Ready(Option<Held>),
}

/// Starts the session's handler threads. By the service thread, whose descriptors they share.
///
/// The first runs on `cpu`, the others on the CPUs that follow.
pub fn start(engine: &'static Engine, mut cpu: usize) -> Result<(), i32> {
    reset();
    let all = CpuSet::of(0);
    for _ in 0..engine.session.handlers {
        spawn(engine, cpu)?;
        cpu = all.map_or(cpu, |set| set.after(cpu));
    }
    Ok(())
}

struct Start {
    engine: &'static Engine,
    cpu: usize,
}

fn spawn(engine: &'static Engine, cpu: usize) -> Result<(), i32> {
    let start = Box::into_raw(Box::new(Start { engine, cpu }));
    // SAFETY: the argument is handed to the new thread, which frees it.
    let spawned = unsafe { thread::spawn(main, start.cast(), Descriptors::Shared) };
    spawned.inspect_err(|_| {
        // SAFETY: there is no thread that has it.
        drop(unsafe { Box::from_raw(start) });
    })
}

/// A panic in here cannot unwind out of an `extern "C"` function: it aborts the program, loudly.
extern "C" fn main(start: *mut libc::c_void) -> ! {
    name_thread(c"sluice-handler");
    // SAFETY: made by `spawn` for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    CpuSet::one(start.cpu).bind(0);
    raise_priority();
    let mut handler = Handler {
        engine: start.engine,
        cpu: start.cpu,
        own: sluice_region::thread_id(),
        waiting: Vec::with_capacity(MAX_WAITING),
        count: 0,
        leaves: false,
        deferred: [None; BATCH],
    };
    drop(start);
    while !handler.leaves || handler.count > 0 {
        handler.turn();
    }
    drop(handler);
    thread::leave()
}

/// How many events may be read: each may have to be deferred again, or becomes a wait.
fn room(deferred: usize, waiting: usize) -> usize {
    (BATCH - deferred).min(MAX_WAITING - waiting - deferred)
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
        let room = room(deferred, self.count);
        let idle = self.count + deferred == 0;
        let n = self.engine.events().read(&mut events[..room], idle);
        let seen_ns = now_ns();
        for event in &events[..n] {
            self.take(*event, seen_ns);
        }
        match self.next() {
            Some((at, next_ns)) if next_ns <= now_ns() => self.advance(at),
            // Nothing else waits and none has come: spin without asking the kernel again.
            Some((at, next_ns)) if self.count == 1 => self.linger(at, next_ns),
            None if deferred > 0 => sleep_until(now_ns() + FORK_LOOK_NS),
            _ => core::hint::spin_loop(),
        }
    }

    /// Waits a little, at most until there is something to do; other threads may fault meanwhile,
    /// so the descriptor is looked at again soon.
    fn linger(&self, at: usize, next_ns: u64) {
        const LOOK_AGAIN_NS: u64 = 4_000;
        const MAY_SLEEP_NS: u64 = 500_000;
        let now = now_ns();
        let may_sleep = self.waiting[at].is_some_and(|p| p.wait.may_sleep);
        if may_sleep && next_ns > now + MAY_SLEEP_NS {
            wait_until(now + MAY_SLEEP_NS / 2, true);
        } else {
            wait_until(next_ns.min(now + LOOK_AGAIN_NS), false);
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
                    stage: Stage::Begun,
                };
                // There is room: no more events are read than fit.
                match self.waiting.iter_mut().find(|w| w.is_none()) {
                    Some(slot) => *slot = Some(pending),
                    None => self.waiting.push(Some(pending)),
                }
                self.count += 1;
            }
            Some(Plan::Done | Plan::Outside) => {}
        }
    }

    /// The wait for which something is to be done first, and when.
    fn next(&self) -> Option<(usize, u64)> {
        let waiting = self.waiting.iter().enumerate();
        let all = waiting.filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
        let first = all.take(self.count).min_by_key(|(_, p)| p.rank_ns())?;
        Some((first.0, first.1.next_ns()))
    }

    fn advance(&mut self, at: usize) {
        let Some(mut p) = self.waiting[at] else {
            return;
        };
        if let Stage::Begun = p.stage {
            p.stage = Stage::Ready(self.hold(p.thread));
            let is_due = p.wait.act_ns <= now_ns();
            if !is_due && !p.wait.is_there {
                self.engine.bring(&mut p.wait, || p.thread);
            }
            self.waiting[at] = Some(p);
            if !is_due {
                return;
            }
        }
        let now = wait_until(p.wait.act_ns, false);
        if self.engine.fill(&p.wait, now, || p.thread) {
            self.waiting[at] = None;
            self.count -= 1;
            if let Stage::Ready(Some(held)) = p.stage {
                held.let_go();
            }
            let roused = self.engine.calibration.owns(p.wait.addr);
            self.leaves |= roused && thread::is_leaving();
        }
    }

    /// Holds a thread that waits on this CPU, where it is to wake up, if it has others.
    fn hold(&self, thread: u32) -> Option<Held> {
        let is_own = thread == 0 || thread == self.own;
        if is_own { None } else { hold(thread, self.cpu) }
    }
}

impl Pending {
    /// The lowest comes first. A wait that is ready counts from earlier than it is due: making
    /// another ready meanwhile would take longer than it has.
    fn rank_ns(&self) -> u64 {
        match self.stage {
            Stage::Begun => self.wait.bring_ns,
            Stage::Ready(_) => self.wait.act_ns.saturating_sub(READY_NS),
        }
    }

    /// When something is to be done next.
    fn next_ns(&self) -> u64 {
        match self.stage {
            Stage::Begun => self.wait.bring_ns,
            Stage::Ready(_) => self.wait.act_ns.saturating_sub(NEAR_NS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event that is read and finds no place would be lost, and its thread wait for ever.
    #[test]
    fn as_many_events_are_read_as_there_is_a_place_for() {
        for deferred in 0..=BATCH {
            for waiting in 0..=MAX_WAITING - deferred {
                let all = room(deferred, waiting) + deferred;
                assert!(all <= BATCH && all + waiting <= MAX_WAITING);
                assert!(
                    all == BATCH || all + waiting == MAX_WAITING,
                    "room for more"
                );
            }
        }
    }
}
