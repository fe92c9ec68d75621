//! What a trap itself costs here, measured at a session's start, so that deadlines count from the
//! access.

use crate::engine::state::Wait;
use crate::measures::costs::Cost;
use crate::measures::timed::{TimedPage, WAIT_NS};
use crate::session::Trap;
use core::ops::Range;
use sluice_region::{Fill, Mapping, PAGE, Uffd};
use std::path::Path;

/// Faults taken to calibrate, of which the medians are kept. The first ones are slower: CPU and
/// scheduler settle. The medians of 64 and of 256 differ by 20 ns, in 2 against 7 ms.
const ROUNDS: usize = 64;

/// A timed page of the process's own, whose faults take the way of all others.
#[derive(Debug)]
pub struct Calibration {
    timed: TimedPage,
}

impl Calibration {
    /// Registers the page.
    pub fn new(uffd: &Uffd) -> Result<Calibration, i32> {
        let calibration = Calibration {
            timed: TimedPage::new(Mapping::anonymous(PAGE)?)?,
        };
        calibration.register(uffd)?;
        Ok(calibration)
    }

    /// Registers the page with a new descriptor.
    pub fn register(&self, uffd: &Uffd) -> Result<(), i32> {
        uffd.register_private(self.timed.page.addr(), PAGE)
    }

    /// Whether a fault belongs to the calibration.
    pub fn owns(&self, addr: usize) -> bool {
        self.timed.page.contains(addr)
    }

    /// The page's addresses.
    pub fn range(&self) -> Range<usize> {
        self.timed.page.addr()..self.timed.page.addr() + PAGE
    }

    /// Notes when a fault on the page was seen.
    pub fn see(&self, seen_ns: u64) {
        self.timed.see(seen_ns);
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
        let copied = uffd.copy_page(self.timed.page.addr(), self.timed.source.addr(), fill);
        copied.is_ok()
    }

    /// Lets the thread go on that waits for the page. It is there, unless its moment had passed
    /// before it could be brought: without it the thread would fault again, and be late again on a
    /// machine that is as busy.
    pub fn answer(&self, uffd: &Uffd, wait: &Wait, acting_ns: u64, trap: Trap) {
        if !wait.is_there {
            self.bring(uffd);
        }
        self.timed.act(acting_ns);
        if trap == Trap::Event {
            uffd.wake(self.timed.page.addr());
        }
    }

    /// What a trap costs: what the session knows, or as measured now. A handler must be there.
    pub fn of_session(&self, dir: &Path) -> Cost {
        if let Some(cost) = Cost::of_session(dir) {
            // The handler goes to this thread's CPU.
            self.rouse();
            return cost;
        }
        let [entry_ns, exit_ns] = self.timed.faults(ROUNDS, || ());
        Cost::tell(entry_ns, exit_ns, dir)
    }

    /// Takes one fault, which a handler answers, so that it looks around.
    pub fn rouse(&self) {
        self.timed.fault();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::state::Plan;
    use crate::rig;
    use sluice_region::UffdKind;

    /// Otherwise it never faults, and a trap seems to cost nothing.
    #[test]
    fn its_page_is_registered() {
        let uffd = Uffd::open(UffdKind::Signal).unwrap();
        let calibration = Calibration::new(&uffd).unwrap();
        assert!(calibration.owns(calibration.timed.page.addr()));
        assert!(calibration.bring(&uffd), "faults come from elsewhere only");
        assert!(!calibration.bring(&uffd), "it is there");
    }

    /// A handler that came too late woke the thread without its page. It faulted again at once, and
    /// under a debugger a hundred times.
    #[test]
    fn a_thread_that_is_answered_late_goes_on() {
        let engine = rig::engine(&[]);
        let addr = engine.calibration.timed.page.addr();
        let Some(Plan::Wait(wait)) = engine.trap(addr, false, 1, || 1) else {
            unreachable!("the page of the calibration");
        };
        assert!(engine.fill(&wait, wait.act_ns + 1_000_000));
        assert!(engine.core().host.pagemap.is_present(addr));
    }
}
