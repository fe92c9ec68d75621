//! Fork: the parent stands still under its own lock, and the child takes up a copy of the device.

use crate::clock::now_ns;
use crate::engine::{Engine, StartError, kind, no_descriptor, os};
use crate::files;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, WRITTEN};
use crate::state::Core;
use core::iter;
use core::ops::Range;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;
use sluice_region::{PAGE, Pagemap, Uffd};

impl Engine {
    /// Before a fork: takes the lock and notes which pages are written, because the child's page
    /// tables will not remember.
    pub fn before_fork(&self) {
        // Two threads may fork at once; the second waits here for the first.
        let own = sluice_region::thread_id();
        while self
            .forking
            .compare_exchange(0, own, AcqRel, Relaxed)
            .is_err()
        {
            core::hint::spin_loop();
        }
        self.core.acquire();
        // SAFETY: the lock is held by this thread, without a guard, until `after_fork_*`.
        let core = unsafe { self.core.get_held() };
        core.live.change().add(Counter::Forks, 1);
        core.note_written(self.arena.0);
    }

    /// In the parent: goes on.
    pub fn after_fork_in_parent(&self) {
        self.core.release();
        self.forking.store(0, Release);
    }

    /// In the child: a descriptor, page map and statistics of its own over the copied memory.
    /// The child's device starts as an exact copy of its parent's.
    pub fn after_fork_in_child(&self) -> Result<(), StartError> {
        // SAFETY: as in `before_fork`; this is the child's only thread.
        let core = unsafe { self.core.get_held() };
        let result = core.renew(self);
        if result.is_ok() {
            // SAFETY: no other thread exists.
            unsafe { *self.events.get() = core.host.uffd.events() };
        }
        self.core.release();
        self.forking.store(0, Release);
        result
    }
}

impl Core {
    /// Registers the arena, and protects what is mapped in it, to see what is written.
    fn take_over(&self, uffd: &Uffd, (base, len): (usize, usize)) -> Result<(), i32> {
        let register = |pages: Range<usize>| {
            uffd.register_private(base + pages.start * PAGE, pages.len() * PAGE)
        };
        let all = 0..len / PAGE;
        // Files, which the program may have mapped in the arena, cannot be registered.
        match register(all.clone()) {
            Err(libc::EINVAL) => self.each_run_on_device(all, self.host.used.runs(), register)?,
            other => other?,
        }
        // Only where pages are: the kernel would note each missing one of the device.
        for run in self.host.used.runs() {
            self.each_run_on_device(run.clone(), iter::once(run), |pages| {
                uffd.write_protect(base + pages.start * PAGE, pages.len() * PAGE)
            })?;
        }
        Ok(())
    }

    /// Calls `each` with each run of pages that is on the device. Only in `used` may there be some
    /// that are not.
    fn each_run_on_device(
        &self,
        all: Range<usize>,
        used: impl Iterator<Item = Range<usize>>,
        mut each: impl FnMut(Range<usize>) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let mut first = all.start;
        for page in used.flatten() {
            if self.host.state[page] & OFF_DEVICE != 0 {
                if first < page {
                    each(first..page)?;
                }
                first = page + 1;
            }
        }
        if first < all.end {
            each(first..all.end)?;
        }
        Ok(())
    }

    fn note_written(&mut self, base: usize) {
        let Host {
            backing,
            pagemap,
            state,
            used,
            ..
        } = &mut self.host;
        if let Backing::Shared(_) = backing {
            return;
        }
        for run in used.runs() {
            pagemap.each_written(base + run.start * PAGE, base + run.end * PAGE, |page| {
                let flags = &mut state[(page - base) / PAGE];
                if *flags & MAPPED != 0 {
                    *flags |= WRITTEN;
                }
            });
        }
    }

    fn renew(&mut self, engine: &Engine) -> Result<(), StartError> {
        let session = &engine.session;
        let uffd = Uffd::open(kind(session.trap)).map_err(no_descriptor)?;
        match &mut self.host.backing {
            Backing::Private(b) => b.register_limbo(&uffd).map_err(os("registering a page"))?,
            Backing::Shared(b) => b.register(&uffd).map_err(os("registering the file"))?,
        }
        if engine.arena.1 > 0 {
            let taken = self.take_over(&uffd, engine.arena);
            taken.map_err(os("registering the heap"))?;
        }
        engine
            .calibration
            .register(&uffd)
            .map_err(os("registering a page"))?;
        self.host.uffd = uffd;
        self.host.pagemap = Pagemap::open().map_err(os("opening /proc/self/pagemap"))?;
        self.host
            .threads
            .reopen()
            .map_err(os("opening /proc/self/task"))?;
        // The threads that waited exist in the parent only.
        for run in self.host.used.runs() {
            for state in &mut self.host.state[run] {
                *state &= !PENDING;
            }
        }
        self.waiting = 0;
        self.inherited = *self.device.stats();
        self.recorder = None;
        let identity = files::Identity {
            pages: self.device.pages(),
            heap_at: engine.arena.0,
            started_ns: now_ns(),
            forked: true,
        };
        (self.live, self.ring) = files::create(session, identity)?;
        engine.set_block(self.live.block());
        self.host.residency = self.live.residency();
        let used = self.host.used.runs().flatten();
        used.for_each(|lpn| self.show(lpn as u64));
        let block = self.live.change();
        block.set(Counter::EntryNs, engine.entry_ns());
        block.set(Counter::ExitNs, engine.exit_ns());
        Ok(())
    }
}
