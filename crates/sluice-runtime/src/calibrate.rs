//! What a trap itself costs here, measured at a session's start, so that deadlines count from the
//! access.

use crate::clock::now_ns;
use crate::costs::Cost;
use crate::session::Trap;
use crate::state::Wait;
use core::sync::atomic::{AtomicU64, Ordering::*};
use sluice_region::{Fill, Mapping, PAGE, Uffd, dont_need};
use std::path::Path;

/// Faults taken to calibrate, of which the medians are kept. The first ones are slower: CPU and
/// scheduler settle. The medians of 64 and of 256 differ by 20 ns, in 2 against 7 ms.
const ROUNDS: usize = 64;
/// How long each waits.
const WAIT_NS: u64 = 20_000;

/// A page of its own that faults only to be timed.
#[derive(Debug)]
pub struct Calibration {
    page: Mapping,
    source: Mapping,
    seen_ns: AtomicU64,
    acted_ns: AtomicU64,
}

impl Calibration {
    /// Registers the page.
    pub fn new(uffd: &Uffd) -> Result<Calibration, i32> {
        let calibration = Calibration {
            page: Mapping::anonymous(PAGE)?,
            source: Mapping::anonymous(PAGE)?,
            seen_ns: AtomicU64::new(0),
            acted_ns: AtomicU64::new(0),
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

    /// The page's wait, which is a miss's: what a wait makes cold is cold here.
    pub fn wait(&self, addr: usize, seen_ns: u64) -> Wait {
        Wait::until(seen_ns + WAIT_NS, addr)
    }

    /// Maps the page, by the call that maps one of the heap, and wakes nobody.
    pub fn bring(&self, uffd: &Uffd) -> bool {
        let fill = Fill {
            wake: false,
            ..Fill::NOTICED
        };
        let copied = uffd.copy_page(self.page.addr(), self.source.addr(), fill);
        copied.is_ok()
    }

    /// Lets the thread go on that waits for the page.
    pub fn answer(&self, uffd: &Uffd, acting_ns: u64, trap: Trap) {
        self.acted_ns.store(acting_ns, Release);
        if trap == Trap::Event {
            uffd.wake(self.page.addr());
        }
    }

    /// What a trap costs: what the session knows, or as measured now. A handler must be there.
    pub fn of_session(&self, dir: &Path) -> Cost {
        if let Some(cost) = Cost::of_session(dir) {
            // The handler goes to this thread's CPU.
            self.rouse();
            return cost;
        }
        let [entry_ns, exit_ns] = self.measure();
        Cost::tell(entry_ns, exit_ns, dir)
    }

    /// Takes faults on the page from the calling thread: their entries and exits, ns.
    fn measure(&self) -> [u64; 2] {
        let rounds: Vec<[u64; 2]> = (0..ROUNDS).map(|_| self.round()).collect();
        [0, 1].map(|part| {
            let mut times: Vec<u64> = rounds.iter().map(|round| round[part]).collect();
            times.sort_unstable();
            times[ROUNDS / 2]
        })
    }

    /// Takes one fault, which a handler answers, so that it looks around.
    pub fn rouse(&self) {
        self.round();
    }

    /// One fault: its entry and its exit.
    fn round(&self) -> [u64; 2] {
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
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_region::UffdKind;

    /// Otherwise it never faults, and a trap seems to cost nothing.
    #[test]
    fn its_page_is_registered() {
        let uffd = Uffd::open(UffdKind::Signal).unwrap();
        let calibration = Calibration::new(&uffd).unwrap();
        assert!(calibration.owns(calibration.page.addr()));
        assert!(calibration.bring(&uffd), "faults come from elsewhere only");
        assert!(!calibration.bring(&uffd), "it is there");
    }
}
