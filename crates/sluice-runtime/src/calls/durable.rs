//! What a program does to make its data durable on a persistent device: the model programs the
//! pages, and the device's store has them.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::turn::{HOLD_NS, Unasked};
use crate::host::{Backing, PENDING};
use crate::memory::shared::MAX_MAPPINGS;
use crate::threads::calm::calm;
use crate::threads::thread::in_service;
use core::ops::Range;
use sluice_units::Lpn;

impl Engine {
    /// Whether the device keeps what it holds in a store.
    pub fn is_persistent(&self) -> bool {
        self.desk.is_some()
    }

    /// Makes what is on the device of a range of addresses durable: the device programs it, and the
    /// store has it.
    ///
    /// # Errors
    /// The number of the error, of the store or because its server is gone.
    pub fn flush_range(&self, start: usize, len: usize) -> Result<(), i32> {
        let mut parts = [const { 0..0 }; MAX_MAPPINGS];
        let count = calm(|| match &self.core().host.backing {
            Backing::Shared(b) => b.parts(start, len, &mut parts),
            Backing::Private(_) => 0,
        });
        parts[..count]
            .iter()
            .try_for_each(|part| self.flush_pages(part.clone()))
    }

    /// Makes all of the device durable.
    ///
    /// # Errors
    /// As above.
    pub fn flush_all(&self) -> Result<(), i32> {
        let pages = calm(|| self.core().device.pages());
        self.flush_pages(0..pages)
    }

    fn flush_pages(&self, pages: Range<u64>) -> Result<(), i32> {
        let Some(desk) = self.desk else {
            return Ok(());
        };
        let mut next = pages.start;
        while next < pages.end {
            in_service(|| self.program_some(&mut next, pages.end));
        }
        calm(|| desk.flush(&pages))
    }

    /// Has the model program the next pages that were written, for a moment.
    fn program_some(&self, next: &mut u64, end: u64) {
        let mut core = Unasked::new(self);
        let until_ns = now_ns() + HOLD_NS;
        while *next < end && now_ns() < until_ns {
            let lpn = (core.host.used.next_used(*next as usize) as u64).min(end);
            *next = end.min(lpn + 1);
            let is_held = lpn == end || core.host.state[lpn as usize] & PENDING != 0;
            if !is_held && core.device.is_cached(Lpn::of(lpn)) {
                core.program(self.device_time(now_ns()), lpn);
                core.show(lpn);
            }
        }
        core.publish();
        core.give_way();
    }
}
