//! The host's side of the model: which pages are mapped, and how they come and go.

mod coming;
mod effects;
mod leaving;
mod near;
mod obstacle;
mod off;
mod orphans;
mod stored;

pub use near::Near;
pub use obstacle::Obstacle;

use crate::allowance::Allowance;
use crate::clock::now_ns;
use crate::measures::sample::{Sampler, Verdict};
use crate::measures::stats::Residency;
use crate::measures::watch::Watched;
use crate::memory::groups::Groups;
use crate::memory::private::{Leaving, PrivateBacking};
use crate::memory::progress::Progress;
use crate::memory::shared::SharedBacking;
use crate::session::desk::StoreDesk;
use core::ops::Range;
use sluice_abi::{Change, Counter};
use sluice_region::{Fill, PAGE, Pagemap, ThreadCount, Uffd};
use sluice_units::Bits;

/// The page has page-table entries: loads and stores run at full speed.
pub const MAPPED: u8 = 1;
/// The stash holds contents for the page; without it the page is zeros.
pub const STASHED: u8 = 2;
/// A write was seen at the trap; writes after that the kernel tracks.
pub const WRITTEN: u8 = 4;
/// A thread waits for the page's deadline; the page may be mapped ahead of it.
pub const PENDING: u8 = 8;
/// The page left the device because the program changed its protection.
pub const OFF_DEVICE: u8 = 16;
/// The model evicted the page while a thread still waited for it, or needs it to get anywhere.
pub const ORPHAN: u8 = 32;
/// The page is cached but was unmapped to see whether it is used.
pub const SAMPLED: u8 = 64;
/// The page was mapped when this process was forked, since when the kernel's notes say nothing of
/// it: whether it was written shows in its contents.
pub const UNSURE: u8 = 128;

/// Uses of pages that were put aside may take one part in so many of the time.
const ASIDES_ONE_IN: u64 = 50;
/// What the runtime itself takes for such a use, ns.
const ASIDE_NS: u64 = 2_000;

/// Where the bytes of the device live.
#[derive(Debug)]
pub enum Backing {
    /// A heap in private memory.
    Private(PrivateBacking),
    /// Mappings of a shared file.
    Shared(SharedBacking),
}

/// Page states and the means to change them.
#[derive(Debug)]
pub struct Host {
    /// Faults come from here, pages are mapped through it.
    pub uffd: Uffd,
    /// Shows which pages were written.
    pub pagemap: Pagemap,
    /// Threads of this process.
    pub threads: ThreadCount,
    /// The bytes.
    pub backing: Backing,
    /// One byte of flags for each page of the device.
    pub state: Box<[u8]>,
    /// Pages from this one up have never been in the cache.
    pub top: u64,
    /// Pages to which the program has no access. None is mapped there: the kernel would move none
    /// of them out again.
    pub closed: Bits,
    /// Where pages have been in the cache, or have left the device.
    pub used: Groups,
    /// Which evictions have to wait.
    pub progress: Progress,
    /// Pages that are mapped.
    mapped: u64,
    /// Whether the program has no other thread than the one that waits; see [`Host::ask_alone`].
    pub alone: bool,
    /// Whether a signal may take a thread out of its wait, to run a handler of the program's that
    /// stores somewhere else. It may in event mode; in signal mode no signal comes meanwhile.
    pub can_be_interrupted: bool,
    /// Publishes what is known of each page.
    pub residency: Residency,
    /// Takes cached pages away to see whether they are used.
    pub sampler: Option<Sampler>,
    /// The time that uses of pages may take that were put aside for the policy.
    aside_time: Allowance,
    /// What such a use takes, ns.
    aside_ns: u64,
    /// Has every use of some pages trap.
    pub watched: Option<Watched>,
    /// Which pages are in host memory, if any may be.
    pub near: Option<Near>,
    /// Pages mapped although the model has evicted them.
    orphans: Box<[u64]>,
    orphan_count: usize,
    /// There are orphans that are not listed, of a fork.
    has_more_orphans: bool,
    pinned: u64,
    pinned_errno: i32,
    /// Ranges of addresses that children are not to have.
    pub withheld: Vec<Range<usize>>,
    /// The page that could not be mapped last, as an address.
    unmappable: usize,
    /// Pages that the model has evicted in this access, and which leave together. Never more than
    /// there was room for at the start.
    leaving: Vec<Leaving>,
    /// The first of 64 pages whose writes were asked for together, and the answer.
    asked: Option<(u64, u64)>,
    /// Notes programmed pages, if they are to be kept.
    pub desk: Option<&'static StoreDesk>,
    /// Prefetched pages that have arrived, and are mapped together. As many at most.
    pub coming: Vec<u64>,
}

