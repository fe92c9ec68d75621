//! The requests of a guest from its queue to their answers.
//!
//! A guest can offer requests without end, and more than its queue has room for. No more are under
//! way than an honest one could have. The others stay in its queue, in its own memory.

use crate::figures::Figures;
use crate::now_ns;
use crate::power::Switch;
use crate::request::Chain;
use crate::vring::Queue;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use vhost_user_backend::VringT;
use virtio_queue::{Error, QueueOwnedT, QueueT};
use vm_memory::GuestAddressSpace;

/// Requests that a guest may have in its queue, and that may be under way.
pub const QUEUE_SIZE: usize = 128;
/// How long a guest that stops its disk waits for what is under way. QEMU waits with it.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// A request that was taken from the queue.
pub struct Task {
    pub chain: Chain,
    /// The guest's memory, as long as it is ours to use for this request.
    pub lent: Switch,
    taken_ns: u64,
}

/// A request that was carried out, or has failed.
pub struct Done {
    /// Bytes that the guest's memory was given.
    pub bytes: u32,
    /// Whether its time counts: it read or wrote.
    pub is_timed: bool,
    /// When the guest may hear of it.
    pub at_ns: u64,
}

/// A request that waits for its time.
struct Due {
    head: u16,
    taken_ns: u64,
    done: Done,
}

/// The requests of a guest.
#[derive(Default)]
pub struct Intake {
    state: Mutex<State>,
    /// There is something to do for the thread that serves.
    work: Condvar,
    /// That thread has nothing left to do.
    rest: Condvar,
    /// That thread waits for a flush, or QEMU is gone.
    away: Condvar,
    figures: Mutex<Figures>,
}

#[derive(Default)]
struct State {
    queue: Option<Queue>,
    /// What the requests of this set-up of the queue may use.
    lent: Switch,
    /// Those taken and not begun.
    waiting: VecDeque<Task>,
    /// Whether one is being carried out. It was taken before all that wait, and after all others.
    is_serving: bool,
    /// Whether what is being carried out is a flush, which may take any time.
    is_away: bool,
    /// Requests that wait for their time, by that and then in order.
    due: BTreeMap<(u64, u64), Due>,
    number: u64,
    /// Whether the queue may have more that were not taken for want of room.
    is_full: bool,
    /// Whether QEMU is gone.
    is_closed: bool,
}

impl Intake {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the disk has done.
    pub fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what stands in the queue.
    pub fn look(&self, queue: &Queue) {
        let mut state = self.state();
        state.queue.get_or_insert_with(|| queue.clone());
        // A guest that spoils its queue gets no answer until it has set up another one.
        let _ = state.take_all();
        self.work.notify_one();
    }

