//! Prefetched pages that are mapped when they have arrived.

use super::{Backing, Host, MAPPED, OFF_DEVICE, ORPHAN, PENDING, SAMPLED, STASHED, WRITTEN};
use sluice_region::Fill;

/// Pages that are mapped together at most.
pub(super) const MAX: usize = 256;

impl Host {
    /// Has a page be mapped at the next [`map_together`](Host::map_together), and says whether it
    /// will be.
    ///
    /// Only what has contents is. A page of the heap that holds nothing may lie where the program
    /// has no access yet, from where it could not be moved again.
    pub fn will_map(&mut self, lpn: u64) -> bool {
        const BUSY: u8 = MAPPED | PENDING | OFF_DEVICE | ORPHAN | SAMPLED;
        let state = self.state[lpn as usize];
        let has_contents = match &self.backing {
            Backing::Private(b) => state & STASHED != 0 || b.sources.view_of(lpn).is_some(),
            Backing::Shared(_) => true,
        };
        let is_open = !self.closed.has(lpn as usize);
        let is_free = state & BUSY == 0
            && !self.is_near(lpn)
            && has_contents
            && is_open
            && self.coming.len() < MAX;
        if is_free {
            self.coming.push(lpn);
        }
        is_free
    }

    /// The pages that are to be mapped, for [`map_together`](Host::map_together). The caller gives
    /// the list back, empty, to [`coming`](Host::coming).
    pub fn take_coming(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.coming)
    }

    /// Maps pages, neighbours by one call, and wakes threads that wait for them.
    pub fn map_together(&mut self, pages: &mut [u64]) {
        pages.sort_unstable();
        let mut rest = &*pages;
        while let Some(first) = rest.first() {
            let is_next = |(at, lpn): &(usize, &u64)| {
                **lpn == first + *at as u64 && self.are_alike(*first, **lpn)
            };
            let count = rest.iter().enumerate().take_while(is_next).count();
            self.map_run(&rest[..count]);
            rest = &rest[count..];
        }
    }

    /// Whether one call can map both.
    fn are_alike(&self, a: u64, b: u64) -> bool {
        (self.state[a as usize] ^ self.state[b as usize]) & (WRITTEN | STASHED) == 0
    }

    fn map_run(&mut self, run: &[u64]) {
        let mut rest = run;
        while let Some((&first, others)) = rest.split_first() {
            let done = match &mut self.backing {
                // Of a file each page comes from a place of its own.
                Backing::Private(_) if self.state[first as usize] & STASHED == 0 => 0,
                Backing::Private(b) => {
                    let fill = Fill {
                        protect: self.state[first as usize] & WRITTEN == 0,
                        wake: true,
                    };
                    let mapped = b.map_run(&self.uffd, first, rest.len(), fill);
                    mapped.map_or_else(|(done, _)| done, |()| rest.len())
                }
                Backing::Shared(_) => 0,
            };
            rest[..done].iter().for_each(|lpn| self.arrived(*lpn));
            // One that could not be mapped with the others is looked at by itself.
            rest = match done {
                0 if self.map_unasked(first) => {
                    self.arrived(first);
                    others
                }
                0 => others,
                _ => &rest[done..],
            };
        }
    }
}
