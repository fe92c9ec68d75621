//! Pages that move to host memory because they are hot, and back for others (SkyByte III-C).
//!
//! A page in host memory stays mapped, and the device does not know it. Which one leaves is decided
//! by two lists: what becomes inactive is unmapped, so that its next use traps and keeps it. All of
//! it is under the engine's lock, and on the path of a fault.

use crate::engine::state::{Core, Plan};
use crate::host::{Host, MAPPED, OFF_DEVICE, ORPHAN, PENDING, SAMPLED, WRITTEN};
use sluice_abi::Counter;
use sluice_model::Effects;
use sluice_tiering::Frames;
use sluice_units::{Lpn, Ps};
use std::collections::VecDeque;

/// Steps of one search for a page that leaves. Each may unmap a page, and somebody waits meanwhile.
const STEPS: u64 = 32;
/// Hot pages that move beside one fault.
const BESIDE_A_FAULT: usize = 4;

/// What a search for a victim asks.
struct Search<'a> {
    host: &'a mut Host,
    pages: &'a [u64],
}

impl Frames for Search<'_> {
    /// Uses of a mapped page are not seen: it may have been.
    fn take_used(&mut self, frame: u32) -> bool {
        let lpn = self.pages[frame as usize];
        self.host.state[lpn as usize] & MAPPED != 0
    }

    /// One that a thread needs for a moment longer stays mapped, and counts as used.
    fn becomes_inactive(&mut self, frame: u32) {
        let lpn = self.pages[frame as usize];
        if !self.host.progress.holds(lpn) {
            self.host.set_aside(lpn);
        }
    }
}

impl Core {
    /// Notes a fault on a page of the device. Moves pages that were hot before it to host memory,
    /// while the flash is being waited for.
    pub(crate) fn migrate_beside(&mut self, now: Ps, lpn: u64) {
        let Some(migration) = &mut self.migration else {
            return;
        };
        let waits = migration.wanted.len();
        if !migration.saw(now, lpn) {
            self.live.change().add(Counter::NoRoom, 1);
        }
        // A move may take another page away.
        if self.host.progress.all_stay {
            return;
        }
        for _ in 0..waits.min(BESIDE_A_FAULT) {
            self.move_next(now);
        }
    }

    /// Moves the next hot page, or has it wait on if it is still on its way to the cache.
    fn move_next(&mut self, now: Ps) {
        let wanted = self.migration.as_mut().map(|m| &mut m.wanted);
        let Some(lpn) = wanted.and_then(VecDeque::pop_front) else {
            return;
        };
        if self.host.state[lpn as usize] & PENDING == 0 {
            return self.promote(now, lpn);
        }
        if let Some(migration) = &mut self.migration {
            migration.wanted.push_back(lpn);
        }
    }

    /// A fault on a page in host memory that had been unmapped: it was used, and is back at once.
    pub(crate) fn host_hit(&mut self, lpn: u64, addr: usize) -> Plan {
        if self.host.map(lpn, addr).is_ok() {
            self.host.arrived(lpn);
            self.show(lpn);
        } else {
            self.host.not_mapped(addr);
            self.host.wake(addr);
        }
        let block = self.live.change();
        block.add(Counter::Traps, 1);
        block.add(Counter::HostHits, 1);
        Plan::Done
    }

    /// Moves a hot page to host memory, if it can be had now. Its contents stay where they are.
    fn promote(&mut self, now: Ps, lpn: u64) {
        if self.may_move(lpn).is_none() {
            return;
        }
        let Some(frame) = self.frame_for(now) else {
            return self.live.change().add(Counter::NoRoom, 1);
        };
        // The page that left for it may have taken its place in the cache.
        let at = self.may_move(lpn);
        let (Some(migration), Some(near)) = (&mut self.migration, &mut self.host.near) else {
            return;
        };
        let Some(at) = at else {
            return migration.give_free(frame);
        };
        let dirty = self.device.promote(now.max(at), Lpn::of(lpn)).dirty;
        migration.moves_in(frame, lpn, dirty);
        near.moves_in(lpn, frame);
        self.live.change().add(Counter::Promotions, 1);
        self.show(lpn);
    }

    /// Since when the device has had a page that can move to host memory: one that is mapped, that
    /// nobody waits for, and that nobody keeps there.
    fn may_move(&self, lpn: u64) -> Option<Ps> {
        let state = self.host.state[lpn as usize];
        let is_there = state & (MAPPED | PENDING | ORPHAN | OFF_DEVICE | SAMPLED) == MAPPED;
        let may_move = is_there
            && !self.host.is_near(lpn)
            && !self.host.closed.has(lpn as usize)
            && !self.hints.locked.has(lpn as usize)
            && !self.device.is_pinned(Lpn::of(lpn));
        let at = self.device.cached_at(Lpn::of(lpn));
        at.filter(|_| may_move)
    }

