//! Memory that the program locks: its pages are pinned, at once or when they come, as many as
//! `cache.pin_max` allows.

use crate::clock::{now_ns, sleep_until};
use crate::engine::Engine;
use crate::engine::state::Core;
use crate::engine::turn::{HOLD_NS, Unasked};
use crate::host::OFF_DEVICE;
use crate::threads::calm::calm;
use crate::threads::thread::in_service;
use core::ops::Range;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;
use sluice_model::{Command, Pattern};
use sluice_region::PAGE;
use sluice_units::{Lpn, Ps};

/// No more pages are sent for than what comes within this time.
const AHEAD_NS: u64 = 2_000_000;

/// How far a range has been locked.
struct Got {
    next: u64,
    /// When all pages so far are there, ns.
    there_ns: u64,
    /// The device refused a page.
    is_full: bool,
}

impl Engine {
    /// Locks whole pages that are on the device in one piece, as `mlock` does: they are there when
    /// it returns, and stay. With `on_fault` each is pinned when it comes.
    ///
    /// # Errors
    /// `ENOMEM` if more pages would be locked than can be pinned, and nothing is then. `ENOMEM` too
    /// if a set of the cache has no room for one that is to come: those before it stay locked, as
    /// where the kernel cannot bring a page in.
    pub fn lock_pages(&self, start: usize, len: usize, on_fault: bool) -> Result<(), i32> {
        let all = self.span(start, len).ok_or(libc::ENOMEM)?;
        calm(|| self.note_locked(&all))?;
        if on_fault {
            return Ok(());
        }
        let mut got = Got {
            next: all.start,
            there_ns: 0,
            is_full: false,
        };
        while got.next < all.end && !got.is_full {
            got = in_service(|| self.pin_some(got, all.end));
            let ahead_ns = got.there_ns.saturating_sub(AHEAD_NS);
            if ahead_ns > now_ns() {
                calm(|| sleep_until(ahead_ns));
            }
        }
        calm(|| sleep_until(got.there_ns));
        in_service(|| self.map_locked());
        match got.is_full {
            true => Err(libc::ENOMEM),
            false => Ok(()),
        }
    }

    /// Marks pages as locked, if there can be so many.
    fn note_locked(&self, pages: &Range<u64>) -> Result<(), i32> {
        let mut core = self.core();
        let (first, count) = (pages.start as usize, (pages.end - pages.start) as usize);
        let locked = &mut core.hints.locked;
        let all = locked.count() + count - locked.count_in(first, count);
        if all as u64 > core.device.pins_max() {
            return Err(libc::ENOMEM);
        }
        core.hints.locked.mark(first, count, true);
        self.said.is_hinted.store(true, Release);
        Ok(())
    }

    fn pin_some(&self, mut got: Got, end: u64) -> Got {
        let began_ns = now_ns();
        let mut core = Unasked::new(self);
        while got.next < end && !got.is_full && now_ns() <= began_ns + HOLD_NS {
            let (lpn, now) = (got.next, self.device_time(now_ns()));
            if core.host.state[lpn as usize] & OFF_DEVICE == 0 {
                match core.lock_page(now, lpn) {
                    None => got.is_full = true,
                    Some(at) if at > now => {
                        core.hints.will_come(at, lpn);
                        got.there_ns = got.there_ns.max(self.wall_ns(at));
                    }
                    Some(_) => {}
                }
                core.carry_out(now);
                core.show(lpn);
            }
            got.next += 1;
            if got.there_ns > now_ns() + AHEAD_NS {
                break;
            }
        }
        core.publish();
        core.give_way();
        got
    }

    fn map_locked(&self) {
        let mut core = Unasked::new(self);
        core.map_arrived(self.device_time(now_ns()));
        core.publish();
        core.give_way();
    }

    /// Lets locked pages of a range leave again.
    pub fn unlock_pages(&self, start: usize, len: usize) {
        if let Some(all) = self.hinted_span(start, len) {
            calm(|| self.unlock(all));
        }
    }

    fn unlock(&self, pages: Range<u64>) {
        let now = self.device_time(now_ns());
        let mut next = pages.start;
        while next < pages.end {
            let began_ns = now_ns();
            let mut core = Unasked::new(self);
            while next < pages.end && now_ns() <= began_ns + HOLD_NS {
                let found = core.hints.locked.next(next as usize, true);
                next = found.map_or(pages.end, |at| (at as u64).min(pages.end));
                if next < pages.end {
                    core.unlock_page(now, next);
                    core.show(next);
                    core.live.change().add(Counter::HintsUnlocked, 1);
                    next += 1;
                }
            }
            core.publish();
            core.give_way();
        }
    }

