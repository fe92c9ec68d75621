//! A process whose memory the kernel serves: the child of a fork that cannot have a device.

use super::{Backing, Host, MAPPED, OFF_DEVICE, STASHED};
use crate::store::copy_page;
use sluice_region::{PAGE, Pagemap, Uffd, raw_mprotect};

impl Host {
    /// Whether the kernel serves all memory of this process.
    pub fn is_off(&self) -> bool {
        !self.uffd.is_open()
    }

    /// Has no descriptors from now on. `has_parents` says that the child has those of its parent,
    /// and closes them.
    pub fn give_up_descriptors(&mut self, has_parents: bool) {
        let old = (
            core::mem::replace(&mut self.uffd, Uffd::none()),
            core::mem::replace(&mut self.pagemap, Pagemap::none()),
        );
        match has_parents {
            true => drop(old),
            // In this table the numbers are others'.
            false => core::mem::forget(old),
        }
        self.threads.give_up(has_parents);
    }

    /// Puts what the device kept elsewhere into the program's own pages, and leaves all of them to
    /// the kernel. No other thread runs, no fault is served, and no page begins as a file's any
    /// more.
    ///
    /// # Errors
    /// The kernel's, where a page cannot be written.
    pub fn leave_all(&mut self) -> Result<(), i32> {
        let mut next = 0;
        while let Some(lpn) = self.next_used(&mut next, self.state.len() as u64) {
            if self.state[lpn as usize] & (MAPPED | OFF_DEVICE | STASHED) == STASHED {
                self.bring_home(lpn)?;
            }
        }
        let pages = self.state.len();
        match &mut self.backing {
            Backing::Private(b) => b.stash.drop_range(0, pages),
            Backing::Shared(b) => b.forget_all(),
        }
        self.state.fill(OFF_DEVICE);
        self.orphan_count = 0;
        self.leaving.clear();
        self.coming.clear();
        self.forget_waits();
        (self.sampler, self.watched) = (None, None);
        Ok(())
    }

    fn bring_home(&mut self, lpn: u64) -> Result<(), i32> {
        let is_closed = self.closed.has(lpn as usize);
        let Backing::Private(b) = &mut self.backing else {
            return Ok(());
        };
        let page = b.page(lpn);
        // SAFETY: a page of the arena that nobody looks at meanwhile.
        let protect = |prot| unsafe { raw_mprotect(page, PAGE, prot) };
        if is_closed {
            protect(libc::PROT_READ | libc::PROT_WRITE)?;
        }
        copy_page(page, b.stash.source(lpn));
        match is_closed {
            true => protect(libc::PROT_NONE),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rig;
    use sluice_region::{PAGE, raw_mprotect};

    /// Four pages are cached. Of the others one is closed, one was dropped, one never written.
    #[test]
    fn what_the_device_kept_elsewhere_comes_home() {
        let engine = rig::engine(&[]);
        for lpn in 0..8 {
            rig::touch(engine, 1 + lpn, lpn, lpn != 5);
            if lpn != 5 {
                rig::store(engine, lpn, 10 + lpn);
            }
        }
        let page = |lpn| rig::page(engine, lpn);
        engine.close(page(2), PAGE).unwrap();
        engine.discard(page(1), PAGE);
        assert!(!engine.is_off());
        {
            let mut core = engine.core();
            core.host.give_up_descriptors(true);
            core.host.leave_all().unwrap();
        }
        assert!(engine.is_off() && engine.any_off_device(page(0), 8 * PAGE));
        // SAFETY: a page of the arena.
        unsafe { raw_mprotect(page(2), PAGE, libc::PROT_READ).unwrap() };
        // SAFETY: pages of the arena, which the kernel serves.
        let load = |lpn| unsafe { (page(lpn) as *const u64).read_volatile() };
        let found: Vec<u64> = (0..9).map(load).collect();
        assert_eq!(found, [10, 0, 12, 13, 14, 0, 16, 17, 0]);
    }
}