    /// A frame of host memory that is free, or that a page leaves now.
    fn frame_for(&mut self, now: Ps) -> Option<u32> {
        let migration = self.migration.as_mut()?;
        if let Some(frame) = migration.take_free() {
            return Some(frame);
        }
        let mut search = Search {
            host: &mut self.host,
            pages: &migration.pages,
        };
        let frame = migration.ages.victim(STEPS, &mut search)?;
        self.demote(now, frame);
        Some(frame)
    }

    /// Sends the page of a frame, which no list has any more, back to the device. What was written
    /// goes to where its stores go; of what was not, flash has a copy.
    ///
    /// One that is needed for a moment longer stays mapped, so it counts as written.
    fn demote(&mut self, now: Ps, frame: u32) {
        let Some((lpn, dirty)) = self.forget_frame(frame) else {
            return;
        };
        let is_mapped = self.host.state[lpn as usize] & MAPPED != 0;
        let stays = is_mapped && self.host.progress.holds(lpn);
        let written = match is_mapped {
            true => stays || self.host.take_away(lpn),
            false => self.host.state[lpn as usize] & WRITTEN != 0,
        };
        if self.host.state[lpn as usize] & MAPPED == 0 {
            self.host.state[lpn as usize] &= !WRITTEN;
        }
        let goes_back = written || dirty;
        if goes_back {
            self.device.demote(now, Lpn::of(lpn), &mut self.host);
            self.carry_out(now);
        }
        if stays && !self.device.is_cached(Lpn::of(lpn)) {
            // It leaves later, as if it had just been evicted.
            self.host.unmap(Lpn::of(lpn));
            self.carry_out(now);
        }
        let block = self.live.change();
        block.add(Counter::Demotions, 1);
        block.add(Counter::DirtyDemotions, u64::from(goes_back));
        drop(block);
        self.show(lpn);
    }

    /// The page of a frame is no longer in host memory. Its frame is nobody's.
    fn forget_frame(&mut self, frame: u32) -> Option<(u64, bool)> {
        let (lpn, dirty) = self.migration.as_ref()?.page_of(frame);
        let is_mapped = self.host.state[lpn as usize] & MAPPED != 0;
        self.host.near.as_mut()?.leaves(lpn, is_mapped);
        Some((lpn, dirty))
    }

    /// Sends a page back to the device, if it is in host memory: somebody names it to the device.
    pub(crate) fn send_back(&mut self, now: Ps, lpn: u64) {
        if let Some(frame) = self.leave_frame(lpn) {
            self.demote(now, frame);
        }
    }

    /// Takes the frame of a page out of use.
    fn leave_frame(&mut self, lpn: u64) -> Option<u32> {
        let frame = self.host.near.as_ref()?.frame(lpn)?;
        let migration = self.migration.as_mut()?;
        migration.ages.remove(frame);
        migration.give_free(frame);
        Some(frame)
    }

