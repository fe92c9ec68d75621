//! The index of one log buffer: from a page to its table, from a line to its entry in the log.

use super::LogEntry;
pub(super) use super::tables::PageId;
use super::tables::{Moved, TableId, Tables, slots_of};
use crate::config::{LINES_PER_BUFFER_MAX, LINES_PER_PAGE_MAX};
use sluice_units::{Lpn, PageLine, Table};

/// Bytes of a first-level entry: page number and table pointer (SkyByte section III-B).
const PAGE_ENTRY_BYTES: u64 = 16;
/// Bytes of a second-level slot (SkyByte section III-B).
const SLOT_BYTES: u64 = 4;

/// Bits of a page's second word that count its lines. The one above says whether they are in
/// flash already; the others say where its table is.
const LINES_BITS: u32 = 7;
const LINES: u32 = (1 << LINES_BITS) - 1;
const FLUSHED: u32 = 1 << LINES_BITS;
const TABLE_SHIFT: u32 = LINES_BITS + 1;
/// Bits of a bucket that name a page; the others are the generation it belongs to.
const ID_BITS: u32 = 25;
const GENERATION_MAX: u32 = (1 << (32 - ID_BITS)) - 1;

const _: () = assert!(LINES_PER_PAGE_MAX <= LINES);
// A table's number is below the lines and a few blocks that are partly used.
const _: () = assert!(LINES_PER_BUFFER_MAX < 1 << (32 - TABLE_SHIFT));
const _: () = assert!(LINES_PER_BUFFER_MAX < 1 << ID_BITS);
// An entry counts through eight buffers, the most there are, and fits 26 bits.
const _: () = assert!(LINES_PER_BUFFER_MAX as u64 * 8 < 1 << 26);

/// Finds the newest copy of each line in one buffer.
///
/// Pages are numbered in the order of their first line, so that a scan of the first level is as
/// long as there are pages. A page that was dropped keeps its number, without a table.
pub(super) struct Index {
    /// Per page: [LPN, table and number of lines].
    pages: Table<PageId, [u32; 2]>,
    used: u32,
    /// Open addressing: generation and page number.
    buckets: Vec<u32>,
    /// Buckets of another generation are empty: a reset need not touch them.
    generation: u32,
    tables: Tables,
    /// Slots of all tables.
    slots: u64,
}

/// What an insertion did.
pub(super) enum Inserted {
    /// It added a line that was not in the index.
    New,
    /// It gave a line of the index a newer entry.
    Newer,
}

impl Index {
    /// An index for a buffer of so many lines, at most [`LINES_PER_BUFFER_MAX`].
    pub fn new(lines: u32) -> Index {
        // Three quarters of the buckets are used when every line is of another page.
        let buckets = (lines as usize * 4).div_ceil(3) + 1;
        Index {
            pages: Table::filled(lines, [0; 2]),
            used: 0,
            buckets: vec![0; buckets],
            generation: 1,
            tables: Tables::new(lines),
            slots: 0,
        }
    }

    /// Forgets every line, when the buffer is compacted and takes its turn again.
    pub fn reset(&mut self) {
        self.used = 0;
        self.slots = 0;
        self.tables.reset();
        if self.generation == GENERATION_MAX {
            self.buckets.fill(0);
            self.generation = 0;
        }
        self.generation += 1;
    }

    /// Pages that have or had a line in it.
    pub fn pages(&self) -> u32 {
        self.used
    }

    /// Memory that the index needs, counted as SkyByte section III-B does: 16 bytes for a page and
    /// 4 for each slot of its table.
    pub fn bytes(&self) -> u64 {
        u64::from(self.used) * PAGE_ENTRY_BYTES + self.slots * SLOT_BYTES
    }

    /// The LPN of a page, and how many lines it has.
    pub fn page(&self, id: PageId) -> (Lpn, u32) {
        let [lpn, word] = self.pages[id];
        (Lpn(lpn), word & LINES)
    }

    fn table(&self, id: PageId) -> TableId {
        TableId(self.pages[id][1] >> TABLE_SHIFT)
    }

    fn set(&mut self, id: PageId, table: TableId, lines: u32) {
        let flushed = self.pages[id][1] & FLUSHED;
        self.pages[id][1] = table.0 << TABLE_SHIFT | flushed | lines;
    }

    /// Whether the page's lines are in flash.
    pub fn is_flushed(&self, id: PageId) -> bool {
        self.pages[id][1] & FLUSHED != 0
    }

    /// Notes that the page's lines are in flash. They can still be found.
    pub fn set_flushed(&mut self, id: PageId) {
        self.pages[id][1] |= FLUSHED;
    }

    /// The newest entry of a line.
    pub fn find(&self, lpn: Lpn, line: PageLine) -> Option<LogEntry> {
        let id = self.id_of(lpn)?;
        let (_, lines) = self.page(id);
        if lines == 0 {
            return None;
        }
        self.tables.find(self.table(id), lines, line)
    }

    /// The lines of a page with their newest entries.
    pub fn lines(&self, id: PageId) -> impl Iterator<Item = (PageLine, LogEntry)> + Clone + '_ {
        let (_, lines) = self.page(id);
        self.tables.entries(self.table(id), lines)
    }

    fn id_of(&self, lpn: Lpn) -> Option<PageId> {
        self.bucket_of(lpn).1
    }

    /// Notes the newest entry of a line.
    pub fn insert(&mut self, lpn: Lpn, line: PageLine, entry: LogEntry) -> Inserted {
        let (bucket, found) = self.bucket_of(lpn);
        let id = found.unwrap_or_else(|| {
            let id = PageId(self.used);
            self.used += 1;
            self.buckets[bucket] = self.generation << ID_BITS | id.0;
            self.pages[id] = [lpn.0, 0];
            id
        });
        let (_, lines) = self.page(id);
        let mut table = self.table(id);
        if lines == 0 {
            table = self.tables.first(id);
        } else if self.tables.update(table, lines, line, entry) {
            return Inserted::Newer;
        }
        let (table, moved) = self.tables.add(table, lines, line, entry);
        self.set(id, table, lines + 1);
        self.follow(moved);
        self.slots += u64::from(slots_of(lines + 1) - slots_of(lines));
        Inserted::New
    }

    /// Forgets the lines of a page. Says how many it had that were not in flash.
    pub fn drop_page(&mut self, lpn: Lpn) -> u32 {
        let Some(id) = self.id_of(lpn) else { return 0 };
        let (_, lines) = self.page(id);
        if lines > 0 {
            let moved = self.tables.remove(self.table(id), lines);
            self.set(id, TableId(0), 0);
            self.follow(moved);
            self.slots -= u64::from(slots_of(lines));
        }
        match self.is_flushed(id) {
            true => 0,
            false => lines,
        }
    }

    fn follow(&mut self, moved: Option<Moved>) {
        if let Some(moved) = moved {
            let (_, lines) = self.page(moved.owner);
            self.set(moved.owner, moved.table, lines);
        }
    }

    /// The page's bucket and number, or the empty bucket where it would be.
    fn bucket_of(&self, lpn: Lpn) -> (usize, Option<PageId>) {
        let hash = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut bucket = ((hash * self.buckets.len() as u64) >> 32) as usize;
        loop {
            let word = self.buckets[bucket];
            if word >> ID_BITS != self.generation {
                return (bucket, None);
            }
            let id = PageId(word & ((1 << ID_BITS) - 1));
            if self.pages[id][0] == lpn.0 {
                return (bucket, Some(id));
            }
            bucket += 1;
            if bucket == self.buckets.len() {
                bucket = 0;
            }
        }
    }
}