impl Host {
    /// A host with nothing mapped.
    pub fn new(
        uffd: Uffd,
        backing: Backing,
        pages: u64,
        threads: ThreadCount,
        residency: Residency,
    ) -> Result<Host, i32> {
        Ok(Host {
            uffd,
            pagemap: Pagemap::open()?,
            threads,
            backing,
            state: vec![0; pages as usize].into(),
            top: 0,
            closed: Bits::new(pages as usize),
            used: Groups::new(pages as usize),
            progress: Progress::new(pages as usize),
            mapped: 0,
            alone: false,
            can_be_interrupted: false,
            residency,
            sampler: None,
            aside_time: Allowance::new(ASIDES_ONE_IN),
            aside_ns: 0,
            watched: None,
            near: None,
            orphans: vec![0; orphans::MAX].into(),
            orphan_count: 0,
            has_more_orphans: false,
            pinned: 0,
            pinned_errno: 0,
            unmappable: 0,
            leaving: Vec::with_capacity(leaving::MAX),
            asked: None,
            desk: None,
            coming: Vec::with_capacity(coming::MAX),
            withheld: Vec::new(),
        })
    }

    /// In the child of a fork: has descriptors of its own. `has_parents` says that the child has
    /// those of its parent, too, and closes them.
    pub fn replace_descriptors(
        &mut self,
        uffd: Uffd,
        pagemap: Pagemap,
        threads: u64,
        has_parents: bool,
    ) -> Result<(), i32> {
        let old = (
            core::mem::replace(&mut self.uffd, uffd),
            core::mem::replace(&mut self.pagemap, pagemap),
        );
        match has_parents {
            true => drop(old),
            // In this table the numbers are others'.
            false => core::mem::forget(old),
        }
        self.threads.reopen(threads, has_parents)
    }

    /// Calls with each descriptor, which may be moved.
    pub fn each_descriptor(
        &mut self,
        mut each: impl FnMut(&mut i32) -> Result<(), i32>,
    ) -> Result<(), i32> {
        each(self.uffd.descriptor())?;
        each(self.pagemap.descriptor())?;
        each(self.threads.descriptor())?;
        self.file()
            .map_or(Ok(()), |file| file.each_descriptor(each))
    }

    /// Page number of an address on the device.
    pub fn lpn(&self, addr: usize) -> Option<u64> {
        let lpn = match &self.backing {
            Backing::Private(b) => b.lpn(addr),
            Backing::Shared(b) => b.lpn(addr),
        };
        lpn.filter(|&l| (l as usize) < self.state.len())
    }

    /// Frees what evictions left behind, while there is time.
    pub fn tidy(&mut self) {
        if let Backing::Private(b) = &mut self.backing {
            b.tidy();
        }
    }

    /// Maps a page at an address and wakes the threads that wait for it.
    pub fn map(&mut self, lpn: u64, addr: usize) -> Result<(), i32> {
        match self.put(lpn, addr, true) {
            Err(libc::EEXIST) => {
                self.wake(addr);
                Ok(())
            }
            other => other,
        }
    }

    /// Maps a page for which a thread waits before its moment, and lets the thread wait on. Says
    /// whether the page is there. Until it has [`arrived`](Host::arrived) it cannot leave.
    pub fn map_ahead(&mut self, lpn: u64, addr: usize) -> bool {
        let is_first = self.state[lpn as usize] & (PENDING | MAPPED | OFF_DEVICE) == PENDING;
        let is_there = is_first && self.is_at_hand(lpn) && self.put(lpn, addr, false).is_ok();
        if is_there {
            self.state[lpn as usize] |= MAPPED;
            self.count_mapped(lpn, 1);
        }
        is_there
    }

