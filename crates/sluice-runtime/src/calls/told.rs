//! Hints of the program's for ranges of its memory, carried out by the thread that gives them: a
//! few pages at a time, so that faults get in between.
//!
//! What a hint wants at once is done at once. Only pages to be brought in may wait: if no MSHR
//! entry is free for them, or in event mode, where another thread has the descriptors anyway. The
//! thread of the control ring sends for them where there is one, and they come beside later faults.

use crate::clock::{now_ns, sleep_until};
use crate::control::rouse;
use crate::engine::Engine;
use crate::engine::hints::Wish;
use crate::engine::state::Core;
use crate::engine::turn::{HOLD_NS, Unasked};
use crate::host::{Backing, MAPPED, OFF_DEVICE, PENDING};
use crate::shmem::client;
use crate::threads::calm::calm;
use crate::threads::thread::{has_service, in_service};
use core::ops::Range;
use core::sync::atomic::Ordering::*;
use sluice_abi::Counter;
use sluice_model::{Command, Pattern};
use sluice_region::PAGE;
use sluice_units::{Lpn, Ps};

/// The service thread is lent for so long at a time: others may need it.
const LENT_NS: u64 = 500_000;
/// Pages that leave together, by one call where they are neighbours.
const TOGETHER: u64 = 16;
/// Pages that are looked at between two looks at the clock.
const LOOKED_AT: u64 = 64;
/// Pages of which something is noted under one hold of the lock.
const NOTED: u64 = 1 << 20;
/// A thread that finds no room for a wish looks again after this.
const AGAIN_NS: u64 = 20_000;
/// The thread of the ring looks no sooner than after this for what arrives.
const REST_NS: u64 = 20_000;

/// What the program says of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It will need them: they are brought in.
    WillNeed,
    /// It will not need them soon: those in the cache are the next to leave.
    Cold,
    /// It needs them no longer: they leave the cache, and are programmed if they were written.
    PageOut,
    /// How it will access them.
    Access(Pattern),
}

/// How far a turn got.
struct Got {
    next: u64,
    /// Nothing more can be done before this time.
    not_before_ns: u64,
}

impl Engine {
    /// Carries a hint out for whole pages, if they are all on the device in one piece. Says whether
    /// they are.
    pub fn hint(&self, hint: Hint, start: usize, len: usize) -> bool {
        let Some(all) = self.span(start, len) else {
            return false;
        };
        let room = calm(|| u64::from(self.core().device.config().cache.pages));
        let mut left = Wish {
            next: all.start,
            end: all.end,
            room,
        };
        if hint == Hint::WillNeed && self.leave_to_ring(left) {
            return true;
        }
        while !left.is_done() {
            let lent = || self.lent(hint, left);
            // Only what takes pages out of memory needs the runtime's descriptors.
            let (got, room) = match hint {
                Hint::WillNeed | Hint::PageOut => in_service(lent),
                Hint::Cold if self.moves_pages() => in_service(lent),
                Hint::Cold | Hint::Access(_) => calm(lent),
            };
            (left.next, left.room) = (got.next, room);
            if got.not_before_ns > 0 {
                calm(|| sleep_until(got.not_before_ns));
            }
        }
        true
    }

    /// Leaves it to the thread of the ring to send for pages, if there is one and the caller would
    /// have to wait for another thread anyway.
    fn leave_to_ring(&self, wish: Wish) -> bool {
        if !self.session.ring || !has_service() {
            return false;
        }
        calm(|| {
            let mut core = self.core();
            if !core.hints.has_room() {
                return false;
            }
            let is_first = !core.hints.has_wishes();
            core.hints.keep(wish);
            self.said.has_wishes.store(true, Release);
            drop(core);
            if is_first {
                rouse(self);
            }
            true
        })
    }

    /// Pages of a range of addresses that is on the device as a whole, in one piece.
    pub(crate) fn span(&self, start: usize, len: usize) -> Option<Range<u64>> {
        let first = calm(|| self.core().host.span(start, len))?;
        Some(first..first + (len / PAGE) as u64)
    }

