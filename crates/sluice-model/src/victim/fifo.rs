//! The line that was filled first.

use super::windowed::Windowed;
use super::{GcInfo, GcSpace, GcVictim};
use crate::contents::{NoContents, Tables};

/// Lines in the order in which they were filled: a window of one.
pub struct Fifo(Windowed);

impl GcVictim for Fifo {
    const INFO: GcInfo = GcInfo {
        name: "fifo",
        meaning: "the line filled first; one whose pages are all valid goes to the end instead",
        source: "Desnoyers, SYSTOR 2012 (there LRU)",
    };

    fn build(space: &GcSpace) -> Fifo {
        Fifo(Windowed::new(space, 1))
    }

    fn begin(&mut self, pool: u32, count: u32) {
        self.0.begin(pool, count);
    }

    fn close(&mut self, line: u32, stale: u32, now: u64) {
        self.0.close(line, stale, now);
    }

    fn invalidate(&mut self, line: u32, stale: u32, now: u64) {
        self.0.invalidate(line, stale, now);
    }

    fn victim(&mut self, pool: u32, stale: &[u32], now: u64) -> Option<u32> {
        self.0.victim(pool, stale, now)
    }

    fn remove(&mut self, line: u32, stale: u32) {
        self.0.remove(line, stale);
    }

    fn tables(&mut self, tables: &mut dyn Tables) -> Result<(), NoContents> {
        self.0.tables(tables)
    }

    fn dump(&self, pool: u32) -> Vec<u32> {
        self.0.dump(pool)
    }
}
