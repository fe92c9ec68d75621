//! What the engine's lock protects: the device model, the pages, and how a trap changes both.

use crate::engine::hints::Hints;
use crate::engine::migration::Migration;
use crate::host::{Backing, Host, MAPPED, OFF_DEVICE, PENDING, STASHED, WRITTEN};
use crate::measures::profile::Profile;
use crate::measures::record::Recorder;
use crate::measures::sample::Sampler;
use crate::measures::stats::Live;
use crate::session::Trap;
use crate::session::rings::ControlRing;
use crate::session::settings::OnLongDelay;
use sluice_abi::{CACHED, Counter, IN_HOST, PINNED};
use sluice_model::{Command, Completion, Device, Done, Hint, Op, Request, ServedBy, Stats};
use sluice_region::PAGE;
use sluice_units::{Lpn, Ps};

/// A wait longer than this has room for freeing evicted pages.
const TIDY_ABOVE_NS: u64 = 20_000;

/// A page is mapped this long before its moment where nobody but the thread that waits for it could
/// see it: an interruption meanwhile, of 24 µs on busy machines, then costs nothing.
const BRING_AHEAD_ALONE_NS: u64 = 30_000;
/// A page is mapped this long before its moment where other threads see it so much earlier.
const BRING_AHEAD_NS: u64 = 10_000;

/// What to do about a fault.
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// The address is not on the device, and none of the runtime's business.
    Outside,
    /// Nothing more: the page is mapped.
    Done,
    /// Call [`fill`](crate::Engine::fill) once the deadline has come.
    Wait(Wait),
}

/// An access that trapped, as the model is asked about it.
pub(crate) struct Access {
    pub addr: usize,
    pub lpn: u64,
    pub write: bool,
    /// When the program made it, ns.
    pub at_ns: u64,
    /// The device's time then.
    pub now: Ps,
    /// How long the device has run by then, ns.
    pub since_start_ns: u64,
    /// When the runtime first looked at the clock, as far as the estimated cost of a trap shows it.
    pub seen_ns: u64,
    /// From the runtime's last act to the program's next instruction, ns.
    pub exit_ns: u64,
    pub trap: Trap,
    /// What becomes of the CPU while it waits.
    pub on_long_delay: OnLongDelay,
    /// Whose it is, if that is counted.
    pub profiled: Option<u32>,
}

/// A page on its way.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The first address of the page that it faulted on.
    pub addr: usize,
    pub(crate) lpn: u64,
    pub(crate) access_ns: u64,
    pub(crate) modelled_ns: u64,
    /// When to call [`bring`](crate::Engine::bring), so that mapping the page is done before its
    /// moment.
    pub bring_ns: u64,
    /// When to call [`fill`](crate::Engine::fill), so that the program goes on at the modelled
    /// moment.
    pub act_ns: u64,
    /// The page is mapped: its thread need only go on.
    pub is_there: bool,
    /// The CPU is given away meanwhile (`host.on_long_delay`).
    pub may_sleep: bool,
    /// Other threads of the program may run or wait meanwhile.
    pub is_among: bool,
    /// The page was not in the cache, or still on its way there.
    pub(crate) is_miss: bool,
    /// Whose wait it is, if that is counted.
    pub(crate) profiled: Option<u32>,
    /// Whose wait it is, if that thread forks meanwhile; or else 0.
    pub(crate) forker: u32,
}

impl Wait {
    /// A page that is due at `act_ns` and that nobody counts.
    pub(crate) fn until(act_ns: u64, addr: usize) -> Wait {
        let (lpn, access_ns, modelled_ns) = (0, 0, 0);
        Wait {
            addr,
            lpn,
            access_ns,
            modelled_ns,
            bring_ns: act_ns.saturating_sub(BRING_AHEAD_ALONE_NS),
            act_ns,
            is_there: false,
            may_sleep: false,
            is_among: false,
            is_miss: false,
            profiled: None,
            forker: 0,
        }
    }
}