    /// Sees to it that a page is there whose moment has come; `is_there` says that it was mapped
    /// ahead. False when the page stays unmapped.
    ///
    /// Another thread that waited for the same page may have had it first, so that it could leave
    /// again before the turn of this one.
    pub fn settle(&mut self, lpn: u64, addr: usize, is_there: bool) -> bool {
        match self.state[lpn as usize] & (PENDING | MAPPED) {
            0 => return false,
            PENDING => {}
            _ if is_there => return true,
            _ => {}
        }
        let is_mapped = self.map(lpn, addr).is_ok();
        if !is_mapped {
            self.not_mapped(addr);
            self.state[lpn as usize] &= !PENDING;
        }
        is_mapped
    }

    /// Maps a page, or fails with EEXIST if it is there.
    pub fn put(&mut self, lpn: u64, addr: usize, wake: bool) -> Result<(), i32> {
        let state = self.state[lpn as usize];
        let fill = Fill {
            protect: state & WRITTEN == 0,
            wake,
        };
        match &mut self.backing {
            Backing::Private(b) => b.map(&self.uffd, lpn, state & STASHED != 0, fill),
            Backing::Shared(b) => b.map(&self.uffd, addr & !(PAGE - 1), fill),
        }
    }

    /// Wakes the threads that wait for the page at an address.
    pub fn wake(&self, addr: usize) {
        self.uffd.wake(addr & !(PAGE - 1));
    }

    /// Maps a page that no thread waits for, wherever it has an address. Says whether it has one.
    pub fn map_unasked(&mut self, lpn: u64) -> bool {
        let mut at = 0;
        let mut is_mapped = false;
        while let Some((addr, next)) = self.address_of(lpn, at) {
            is_mapped |= self.map(lpn, addr).is_ok();
            at = next;
        }
        is_mapped
    }

    /// An address of a page, from the backing's mapping `at` on, and the mapping after it.
    fn address_of(&self, lpn: u64, at: usize) -> Option<(usize, usize)> {
        match &self.backing {
            Backing::Private(b) if at == 0 => Some((b.page(lpn), 1)),
            Backing::Private(_) => None,
            Backing::Shared(b) => b.address_of(lpn, at),
        }
    }

    /// The first page of a range of addresses that is on the device as a whole, in one piece.
    pub fn span(&self, start: usize, len: usize) -> Option<u64> {
        let last = start.checked_add(len)?.checked_sub(1)?;
        let (first, end) = (self.lpn(start)?, self.lpn(last)?);
        let pages = (last / PAGE - start / PAGE) as u64;
        let is_whole = match &self.backing {
            Backing::Private(_) => true,
            Backing::Shared(b) => b.is_one(start, last),
        };
        (is_whole && end.checked_sub(first) == Some(pages)).then_some(first)
    }

    /// Marks a page as mapped once its wait is over.
    pub fn arrived(&mut self, lpn: u64) {
        let state = &mut self.state[lpn as usize];
        let is_new = *state & MAPPED == 0;
        *state = (*state | MAPPED) & !PENDING;
        if is_new {
            self.count_mapped(lpn, 1);
        }
        let state = self.state[lpn as usize];
        if state & ORPHAN != 0 && !self.keep_orphan(lpn) {
            self.pinned += 1;
        }
    }

    /// A page was mapped, or is no longer.
    fn count_mapped(&mut self, lpn: u64, change: i64) {
        self.mapped = self.mapped.wrapping_add_signed(change);
        if let Some(near) = &mut self.near {
            near.count_mapped(lpn, change);
        }
    }

    /// Learns what a trap costs on this host, before the first page is put aside.
    pub fn set_trap_cost(&mut self, trap_ns: u64) {
        self.aside_ns = trap_ns + ASIDE_NS;
        if let Some(sampler) = &mut self.sampler {
            sampler.set_trap_cost(trap_ns);
        }
    }

