//! The event queue of every simulation here.
#![forbid(unsafe_code)]

use sluice_units::Ps;

/// Bits of the time that a level tells apart, and the slots that this makes.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;

/// Levels for all 64 bits.
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// Ends a list of entries.
const NONE: u32 = u32::MAX;

/// Slots of so many events are sorted instead of being told apart further.
const SORTED: usize = 16;

/// Events in order of time; those of the same time in the order in which they were added.
///
/// A radix heap in base 64, which is a hierarchy of timing wheels: an event lies at the level of
/// the highest digit of its time that differs from the current time, in that digit's slot. Adding
/// is an exclusive or and an append. When the earliest slot's turn comes, its events move to lower
/// levels, or, if they are few, are sorted into the front, from which they are taken. Slots are
/// lists in one arena, filled in order, and sorting is stable, so equal times keep their order
/// without a sequence number. Nothing is allocated while no more events are pending than ever
/// before.
pub struct Wheel<T> {
    /// No event of the slots is earlier.
    now: u64,
    /// The earliest events, in falling order of time.
    front: Vec<(u64, T)>,
    /// Events up to this time belong to the front.
    front_last: u64,
    /// A bit for each level that has events.
    levels: u32,
    /// A bit for each slot that has events, by level.
    filled: [u64; LEVELS],
    slots: Box<[[List; SLOTS]; LEVELS]>,
    entries: Vec<Entry<T>>,
    /// Entries that are free, a list.
    free: u32,
    len: usize,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

struct Entry<T> {
    at: u64,
    event: T,
    next: u32,
}

impl<T: Copy> Wheel<T> {
    /// An empty queue at time zero, with memory for `capacity` events.
    pub fn with_capacity(capacity: usize) -> Wheel<T> {
        let empty = List {
            head: NONE,
            tail: NONE,
        };
        Wheel {
            now: 0,
            front: Vec::with_capacity(2 * SORTED),
            front_last: 0,
            levels: 0,
            filled: [0; LEVELS],
            slots: Box::new([[empty; SLOTS]; LEVELS]),
            entries: Vec::with_capacity(capacity),
            free: NONE,
            len: 0,
        }
    }

    /// Adds an event. One that is earlier than the last one taken is the next, or among the next in
    /// order of their times.
    #[inline]
    pub fn push(&mut self, at: Ps, event: T) {
        self.len += 1;
        if at.0 <= self.front_last {
            let place = self.front.partition_point(|(other, _)| *other > at.0);
            self.front.insert(place, (at.0, event));
            return;
        }
        let entry = Entry {
            at: at.0,
            event,
            next: NONE,
        };
        let index = match self.free {
            NONE => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
            index => {
                self.free = self.entries[index as usize].next;
                self.entries[index as usize] = entry;
                index
            }
        };
        self.append(index, at.0);
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, T)> {
        if self.front.is_empty() {
            self.refill();
        }
        let (at, event) = self.front.pop()?;
        self.len -= 1;
        Some((Ps(at), event))
    }

    /// When the earliest event is due.
    pub fn next_at(&self) -> Option<Ps> {
        if let Some((at, _)) = self.front.last() {
            return Some(Ps(*at));
        }
        let (level, slot) = self.first()?;
        Some(Ps(self.earliest(self.slots[level][slot].head)))
    }

    /// The slot of the earliest events.
    fn first(&self) -> Option<(usize, usize)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some((level, self.filled[level].trailing_zeros() as usize))
    }

    /// Brings the events of the earliest slot to the front.
    fn refill(&mut self) {
        while let Some((level, slot)) = self.first() {
            let mut index = self.slots[level][slot].head;
            if level > 0 && self.list(index).nth(SORTED).is_some() {
                self.spread(level, slot);
                continue;
            }
            // The last time of the slot: what is pushed up to it goes to the front from now on.
            let within = (1u64 << (level as u32 * BITS)) - 1;
            self.front_last = self.entries[index as usize].at | within;
            self.now = self.front_last;
            self.clear(level, slot);
            while index != NONE {
                let entry = &mut self.entries[index as usize];
                self.front.push((entry.at, entry.event));
                let next = std::mem::replace(&mut entry.next, self.free);
                self.free = index;
                index = next;
            }
            self.front.reverse();
            // A slot of the lowest level has one time. Sorting is stable: of equal times the one
            // that was added last comes first, and is taken last. So few need no memory for it.
            if level > 0 {
                self.front.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
            }
            return;
        }
    }

    /// The entries of a list, from one on.
    fn list(&self, mut next: u32) -> impl Iterator<Item = &Entry<T>> {
        std::iter::from_fn(move || {
            let entry = self.entries.get(next as usize)?;
            next = entry.next;
            Some(entry)
        })
    }

    /// Events that are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The events that are pending, with their times, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Ps, &T)> {
        let slots = self.slots.iter().flatten();
        let slots = slots.flat_map(|slot| self.list(slot.head));
        let slots = slots.map(|entry| (Ps(entry.at), &entry.event));
        let front = self.front.iter().map(|(at, event)| (Ps(*at), event));
        front.chain(slots)
    }

    fn earliest(&self, head: u32) -> u64 {
        let times = self.list(head).map(|entry| entry.at);
        times.min().unwrap_or(u64::MAX)
    }

    /// Moves the clock to the earliest event of a slot, and all of the slot to lower levels.
    #[cold]
    fn spread(&mut self, level: usize, slot: usize) {
        let mut index = self.slots[level][slot].head;
        self.now = self.earliest(index);
        self.clear(level, slot);
        while index != NONE {
            let entry = &mut self.entries[index as usize];
            let (at, next) = (entry.at, entry.next);
            entry.next = NONE;
            self.append(index, at);
            index = next;
        }
    }

    #[inline]
    fn append(&mut self, index: u32, at: u64) {
        let differing = u64::BITS - ((at ^ self.now) | 1).leading_zeros() - 1;
        let level = (differing / BITS) as usize;
        let slot = (at >> (level as u32 * BITS)) as usize % SLOTS;
        let list = &mut self.slots[level][slot];
        match list.tail {
            NONE => {
                list.head = index;
                self.filled[level] |= 1 << slot;
                self.levels |= 1 << level;
            }
            tail => self.entries[tail as usize].next = index,
        }
        list.tail = index;
    }

    fn clear(&mut self, level: usize, slot: usize) {
        self.slots[level][slot] = List {
            head: NONE,
            tail: NONE,
        };
        self.filled[level] &= !(1 << slot);
        if self.filled[level] == 0 {
            self.levels &= !(1 << level);
        }
    }
}