/// What the lock protects.
pub struct Core {
    pub(crate) device: Device,
    /// Pages and mappings.
    pub host: Host,
    pub(crate) live: Live,
    pub(crate) ring: Option<ControlRing>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) profile: Option<Profile>,
    pub(crate) inherited: Stats,
    /// Threads that wait for a page.
    pub(crate) waiting: u32,
    /// Those among them whose page is there ahead of its moment.
    pub(crate) ahead: u32,
    /// When the page mapped last arrived, as the model says, ns.
    pub(crate) arrived_ns: u64,
    /// What the program has said of its memory.
    pub(crate) hints: Hints,
    /// Host memory for hot pages, if the settings give any.
    pub(crate) migration: Option<Migration>,
}

impl Core {
    /// Asks the model and says when the page may appear.
    pub(crate) fn request(&mut self, access: &Access) -> Plan {
        let Access {
            lpn, write, now, ..
        } = *access;
        let op = if write { Op::Write } else { Op::Read };
        let request = Request {
            addr: lpn * PAGE as u64,
            op,
        };
        let completion = self.device.access(now, request, &mut self.host);
        self.host.adopt(lpn);
        let flags = if write { PENDING | WRITTEN } else { PENDING };
        self.host.state[lpn as usize] |= flags;
        if let Some(recorder) = &self.recorder {
            recorder.push(lpn);
            if let Some(watched) = &self.host.watched {
                recorder.note(watched.watch());
            }
        }
        let block = self.live.change();
        block.add(Counter::Traps, 1);
        let flash = completion.served_by == ServedBy::Flash;
        if flash {
            self.host.residency.missed(lpn);
            if let (Some(profile), Some(thread)) = (&self.profile, access.profiled) {
                profile.missed(lpn, thread);
            }
        }
        block.add(
            if flash {
                Counter::Misses
            } else {
                Counter::SoftTraps
            },
            1,
        );
        block.set(Counter::LastTrapNs, access.since_start_ns);
        drop(block);
        self.follow_hints(now, lpn);
        self.publish();
        Plan::Wait(self.wait_for(access, &completion))
    }

    /// A page that the model promised, and what can be done before its moment.
    fn wait_for(&mut self, access: &Access, completion: &Completion) -> Wait {
        self.waiting += 1;
        let (lpn, addr, now) = (access.lpn, access.addr, access.now);
        let modelled_ns = completion.done_at.0.saturating_sub(now.0).div_ceil(1_000);
        if modelled_ns > TIDY_ABOVE_NS {
            self.host.tidy();
        }
        let act_ns = (access.at_ns + modelled_ns).saturating_sub(access.exit_ns);
        let ahead_ns = match self.host.alone {
            true => BRING_AHEAD_ALONE_NS,
            false => BRING_AHEAD_NS,
        };
        let bring_ns = act_ns.saturating_sub(ahead_ns);
        let is_long = completion.hint == Hint::LongDelay;
        // One call maps a page and wakes its thread, if there is nothing to be ahead of.
        let is_due = act_ns <= access.seen_ns && access.trap == Trap::Event;
        let is_ahead = bring_ns <= access.seen_ns && !is_due;
        let is_there = is_ahead && self.host.map_ahead(lpn, addr);
        self.carry_out(now);
        // Where nobody but the thread that waits could see them, all pages are mapped now that
        // are there when it goes on.
        self.map_arrived(match self.host.alone {
            true => completion.done_at,
            false => now,
        });
        if let Some(file) = self.host.file() {
            file.submit();
        }
        Wait {
            addr,
            lpn,
            access_ns: access.at_ns,
            modelled_ns,
            bring_ns,
            act_ns,
            is_there,
            may_sleep: access.on_long_delay.gives_away(is_long),
            is_among: !self.host.alone,
            is_miss: completion.served_by != ServedBy::CacheHit || self.host.watched.is_some(),
            profiled: access.profiled,
            forker: 0,
        }
    }

    /// Does what the program has said before of the page of a fault, and of others: it stays if it
    /// is to, and what was wished for is sent for.
    fn follow_hints(&mut self, now: Ps, lpn: u64) {
        if self.hints.is_to_stay(lpn, &self.device) {
            self.lock_page(now, lpn);
        }
        let sent = self
            .hints
            .go_on_beside(now, &mut self.device, &mut self.host);
        if sent > 0 {
            self.live.change().add(Counter::HintsWillneed, sent);
        }
    }

