//! Event mode: a thread that reads faults, waits for their deadlines, and maps pages.
//!
//! The thread runs on the CPU of the program's thread and keeps it there across the wake-up: a
//! switch on one CPU costs 3 µs here, a wake-up across CPUs 20 to 100 µs. While it waits it spins
//! in the place of the thread whose load would have stalled that CPU.
//!
//! Where several threads miss, one that goes on needs that CPU while the pages of others are still
//! on their way. So the handler gives way to it, and has the CPU back when that thread faults or
//! ends. To a thread that computes for longer it does not give way again for a while.
//!
//! While all waits are such as give the CPU away (`host.on_long_delay`) it sleeps. With `spin` it
//! never does, gives no way, and has as much of the CPU as the threads that it stands for would.

use crate::clock::now_ns;
use crate::engine::state::{Plan, Wait};
use crate::engine::{Engine, FORK_LOOK_NS};
use crate::faults::active;
use crate::faults::pace::{sleep_end, slept_until, wait_until};
use crate::faults::woken::{ASK_NS, Looks, Usual};
use crate::process::filter;
use crate::process::real_time;
use crate::threads::affinity::{Held, hold, reset};
use crate::threads::hired;
use crate::threads::thread;
use sluice_region::{
    CpuSet, Event, EventSource, be_nice, name_thread, nice_of, niceness, raise_priority,
    sleep_exactly, yield_cpu,
};
use std::collections::VecDeque;

/// Waiting faults a handler keeps; more stay in the kernel until one is done, or fault again while
/// a thread forks.
const MAX_WAITING: usize = 1024;
/// Events read at once.
const BATCH: usize = 16;
/// So long before a moment nothing else is looked at any more.
const NEAR_NS: u64 = 1_000;
/// So long before a moment no other wait is made ready any more, which takes about as long.
const READY_NS: u64 = 4_000;
/// A sleep ends so long before there is something to do: its timer is late by 10 to 25 µs in a
/// virtual machine.
const TIMER_NS: u64 = 16_000;
/// A fault that was read between two looks did not come earlier than this.
const QUEUED_MAX_NS: u64 = 1_000_000;
/// A thread that is given way may have the CPU for so long ..
const AWAY_MAX_NS: u64 = 20_000;
/// .. or else none is given way for so many times as long: others' pages are late meanwhile.
const KEEP_TIMES: u64 = 20;
/// A sleep shorter than this is left out.
const SLEEP_MIN_NS: u64 = 8_000;

struct Handler {
    engine: &'static Engine,
    events: EventSource,
    cpu: usize,
    /// Threads of the program that missed lately.
    active: usize,
    /// A thread was woken on this CPU and has not run yet, as far as is known.
    gives_way: bool,
    /// Until when nobody is given way.
    keeps_until_ns: u64,
    /// Waits that give the CPU away.
    switching: usize,
    /// How nice the program's threads are, if the CPU is never given away: and how nice this is.
    spins: Option<(i32, i32)>,
    /// Whether the descriptor is one that never waits by itself.
    polls: bool,
    /// When no fault was left unread.
    looked_ns: u64,
    /// A fault woke it, so that it is seen as soon as one can be.
    was_woken: bool,
    own: u32,
    /// Never longer than its first capacity: nothing is allocated while a fault waits. It has no
    /// entries that were never used, whose memory each forked child would have to get.
    waiting: Vec<Option<Pending>>,
    count: usize,
    /// Whether it was roused for its end.
    leaves: bool,
    /// Faults of other threads than one that forks, and when they were seen. Neither is it ever
    /// longer.
    deferred: VecDeque<(Event, u64)>,
    /// How long threads wait for a CPU.
    looks: Looks,
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
    /// The page is there, if that can be, and the thread held where it is to go on: then with the
    /// CPUs that it gets back.
    Ready(Option<Held>),
}

/// Has threads be the session's handlers. By the service thread, whose descriptors they share.
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
    let spawned = unsafe { hired::begin(main, start.cast()) };
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
    let nice = niceness();
    let spins = start.engine.session.settings.spins();
    match spins {
        true => be_nice(nice),
        false => raise_priority(),
    }
    // It may have been bound after it was.
    real_time::raise(sluice_region::thread_id(), thread::service_thread());
    sleep_exactly();
    let mut handler = Handler {
        engine: start.engine,
        events: start.engine.events(),
        cpu: start.cpu,
        active: 0,
        gives_way: false,
        keeps_until_ns: 0,
        switching: 0,
        spins: spins.then_some((nice, nice)),
        polls: false,
        looked_ns: 0,
        was_woken: false,
        own: sluice_region::thread_id(),
        // One more is for the thread that forks.
        waiting: Vec::with_capacity(MAX_WAITING + 1),
        count: 0,
        leaves: false,
        deferred: VecDeque::with_capacity(MAX_WAITING + 1),
        looks: Looks::new(),
    };
    drop(start);
    while !handler.leaves || handler.count > 0 {
        handler.turn();
    }
    // The last handler to leave is the last thread that asks the store for something.
    if let Some(file) = handler.engine.core().host.file() {
        file.wait_until_idle();
    }
    drop(handler);
    thread::leave()
}

