//! A page whose contents go elsewhere, while other threads may store to it.

use crate::clock::now_ns;
use crate::engine::Engine;
use crate::engine::turn::Unasked;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, STASHED};
use crate::store::copy_page;
use crate::threads::thread::in_service;

impl Engine {
    /// Takes the contents of a page of the arena away, to memory off the device. What is stored to
    /// the page before is among them; what is stored later the page has, which is empty from then
    /// on. False if the page is not the device's, or cannot be taken away.
    ///
    /// # Safety
    /// `to` has room for a page, and is nobody else's.
    pub unsafe fn withdraw(&self, page: usize, to: *mut u8) -> bool {
        let to = to as usize;
        in_service(|| self.withdraw_now(page, to))
    }

    fn withdraw_now(&self, page: usize, to: usize) -> bool {
        let now = self.device_time(now_ns());
        let mut core = Unasked::new(self);
        let core = &mut *core;
        let Some(lpn) = core.host.lpn(page) else {
            return false;
        };
        if !core.host.copy_out(lpn, to) {
            return false;
        }
        core.host.reset(lpn, PENDING, 0);
        core.discard(now, lpn);
        core.show(lpn);
        if let Backing::Private(backing) = &mut core.host.backing {
            backing.drop_range(lpn, 1);
        }
        core.publish();
        true
    }
}

impl Host {
    /// Copies a page that nobody can reach any more.
    fn copy_out(&mut self, lpn: u64, to: usize) -> bool {
        if self.state[lpn as usize] & MAPPED != 0 {
            self.take_away(lpn);
        }
        let state = self.state[lpn as usize];
        let Backing::Private(backing) = &mut self.backing else {
            return false;
        };
        match state & (MAPPED | OFF_DEVICE | STASHED) {
            0 => copy_page(to, backing.fresh(lpn)),
            STASHED => copy_page(to, backing.stash.source(lpn)),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::rig;
    use sluice_region::PAGE;

    #[test]
    fn a_page_gives_its_contents_away_and_is_empty() {
        let engine = rig::engine(&[]);
        let mut room = vec![0u64; 2 * PAGE / 8];
        let to = (room.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        // SAFETY: a whole page of the room.
        let take = |lpn| unsafe {
            to.cast::<u64>().write(99);
            let is_taken = engine.withdraw(rig::page(engine, lpn), to);
            (is_taken, to.cast::<u64>().read())
        };
        // Four pages are cached, and the first have left.
        for lpn in 0..8 {
            rig::touch(engine, 1 + lpn, lpn, true);
            rig::store(engine, lpn, 10 + lpn);
        }
        for (at, lpn) in [0, 3, 6, 7].into_iter().enumerate() {
            assert_eq!(take(lpn), (true, 10 + lpn), "page {lpn}");
            assert!(!rig::is_there(engine, lpn));
            assert_eq!(take(lpn), (true, 0), "page {lpn}");
            rig::touch(engine, 20 + at as u64, lpn, false);
            assert_eq!(rig::load(engine, lpn), 0, "page {lpn}");
        }
        engine.leave_device(rig::page(engine, 1), PAGE);
        assert_eq!(take(1), (false, 99));
        assert_eq!(rig::load(engine, 1), 11);
    }
}
