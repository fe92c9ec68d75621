//! Fork: the parent stands still under its own lock, and the child takes up a copy of the device.

use crate::clock::now_ns;
use crate::engine::{Engine, StartError, kind, os};
use crate::files;
use crate::host::{Backing, MAPPED, OFF_DEVICE, PENDING, WRITTEN};
use crate::state::Core;
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
    /// Registers the arena, and protects what is used of it, to see what is written.
    fn take_over(&self, uffd: &Uffd, (base, len): (usize, usize)) -> Result<(), StartError> {
        // No further than there are pages: the kernel would note each missing one of the device.
        let used = self.host.top as usize * PAGE;
        let each = |start: usize, end: usize| -> Result<(), i32> {
            uffd.register_private(base + start, end - start)?;
            match used.min(end) {
                to if to > start => uffd.write_protect(base + start, to - start),
                _ => Ok(()),
            }
        };
        // Files, which the program may have mapped in the arena, cannot be registered.
        match each(0, len) {
            Err(libc::EINVAL) => {
                self.each_run_on_device(|first, end| each(first * PAGE, end * PAGE))
            }
            other => other,
        }
        .map_err(os("registering the heap"))
    }

    /// Calls `each` with the first page of each run of pages that is on the device, and its end.
    fn each_run_on_device(
        &self,
        mut each: impl FnMut(usize, usize) -> Result<(), i32>,
    ) -> Result<(), i32> {
        let state = &self.host.state;
        let is_off = |page: &usize| state[*page] & OFF_DEVICE != 0;
        let mut page = 0;
        while let Some(first) = (page..state.len()).find(|page| !is_off(page)) {
            page = (first..state.len()).find(is_off).unwrap_or(state.len());
            each(first, page)?;
        }
        Ok(())
    }

    fn note_written(&mut self, base: usize) {
        let host = &mut self.host;
        let state = &mut host.state;
        if let Backing::Shared(_) = host.backing {
            return;
        }
        host.pagemap
            .each_written(base, base + host.top as usize * PAGE, |page| {
                let flags = &mut state[(page - base) / PAGE];
                if *flags & MAPPED != 0 {
                    *flags |= WRITTEN;
                }
            });
    }

    fn renew(&mut self, engine: &Engine) -> Result<(), StartError> {
        let session = &engine.session;
        let uffd = Uffd::open(kind(session.trap)).map_err(|e| StartError(e.to_string()))?;
        match &mut self.host.backing {
            Backing::Private(b) => b.register_limbo(&uffd).map_err(os("registering a page"))?,
            Backing::Shared(b) => b.register(&uffd).map_err(os("registering the file"))?,
        }
        if engine.arena.1 > 0 {
            self.take_over(&uffd, engine.arena)?;
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
        for state in &mut self.host.state[..self.host.top as usize] {
            *state &= !PENDING;
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
        self.host.residency = self.live.residency();
        (0..self.host.top).for_each(|lpn| self.show(lpn));
        let block = self.live.change();
        block.set(Counter::EntryNs, engine.entry_ns());
        block.set(Counter::ExitNs, engine.exit_ns());
        Ok(())
    }
}
