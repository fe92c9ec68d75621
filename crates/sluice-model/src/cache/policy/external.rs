//! Policies from outside this crate: a shared object's, or a class of another language.

use super::{Eviction, Set, Slot};
use crate::request::Trigger;
use sluice_lists::Lists;
use sluice_units::{Lpn, Ps, Table};

/// What happens while a policy is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it reached the cache. Never goes back.
    pub now: Ps,
    /// The thread or core whose access it is, by its number; see
    /// [`Device::by`](crate::Device::by). `None` if nobody said.
    pub thread: Option<u32>,
    /// Whether the access is a store.
    pub is_store: bool,
    /// What made it happen.
    pub trigger: Trigger,
    /// Whether the device knows that the page differs from flash, this access included. A host
    /// that maps pages reports later stores to one when it leaves. Of a page in no slot: no.
    pub is_dirty: bool,
}

/// The slots of a set, as a policy that chooses among them sees them.
pub trait Candidates {
    /// Whether the page in a slot may leave.
    fn may_leave(&mut self, slot: Slot) -> bool;

    /// Whether the device knows that the page in a held slot of the set differs from flash, so that
    /// it is programmed when it leaves. Of any other slot: no.
    fn is_dirty(&self, slot: Slot) -> bool;
}

/// A policy that the caller brings along. The rules are those of [`super::Eviction`], but that
/// this one may be wrong: [`Watched`] checks what it answers. It learns more than those of this
/// crate: of each call, what happens.
pub trait External: Send {
    /// The page `lpn`, which is in no slot, is about to be brought in.
    fn miss(&mut self, event: &Event, set: Set, lpn: Lpn);

    /// The page `lpn` is now in `slot`.
    fn insert(&mut self, event: &Event, set: Set, slot: Slot, lpn: Lpn);

    /// The page in `slot` was accessed. Returns how many pages must leave because of that.
    fn hit(&mut self, event: &Event, set: Set, slot: Slot) -> u32;

    /// Chooses a slot to empty and forgets it.
    fn victim(&mut self, event: &Event, set: Set, slots: &mut dyn Candidates) -> Option<Slot>;

    /// The page in `slot` was discarded, taken out or pinned, or left against the policy's choice.
    fn remove(&mut self, event: &Event, set: Set, slot: Slot);

    /// The time is `now`, and says when to be called next: before the first event at that time or
    /// later, so at most once for each event. It is called before the first event of all. `None`:
    /// never again.
    fn tick(&mut self, _now: Ps) -> Option<Ps> {
        None
    }
}

/// A policy of this crate's interface, brought along instead of registered.
pub struct Brought<P>(pub P);

impl<P: Eviction + Send> External for Brought<P> {
    fn miss(&mut self, _event: &Event, set: Set, lpn: Lpn) {
        self.0.miss(set, lpn);
    }

    fn insert(&mut self, _event: &Event, set: Set, slot: Slot, lpn: Lpn) {
        self.0.insert(set, slot, lpn);
    }

    fn hit(&mut self, _event: &Event, set: Set, slot: Slot) -> u32 {
        self.0.hit(set, slot)
    }

    fn victim(&mut self, _event: &Event, set: Set, slots: &mut dyn Candidates) -> Option<Slot> {
        self.0.victim(set, |slot| slots.may_leave(slot))
    }

    fn remove(&mut self, _event: &Event, set: Set, slot: Slot) {
        self.0.remove(set, slot);
    }
}

/// What a hit reports to policies from outside, and to no others.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told {
    /// When the access reaches the cache, and whether it is a store. A page that is taken for used
    /// without an access has none.
    pub access: Option<(Ps, bool)>,
    pub is_dirty: bool,
}

/// An external policy whose answers are checked.
///
/// An answer is refused if its slot is one that the policy does not hold, that is not of the set,
/// or that may not leave, or if it is none although there is one. Then the page that came in first
/// leaves instead, the policy has to forget that page, and the answer is counted as refused.
pub struct Watched {
    policy: Box<dyn External>,
    /// Per set the held slots, the newest in front.
    order: Lists<Set, Slot>,
    held: Table<Slot, bool>,
    refused: u64,
    ways: u32,
    event: Event,
    /// When the policy wants to be called for the time that has passed.
    tick_at: Ps,
}

