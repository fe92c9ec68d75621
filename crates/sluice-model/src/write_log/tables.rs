//! The second level of the index: small hash tables from a page's line to its entry in the log.

use super::LogEntry;
use crate::config::LINES_PER_PAGE_MAX;
use sluice_units::{PageLine, Table, index_type};

index_type! {
    /// Which page of those with lines in a buffer, in the order of their first lines.
    pub(super) struct PageId;
}

index_type! {
    /// Which table: the number of its first granule in the arena.
    pub(super) struct TableId;
}

/// Slots of a page's first table (SkyByte section III-B).
const FIRST_SLOTS: u32 = 4;
/// Table sizes: 4, 8, 16, 32 and 64 slots.
const CLASSES: usize = 5;
/// Slots in a block of the arena: a table of the largest class.
const BLOCK_SLOTS: u32 = FIRST_SLOTS << (CLASSES - 1);
/// First-class tables in a block. Tables are addressed by these granules.
const BLOCK_GRANULES: u32 = BLOCK_SLOTS / FIRST_SLOTS;
/// Where the line number starts in a slot. Below it is the log's entry + 1: 0 is empty.
const LINE_SHIFT: u32 = 26;
const ENTRY: u32 = (1 << LINE_SHIFT) - 1;

const _: () = assert!(
    BLOCK_SLOTS == LINES_PER_PAGE_MAX,
    "a full page fits the largest table"
);

/// The size class of a table that holds `lines` entries.
///
/// A table doubles when more than three quarters of it would be used. The largest has a slot for
/// each line of a page, so that it never has to.
fn class_of(lines: u32) -> usize {
    match lines {
        0..=3 => 0,
        4..=6 => 1,
        7..=12 => 2,
        13..=24 => 3,
        _ => 4,
    }
}

/// Slots of the table of a page with `lines` entries: none without one.
pub(super) fn slots_of(lines: u32) -> u32 {
    if lines == 0 {
        0
    } else {
        FIRST_SLOTS << class_of(lines)
    }
}

/// The tables of one size: a stack of blocks, all full but the last.
#[derive(Clone, Copy, Default)]
struct Class {
    /// The last block + 1.
    last: u32,
    /// Tables in it.
    used: u32,
}

/// A table that had to move into the place of a freed one.
pub(super) struct Moved {
    /// Whose table it is.
    pub owner: PageId,
    /// Where it is now.
    pub table: TableId,
}

/// Every table of one log buffer, in an arena made beforehand.
///
/// The tables of a size lie without gaps: the last one moves into the place of one that is freed.
/// So the arena never needs more than its live slots and one block for each size.
pub(super) struct Tables {
    slots: Vec<u32>,
    /// Per granule that starts a table: whose it is.
    owners: Table<TableId, u32>,
    /// Per block: the block below it in its stack, or the next free one, + 1.
    below: Vec<u32>,
    classes: [Class; CLASSES],
    /// Blocks that were never used since the last reset.
    fresh: u32,
    /// The first block that was given back, + 1.
    free: u32,
}

impl Tables {
    /// Room for `lines` entries, however they are spread over pages.
    ///
    /// One line in a page costs four slots, and no other number of lines costs more for each.
    pub fn new(lines: u32) -> Tables {
        // A block for each size that is partly used, and one more while a table doubles.
        let blocks = (lines * FIRST_SLOTS).div_ceil(BLOCK_SLOTS) as usize + CLASSES + 1;
        Tables {
            slots: vec![0; blocks * BLOCK_SLOTS as usize],
            owners: Table::filled(blocks as u32 * BLOCK_GRANULES, 0),
            below: vec![0; blocks],
            classes: [Class::default(); CLASSES],
            fresh: 0,
            free: 0,
        }
    }

    /// Forgets every table.
    pub fn reset(&mut self) {
        self.classes = [Class::default(); CLASSES];
        self.fresh = 0;
        self.free = 0;
    }

    fn slots(&self, table: TableId, lines: u32) -> &[u32] {
        let first = first_slot(table);
        &self.slots[first..first + slots_of(lines) as usize]
    }

    fn slots_mut(&mut self, table: TableId, class: usize) -> &mut [u32] {
        let first = first_slot(table);
        &mut self.slots[first..first + (FIRST_SLOTS << class) as usize]
    }

    /// The log's entry of a line, from the table of a page with `lines` lines.
    pub fn find(&self, table: TableId, lines: u32, line: PageLine) -> Option<LogEntry> {
        let slots = self.slots(table, lines);
        unpacked(slots[slot_of(slots, line)]).map(|(_, entry)| entry)
    }