    /// Keeps a page of which the program has said so. Says when it is there; `None` if as many of
    /// its set stay as can.
    pub(crate) fn lock_page(&mut self, now: Ps, lpn: u64) -> Option<Ps> {
        self.send_back(now, lpn);
        let command = Command::Pin(Lpn::of(lpn));
        let pinned = self.device.command(now, command, &mut self.host);
        let counter = match pinned {
            Ok(Done { changed: false, .. }) => return pinned.ok().map(|done| done.at),
            Ok(_) => Counter::HintsLocked,
            Err(_) => Counter::HintsLockRefused,
        };
        self.live.change().add(counter, 1);
        pinned.ok().map(|done| done.at)
    }

    /// Unmaps what the model has evicted. The model learns late of writes that nobody knew of then.
    pub(crate) fn carry_out(&mut self, now: Ps) {
        let device = &mut self.device;
        self.host
            .carry_out(|lpn| device.write_back(now, Lpn::of(lpn)));
    }

    /// Maps the prefetched pages that have arrived by then.
    pub(crate) fn map_arrived(&mut self, by: Ps) {
        self.hints.map_arrived(by, &mut self.device, &mut self.host);
        let _ = self.device.map_arrived(by, &mut self.host);
        if self.host.coming.is_empty() {
            return;
        }
        let mut pages = self.host.take_coming();
        self.host.map_together(&mut pages);
        pages.drain(..).for_each(|lpn| self.show(lpn));
        self.host.coming = pages;
    }

    /// A fault on a page that is mapped: another thread was faster, the page is mapped elsewhere,
    /// or the program dropped it by a system call of its own, after which it reads as zeros.
    pub(crate) fn map_again(&mut self, lpn: u64, addr: usize) -> Plan {
        self.live.change().add(Counter::Spurious, 1);
        let was = self.host.state[lpn as usize];
        let is_private = matches!(self.host.backing, Backing::Private(_));
        if is_private {
            // What the stash has of a dropped page is no longer its contents.
            self.host.state[lpn as usize] = was & !STASHED | WRITTEN;
        }
        let mapped = self.host.put(lpn, addr, true);
        if mapped.is_err() || !is_private {
            self.host.state[lpn as usize] = was;
        }
        match mapped {
            Ok(()) => {}
            Err(libc::EEXIST) => self.host.wake(addr),
            Err(_) => {
                self.host.not_mapped(addr);
                self.host.wake(addr);
            }
        }
        Plan::Done
    }

    /// Carries out evictions that had to wait for a thread's turn.
    pub(crate) fn sweep_orphans(&mut self, now: Ps) {
        while let Some((lpn, written)) = self.host.next_orphan() {
            if written {
                self.host.programmed(lpn);
                self.device.write_back(now, Lpn::of(lpn));
            }
        }
    }

    pub(crate) fn sample(&mut self, now_ns: u64) {
        if let Some(lpn) = self.host.take_watched() {
            self.show(lpn);
        }
        let (verdict, taken) = self.host.sample(now_ns);
        if let Some(lpn) = taken {
            self.show(lpn);
        }
        if let Some(verdict) = verdict {
            let away = self.host.sampler.as_ref().map_or(0, Sampler::away);
            let block = self.live.change();
            block.add(Counter::SampledPages, 1);
            block.add(Counter::SampledTouched, u64::from(verdict.touched));
            block.add(Counter::SampledWindowNs, verdict.window_ns);
            block.add(Counter::SampledMapped, self.host.mapped_of_device() + away);
        }
    }

    /// Copies the counters into the statistics block.
    pub(crate) fn publish(&self) {
        let block = self.live.change();
        self.live.copy_model(self.device.stats(), &self.inherited);
        block.set(Counter::CachedPages, self.device.cached_pages());
        block.set(Counter::PinnedPages, self.device.pinned_pages());
        self.host.copy_counters(&block);
    }

