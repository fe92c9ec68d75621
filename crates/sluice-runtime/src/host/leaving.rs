//! Pages that leave: one by one, or all that an access evicts together.

use super::{
    Backing, Host, MAPPED, OFF_DEVICE, ORPHAN, PENDING, SAMPLED, STASHED, UNSURE, WRITTEN,
};
use crate::clock::now_ns;
use crate::memory::private::{Leaving, Left, Notes};

/// Pages that may wait to leave together.
pub(super) const MAX: usize = 128;
/// Pages whose writes are asked for by one question.
const ASKED: u64 = 64;

impl Host {
    /// Unmaps a mapped page; true when it was written.
    pub fn take_away(&mut self, lpn: u64) -> bool {
        let alone = self.is_still();
        let left = match &mut self.backing {
            Backing::Private(b) => {
                let page = leaving(lpn, self.state[lpn as usize]);
                let written = b.is_written(&self.pagemap, lpn, page.notes);
                let page = Leaving { written, ..page };
                b.unmap(&self.uffd, &self.pagemap, page, alone)
            }
            Backing::Shared(b) => {
                let mut written = self.state[lpn as usize] & WRITTEN != 0;
                let left = b.unmap(&self.pagemap, lpn, &mut written);
                if written {
                    self.state[lpn as usize] |= WRITTEN;
                }
                left
            }
        };
        self.note(lpn, left);
        left == Left::Written
    }

    /// Notes what became of a page that was mapped.
    fn note(&mut self, lpn: u64, left: Left) {
        let state = &mut self.state[lpn as usize];
        let gone = *state & !(MAPPED | WRITTEN | UNSURE);
        *state = match left {
            Left::Written => gone | STASHED,
            Left::Clean => gone,
            Left::Absent => gone & !STASHED,
            Left::Pinned(errno) => {
                self.pinned += 1;
                self.pinned_errno = errno;
                return;
            }
        };
        self.count_mapped(lpn, -1);
    }

    /// Gives up a page that leaves the cache, unless it is needed for a moment longer. True when it
    /// was written, as far as is known.
    pub(super) fn give_up(&mut self, lpn: u64) -> bool {
        let state = self.state[lpn as usize];
        let mapped = state & (MAPPED | PENDING) == MAPPED;
        if mapped && state & SAMPLED != 0 && self.is_leaving(lpn) {
            // This access has put it aside already, and the model knows whether it was written.
            self.state[lpn as usize] &= !SAMPLED;
            return false;
        }
        if mapped && !(self.progress.holds(lpn) && self.keep_orphan(lpn)) {
            return self.leave_with_others(lpn);
        }
        if mapped || state & PENDING != 0 {
            self.state[lpn as usize] |= ORPHAN;
        }
        // Set aside, if it is neither mapped nor on its way.
        let is_aside = state & (MAPPED | PENDING) == 0;
        if is_aside {
            self.reset(lpn, !(SAMPLED | WRITTEN), 0);
        }
        is_aside && state & WRITTEN != 0
    }

    /// Unmaps a page that stays in the cache, with those that leave, so that its next use traps.
    /// True when it was written, as far as is known.
    ///
    /// One that is needed for a moment longer stays mapped, and so does one if such uses have
    /// taken their share of the time. Its use is then not seen.
    pub(super) fn put_aside_with_others(&mut self, lpn: u64) -> bool {
        let state = self.state[lpn as usize];
        let is_there = state & (MAPPED | PENDING | ORPHAN | OFF_DEVICE | SAMPLED) == MAPPED;
        let may_trap = self.aside_time.has_any(now_ns());
        if !is_there || !may_trap || self.progress.holds(lpn) {
            return false;
        }
        let written = self.leave_with_others(lpn);
        self.state[lpn as usize] |= SAMPLED;
        self.residency.set(lpn, sluice_abi::CACHED);
        written
    }

    /// Whether a page leaves at the next [`carry_out`](Host::carry_out). Most often the last one is
    /// asked about.
    pub(super) fn is_leaving(&self, lpn: u64) -> bool {
        self.leaving.iter().rev().any(|page| page.lpn == lpn)
    }

    /// Has a page leave at the next [`carry_out`](Host::carry_out), or now if that cannot be.
    fn leave_with_others(&mut self, lpn: u64) -> bool {
        let page = leaving(lpn, self.state[lpn as usize]);
        let is_private = matches!(self.backing, Backing::Private(_));
        if !is_private || self.leaving.len() == MAX {
            return self.take_away(lpn);
        }
        let written = match page.notes {
            Notes::Written => true,
            Notes::Kept => self.ask(lpn),
            Notes::Unknown => false,
        };
        self.leaving.push(Leaving { written, ..page });
        written
    }

    /// Whether a page was written. The first is asked for alone, others with their neighbours.
    fn ask(&mut self, lpn: u64) -> bool {
        let Backing::Private(b) = &self.backing else {
            return false;
        };
        if self.leaving.is_empty() {
            return b.is_written(&self.pagemap, lpn, Notes::Kept);
        }
        let known = self.asked.filter(|(first, _)| lpn / ASKED == first / ASKED);
        let (first, mask) = known.unwrap_or_else(|| {
            let first = lpn / ASKED * ASKED;
            (first, b.written(&self.pagemap, first))
        });
        self.asked = Some((first, mask));
        mask >> (lpn - first) & 1 != 0
    }

    /// Has the pages leave that were to leave together. `late` gets those that were written after
    /// all, by a thread that ran meanwhile.
    ///
    /// Before the lock is given back: until then a page is mapped that the model has evicted.
    pub fn carry_out(&mut self, mut late: impl FnMut(u64)) {
        if self.leaving.is_empty() {
            return;
        }
        let mut pages = core::mem::take(&mut self.leaving);
        pages.sort_unstable_by_key(|page| page.lpn);
        for run in pages.chunk_by(|a, b| a.lpn + 1 == b.lpn) {
            self.carry_out_run(run, &mut late);
        }
        pages.clear();
        self.leaving = pages;
        self.asked = None;
    }

    /// Whether nothing of the program's can run while a page leaves. If something can, what it
    /// stores between the question and the move shows in the page's contents alone.
    fn is_still(&self) -> bool {
        self.alone && !self.can_be_interrupted
    }

    fn carry_out_run(&mut self, run: &[Leaving], late: &mut impl FnMut(u64)) {
        let alone = self.is_still();
        let Host {
            backing: Backing::Private(b),
            uffd,
            pagemap,
            ..
        } = self
        else {
            return;
        };
        let mut became = [Left::Clean; MAX];
        let mut count = 0;
        b.unmap_run(uffd, pagemap, run, alone, |_, left| {
            became[count] = left;
            count += 1;
        });
        for (page, left) in run.iter().zip(&became[..count]) {
            self.note(page.lpn, *left);
            if *left == Left::Written && !page.written {
                late(page.lpn);
            }
            if matches!(left, Left::Pinned(_)) {
                self.residency.set(page.lpn, sluice_abi::MAPPED);
            }
        }
    }
}

/// What the host knows of a page that is to leave.
fn leaving(lpn: u64, state: u8) -> Leaving {
    let notes = match (state & WRITTEN != 0, state & UNSURE != 0) {
        (true, _) => Notes::Written,
        (false, true) => Notes::Unknown,
        (false, false) => Notes::Kept,
    };
    Leaving {
        lpn,
        stashed: state & STASHED != 0,
        written: false,
        notes,
    }
}
