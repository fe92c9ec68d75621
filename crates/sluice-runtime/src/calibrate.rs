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

/// How fast the host is now against when it was calibrated.
///
/// The same trap costs a third more while the other half of a core is busy, and that comes and
/// goes. Entry and exit cannot be timed trap by trap, but a piece of kernel work on the way can,
/// and they move together. Without samples (in signal mode) the host counts as fast as then.
#[derive(Debug, Default)]
pub struct Speed {
    /// The piece's median when calibrated, ns; 0 before.
    then: AtomicU64,
    /// Its running median, in 1/256 ns.
    now: AtomicU64,
    /// The newest sample, for the calibration.
    last: AtomicU64,
}

impl Speed {
    /// A sample moves the running median by 1/64 of itself: twenty follow a change of a third.
    const STEP_SHIFT: u32 = 6;
    const FRACTION_BITS: u32 = 8;
    /// However the host behaves, what was calibrated is off by this factor at most.
    const FACTOR_MAX: u64 = 2;

    /// Takes a sample in.
    pub fn add(&self, ns: u64) {
        self.last.store(ns, Relaxed);
        let now = self.now.load(Relaxed);
        let step = now >> Self::STEP_SHIFT;
        let next = if ns << Self::FRACTION_BITS > now {
            now + step
        } else {
            now - step
        };
        let then = self.then.load(Relaxed) << Self::FRACTION_BITS;
        let (low, high) = (then / Self::FACTOR_MAX, then * Self::FACTOR_MAX);
        self.now.store(next.clamp(low, high), Relaxed);
    }

    fn set(&self, ns: u64) {
        self.then.store(ns, Relaxed);
        self.now.store(ns << Self::FRACTION_BITS, Relaxed);
    }

    /// What takes `calibrated_ns` at the calibrated speed, at the present one.
    pub fn scale(&self, calibrated_ns: u64) -> u64 {
        let then = self.then.load(Relaxed) << Self::FRACTION_BITS;
        match then {
            0 => calibrated_ns,
            then => calibrated_ns * self.now.load(Relaxed) / then,
        }
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

    /// Takes faults on the page from the calling thread and returns the costs at this speed.
    pub fn measure(&self, speed: &Speed) -> Cost {
        let rounds: Vec<[u64; 4]> = (0..ROUNDS).map(|_| self.round(speed)).collect();
        let [entry_ns, exit_ns, map_ns, piece_ns] = [0, 1, 2, 3].map(|part| {
            let mut times: Vec<u64> = rounds.iter().map(|round| round[part]).collect();
            times.sort_unstable();
            times[ROUNDS / 2]
        });
        speed.set(piece_ns);
        Cost {
            entry_ns,
            exit_ns,
            map_ns: map_ns.min(exit_ns),
        }
    }

    /// One fault: its entry, its exit, the part of the exit that maps the page, and the piece that
    /// tells the speed.
    fn round(&self, speed: &Speed) -> [u64; 4] {
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
            speed.last.load(Relaxed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that is a third slower for a while, with interruptions: the costs follow, both ways.
    #[test]
    fn costs_follow_the_speed_and_not_the_outliers() {
        let speed = Speed::default();
        assert_eq!(speed.scale(3_600), 3_600);
        speed.set(720);
        let sample = |base: u64, n: u64| base + n % 7 + u64::from(n.is_multiple_of(16)) * 50_000;
        (0..200).for_each(|n| speed.add(sample(960, n)));
        assert!(
            (4_600..=5_100).contains(&speed.scale(3_600)),
            "{}",
            speed.scale(3_600)
        );
        (0..200).for_each(|n| speed.add(sample(720, n)));
        assert!(
            (3_500..=3_800).contains(&speed.scale(3_600)),
            "{}",
            speed.scale(3_600)
        );
    }

    #[test]
    fn no_host_is_believed_to_be_more_than_twice_as_slow_or_fast() {
        let speed = Speed::default();
        speed.set(720);
        (0..10_000).for_each(|_| speed.add(1_000_000));
        assert_eq!(speed.scale(3_600), 7_200);
        (0..10_000).for_each(|_| speed.add(0));
        assert_eq!(speed.scale(3_600), 1_800);
    }
}
