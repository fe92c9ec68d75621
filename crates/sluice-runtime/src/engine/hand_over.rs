//! Files of the program's that go back to the kernel: its own mapping takes the place of the
//! device's pages, with all that the program wrote there.

use crate::engine::state::Core;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, STASHED};
use crate::memory::sources::Sources;
use crate::store::copy_page;
use core::ops::Range;
use sluice_abi::Counter;
use sluice_region::{PAGE, hand_over_view, raw_mprotect, write_page};
use sluice_units::Ps;

impl Core {
    /// Gives a page back to the kernel, which raises the program's error for it.
    pub(crate) fn hand_over_page(&mut self, now: Ps, addr: usize) {
        if let Some(lpn) = self.host.lpn(addr) {
            // Nothing is allocated or freed on the path of a fault.
            self.hand_over_in_place(now, lpn..lpn + 1);
        }
    }

    /// Gives back to the kernel all that is leased.
    pub(crate) fn hand_over_leased(&mut self, now: Ps) {
        while let Some(pages) = self.host.sources().and_then(|sources| sources.any_leased()) {
            self.hand_over(now, pages);
        }
    }

    /// Gives pages of one file back to the kernel, and forgets where they came from.
    pub fn hand_over(&mut self, now: Ps, pages: Range<u64>) {
        self.hand_over_in_place(now, pages.clone());
        if let Some(sources) = self.host.sources() {
            sources.cut(pages);
        }
    }

    /// Gives pages of one file back to the kernel: from now on its own mapping is there.
    fn hand_over_in_place(&mut self, now: Ps, pages: Range<u64>) {
        let mut next = pages.start;
        while next < pages.end {
            let (end, is_off, prot) = self.host.protected_alike(next, pages.end);
            // What the kernel has already may have been written there since.
            if !is_off {
                self.hand_over_alike(now, next..end, prot);
            }
            next = end;
        }
    }

    fn hand_over_alike(&mut self, now: Ps, pages: Range<u64>, prot: i32) {
        let mut next = pages.start;
        while let Some(lpn) = self.host.next_used(&mut next, pages.end) {
            self.host.set_aside(lpn);
        }
        self.host.open_view(&pages);
        next = pages.start;
        while let Some(lpn) = self.host.next_used(&mut next, pages.end) {
            self.host.keep_in_view(lpn);
            if let Some(file) = self.host.file() {
                file.unmapped(lpn);
            }
            self.discard(now, lpn);
            self.show(lpn);
        }
        self.host.put_view(pages.clone(), prot);
        for lpn in pages.clone() {
            let state = self.host.state[lpn as usize];
            self.host.reset(lpn, PENDING, OFF_DEVICE);
            self.host.used.mark(lpn as usize);
            if state != 0 {
                self.show(lpn);
                // A thread that waits for it finds the kernel's page.
                self.host.wake(self.host.page(lpn));
            }
        }
        let (first, count) = (pages.start as usize, (pages.end - pages.start) as usize);
        self.host.closed.mark(first, count, false);
        if let Some(sources) = self.host.sources() {
            sources.sealed.mark(first, count, false);
        }
        self.live.change().add(Counter::HostPages, count as u64);
    }
}

impl Host {
    /// Pages that begin as a file's.
    pub fn sources(&mut self) -> Option<&mut Sources> {
        match &mut self.backing {
            Backing::Private(b) => Some(&mut b.sources),
            Backing::Shared(_) => None,
        }
    }

    /// The next page that may have been in the cache: what never was has no contents anywhere.
    pub fn next_used(&self, next: &mut u64, end: u64) -> Option<u64> {
        let lpn = self.used.next_used(*next as usize) as u64;
        *next = lpn + 1;
        (lpn < end).then_some(lpn)
    }

    /// The address of a page of the arena.
    fn page(&self, lpn: u64) -> usize {
        match &self.backing {
            Backing::Private(b) => b.page(lpn),
            Backing::Shared(_) => 0,
        }
    }

    /// Lets the program write to pages that it gives up.
    pub fn unseal(&self, pages: Range<u64>) -> Result<(), i32> {
        let (at, len) = (
            self.page(pages.start),
            (pages.end - pages.start) as usize * PAGE,
        );
        // SAFETY: a range of the arena.
        unsafe { raw_mprotect(at, len, libc::PROT_READ | libc::PROT_WRITE) }
    }

    /// Makes pages of a view writable, if the program has written any. All at once: otherwise the
    /// kernel would make many mappings of them, and the program's own calls take one.
    fn open_view(&self, pages: &Range<u64>) {
        let states = &self.state[pages.start as usize..pages.end as usize];
        let is_written = states.iter().any(|state| state & (MAPPED | STASHED) != 0);
        let Backing::Private(b) = &self.backing else {
            return;
        };
        let Some(view) = b.sources.view_of(pages.start).filter(|_| is_written) else {
            return;
        };
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a view, which only the runtime has.
        if let Err(errno) = unsafe { raw_mprotect(view, states.len() * PAGE, prot) } {
            sluice_region::fatal(format_args!(
                "a file that the program has written to cannot be given back: errno {errno}"
            ));
        }
    }

    /// Puts what the program wrote to a page into its view, where the kernel keeps it from then on.
    fn keep_in_view(&mut self, lpn: u64) {
        let state = self.state[lpn as usize];
        let Backing::Private(b) = &mut self.backing else {
            return;
        };
        let Some(view) = b.sources.view_of(lpn) else {
            return;
        };
        let is_sealed = b.sources.sealed.has(lpn as usize);
        let spare = b.sources.scratch();
        match (state & MAPPED != 0 && !is_sealed, state & STASHED != 0) {
            // It could not be set aside.
            (true, _) => copy_page(spare, b.page(lpn)),
            (false, true) => copy_page(spare, b.stash.source(lpn)),
            (false, false) => return,
        }
        match write_page(view, spare) {
            // What was behind the end is gone, as without a device.
            Ok(()) | Err(libc::EFAULT) => {}
            Err(errno) => sluice_region::fatal(format_args!(
                "a page of a file that the program has written cannot be kept: errno {errno}"
            )),
        }
    }

    /// How far pages are alike: whether they have left the device, and the program's access.
    pub fn protected_alike(&self, first: u64, end: u64) -> (u64, bool, i32) {
        let Backing::Private(b) = &self.backing else {
            return (end, true, libc::PROT_NONE);
        };
        let what = |lpn: u64| {
            let (at, sealed) = (lpn as usize, &b.sources.sealed);
            let prot = match (self.closed.has(at), sealed.has(at)) {
                (true, _) => libc::PROT_NONE,
                (false, true) => libc::PROT_READ,
                (false, false) => libc::PROT_READ | libc::PROT_WRITE,
            };
            (self.state[at] & OFF_DEVICE != 0, prot)
        };
        let (is_off, prot) = what(first);
        let same = (first..end).take_while(|lpn| what(*lpn) == (is_off, prot));
        (first + same.count() as u64, is_off, prot)
    }

    fn put_view(&self, pages: Range<u64>, prot: i32) {
        let Backing::Private(b) = &self.backing else {
            return;
        };
        let (to, len) = (
            b.page(pages.start),
            (pages.end - pages.start) as usize * PAGE,
        );
        let Some(view) = b.sources.view_of(pages.start) else {
            return;
        };
        // SAFETY: a view of the runtime's; memory of the program's that it replaces.
        let moved = unsafe { hand_over_view(view, to, len, prot) };
        if let Err(errno) = moved {
            sluice_region::fatal(format_args!(
                "a file's pages cannot be given back: errno {errno} of mremap"
            ));
        }
    }
}
