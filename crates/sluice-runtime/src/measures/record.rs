//! The record of trapped pages, in a file mapped by the runtime.

use crate::measures::watch::Watch;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_abi::{RECORD_MAGIC, RecordHeader};
use sluice_region::Mapping;

/// Appends logical page numbers to a mapped file.
#[derive(Debug)]
pub struct Recorder {
    map: Mapping,
    capacity: u64,
}

impl Recorder {
    /// A recorder over a file that is as long as header and `capacity` entries.
    pub fn new(map: Mapping, capacity: u64) -> Recorder {
        let recorder = Recorder { map, capacity };
        let header = recorder.header();
        header.capacity.store(capacity, Relaxed);
        header.magic.store(RECORD_MAGIC, Release);
        recorder
    }

    /// Bytes of a file for `capacity` entries.
    pub fn file_len(capacity: u64) -> usize {
        size_of::<RecordHeader>() + capacity as usize * 8
    }

    fn header(&self) -> &RecordHeader {
        // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
        unsafe { &*(self.map.addr() as *const RecordHeader) }
    }

    /// Traps so far.
    pub fn count(&self) -> u64 {
        self.header().count.load(Relaxed)
    }

    /// Notes what became of watched pages.
    pub fn note(&self, watch: Watch) {
        let header = self.header();
        header.halvings.store(watch.halvings.into(), Relaxed);
        header.taken.store(watch.taken, Relaxed);
        header.written.store(watch.written, Relaxed);
    }

    /// Appends one page; past the capacity only the count goes on.
    pub fn push(&self, lpn: u64) {
        let at = self.header().count.fetch_add(1, Relaxed);
        if at < self.capacity {
            let slot = self.map.addr() + size_of::<RecordHeader>() + at as usize * 8;
            // SAFETY: `at` is below the capacity the mapping was made for.
            unsafe { &*(slot as *const AtomicU64) }.store(lpn, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_its_capacity_only_the_count_goes_on() {
        let map = Mapping::anonymous(sluice_region::PAGE).unwrap();
        let entries = map.addr() + Recorder::file_len(0);
        let recorder = Recorder::new(map, 3);
        (0..6).for_each(|n| recorder.push(100 + n));
        assert_eq!(recorder.header().count.load(Relaxed), 6);
        // SAFETY: within the page that the recorder has mapped; atomics only.
        let words = unsafe { core::slice::from_raw_parts(entries as *const AtomicU64, 6) };
        let found: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
        assert_eq!(found, [100, 101, 102, 0, 0, 0]);
    }
}