    /// Whether a range is on the device as a whole, in one piece.
    pub fn is_one_piece(&self, start: usize, len: usize) -> bool {
        self.span(start, len).is_some()
    }

    /// How far a range of addresses is alike from its start on: the end of that part, and whether
    /// it is of a mapping of the device file, or of shared memory on the session's device.
    pub fn window_from(&self, start: usize, end: usize) -> (usize, bool) {
        let of_file = calm(|| match &self.core().host.backing {
            Backing::Shared(b) => b.alike_from(start, end),
            Backing::Private(_) => (end, false),
        });
        match of_file {
            (to, false) => client::alike_from(start, to),
            of_file => of_file,
        }
    }

    /// The same of memory that the runtime has served for itself.
    pub fn own_from(&self, start: usize, end: usize) -> (usize, bool) {
        let limbo = calm(|| match &self.core().host.backing {
            Backing::Private(b) => b.limbo(),
            Backing::Shared(_) => 0..0,
        });
        let own = [limbo, self.calibration.range()];
        let here = own.iter().find(|range| range.contains(&start));
        let next = own.iter().map(|range| range.start);
        match here {
            Some(range) => (range.end.min(end), true),
            None => (
                next.filter(|at| (start..end).contains(at))
                    .min()
                    .unwrap_or(end),
                false,
            ),
        }
    }

    /// How far a range of whole pages of the arena is alike from its start on: the end of that
    /// part, and whether it has left the device.
    pub fn alike_from(&self, start: usize, end: usize) -> (usize, bool) {
        let all = (end - start) / PAGE;
        let alike = calm(|| {
            let core = self.core();
            let first = core.host.lpn(start)? as usize;
            let state = &core.host.state[first..first + all];
            let is_off = |state: &u8| state & OFF_DEVICE != 0;
            let what = is_off(&state[0]);
            let count = state.iter().position(|state| is_off(state) != what);
            Some((count.unwrap_or(all), what))
        });
        let (count, is_off) = alike.unwrap_or((all, false));
        (start + count * PAGE, is_off)
    }

    fn lent(&self, hint: Hint, mut left: Wish) -> (Got, u64) {
        let until_ns = now_ns() + LENT_NS;
        let mut got;
        loop {
            let mut core = Unasked::new(self);
            got = self.turn(hint, &mut left, &mut core);
            core.publish();
            left.next = got.next;
            if left.is_done() || got.not_before_ns > 0 || now_ns() > until_ns {
                break;
            }
            core.give_way();
        }
        // Once it is roused it looks by itself until all has arrived.
        let is_new = hint == Hint::WillNeed && !self.said.has_wishes.swap(true, AcqRel);
        if is_new && self.session.ring {
            rouse(self);
        }
        (got, left.room)
    }

    /// Goes on with a hint for a moment.
    fn turn(&self, hint: Hint, left: &mut Wish, core: &mut Core) -> Got {
        let next = match hint {
            Hint::WillNeed => return self.send_for(left, core),
            Hint::Access(pattern) => self.note(pattern, left, core),
            Hint::Cold => self.cool(left, core),
            Hint::PageOut => self.page_out(left, core),
        };
        let not_before_ns = 0;
        Got {
            next,
            not_before_ns,
        }
    }

    fn send_for(&self, left: &mut Wish, core: &mut Core) -> Got {
        let began_ns = now_ns();
        loop {
            let now = self.device_time(now_ns());
            let parts = (&mut core.device, &mut core.host);
            let (sent, rest) = core.hints.send(now, *left, TOGETHER, parts);
            core.carry_out(now);
            core.live.change().add(Counter::HintsWillneed, sent);
            *left = rest;
            if sent < TOGETHER || now_ns() > began_ns + HOLD_NS {
                break;
            }
        }
        let now = self.device_time(now_ns());
        let is_held_up = !left.is_done() && core.device.can_fill_at(now) > now;
        let mut not_before_ns = 0;
        if is_held_up && core.hints.has_room() {
            core.hints.keep(*left);
            left.next = left.end;
        } else if is_held_up {
            not_before_ns = now_ns() + AGAIN_NS;
        }
        Got {
            next: left.next,
            not_before_ns,
        }
    }