    /// The pages of a range, if anything that lasts has ever been said of any.
    fn hinted_span(&self, start: usize, len: usize) -> Option<Range<u64>> {
        let is_hinted = self.said.is_hinted.load(Acquire);
        is_hinted.then(|| self.span(start, len)).flatten()
    }

    /// Lets all locked pages leave again.
    pub fn unlock_all(&self) {
        if self.said.is_hinted.load(Acquire) {
            calm(|| {
                let pages = self.core().device.pages();
                self.unlock(0..pages);
            });
        }
    }

    /// Whether pages that the program takes from now on are locked when they come (`MCL_FUTURE`).
    pub fn lock_what_comes(&self, is_so: bool) {
        self.said.locks_what_comes.store(is_so, Release);
    }

    /// Locks whole pages that the program has just taken, if it wants all that comes locked. False
    /// if that would be more than can be.
    pub fn lock_if_wanted(&self, start: usize, len: usize) -> bool {
        !self.said.locks_what_comes.load(Acquire) || self.lock_pages(start, len, true).is_ok()
    }

    /// The advice for pages goes on to others, to which the program moves them or by which it
    /// lengthens them. `old` are the first of `start`, or elsewhere.
    ///
    /// # Errors
    /// `EAGAIN` if more would be locked than can be.
    pub fn hand_hints_on(&self, old: Range<usize>, start: usize, len: usize) -> Result<(), i32> {
        let (Some(from), Some(to)) = (
            self.hinted_span(old.start, old.len()),
            self.hinted_span(start, len),
        ) else {
            return Ok(());
        };
        let locked = self.locked_in(old.start, old.len());
        if locked > 0 {
            if to.end - to.start > locked + self.lockable() {
                return Err(libc::EAGAIN);
            }
            self.unlock_pages(old.start, old.len());
            self.lock_pages(start, len, true)
                .map_err(|_| libc::EAGAIN)?;
        }
        calm(|| {
            let mut core = self.core();
            let pattern = core.device.advice(Lpn::of(from.start));
            core.device
                .advise(Lpn::of(to.start), to.end - to.start, pattern);
        });
        Ok(())
    }

    /// Whether no page can be locked at all: `cache.pin_max` is less than one of each set.
    pub fn can_lock_none(&self) -> bool {
        calm(|| self.core().device.pins_max() == 0)
    }

    /// Forgets the advice for pages that the program gives back.
    pub fn forget_hints(&self, start: usize, len: usize) {
        if let Some(all) = self.hinted_span(start, len) {
            calm(|| {
                let (first, count) = (Lpn::of(all.start), all.end - all.start);
                self.core().device.advise(first, count, Pattern::Normal);
                self.unlock(all);
            });
        }
    }

    /// Bytes from the start of a range on, up to the first locked page; all if none is.
    pub fn unlocked_from(&self, start: usize, len: usize) -> usize {
        let Some(all) = self.hinted_span(start, len) else {
            return len;
        };
        let first = calm(|| self.core().hints.locked.next(all.start as usize, true));
        let free = first.map_or(len, |at| (at - all.start as usize) * PAGE);
        free.min(len)
    }

    /// Pages that can be locked besides those that are.
    pub fn lockable(&self) -> u64 {
        calm(|| {
            let core = self.core();
            let locked = core.hints.locked.count() as u64;
            core.device.pins_max().saturating_sub(locked)
        })
    }

    /// Pages of a range that are locked.
    pub fn locked_in(&self, start: usize, len: usize) -> u64 {
        let Some(all) = self.hinted_span(start, len) else {
            return 0;
        };
        let count = (all.end - all.start) as usize;
        calm(|| self.core().hints.locked.count_in(all.start as usize, count) as u64)
    }
}

impl Core {
    fn unlock_page(&mut self, now: Ps, lpn: u64) {
        self.hints.locked.mark(lpn as usize, 1, false);
        if self.device.is_pinned(Lpn::of(lpn)) {
            // Pinned, so it can be unpinned.
            let unpin = Command::Unpin(Lpn::of(lpn));
            let _ = self.device.command(now, unpin, &mut self.host);
        }
    }

    /// In the child of a fork: locks are not inherited, and nothing was wished for. What others see
    /// is still the parent's.
    pub(crate) fn forget_hints_of_parent(&mut self) {
        self.hints.forget_wishes();
        while let Some(lpn) = self.hints.locked.next(0, true) {
            // The device's time is the parent's.
            self.unlock_page(Ps::ZERO, lpn as u64);
        }
    }
}
