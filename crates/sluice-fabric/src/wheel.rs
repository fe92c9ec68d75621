//! An event queue for clocks that only go forward.

use sluice_units::Ps;

/// Bits of the time that a level tells apart, and the slots that this makes.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;

/// Levels that tell all 64 bits apart.
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// No entry.
const NONE: u32 = u32::MAX;

/// Events in order of time; those of the same time in the order in which they were added.
///
/// A radix heap in base 64, which is a hierarchy of timing wheels: an event lies at the level of
/// the highest digit of its time that differs from the current time, in that digit's slot. Adding
/// is an exclusive or and an append; an event moves down a level at most as often as its time has
/// digits of difference. Slots are lists in one arena, filled in order, so equal times keep theirs
/// without a sequence number. Nothing is allocated while no more events are pending than ever
/// before.
pub struct Wheel<T> {
    /// No pending event is earlier.
    now: u64,
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
            levels: 0,
            filled: [0; LEVELS],
            slots: Box::new([[empty; SLOTS]; LEVELS]),
            entries: Vec::with_capacity(capacity),
            free: NONE,
            len: 0,
        }
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If it is earlier than the last one taken.
    #[inline]
    pub fn push(&mut self, at: Ps, event: T) {
        assert!(at.0 >= self.now, "an event in the past");
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
        self.len += 1;
        self.append(index, at.0);
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ps, T)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let slot = self.filled[level].trailing_zeros() as usize;
        let List { head, tail } = self.slots[level][slot];
        // All of a slot of the lowest level have the same time; else find it, and bring the rest
        // of the slot nearer.
        if level > 0 && head != tail {
            self.spread(level, slot);
            return self.pop();
        }
        let Entry { at, event, next } = self.entries[head as usize];
        self.entries[head as usize].next = self.free;
        self.free = head;
        self.slots[level][slot].head = next;
        if head == tail {
            self.clear(level, slot);
        }
        self.now = at;
        self.len -= 1;
        Some((Ps(at), event))
    }

    /// When the earliest event is due.
    pub fn next_at(&self) -> Option<Ps> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let slot = self.filled[level].trailing_zeros() as usize;
        Some(Ps(self.earliest(self.slots[level][slot].head)))
    }

    /// Events that are pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The events that are pending, in no order of time.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let slots = self.slots.iter().flatten();
        slots.flat_map(move |slot| {
            let mut next = slot.head;
            std::iter::from_fn(move || {
                let entry = self.entries.get(next as usize)?;
                next = entry.next;
                Some(&entry.event)
            })
        })
    }

    fn earliest(&self, head: u32) -> u64 {
        let (mut index, mut earliest) = (head, u64::MAX);
        while index != NONE {
            let entry = &self.entries[index as usize];
            earliest = earliest.min(entry.at);
            index = entry.next;
        }
        earliest
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