    /// The model has the page, by an access: an eviction not yet carried out is void, and a
    /// sampled page was used.
    pub fn adopt(&mut self, lpn: u64) {
        let state = &mut self.state[lpn as usize];
        if *state & SAMPLED != 0 {
            let sampler = self.sampler.as_mut();
            let is_sample = sampler.is_some_and(|sampler| sampler.touched(lpn));
            if !is_sample {
                self.aside_time.spend(self.aside_ns);
            }
        }
        if let Some(watched) = &mut self.watched {
            watched.used(lpn, *state & SAMPLED == 0);
        }
        *state &= !(ORPHAN | SAMPLED);
    }

    /// Takes the next cached page away if it is time; returns the verdict on an earlier one, and
    /// the page.
    pub fn sample(&mut self, at_ns: u64) -> (Option<Verdict>, Option<u64>) {
        let Some(sampler) = self.sampler.as_mut().filter(|s| s.is_due(at_ns)) else {
            return (None, None);
        };
        let from_ns = now_ns();
        let (state, near, progress) = (&self.state, self.near.as_ref(), &self.progress);
        let (verdict, taken) = sampler.turn(at_ns, self.top, |lpn| {
            let is_there = state[lpn as usize] & (MAPPED | ORPHAN | PENDING) == MAPPED;
            is_there && near.is_none_or(|near| !near.has(lpn)) && !progress.holds(lpn)
        });
        if let Some(lpn) = taken
            && self.set_aside(lpn)
        {
            self.state[lpn as usize] |= SAMPLED;
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.took(from_ns, now_ns());
        }
        (verdict, taken)
    }

    /// Takes a watched page away that was used. What was written to it is kept as if it had been
    /// flushed.
    pub fn take_watched(&mut self) -> Option<u64> {
        let progress = &self.progress;
        let may_leave = |lpn| !progress.holds(lpn);
        let lpn = self.watched.as_mut()?.next(may_leave)?;
        let is_there = |state: u8| state & (MAPPED | PENDING | ORPHAN | OFF_DEVICE) == MAPPED;
        if !is_there(self.state[lpn as usize]) || self.is_near(lpn) {
            return None;
        }
        let written = self.take_away(lpn);
        let state = &mut self.state[lpn as usize];
        if *state & MAPPED == 0 {
            *state |= SAMPLED;
            self.watched.as_mut()?.took(written);
        }
        Some(lpn)
    }

    /// A page that was written has left, or is programmed and stays.
    pub fn programmed(&self, lpn: u64) {
        if let Some(desk) = self.desk {
            desk.programmed(lpn);
        }
    }

    /// Pages that are mapped.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// The page is no longer the device's business, or empty: only these flags stay.
    pub fn reset(&mut self, lpn: u64, keep: u8, add: u8) {
        if self.state[lpn as usize] & MAPPED != 0 {
            self.count_mapped(lpn, -1);
        }
        let state = &mut self.state[lpn as usize];
        if *state & SAMPLED != 0
            && let Some(sampler) = &mut self.sampler
        {
            sampler.forget(lpn);
        }
        *state = *state & keep | add;
    }

    /// Unmaps a page that stays in the cache; whether it was written is known when it leaves. Says
    /// whether it was mapped and is no longer.
    pub fn set_aside(&mut self, lpn: u64) -> bool {
        let state = self.state[lpn as usize];
        if state & (MAPPED | PENDING | ORPHAN | OFF_DEVICE) != MAPPED {
            return false;
        }
        let written = self.take_away(lpn);
        let state = &mut self.state[lpn as usize];
        let is_aside = *state & MAPPED == 0;
        if is_aside && written {
            *state |= WRITTEN;
        }
        is_aside
    }

    /// Asks, on behalf of a thread that waits for us, whether it is the only one of the program.
    ///
    /// The host asks at each trap: otherwise nobody would learn that a thread made behind the C
    /// library's back had written to a page that leaves. A shared page cannot lose what is written.
    pub fn ask_alone(&mut self) {
        self.alone = match self.backing {
            Backing::Private(_) => self.threads.is_one(),
            Backing::Shared(_) => self.threads.is_known_as_one(),
        };
    }

    /// Copies the host's own counters.
    pub fn copy_counters(&self, block: &Change<'_>) {
        block.set(Counter::Pinned, self.pinned);
        block.set(Counter::PinnedErrno, self.pinned_errno as u64);
        self.copy_store_counters(block);
    }
}

#[cfg(test)]
mod tests;