/// The slots of a set: [those that the policy holds, pages that may leave, dirty pages].
struct Checked<H, M, D>(H, M, D);

impl<H, M, D> Candidates for Checked<H, M, D>
where
    H: Fn(Slot) -> bool,
    M: FnMut(Slot) -> bool,
    D: Fn(Slot) -> bool,
{
    fn may_leave(&mut self, slot: Slot) -> bool {
        (self.0)(slot) && (self.1)(slot)
    }

    fn is_dirty(&self, slot: Slot) -> bool {
        (self.0)(slot) && (self.2)(slot)
    }
}

impl Watched {
    pub(crate) fn new(policy: Box<dyn External>, sets: u32, ways: u32) -> Watched {
        Watched {
            policy,
            order: Lists::new(sets, sets * ways),
            held: Table::filled(sets * ways, false),
            refused: 0,
            ways,
            event: Event {
                now: Ps::ZERO,
                thread: None,
                is_store: false,
                trigger: Trigger::Command,
                is_dirty: false,
            },
            tick_at: Ps::ZERO,
        }
    }

    /// Answers that broke the contract.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whose accesses come from now on.
    pub(crate) fn by(&mut self, thread: Option<u32>) {
        self.event.thread = thread;
    }

    /// Whose accesses these are.
    pub(crate) fn thread(&self) -> Option<u32> {
        self.event.thread
    }

    /// Whether what follows belongs to a store. Returns what it was.
    pub(crate) fn is_store(&mut self, is_store: bool) -> bool {
        std::mem::replace(&mut self.event.is_store, is_store)
    }

    /// Something begins that the calls until the next belong to.
    pub(crate) fn begin(&mut self, at: Ps, trigger: Trigger, is_store: bool) {
        let event = &mut self.event;
        event.now = event.now.max(at);
        event.trigger = trigger;
        event.is_store = is_store;
        if event.now >= self.tick_at {
            let next = self.policy.tick(event.now);
            self.tick_at = next.unwrap_or(Ps::MAX);
        }
    }

    fn event(&self, is_dirty: bool) -> Event {
        Event {
            is_dirty,
            ..self.event
        }
    }

    pub(crate) fn miss(&mut self, set: Set, lpn: Lpn) {
        self.policy.miss(&self.event(false), set, lpn);
    }

    pub(crate) fn insert(&mut self, set: Set, slot: Slot, lpn: Lpn, is_dirty: bool) {
        self.held[slot] = true;
        self.order.push_front(set, slot);
        self.policy.insert(&self.event(is_dirty), set, slot, lpn);
    }

    pub(crate) fn hit(&mut self, set: Set, slot: Slot, told: Told) -> u32 {
        if let Some((at, is_store)) = told.access {
            self.begin(at, Trigger::Demand, is_store);
        }
        self.policy.hit(&self.event(told.is_dirty), set, slot)
    }

    pub(crate) fn victim(
        &mut self,
        set: Set,
        mut evictable: impl FnMut(Slot) -> bool,
        is_dirty: impl Fn(Slot) -> bool,
    ) -> Option<Slot> {
        let event = self.event(false);
        let (held, ways) = (&self.held, self.ways);
        let is_held = |slot: Slot| slot.0 / ways == set.0 && held.get(slot) == Some(&true);
        let mut slots = Checked(is_held, &mut evictable, &is_dirty);
        let named = self.policy.victim(&event, set, &mut slots);
        if let Some(slot) = named
            && slots.may_leave(slot)
        {
            self.forget(set, slot);
            return Some(slot);
        }
        let instead = self.order.oldest(set, evictable);
        self.refused += u64::from(named.is_some() || instead.is_some());
        let slot = instead?;
        self.forget(set, slot);
        self.policy.remove(&self.event(is_dirty(slot)), set, slot);
        Some(slot)
    }

    pub(crate) fn remove(&mut self, set: Set, slot: Slot, is_dirty: bool) {
        self.forget(set, slot);
        self.policy.remove(&self.event(is_dirty), set, slot);
    }

    pub(crate) fn dump(&self, set: Set) -> Vec<Slot> {
        self.order.iter(set).collect()
    }

    fn forget(&mut self, set: Set, slot: Slot) {
        self.held[slot] = false;
        self.order.remove(set, slot);
    }
}