    /// Notes in the residency map what is known of a page.
    pub(crate) fn show(&self, lpn: u64) {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        let mapped = self.host.state[lpn as usize] & (MAPPED | OFF_DEVICE) == MAPPED;
        let bits = bit(self.device.is_cached(Lpn::of(lpn)), CACHED)
            | bit(mapped, sluice_abi::MAPPED)
            | bit(self.device.is_pinned(Lpn::of(lpn)), PINNED)
            | bit(self.host.is_near(lpn), IN_HOST);
        self.host.residency.set(lpn, bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ORPHAN;
    use crate::rig;
    use core::sync::atomic::Ordering::Acquire;
    use sluice_abi::StatsBlock;

    /// Its thread had it by then. Were it left, it would be there for ever at no cost, and what was
    /// stored to it would never reach the flash.
    #[test]
    fn an_eviction_that_was_put_off_is_carried_out_at_the_next_trap() {
        let engine = rig::engine(&[("cache.policy", "lru")]);
        let slow = rig::begin(engine, 1, 0, true).expect("a miss");
        for lpn in 1..=4 {
            rig::touch(engine, 1 + lpn, lpn, false);
        }
        assert_eq!(engine.core().host.state[0] & ORPHAN, ORPHAN, "evicted");
        assert!(engine.fill(&slow, slow.act_ns));
        rig::store(engine, 0, 7);
        assert_eq!(engine.core().device.stats().late_write_backs, 0);
        rig::touch(engine, 6, 5, false);
        assert!(!rig::is_there(engine, 0));
        assert_eq!(engine.core().host.mapped(), 4, "as many as are cached");
        assert_eq!(engine.core().host.state[0], STASHED);
        assert_eq!(engine.core().device.stats().late_write_backs, 1);
        rig::touch(engine, 7, 0, false);
        assert_eq!(rig::load(engine, 0), 7);
    }

    /// The program drops a page by a system call of its own, which nobody sees. What the stash
    /// still has of it must not come back.
    #[test]
    fn a_page_that_the_program_dropped_stays_zeros_when_it_has_left() {
        let engine = rig::engine(&[("cache.policy", "lru")]);
        let push_out = |at| (1..=4).for_each(|lpn| rig::touch(engine, at + lpn, lpn, false));
        rig::touch(engine, 1, 0, true);
        rig::store(engine, 0, 7);
        push_out(1);
        rig::touch(engine, 7, 0, false);
        assert_eq!(rig::load(engine, 0), 7, "from the stash");
        let addr = engine.arena().0;
        // SAFETY: a page of the test's own device.
        unsafe { sluice_region::dont_need(addr, PAGE).unwrap() };
        engine.core().map_again(0, addr);
        assert_eq!(rig::load(engine, 0), 0, "dropped");
        push_out(7);
        rig::touch(engine, 13, 0, false);
        assert_eq!(rig::load(engine, 0), 0, "and evicted");
    }

    /// Freeing takes longer than a short wait lasts.
    #[test]
    fn what_evictions_leave_is_freed_in_long_waits_alone() {
        for (read, is_freed) in [("40us", true), ("3us", false)] {
            let engine = rig::engine(&[("nand.read", read)]);
            for lpn in 0..40 {
                rig::touch(engine, 1 + lpn, lpn, false);
            }
            let core = engine.core();
            let Backing::Private(backing) = &core.host.backing else {
                unreachable!("a heap");
            };
            let (kept, evicted) = (backing.in_limbo(), 40 - 4);
            assert_eq!(kept < evicted, is_freed, "{read}: {kept} of {evicted}");
        }
    }

    #[test]
    fn the_last_figures_are_written_and_the_end_is_marked() {
        let engine = rig::engine(&[]);
        rig::touch(engine, 1, 0, false);
        engine.set_count(Counter::HostPages, 3);
        engine.count(Counter::HostPages, 2);
        engine.core().device.discard(Ps::from_us(100_000), Lpn(0));
        let block = engine.block();
        let cached = |block: &StatsBlock| block.get(Counter::CachedPages);
        assert_eq!((cached(block), block.ended.load(Acquire)), (1, 0));
        engine.finish();
        assert_eq!((cached(block), block.ended.load(Acquire)), (0, 1));
        assert_eq!(block.get(Counter::HostPages), 5);
    }
}
