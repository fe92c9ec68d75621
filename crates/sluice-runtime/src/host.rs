//! The host's side of the model: which pages are mapped, and how they come and go.

use crate::private::{Left, PrivateBacking};
use crate::progress::Progress;
use crate::sample::{Sampler, Verdict};
use crate::shared::SharedBacking;
use crate::stats::Residency;
use sluice_abi::{Change, Counter};
use sluice_model::Effects;
use sluice_region::{PAGE, Pagemap, ThreadCount, Uffd};
use sluice_units::Lpn;

/// The page has page-table entries: loads and stores run at full speed.
pub const MAPPED: u8 = 1;
/// The stash holds contents for the page; without it the page is zeros.
pub const STASHED: u8 = 2;
/// A write was seen at the trap; writes after that the kernel tracks.
pub const WRITTEN: u8 = 4;
/// A thread waits for the page's deadline.
pub const PENDING: u8 = 8;
/// The page left the device because the program changed its protection.
pub const OFF_DEVICE: u8 = 16;
/// The model evicted the page while a thread still waited for it, or needs it to get anywhere.
pub const ORPHAN: u8 = 32;
/// The page is cached but was unmapped to see whether it is used.
pub const SAMPLED: u8 = 64;

/// Orphans that may exist at once: one for every thread that waits.
const MAX_ORPHANS: usize = 4096;

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
    /// Tells written pages.
    pub pagemap: Pagemap,
    /// Threads of this process.
    pub threads: ThreadCount,
    /// With this many threads only one is the program's, and that one waits for us.
    alone_at: u64,
    /// The bytes.
    pub backing: Backing,
    /// One byte of flags for each page of the device.
    pub state: Box<[u8]>,
    /// Pages from this one up have never been in the cache.
    pub top: u64,
    /// Whether evictions have to wait.
    pub progress: Progress,
    /// Pages that are mapped.
    mapped: u64,
    /// Whether the program may run meanwhile: what is done is not for a fault of its.
    pub unasked: bool,
    /// Tells others what is known of each page.
    pub residency: Residency,
    /// Takes cached pages away to see whether they are used.
    pub sampler: Option<Sampler>,
    /// Pages mapped although the model has evicted them.
    orphans: Box<[u64]>,
    orphan_count: usize,
    pinned: u64,
    pinned_errno: i32,
}