    fn note(&self, pattern: Pattern, left: &Wish, core: &mut Core) -> u64 {
        let count = (left.end - left.next).min(NOTED);
        core.device.advise(Lpn::of(left.next), count, pattern);
        let counter = match pattern {
            Pattern::Normal => Counter::HintsNormal,
            Pattern::Random => Counter::HintsRandom,
            Pattern::Sequential => Counter::HintsSequential,
        };
        core.live.change().add(counter, count);
        if pattern != Pattern::Normal {
            self.said.is_hinted.store(true, Release);
        }
        left.next + count
    }

    fn cool(&self, left: &Wish, core: &mut Core) -> u64 {
        let began_ns = now_ns();
        let (now, mut next, mut cooled) = (self.device_time(began_ns), left.next, 0);
        while next < left.end && now_ns() <= began_ns + HOLD_NS {
            for lpn in few(core, &mut next, left.end, LOOKED_AT).map(Lpn::of) {
                core.send_back(now, lpn.into());
                if core.device.is_cached(lpn) {
                    let done = core.device.command(now, Command::Cold(lpn), &mut core.host);
                    cooled += u64::from(done.is_ok_and(|done| done.changed));
                }
            }
        }
        core.live.change().add(Counter::HintsCold, cooled);
        next
    }

    fn page_out(&self, left: &Wish, core: &mut Core) -> u64 {
        let began_ns = now_ns();
        let mut next = left.next;
        while next < left.end && now_ns() <= began_ns + HOLD_NS {
            let pages = few(core, &mut next, left.end, TOGETHER);
            self.page_some_out(pages, core);
        }
        next
    }

    /// Takes a few pages out of the cache together. Those that a thread waits for stay, and pinned
    /// ones.
    fn page_some_out(&self, pages: Range<u64>, core: &mut Core) {
        let now = self.device_time(now_ns());
        let mut left = [false; TOGETHER as usize];
        for (left, lpn) in left.iter_mut().zip(pages.clone().map(Lpn::of)) {
            core.send_back(now, lpn.into());
            let is_needed = core.host.state[lpn.index()] & PENDING != 0;
            if !is_needed && core.device.is_cached(lpn) && !core.device.is_pinned(lpn) {
                let evict = Command::Evict(lpn);
                *left = core.device.command(now, evict, &mut core.host).is_ok();
            }
        }
        core.carry_out(now);
        let mut gone = 0;
        for (_, lpn) in left.iter().zip(pages).filter(|(left, _)| **left) {
            gone += u64::from(core.host.state[lpn as usize] & MAPPED == 0);
            core.show(lpn);
        }
        core.live.change().add(Counter::HintsPageout, gone);
    }

    /// Goes on with what hints want, for a moment: by the thread of the ring. Says when there is
    /// more to do.
    pub(crate) fn serve_wishes(&self) -> Option<u64> {
        if !self.said.has_wishes.load(Acquire) {
            return None;
        }
        let mut core = Unasked::new(self);
        let now = self.device_time(now_ns());
        let next = core.go_on_with_wishes(now);
        // Under the lock: a thread with a wish notes it under the lock as well, and rouses after
        // that.
        self.said.has_wishes.store(next.is_some(), Release);
        core.publish();
        core.give_way();
        Some(self.wall_ns(next?).max(now_ns() + REST_NS))
    }
}

impl Core {
    fn go_on_with_wishes(&mut self, now: Ps) -> Option<Ps> {
        let (device, host) = (&mut self.device, &mut self.host);
        let sent = self.hints.go_on(now, TOGETHER, device, host);
        self.carry_out(now);
        self.live.change().add(Counter::HintsWillneed, sent);
        self.map_arrived(now);
        self.hints.next_at(now, &mut self.device)
    }
}

/// The next few pages of a range that may have been in the cache.
fn few(core: &Core, next: &mut u64, end: u64, most: u64) -> Range<u64> {
    let from = core.host.used.next_used(*next as usize) as u64;
    let from = from.min(end);
    *next = (from + most).min(end);
    from..*next
}
