//! What a trap itself costs here, measured at start, so that deadlines count from the access.

use crate::clock::now_ns;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{Mapping, PAGE, Uffd, dont_need};

/// Faults taken to calibrate, of which the medians are kept. The first ones are slower: CPU and
/// scheduler settle.
const ROUNDS: usize = 256;

/// The parts of a trap outside the handler's own time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Cost {
    /// From the access to the handler's first look at the clock, ns.
    pub entry_ns: u64,
    /// From the handler's last act to the program's next instruction, ns.
    pub exit_ns: u64,
    /// The part of the exit that maps the page, ns.
    pub map_ns: u64,
}

/// How long it takes to map a page lately. The calibration's own page is always in the CPU's
/// caches; the pages of a working set are not, and a copy from memory takes longer.
#[derive(Debug, Default)]
pub struct MapTime {
    average: AtomicU64,
}

impl MapTime {
    /// Weight of a new sample: one in 2^4.
    const SHIFT: u32 = 4;
    /// A sample counts as at most this many times the average: one interruption is no trend.
    const OUTLIER: u64 = 3;

    /// Starts from the calibrated time.
    pub fn set(&self, ns: u64) {
        self.average.store(ns << Self::SHIFT, Relaxed);
    }

    /// Takes a sample in.
    pub fn add(&self, ns: u64) {
        let average = self.average.load(Relaxed);
        let sample = ns.min((average >> Self::SHIFT) * Self::OUTLIER + 1);
        self.average
            .store(average - (average >> Self::SHIFT) + sample, Relaxed);
    }

    /// The average, ns.
    pub fn get(&self) -> u64 {
        self.average.load(Relaxed) >> Self::SHIFT
    }
}

/// A page of its own that faults only to be timed.
#[derive(Debug)]
pub struct Calibration {
    page: Mapping,
    source: Mapping,
    seen_ns: AtomicU64,
    acted_ns: AtomicU64,
    mapped_ns: AtomicU64,
}

impl Calibration {
    /// Registers the page.
    pub fn new(uffd: &Uffd) -> Result<Calibration, i32> {
        let calibration = Calibration {
            page: Mapping::anonymous(PAGE)?,
            source: Mapping::anonymous(PAGE)?,
            seen_ns: AtomicU64::new(0),
            acted_ns: AtomicU64::new(0),
            mapped_ns: AtomicU64::new(0),
        };
        calibration.register(uffd)?;
        Ok(calibration)
    }

    /// Registers the page with a new descriptor.
    pub fn register(&self, uffd: &Uffd) -> Result<(), i32> {
        uffd.register_private(self.page.addr(), PAGE)
    }

    /// Whether a fault belongs to the calibration.
    pub fn owns(&self, addr: usize) -> bool {
        self.page.contains(addr)
    }

    /// Notes when a fault on the page was seen.
    pub fn see(&self, seen_ns: u64) {
        self.seen_ns.store(seen_ns, Release);
    }

    /// Answers a fault on the page, by the call that maps a page of the heap.
    pub fn answer(&self, uffd: &Uffd, acting_ns: u64) {
        self.acted_ns.store(acting_ns, Release);
        if uffd
            .copy_page(self.page.addr(), self.source.addr(), true)
            .is_err()
        {
            uffd.wake(self.page.addr());
        }
        self.mapped_ns.store(now_ns(), Release);
    }

    /// Takes faults on the page from the calling thread and returns the costs.
    pub fn measure(&self) -> Cost {
        let rounds: Vec<[u64; 3]> = (0..ROUNDS).map(|_| self.round()).collect();
        let [entry_ns, exit_ns, map_ns] = [0, 1, 2].map(|part| {
            let mut times: Vec<u64> = rounds.iter().map(|round| round[part]).collect();
            times.sort_unstable();
            times[ROUNDS / 2]
        });
        Cost {
            entry_ns,
            exit_ns,
            map_ns: map_ns.min(exit_ns),
        }
    }

    /// One fault: its entry, its exit, and the part of the exit that maps the page.
    fn round(&self) -> [u64; 3] {
        let before = now_ns();
        // SAFETY: the page is ours; the read traps and is answered by `answer`.
        unsafe { core::ptr::read_volatile(self.page.addr() as *const u8) };
        let after = now_ns();
        let acted = self.acted_ns.load(Acquire);
        // SAFETY: the page holds nothing.
        let _ = unsafe { dont_need(self.page.addr(), PAGE) };
        [
            self.seen_ns.load(Acquire).saturating_sub(before),
            after.saturating_sub(acted),
            self.mapped_ns.load(Acquire).saturating_sub(acted),
        ]
    }
}
