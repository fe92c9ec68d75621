//! What a fault costs between another thread and the server, measured at its start.

use crate::clock::{now_ns, sleep_until};
use crate::measures::timed::{TimedPage, WAIT_NS, median};
use sluice_region::{CpuSet, Fill, Mapping, PAGE, Uffd, UffdKind, cpu_now};
use std::io::Error;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Faults of each kind, of which the medians are kept.
const ROUNDS: usize = 32;
/// Between faults that find the server asleep.
const PAUSE_NS: u64 = 1_000_000;
const LONG_NS: u64 = 50_000_000;

/// Times between a thread of the program's and the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Costs {
    /// From an access to the server's look at the clock, ns, while it looks all the time ..
    pub entry_ns: u64,
    /// .. and when it has to wake up.
    pub asleep_ns: u64,
    /// From the server's last look to the thread's next instruction, ns ..
    pub exit_ns: u64,
    /// .. of which mapping the page takes this.
    pub map_ns: u64,
}

/// Two threads on CPUs of their own: where a server looks all the time the program's threads are
/// elsewhere, and are woken across CPUs.
struct Apart {
    all: Option<CpuSet>,
    own: usize,
}

impl Apart {
    /// Keeps the calling thread where it is.
    fn new() -> Apart {
        let (all, own) = (CpuSet::of(0), cpu_now());
        CpuSet::one(own).bind(0);
        Apart { all, own }
    }

    /// Takes the calling thread to another CPU, if there is one.
    fn go_to_other(&self) {
        if let Some(all) = &self.all {
            CpuSet::one(all.after(self.own)).bind(0);
        }
    }

    /// The first thread may go anywhere again.
    fn end(self) {
        if let Some(all) = self.all {
            all.bind(0);
        }
    }
}

struct Probe {
    uffd: Uffd,
    timed: TimedPage,
    is_over: AtomicBool,
}

impl Probe {
    /// Answers faults until it is over. Returns the median of what mapping a page takes.
    fn answer(&self, is_awake: &AtomicBool) -> u64 {
        let mut maps = Vec::with_capacity(2 * ROUNDS);
        let mut events = self.uffd.events();
        events.stop_waiting();
        let mut room = [sluice_region::Event {
            address: 0,
            write: false,
            thread: 0,
        }];
        while !self.is_over.load(Acquire) {
            if !is_awake.load(Acquire) {
                events.wait(LONG_NS);
            }
            if events.read(&mut room, false) == 0 {
                continue;
            }
            let seen_ns = now_ns();
            self.timed.see(seen_ns);
            while now_ns() < seen_ns + WAIT_NS {
                core::hint::spin_loop();
            }
            let acted_ns = now_ns();
            self.timed.act(acted_ns);
            let (page, source) = (self.timed.page.addr(), self.timed.source.addr());
            let _ = crate::memory::shared::map_page(&self.uffd, page, source, Fill::NOTICED);
            maps.push(now_ns().saturating_sub(acted_ns));
        }
        median(maps)
    }
}

impl Costs {
    /// Measures them, in some 50 ms.
    pub fn measure() -> Result<Costs, Error> {
        let os = Error::from_raw_os_error;
        let uffd = Uffd::open(UffdKind::Events).map_err(Error::other)?;
        let fd = sluice_region::memfd(PAGE).map_err(os)?;
        let page = Mapping::shared(fd, PAGE);
        // SAFETY: our own descriptor, which the mapping does not need.
        unsafe { libc::close(fd) };
        let page = page.map_err(os)?;
        uffd.register_shared(page.addr(), PAGE).map_err(os)?;
        let probe = Probe {
            uffd,
            timed: TimedPage::new(page).map_err(os)?,
            is_over: AtomicBool::new(false),
        };
        let is_awake = AtomicBool::new(true);
        let apart = Apart::new();
        let pause = || sleep_until(now_ns() + PAUSE_NS);
        let costs = std::thread::scope(|scope| {
            let faulting = scope.spawn(|| {
                apart.go_to_other();
                let [entry_ns, exit_ns] = probe.timed.faults(ROUNDS, || ());
                is_awake.store(false, Release);
                let [asleep_ns, _] = probe.timed.faults(ROUNDS, pause);
                probe.is_over.store(true, Release);
                [entry_ns, exit_ns, asleep_ns.max(entry_ns)]
            });
            let map_ns = probe.answer(&is_awake);
            faulting.join().map(|[entry_ns, exit_ns, asleep_ns]| Costs {
                entry_ns,
                asleep_ns,
                exit_ns,
                map_ns: map_ns.min(exit_ns),
            })
        });
        apart.end();
        costs.map_err(|_| Error::other("measuring what a fault costs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_takes_some_time() {
        let costs = Costs::measure().expect("a host that can");
        assert!(costs.entry_ns > 100 && costs.exit_ns > 100, "{costs:?}");
        assert!(costs.asleep_ns >= costs.entry_ns);
        assert!(costs.entry_ns < 50_000_000, "{costs:?}");
    }
}