    /// The lines of a table with their entries, in no order.
    pub fn entries(
        &self,
        table: TableId,
        lines: u32,
    ) -> impl Iterator<Item = (PageLine, LogEntry)> + Clone + '_ {
        self.slots(table, lines)
            .iter()
            .filter_map(|slot| unpacked(*slot))
    }

    /// An empty table for the first line of a page.
    pub fn first(&mut self, owner: PageId) -> TableId {
        self.take(0, owner)
    }

    /// Gives a line that the table has a newer entry. Says whether it had it.
    pub fn update(&mut self, table: TableId, lines: u32, line: PageLine, entry: LogEntry) -> bool {
        let slots = self.slots_mut(table, class_of(lines));
        let slot = slot_of(slots, line);
        let known = slots[slot] != 0;
        if known {
            slots[slot] = packed(line, entry);
        }
        known
    }

    /// Adds a line that the table of a page with `lines` lines does not have. Returns where the
    /// table is then, and which other table moved.
    pub fn add(
        &mut self,
        table: TableId,
        lines: u32,
        line: PageLine,
        entry: LogEntry,
    ) -> (TableId, Option<Moved>) {
        let (from, to) = (class_of(lines), class_of(lines + 1));
        let owner = PageId(self.owners[table]);
        let grown = if from == to {
            table
        } else {
            self.take(to, owner)
        };
        if grown != table {
            for at in 0..(FIRST_SLOTS << from) as usize {
                let packed = self.slots[first_slot(table) + at];
                if let Some((line, _)) = unpacked(packed) {
                    let slots = self.slots_mut(grown, to);
                    slots[slot_of(slots, line)] = packed;
                }
            }
        }
        let slots = self.slots_mut(grown, to);
        slots[slot_of(slots, line)] = packed(line, entry);
        let moved = if grown == table {
            None
        } else {
            self.give_back(table, from)
        };
        (grown, moved)
    }

    /// Frees the table of a page with `lines` lines. Returns which other table moved.
    pub fn remove(&mut self, table: TableId, lines: u32) -> Option<Moved> {
        self.give_back(table, class_of(lines))
    }

    fn take(&mut self, class: usize, owner: PageId) -> TableId {
        let full = BLOCK_GRANULES >> class;
        if self.classes[class].last == 0 || self.classes[class].used == full {
            let block = self.take_block();
            self.below[block as usize] = self.classes[class].last;
            self.classes[class] = Class {
                last: block + 1,
                used: 0,
            };
        }
        let Class { last, used } = &mut self.classes[class];
        let table = TableId((*last - 1) * BLOCK_GRANULES + (*used << class));
        *used += 1;
        self.owners[table] = owner.0;
        self.slots_mut(table, class).fill(0);
        table
    }

    fn take_block(&mut self) -> u32 {
        if let Some(block) = self.free.checked_sub(1) {
            self.free = self.below[block as usize];
            return block;
        }
        self.fresh += 1;
        self.fresh - 1
    }

    fn give_back(&mut self, table: TableId, class: usize) -> Option<Moved> {
        let Class { last, used } = self.classes[class];
        let block = last - 1;
        let end = TableId(block * BLOCK_GRANULES + ((used - 1) << class));
        let moved = (end != table).then(|| {
            let (from, slots) = (first_slot(end), (FIRST_SLOTS << class) as usize);
            self.slots
                .copy_within(from..from + slots, first_slot(table));
            let owner = self.owners[end];
            self.owners[table] = owner;
            let owner = PageId(owner);
            Moved { owner, table }
        });
        self.classes[class].used -= 1;
        if self.classes[class].used == 0 {
            let last = self.below[block as usize];
            let used = if last == 0 {
                0
            } else {
                BLOCK_GRANULES >> class
            };
            self.classes[class] = Class { last, used };
            self.below[block as usize] = self.free;
            self.free = block + 1;
        }
        moved
    }
}

fn first_slot(table: TableId) -> usize {
    table.index() * FIRST_SLOTS as usize
}

fn packed(line: PageLine, entry: LogEntry) -> u32 {
    line.0 << LINE_SHIFT | (entry.0 + 1)
}

fn unpacked(slot: u32) -> Option<(PageLine, LogEntry)> {
    let entry = (slot & ENTRY).checked_sub(1)?;
    Some((PageLine(slot >> LINE_SHIFT), LogEntry(entry)))
}

/// The slot of a line, or the empty one where it would be. A table has one or the other: below
/// the largest size a quarter of it is empty, and the largest has a slot for each line.
fn slot_of(slots: &[u32], line: PageLine) -> usize {
    let mask = slots.len() - 1;
    let mut slot = line.index() & mask;
    while slots[slot] != 0 && slots[slot] >> LINE_SHIFT != line.0 {
        slot = (slot + 1) & mask;
    }
    slot
}
