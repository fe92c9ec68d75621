//! What the program has said of its memory and is not done with: pages that are to be sent for,
//! that are to be mapped when they are there, and that are to stay.
//!
//! Under the engine's lock, also on the path of a fault. Nothing in here allocates after the start.

use crate::host::{Host, OFF_DEVICE};
use core::cmp::Reverse;
use core::sync::atomic::AtomicBool;
use sluice_model::{Command, Device, Done, Refused};
use sluice_units::Bits;
use sluice_units::{Lpn, Ps};
use std::collections::{BinaryHeap, VecDeque};

/// Ranges that wait for MSHR entries. A thread with one more wish waits until there is room.
const WISHES_MAX: usize = 64;
/// Pages on their way that are mapped when they are there. Others wait for their first access.
const COMING_MAX: usize = 4096;
/// Pages that one fault sends for at most besides its own.
const BESIDE_A_FAULT: u64 = 16;

/// What of hints must be known without the lock.
#[derive(Debug, Default)]
pub struct Said {
    /// Whether the program, or somebody else for it, has ever given a hint that lasts.
    pub is_hinted: AtomicBool,
    /// Whether pages that the program takes are to be locked.
    pub locks_what_comes: AtomicBool,
    /// Whether there may be pages that are to be sent for, or to be mapped.
    pub has_wishes: AtomicBool,
}

/// Pages that are to be brought in, as soon as the device can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The first of them.
    pub next: u64,
    /// Behind the last.
    pub end: u64,
    /// How many more are sent for, before they would push each other out.
    pub room: u64,
}

impl Wish {
    /// Whether there is nothing left to send for.
    pub fn is_done(&self) -> bool {
        self.next >= self.end || self.room == 0
    }
}

/// What the program has said.
#[derive(Debug)]
pub struct Hints {
    /// Pages that stay once they are there, as many as can be pinned at most.
    pub locked: Bits,
    wishes: VecDeque<Wish>,
    /// When pages arrive that were wished for, soonest first.
    coming: BinaryHeap<Reverse<(Ps, u64)>>,
}

impl Hints {
    /// Nothing said of so many pages.
    pub fn new(pages: usize) -> Hints {
        Hints {
            locked: Bits::new(pages),
            wishes: VecDeque::with_capacity(WISHES_MAX),
            coming: BinaryHeap::with_capacity(COMING_MAX),
        }
    }

    /// Sends for pages as far as the device takes them at once. Says how many it took, and what is
    /// left of the wish.
    pub fn send(
        &mut self,
        now: Ps,
        mut wish: Wish,
        most: u64,
        (device, host): (&mut Device, &mut Host),
    ) -> (u64, Wish) {
        let mut sent = 0;
        while !wish.is_done() && sent < most {
            match bring(now, wish.next, device, host) {
                Brought::Later => break,
                Brought::No => {}
                Brought::At(at) => {
                    sent += 1;
                    wish.room -= 1;
                    self.will_come(at, wish.next);
                }
            }
            wish.next += 1;
        }
        (sent, wish)
    }

    /// A page will be there at a time, and is to be mapped then.
    pub fn will_come(&mut self, at: Ps, lpn: u64) {
        if self.coming.len() < COMING_MAX {
            self.coming.push(Reverse((at, lpn)));
        }
    }

    /// Whether any wish waits.
    pub fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    /// Whether there is room for another wish.
    pub fn has_room(&self) -> bool {
        self.wishes.len() < WISHES_MAX
    }

    /// Keeps a wish for later. The caller has asked for room.
    pub fn keep(&mut self, wish: Wish) {
        if !wish.is_done() && self.has_room() {
            self.wishes.push_back(wish);
        }
    }

    /// Goes on with the wishes, oldest first. Says how many pages were sent for.
    pub fn go_on(&mut self, now: Ps, most: u64, device: &mut Device, host: &mut Host) -> u64 {
        let mut sent = 0;
        while sent < most
            && let Some(wish) = self.wishes.pop_front()
        {
            let (taken, left) = self.send(now, wish, most - sent, (device, host));
            sent += taken;
            if !left.is_done() {
                self.wishes.push_front(left);
                break;
            }
        }
        sent
    }

    /// Goes on beside a fault, which the device has served.
    pub fn go_on_beside(&mut self, now: Ps, device: &mut Device, host: &mut Host) -> u64 {
        match self.wishes.is_empty() {
            true => 0,
            false => self.go_on(now, BESIDE_A_FAULT, device, host),
        }
    }

    /// Whether a page is to stay that may leave.
    #[inline]
    pub fn is_to_stay(&self, lpn: u64, device: &Device) -> bool {
        self.locked.count() > 0 && self.locked.has(lpn as usize) && !device.is_pinned(Lpn::of(lpn))
    }

    /// Has those mapped that are there by then. From now on their accesses are not seen.
    pub fn map_arrived(&mut self, by: Ps, device: &mut Device, host: &mut Host) {
        while let Some(Reverse((at, lpn))) = self.coming.peek().copied()
            && at <= by
        {
            self.coming.pop();
            let found = device.cached_at(Lpn::of(lpn));
            if found.is_some_and(|at| at <= by) && host.will_map(lpn) {
                device.expose(Lpn::of(lpn));
            }
        }
    }

    /// When there is something to do again, if there is.
    pub fn next_at(&self, now: Ps, device: &mut Device) -> Option<Ps> {
        let arrival = self.coming.peek().map(|Reverse((at, _))| *at);
        let sending = (!self.wishes.is_empty()).then(|| device.can_fill_at(now));
        arrival.into_iter().chain(sending).min()
    }

    /// Forgets what is not done. The child of a fork has not said it.
    pub fn forget_wishes(&mut self) {
        self.wishes.clear();
        self.coming.clear();
    }
}

/// What became of a page that is to be brought in.
enum Brought {
    /// It is on its way until then.
    At(Ps),
    /// It is there already, or not the device's.
    No,
    /// It cannot be had yet.
    Later,
}

fn bring(now: Ps, lpn: u64, device: &mut Device, host: &mut Host) -> Brought {
    let page = Lpn::of(lpn);
    if device.is_cached(page) || host.is_near(lpn) || host.state[lpn as usize] & OFF_DEVICE != 0 {
        return Brought::No;
    }
    if device.can_fill_at(now) > now {
        return Brought::Later;
    }
    match device.command(now, Command::Prefetch(page), host) {
        Ok(Done { at, changed: true }) => Brought::At(at),
        Err(Refused::NoRoom(_)) => Brought::Later,
        _ => Brought::No,
    }
}
