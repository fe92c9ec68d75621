//! The statistics block of this process and its residency map, in a file of the session directory.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};
use sluice_abi::{
    Change, Counter, HEAT_PAGES, MAP_AT, STATS_MAGIC, STATS_VERSION, StatsBlock, heat_at,
    view_bytes,
};
use sluice_model::Stats;
use sluice_region::Mapping;

/// A wait that ends later than this after its moment is late.
const LATE_AFTER_NS: u64 = 1_000;

/// What the files of a process say of it.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Pages of the device.
    pub pages: u64,
    /// Address of the first; 0 for none.
    pub heap_at: usize,
    /// When its device was started, ns of CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// Whether it came from a fork.
    pub forked: bool,
}

/// The mapped file.
#[derive(Debug)]
pub struct Live {
    map: Mapping,
    pages: u64,
}

/// The residency map, a byte for each page, and the heat behind it. Nothing here depends on what
/// they hold: what others do to their view of them changes nothing.
#[derive(Debug)]
pub struct Residency {
    first: *const AtomicU8,
    heat: *const AtomicU32,
    pages: u64,
}

// SAFETY: a shared mapping of atomics, used under the engine's lock.
unsafe impl Send for Residency {}

impl Residency {
    /// Notes what is known of a page.
    pub fn set(&self, lpn: u64, bits: u8) {
        if lpn < self.pages {
            // SAFETY: within the mapping, which lives as long as the process's statistics.
            unsafe { (*self.first.add(lpn as usize)).store(bits, Relaxed) };
        }
    }

    /// Counts a miss on a page.
    #[inline]
    pub fn missed(&self, lpn: u64) {
        if lpn < self.pages {
            // SAFETY: as above: the heat has a counter for every page.
            let heat = unsafe { &*self.heat.add((lpn / HEAT_PAGES) as usize) };
            // One writer at a time, under the engine's lock.
            heat.store(heat.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

/// Sets each counter of the block that the model has.
macro_rules! copy {
    ([] $block:ident, $model:ident, $inherited:ident;
     $($(#[$doc:meta])* $variant:ident: $name:ident as $key:ident;)+) => {
        $($block.set(Counter::$variant, $model.$name - $inherited.$name);)+
    };
}

impl Live {
    /// A block over a mapping of [`sluice_abi::view_bytes`], marked as ready. `follows` is whether
    /// the image before this one in the same process became it.
    pub fn new(map: Mapping, of: Identity, follows: bool) -> Live {
        let pages = of.pages;
        let live = Live { map, pages };
        let block = live.block();
        block.pages.store(pages, Relaxed);
        block.heap_at.store(of.heap_at as u64, Relaxed);
        block.version.store(STATS_VERSION, Relaxed);
        // SAFETY: no arguments.
        let (pid, parent) = unsafe { (libc::getpid(), libc::getppid()) };
        block.pid.store(pid as u64, Relaxed);
        block.parent.store(parent as u64, Relaxed);
        block.started_ns.store(of.started_ns, Relaxed);
        block.forked.store(of.forked as u64, Relaxed);
        block.follows.store(follows as u64, Relaxed);
        block.magic.store(STATS_MAGIC, Release);
        live
    }

    /// A block that nobody else sees, of a process that has no device.
    pub fn unseen(of: Identity) -> Result<Live, i32> {
        let map = Mapping::anonymous(view_bytes(of.pages))?;
        Ok(Live::new(map, of, false))
    }

    /// In the child of a fork: stands where the parent's copy stood.
    pub fn take_place_of(&mut self, parents: Live) {
        self.map.take_place_of(parents.map);
    }

    /// The block itself.
    pub fn block(&self) -> &StatsBlock {
        // SAFETY: the mapping is page-aligned, long enough, and all fields are atomics.
        unsafe { &*(self.map.addr() as *const StatsBlock) }
    }

    /// Begins a change of the block, or goes on with the one under way. Under the engine's lock.
    pub fn change(&self) -> Change<'_> {
        self.block().change()
    }

    /// The map behind the block. It lives no longer than this.
    pub fn residency(&self) -> Residency {
        Residency {
            first: (self.map.addr() + MAP_AT) as *const AtomicU8,
            heat: (self.map.addr() + heat_at(self.pages)) as *const AtomicU32,
            pages: self.pages,
        }
    }

    /// Counts a wait that is over: how long it was to be, and how long it was.
    pub fn count_wait(&self, modelled_ns: u64, achieved_ns: u64, is_miss: bool) {
        let is_late = achieved_ns > modelled_ns + LATE_AFTER_NS;
        let block = self.change();
        if !is_miss {
            block.add(Counter::LateSoft, u64::from(is_late));
            return;
        }
        block.modelled.record(modelled_ns);
        block.achieved.record(achieved_ns);
        block.add(Counter::Late, u64::from(is_late));
    }

    /// Counts a thread's wait for a CPU, beyond what waking it takes.
    pub fn count_run_delay(&self, ns: u64) {
        let block = self.change();
        block.add(Counter::RunDelays, 1);
        block.add(Counter::RunDelaysLate, u64::from(ns > LATE_AFTER_NS));
        block.add(Counter::RunDelayNs, ns);
    }

    /// Copies the model's counters, less those that a forked child found there.
    pub fn copy_model(&self, model: &Stats, inherited: &Stats) {
        let block = self.change();
        sluice_abi::device_counters! { [copy] block, model, inherited; }
        let parts = model.parts.named().into_iter().zip(inherited.parts.named());
        for ((_, counter), ((_, part), (_, before))) in Counter::PARTS.into_iter().zip(parts) {
            block.set(counter, (part - before).0);
        }
    }
}