    /// The next request to serve. Meanwhile, answers those whose time comes. Nothing after QEMU.
    pub fn next(&self) -> Option<Task> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            state.answer_until(now_ns(), &self.figures);
            if state.is_full && state.under_way() < QUEUE_SIZE {
                let _ = state.take_all();
            }
            if let Some(task) = state.waiting.pop_front() {
                state.is_serving = true;
                return Some(task);
            }
            let first = state.due.first_key_value().map(|((at_ns, _), _)| *at_ns);
            state = match first {
                None => {
                    self.rest.notify_all();
                    let woken = self.work.wait(state);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
                Some(at_ns) => {
                    let wait = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
                    let woken = self.work.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Does a flush. Meanwhile another thread answers those whose time comes.
    pub fn while_away<T>(&self, flush: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        state.is_away = !state.due.is_empty();
        if state.is_away {
            self.away.notify_one();
        }
        drop(state);
        let flushed = flush();
        self.state().is_away = false;
        flushed
    }

    /// Answers those whose time comes while the thread that serves waits for a flush, until QEMU is
    /// gone.
    pub fn answer_while_away(&self) {
        let mut state = self.state();
        while !state.is_closed {
            if state.is_away {
                state.answer_until(now_ns(), &self.figures);
            }
            state = match state.due.first_key_value() {
                Some(((at_ns, _), _)) if state.is_away => {
                    let wait = Duration::from_nanos(at_ns.saturating_sub(now_ns()));
                    let woken = self.away.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                _ => {
                    let woken = self.away.wait(state);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    /// A request was served: its guest hears of it in time. False if the guest has it back, so that
    /// it counts as one that was never taken.
    pub fn done(&self, task: &Task, done: Done) -> bool {
        let mut state = self.state();
        if task.lent.hold().is_none() {
            return false;
        }
        state.is_serving = false;
        let number = state.number;
        state.number += 1;
        let due = Due {
            head: task.chain.head_index(),
            taken_ns: task.taken_ns,
            done,
        };
        state.due.insert((due.done.at_ns, number), due);
        true
    }

    /// The guest stops its disk. It may use the memory of its requests for something else, or go on
    /// later where it was. What is begun is answered, if need be before its time. The rest it gets
    /// back: if it goes on, that is taken once more.
    pub fn stop(&self) {
        let mut state = self.state();
        let mut back = state.waiting.len();
        state.waiting.clear();
        state.is_full = false;
        let limit = Instant::now() + DRAIN_LIMIT;
        while state.is_serving || !state.due.is_empty() {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.rest.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        // The device may take any time for what it is being asked. The answer comes too late.
        state.take_back();
        back += usize::from(std::mem::take(&mut state.is_serving));
        state.answer_until(u64::MAX, &self.figures);
        if let Some(queue) = &state.queue {
            let mut ring = queue.get_mut();
            let queue = ring.get_queue_mut();
            queue.set_next_avail(queue.next_avail().wrapping_sub(back as u16));
        }
    }

    /// QEMU is gone: nobody waits for an answer.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.take_back();
        state.waiting.clear();
        state.due.clear();
        self.work.notify_all();
        self.away.notify_all();
    }
}

impl State {
    fn under_way(&self) -> usize {
        self.waiting.len() + usize::from(self.is_serving) + self.due.len()
    }

    /// Ends the use of the guest's memory for what was taken so far.
    fn take_back(&mut self) {
        std::mem::take(&mut self.lent).turn_off();
    }

    /// Takes all requests, those among them that come meanwhile, as long as there is room.
    fn take_all(&mut self) -> Result<(), Error> {
        self.is_full = false;
        let Some(queue) = self.queue.clone() else {
            return Ok(());
        };
        let memory = queue.memory();
        let mut ring = queue.get_mut();
        while !self.is_closed {
            // If there is no room, the guest need not say that it has more.
            ring.disable_notification()?;
            let taken_ns = now_ns();
            let mut chains = ring.get_queue_mut().iter(memory.memory())?;
            loop {
                if self.under_way() >= QUEUE_SIZE {
                    self.is_full = true;
                    return Ok(());
                }
                let Some(chain) = chains.next() else {
                    break;
                };
                self.waiting.push_back(Task {
                    chain,
                    lent: self.lent.clone(),
                    taken_ns,
                });
            }
            if !ring.enable_notification()? {
                break;
            }
        }
        Ok(())
    }

    /// Answers all whose time comes until then.
    fn answer_until(&mut self, until_ns: u64, figures: &Mutex<Figures>) {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > until_ns {
                return;
            }
            let due = first.remove();
            self.answer(&due, figures);
        }
    }

    fn answer(&self, due: &Due, figures: &Mutex<Figures>) {
        let Some(queue) = &self.queue else {
            return;
        };
        let mut ring = queue.get_mut();
        // A queue that the guest has spoiled takes no answer, and has nobody who waits for one.
        let _ = ring.add_used(due.head, due.done.bytes);
        if ring.needs_notification().unwrap_or(true) {
            let _ = ring.signal_used_queue();
        }
        drop(ring);
        let answered_ns = now_ns();
        // A request that is answered before its time shows nothing of the device.
        if due.done.is_timed && answered_ns >= due.done.at_ns {
            let since = |at_ns: u64| at_ns.saturating_sub(due.taken_ns);
            let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
            figures.took(since(due.done.at_ns), since(answered_ns));
        }
    }
}
