//! A page that faults only to be timed.

use crate::clock::now_ns;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{Mapping, PAGE, dont_need};

/// How long each of its faults waits, ns: what a wait makes cold is cold here.
pub const WAIT_NS: u64 = 20_000;

/// The page, and when the thread that answers its faults saw and answered the last one.
#[derive(Debug)]
pub struct TimedPage {
    /// What faults.
    pub page: Mapping,
    /// What it is filled from.
    pub source: Mapping,
    seen_ns: AtomicU64,
    acted_ns: AtomicU64,
}

impl TimedPage {
    /// The page is filled from zeros.
    pub fn new(page: Mapping) -> Result<TimedPage, i32> {
        Ok(TimedPage {
            page,
            source: Mapping::anonymous(PAGE)?,
            seen_ns: AtomicU64::new(0),
            acted_ns: AtomicU64::new(0),
        })
    }

    /// Notes when a fault on the page was seen.
    pub fn see(&self, seen_ns: u64) {
        self.seen_ns.store(seen_ns, Release);
    }

    /// Notes when what lets its thread go on began.
    pub fn act(&self, acted_ns: u64) {
        self.acted_ns.store(acted_ns, Release);
    }

    /// One fault of the calling thread, which another one answers or a handler of signals: its
    /// entry, from the access until it is seen, and its exit, from the answer to the next
    /// instruction, ns.
    pub fn fault(&self) -> [u64; 2] {
        let before = now_ns();
        // SAFETY: the page is ours; the read faults, and is answered.
        unsafe { core::ptr::read_volatile(self.page.addr() as *const u8) };
        let after = now_ns();
        let acted = self.acted_ns.load(Acquire);
        // SAFETY: the page holds nothing.
        let _ = unsafe { dont_need(self.page.addr(), PAGE) };
        [
            self.seen_ns.load(Acquire).saturating_sub(before),
            after.saturating_sub(acted),
        ]
    }

    /// The medians of so many entries and exits. `before_each` comes before each fault.
    pub fn faults(&self, count: usize, before_each: impl Fn()) -> [u64; 2] {
        let fault = |_| {
            before_each();
            self.fault()
        };
        let faults: Vec<[u64; 2]> = (0..count).map(fault).collect();
        [0, 1].map(|part| median(faults.iter().map(|fault| fault[part])))
    }
}

/// The median; 0 of none.
pub fn median(times: impl IntoIterator<Item = u64>) -> u64 {
    let times = times.into_iter().map(|ns| ns as f64);
    sluice_stats::median(times).unwrap_or_default() as u64
}