impl Host {
    /// A host with nothing mapped.
    ///
    /// `threads` are the runtime's own.
    pub fn new(
        uffd: Uffd,
        backing: Backing,
        pages: u64,
        threads: usize,
        residency: Residency,
    ) -> Result<Host, i32> {
        Ok(Host {
            uffd,
            pagemap: Pagemap::open()?,
            threads: ThreadCount::open()?,
            alone_at: 1 + threads as u64,
            backing,
            state: vec![0; pages as usize].into(),
            top: 0,
            progress: Progress::new(),
            mapped: 0,
            unasked: false,
            residency,
            sampler: None,
            orphans: vec![0; MAX_ORPHANS].into(),
            orphan_count: 0,
            pinned: 0,
            pinned_errno: 0,
        })
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

    /// Maps a page at an address and wakes who waits for it.
    pub fn map(&mut self, lpn: u64, addr: usize) -> Result<(), i32> {
        let state = self.state[lpn as usize];
        let protect = state & WRITTEN == 0;
        let done = match &self.backing {
            Backing::Private(b) => b.map(&self.uffd, lpn, state & STASHED != 0, protect),
            Backing::Shared(b) => b.map(&self.uffd, addr & !(PAGE - 1), protect),
        };
        match done {
            Err(libc::EEXIST) => {
                self.uffd.wake(addr & !(PAGE - 1));
                Ok(())
            }
            other => other,
        }
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
        self.mapped += u64::from(*state & MAPPED == 0);
        *state = (*state | MAPPED) & !PENDING;
        if *state & ORPHAN != 0 && !self.keep_orphan(lpn) {
            self.pinned += 1;
        }
    }

    fn keep_orphan(&mut self, lpn: u64) -> bool {
        let room = self.orphan_count < MAX_ORPHANS;
        if room {
            self.orphans[self.orphan_count] = lpn;
            self.orphan_count += 1;
        }
        room
    }

    /// The model has the page, by an access: an eviction not yet carried out is void, and a
    /// sampled page was used.
    pub fn adopt(&mut self, lpn: u64) {
        let state = &mut self.state[lpn as usize];
        if *state & SAMPLED != 0
            && let Some(sampler) = &mut self.sampler
        {
            sampler.touched(lpn);
        }
        *state &= !(ORPHAN | SAMPLED);
    }

    /// Takes the next cached page away if it is time; returns the verdict on an earlier one, and
    /// the page.
    pub fn sample(&mut self, now_ns: u64) -> (Option<Verdict>, Option<u64>) {
        let Some(sampler) = self.sampler.as_mut().filter(|s| s.is_due(now_ns)) else {
            return (None, None);
        };
        let state = &self.state;
        let (verdict, taken) = sampler.turn(now_ns, self.top, |lpn| {
            state[lpn as usize] & (MAPPED | ORPHAN) == MAPPED
        });
        if let Some(lpn) = taken {
            let written = self.take_away(lpn);
            if self.state[lpn as usize] & MAPPED == 0 {
                // Still in the cache: when it leaves, its writes count.
                self.state[lpn as usize] |= if written { SAMPLED | WRITTEN } else { SAMPLED };
            }
        }
        (verdict, taken)
    }

    /// Pages that are mapped.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// The page is no longer the device's business, or empty: only these flags stay.
    pub fn reset(&mut self, lpn: u64, keep: u8, add: u8) {
        let state = &mut self.state[lpn as usize];
        self.mapped -= u64::from(*state & MAPPED != 0);
        if *state & SAMPLED != 0
            && let Some(sampler) = &mut self.sampler
        {
            sampler.forget(lpn);
        }
        *state = *state & keep | add;
    }

    /// Unmaps one page that the model evicted while it was needed. Its thread has had its turn
    /// since. Returns the page and whether it was written.
    pub fn next_orphan(&mut self) -> Option<(u64, bool)> {
        while self.orphan_count > 0 && !self.progress.is_stuck() {
            self.orphan_count -= 1;
            let lpn = self.orphans[self.orphan_count];
            if self.state[lpn as usize] & (ORPHAN | MAPPED) == ORPHAN | MAPPED {
                self.state[lpn as usize] &= !ORPHAN;
                let written = self.take_away(lpn);
                self.residency.set(lpn, 0);
                return Some((lpn, written));
            }
        }
        None
    }

    /// Unmaps a mapped page; true when it was written.
    pub fn take_away(&mut self, lpn: u64) -> bool {
        let state = self.state[lpn as usize];
        let written = state & WRITTEN != 0;
        let private = matches!(self.backing, Backing::Private(_));
        let alone = private && !written && self.asked_alone(lpn);
        let left = match &mut self.backing {
            Backing::Private(b) => {
                let stashed = state & STASHED != 0;
                b.unmap(&self.uffd, &self.pagemap, lpn, stashed, written, alone)
            }
            Backing::Shared(b) => b.unmap(&self.pagemap, lpn, written),
        };
        self.mapped -= u64::from(!matches!(left, Left::Pinned(_)));
        let gone = state & !(MAPPED | WRITTEN);
        self.state[lpn as usize] = match left {
            Left::Written => gone | STASHED,
            Left::Clean => gone,
            Left::Absent => gone & !STASHED,
            Left::Pinned(errno) => {
                self.pinned += 1;
                self.pinned_errno = errno;
                state
            }
        };
        left == Left::Written
    }

    /// Whether the program has one thread, the one that waits for us; not so when nobody waits.
    ///
    /// The C library knows, but for threads made behind its back: those are looked for now and
    /// then, and once found they are remembered.
    fn asked_alone(&mut self, lpn: u64) -> bool {
        const ASK_EVERY: u64 = 64;
        if self.unasked {
            return false;
        }
        let alone_at = self.alone_at;
        match self.threads.by_library() {
            Some(known) if known <= alone_at => {
                if lpn.is_multiple_of(ASK_EVERY) && self.threads.get() > alone_at {
                    self.alone_at = 0;
                }
                self.alone_at != 0
            }
            Some(_) => false,
            None => self.threads.get() <= alone_at,
        }
    }

    /// Copies the host's own counters.
    pub fn copy_counters(&self, block: &Change<'_>) {
        block.set(Counter::Pinned, self.pinned);
        block.set(Counter::PinnedErrno, self.pinned_errno as u64);
    }
}

impl Effects for Host {
    fn cached(&mut self, lpn: Lpn) {
        self.top = self.top.max(lpn.0 + 1);
        self.residency.set(lpn.0, sluice_abi::CACHED);
    }

    fn unmap(&mut self, lpn: Lpn) -> bool {
        let lpn = lpn.0;
        let written = self.give_up(lpn);
        let is_mapped = self.state[lpn as usize] & MAPPED != 0;
        self.residency
            .set(lpn, if is_mapped { sluice_abi::MAPPED } else { 0 });
        written
    }
}

impl Host {
    /// Unmaps a page that leaves the cache, unless it is needed for a moment longer.
    fn give_up(&mut self, lpn: u64) -> bool {
        let state = self.state[lpn as usize];
        let mapped = state & MAPPED != 0;
        if mapped && !(self.progress.is_stuck() && self.keep_orphan(lpn)) {
            return self.take_away(lpn);
        }
        if mapped || state & PENDING != 0 {
            self.state[lpn as usize] |= ORPHAN;
        }
        if state & SAMPLED != 0 {
            self.reset(lpn, !(SAMPLED | WRITTEN), 0);
            return state & WRITTEN != 0;
        }
        false
    }
}