/// Waits a little, at most until there is something to do; other threads may fault meanwhile, so
/// the descriptor is looked at again soon.
fn linger(next_ns: u64) {
    const LOOK_AGAIN_NS: u64 = 4_000;
    wait_until(next_ns.min(now_ns() + LOOK_AGAIN_NS), false);
}

/// The most events that may be read: each needs a place, and so many have one.
fn room(kept: usize) -> usize {
    MAX_WAITING.saturating_sub(kept).min(BATCH)
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
        let idle = self.kept() == 0;
        // Behind the others in the kernel may be the fault that a fork waits for.
        let room = match self.engine.forking() {
            0 => room(self.kept()),
            _ => BATCH,
        };
        let n = self.events.read(&mut events[..room], idle);
        let now = now_ns();
        let was_asleep = core::mem::take(&mut self.was_woken) || idle;
        let seen_ns = self.seen_ns(now, was_asleep);
        for event in &events[..n] {
            active::note(event.thread, now);
            self.take(*event, seen_ns);
        }
        if n > 0 {
            self.count_active(now);
        }
        match self.next() {
            Some((at, next_ns)) if next_ns <= now_ns() => self.advance(at),
            Some((_, next_ns)) if self.switches(next_ns) => self.switch_until(next_ns),
            Some(_) if self.gives_way && self.keeps_until_ns < now => self.give_way(now),
            Some((_, next_ns)) if self.may_sleep_until(next_ns, now) => self.sleep_until(next_ns),
            // Nothing else waits and none has come: spin without asking the kernel again.
            Some((_, next_ns)) if self.count == 1 => linger(next_ns),
            None if self.kept() > 0 => self.wait_for_fork(),
            _ => core::hint::spin_loop(),
        }
    }

    /// When faults that were read now were seen, as far as that is known. A thread that sleeps
    /// until there is one sees it at once. Others came at any time since the last look, on average
    /// half-way.
    fn seen_ns(&mut self, now: u64, was_asleep: bool) -> u64 {
        let before = core::mem::replace(&mut self.looked_ns, now);
        match was_asleep {
            true => now,
            // There a look costs no wake-up, which is what the entry of a trap is.
            false => {
                (before.max(now.saturating_sub(QUEUED_MAX_NS)) + now) / 2 + self.engine.entry_ns()
            }
        }
    }

    fn count_active(&mut self, now: u64) {
        self.active = active::count(now);
        if self.active > 1 {
            self.poll();
        }
        if let Some((threads, own)) = &mut self.spins {
            let nice = nice_of(self.active, *threads);
            if core::mem::replace(own, nice) != nice {
                be_nice(nice);
            }
        }
    }

    /// Has the descriptor never wait by itself.
    fn poll(&mut self) {
        if !self.polls {
            self.events.stop_waiting();
            self.polls = true;
        }
    }

    /// Asks the kernel how long the program's threads wait for a CPU, now and then: of one that has
    /// trapped, for whose page there is nothing to do for so long.
    fn look(&mut self, thread: u32, free_ns: u64) {
        self.looks.trapped();
        // Where several threads trap there may never be so much time. The few that are asked for
        // all the same delay others by less than they wait for each other.
        let has_time = free_ns > ASK_NS || self.active > 1;
        // A filter may end the thread for the question.
        if !has_time || !self.looks.wants(thread, self.active) || filter::is_set() {
            return;
        }
        let usual = Usual {
            entry_ns: self.engine.entry_ns(),
            exit_ns: self.engine.exit_ns(),
        };
        if let Some(ns) = self.looks.ask(thread, usual) {
            self.engine.count_run_delay(thread, ns);
        }
    }

    /// Whether all waits give the CPU away, and there is time for it.
    fn switches(&self, next_ns: u64) -> bool {
        self.switching == self.count && sleep_end(now_ns(), next_ns).is_some()
    }

    /// Gives the CPU away until shortly before there is something to do, or until the next fault.
    fn switch_until(&mut self, next_ns: u64) {
        self.gives_way = false;
        let Some(end_ns) = sleep_end(now_ns(), next_ns) else {
            return;
        };
        self.was_woken = self.events.wait(end_ns.saturating_sub(now_ns()).max(1));
        if !self.was_woken {
            slept_until(end_ns);
        }
    }

    /// Lets the thread run that was woken on this CPU, which soon misses again or ends. If one goes
    /// on for longer, the pages of others are late: then nobody is let run for a while.
    fn give_way(&mut self, now: u64) {
        self.gives_way = false;
        match real_time::is_used() {
            // No yield gives way to a thread below it. The kernel ends a program whose real-time
            // thread never sleeps, if that has a limit (`RLIMIT_RTTIME`).
            true => self.was_woken = self.events.wait(1),
            false => yield_cpu(),
        }
        let back_ns = now_ns();
        if back_ns > now + AWAY_MAX_NS {
            self.keeps_until_ns = back_ns + KEEP_TIMES * (back_ns - now);
        }
    }

    /// Whether the program's threads may use this CPU until then.
    fn may_sleep_until(&self, next_ns: u64, now: u64) -> bool {
        let others = self.spins.is_none() && self.active > self.count.max(1);
        others && next_ns > now + TIMER_NS + SLEEP_MIN_NS
    }

    /// Sleeps until shortly before there is something to do, or until the next fault.
    fn sleep_until(&mut self, next_ns: u64) {
        let limit_ns = next_ns.saturating_sub(now_ns() + TIMER_NS);
        self.was_woken = self.events.wait(limit_ns.max(1));
    }

    /// Faults that have a place here.
    fn kept(&self) -> usize {
        self.count + self.deferred.len()
    }

    /// Sleeps while another thread forks, which none of the waits is for: until it faults itself,
    /// or for a moment.
    fn wait_for_fork(&mut self) {
        self.poll();
        self.was_woken = self.events.wait(FORK_LOOK_NS);
    }

    /// Faults put off while a thread forked.
    fn retry_deferred(&mut self) {
        if self.engine.forking() != 0 {
            return;
        }
        for _ in 0..self.deferred.len() {
            if let Some((event, seen_ns)) = self.deferred.pop_front() {
                self.take(event, seen_ns);
            }
        }
    }

    fn take(&mut self, event: Event, seen_ns: u64) {
        // A thread that forks has one fault at most, and a place of its own for that.
        if self.kept() >= MAX_WAITING && self.engine.forking() != event.thread {
            return self.events.wake(event.address);
        }
        match self
            .engine
            .trap(event.address, event.write, seen_ns, || event.thread)
        {
            None => self.deferred.push_back((event, seen_ns)),
            Some(Plan::Wait(wait)) => {
                let pending = Pending {
                    wait,
                    thread: event.thread,
                    stage: Stage::Begun,
                };
                // A fault that times this host is no trap.
                if !self.engine.calibration.owns(wait.addr) {
                    self.look(event.thread, wait.act_ns.saturating_sub(seen_ns));
                }
                match self.waiting.iter_mut().find(|w| w.is_none()) {
                    Some(slot) => *slot = Some(pending),
                    None => self.waiting.push(Some(pending)),
                }
                self.count += 1;
                self.switching += usize::from(wait.may_sleep);
            }
            Some(Plan::Done | Plan::Outside) => {}
        }
    }

    /// The wait for which something is to be done first, and when. While a thread forks nothing can
    /// be done for others.
    fn next(&self) -> Option<(usize, u64)> {
        let forking = self.engine.forking();
        let waiting = self.waiting.iter().enumerate();
        let all = waiting.filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
        let able = all
            .take(self.count)
            .filter(|(_, p)| forking == 0 || p.wait.forker == forking);
        let first = able.min_by_key(|(_, p)| p.rank_ns())?;
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
                self.engine.bring(&mut p.wait);
            }
            self.waiting[at] = Some(p);
            if !is_due {
                return;
            }
        }
        let now = wait_until(p.wait.act_ns, false);
        if self.engine.fill(&p.wait, now) {
            self.waiting[at] = None;
            self.count -= 1;
            self.switching -= usize::from(p.wait.may_sleep);
            self.gives_way = self.active > 1 && self.spins.is_none();
            if let Stage::Ready(Some(held)) = p.stage {
                held.let_go();
            }
            let roused = self.engine.calibration.owns(p.wait.addr);
            self.leaves |= roused && thread::is_leaving();
        }
    }

    /// Holds a thread that waits on this CPU, where it is to wake up, if it has others: not where a
    /// thread of the program's may spin that lets no other run.
    fn hold(&self, thread: u32) -> Option<Held> {
        let is_own = thread == 0 || thread == self.own;
        match is_own || real_time::is_used() {
            true => None,
            false => hold(thread, self.cpu),
        }
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

    /// An event that is read and finds no place has its thread fault again.
    #[test]
    fn as_many_events_are_read_as_there_is_a_place_for() {
        for kept in 0..=MAX_WAITING {
            let all = room(kept) + kept;
            assert!(room(kept) == BATCH || all == MAX_WAITING, "{kept}");
            assert!(all <= MAX_WAITING);
        }
        assert_eq!(room(MAX_WAITING + 1), 0, "with that of a thread that forks");
    }
}