    /// The contents of a page are gone, or the kernel's, wherever the page was.
    pub(crate) fn discard(&mut self, now: Ps, lpn: u64) {
        if let Some(frame) = self.leave_frame(lpn) {
            self.forget_frame(frame);
        }
        self.device.discard(now, Lpn::of(lpn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::told::Hint;
    use crate::engine::Engine;
    use crate::rig;
    use proptest::prelude::*;
    use sluice_region::PAGE;

    /// A cache of four pages and host memory of so many, for pages that trap twice.
    fn engine(near: &str) -> &'static Engine {
        rig::engine(&[
            ("cache.policy", "lru"),
            ("host.migration.policy", "adaptive"),
            ("host.migration.threshold", "2"),
            ("host.migration.decay", "0us"),
            ("host.migration.capacity", near),
        ])
    }

    /// Faults on pages in turn.
    struct Steps(&'static Engine, u64);

    /// A property has thousands of cases, and a process fewer descriptors than those would use.
    impl Drop for Steps {
        fn drop(&mut self) {
            // SAFETY: each test has an engine of its own, which nobody has after it.
            unsafe { rig::end(self.0) };
        }
    }

    impl Steps {
        /// Touches a page, whether it traps or not. Says whether it did.
        fn touch(&mut self, lpn: u64, write: bool) -> bool {
            self.1 += 1;
            let traps = !rig::is_there(self.0, lpn);
            if traps && let Some(wait) = rig::begin(self.0, self.1, lpn, write) {
                assert!(self.0.fill(&wait, wait.act_ns));
            }
            assert!(rig::is_there(self.0, lpn), "page {lpn}");
            traps
        }

        /// Has a page trap twice and another after it, beside whose fault it moves. Pages from
        /// `others` on push it out of the cache in between.
        fn promote(&mut self, lpn: u64, others: u64) {
            self.touch(lpn, true);
            rig::store(self.0, lpn, 100 + lpn);
            for other in others..others + 5 {
                self.touch(other, false);
            }
            self.touch(lpn, false);
            self.touch(others + 5, false);
            assert!(self.0.core().host.is_near(lpn), "page {lpn}");
            assert_eq!(
                rig::load(self.0, lpn),
                100 + lpn,
                "what it held on the device"
            );
            rig::store(self.0, lpn, 200 + lpn);
        }
    }

    fn count(engine: &Engine, counter: Counter) -> u64 {
        engine.block().get(counter)
    }

    #[test]
    fn a_hot_page_moves_and_a_sweep_of_others_leaves_it() {
        let mut steps = Steps(engine("16KiB"), 0);
        steps.promote(0, 10);
        assert!(!steps.0.core().device.is_cached(Lpn(0)));
        assert_eq!(count(steps.0, Counter::Promotions), 1);
        for other in 100..140 {
            steps.touch(other, false);
        }
        assert!(!steps.touch(0, false), "it is mapped");
        assert_eq!(rig::load(steps.0, 0), 200);
        let core = steps.0.core();
        assert_eq!(core.host.mapped(), 5, "those of the cache, and it");
        assert_eq!(core.host.mapped_of_device(), 4);
    }

    /// Of two that were written the older one leaves. Its stores are the device's again.
    #[test]
    fn what_leaves_was_not_used_since_it_became_inactive() {
        let mut steps = Steps(engine("8KiB"), 0);
        steps.promote(0, 10);
        steps.promote(1, 20);
        steps.promote(2, 30);
        assert_eq!(count(steps.0, Counter::Demotions), 1);
        assert_eq!(count(steps.0, Counter::DirtyDemotions), 1);
        assert!(!steps.0.core().host.is_near(0));
        assert!(steps.0.core().device.is_cached(Lpn(0)), "as a dirty page");
        assert!(steps.touch(0, false), "whose next use is seen");
        for lpn in 0..3 {
            steps.touch(lpn, false);
            assert_eq!(rig::load(steps.0, lpn), 200 + lpn);
        }
    }

    /// Room for two: the older one is used while it is inactive, so the younger one leaves.
    #[test]
    fn a_page_that_is_used_while_it_is_inactive_stays() {
        let mut steps = Steps(engine("8KiB"), 0);
        steps.promote(0, 10);
        steps.promote(1, 20);
        let mut core = steps.0.core();
        let both = core.migration.as_ref().expect("host memory").in_use();
        assert_eq!(both, 2);
        // As a search does with the older one.
        assert!(core.host.set_aside(0));
        assert!(core.host.set_aside(1));
        drop(core);
        assert!(steps.touch(0, false), "it had been unmapped");
        assert_eq!(count(steps.0, Counter::HostHits), 1);
        assert_eq!(
            count(steps.0, Counter::Misses) + 1,
            count(steps.0, Counter::Traps)
        );
        steps.promote(2, 30);
        assert!(steps.0.core().host.is_near(0) && !steps.0.core().host.is_near(1));
    }

    #[test]
    fn pinned_and_locked_pages_stay_on_the_device() {
        let mut steps = Steps(engine("16KiB"), 0);
        steps.promote(0, 10);
        let now = steps.0.device_time(steps.0.started_ns + (1 << 40));
        assert!(steps.0.core().lock_page(now, 0).is_some());
        assert!(!steps.0.core().host.is_near(0), "it is named to the device");
        assert!(steps.0.core().device.is_pinned(Lpn(0)));
        steps.touch(0, false);
        steps.0.core().promote(now, 0);
        assert!(!steps.0.core().host.is_near(0));
        assert_eq!(rig::load(steps.0, 0), 200);
    }

    /// A hint took the page of a mutex away, and the kernel found none as its owner ended.
    #[test]
    fn what_the_kernel_needs_stays_when_it_is_named_to_the_device() {
        let mut steps = Steps(engine("16KiB"), 0);
        steps.promote(0, 10);
        let (at, owner) = (rig::page(steps.0, 0), sluice_region::thread_id());
        steps.0.hold(owner, &[at]);
        assert!(steps.0.hint(Hint::Cold, at, PAGE));
        assert!(!steps.0.core().host.is_near(0), "it is the device's");
        for other in 1..9 {
            steps.touch(other, true);
        }
        assert!(!steps.touch(0, false), "it has stayed");
        assert_eq!(rig::load(steps.0, 0), 200);
        rig::store(steps.0, 0, 300);
        check(steps.0);
        steps.0.let_go(owner, &[at]);
        for other in 14..24 {
            steps.touch(other, false);
        }
        assert!(steps.touch(0, false), "it has left");
        assert_eq!(rig::load(steps.0, 0), 300);
        check(steps.0);
    }

    /// What a step does to the pages from `lpn` on.
    #[derive(Clone, Copy, Debug)]
    enum Do {
        Load,
        Store,
        Discard,
        PageOut,
        Cold,
        WillNeed,
        Close,
        Aside,
    }

    const PAGES: u64 = 24;

    fn steps() -> impl Strategy<Value = Vec<(Do, u64, u64)>> {
        let which = prop_oneof![
            8 => Just(Do::Load), 8 => Just(Do::Store), 1 => Just(Do::Discard),
            1 => Just(Do::PageOut), 1 => Just(Do::Cold), 1 => Just(Do::WillNeed),
            1 => Just(Do::Close), 2 => Just(Do::Aside),
        ];
        proptest::collection::vec((which, 0..PAGES, 1u64..4), 1..400)
    }

    /// Carries a step out. Says whether the pages are empty after it.
    fn carry_out(steps: &mut Steps, what: Do, lpn: u64, count: u64) -> bool {
        let (at, len) = (rig::page(steps.0, lpn), count as usize * PAGE);
        match what {
            Do::Load | Do::Store => {
                steps.touch(lpn, matches!(what, Do::Store));
            }
            Do::Discard => {
                steps.0.discard(at, len);
            }
            Do::PageOut => assert!(steps.0.hint(Hint::PageOut, at, len)),
            Do::Cold => assert!(steps.0.hint(Hint::Cold, at, len)),
            Do::WillNeed => assert!(steps.0.hint(Hint::WillNeed, at, len)),
            Do::Close => {
                steps.0.close(at, len).expect("a range of the arena");
                let prot = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: a range of the arena.
                unsafe { sluice_region::raw_mprotect(at, len, prot) }.expect("its own memory");
                steps.0.opened(at, len);
            }
            Do::Aside => {
                steps.0.core().host.set_aside(lpn);
            }
        }
        matches!(what, Do::Discard)
    }

    /// What is known of each page fits together.
    fn check(engine: &Engine) {
        let core = engine.core();
        let (mut mapped, mut near) = (0, 0);
        for lpn in 0..PAGES + 4 {
            let is_mapped = core.host.state[lpn as usize] & MAPPED != 0;
            let is_near = core.host.is_near(lpn);
            // One that is needed for a moment longer leaves after all.
            let is_orphan = core.host.state[lpn as usize] & ORPHAN != 0;
            let is_known = is_near || is_orphan || core.device.is_cached(Lpn::of(lpn));
            assert!(!is_mapped || is_known, "page {lpn}");
            mapped += u64::from(is_mapped);
            near += u64::from(is_mapped && is_near);
        }
        assert_eq!(core.host.mapped(), mapped);
        assert_eq!(core.host.mapped_of_device(), mapped - near);
        let migration = core.migration.as_ref().expect("host memory");
        let of_frames = migration.in_use();
        let all = (0..PAGES + 4).filter(|lpn| core.host.is_near(*lpn)).count();
        assert_eq!(of_frames, all);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whatever the program does, it reads what it stored last, and no page is counted twice.
        #[test]
        fn nothing_is_lost(all in steps(), near in 1u64..6) {
            let mut steps = Steps(engine(&format!("{}KiB", 4 * near)), 0);
            let mut shadow = [0; PAGES as usize + 4];
            for (at, (what, lpn, count)) in all.into_iter().enumerate() {
                if carry_out(&mut steps, what, lpn, count) {
                    shadow[lpn as usize..(lpn + count) as usize].fill(0);
                }
                match what {
                    Do::Load => prop_assert_eq!(rig::load(steps.0, lpn), shadow[lpn as usize]),
                    Do::Store => {
                        shadow[lpn as usize] = at as u64 + 1;
                        rig::store(steps.0, lpn, shadow[lpn as usize]);
                    }
                    _ => {}
                }
                check(steps.0);
            }
            for lpn in 0..PAGES {
                steps.touch(lpn, false);
                prop_assert_eq!(rig::load(steps.0, lpn), shadow[lpn as usize]);
            }
            let moved = steps.0.block().get(Counter::Promotions);
            prop_assert!(steps.1 < 300 || moved > 0, "{} steps", steps.1);
        }
    }
}
