//! Files that pages come from: the heap's own (`--store file:`), and those that the program maps.

use super::{Backing, Host, MAPPED, STASHED};
use crate::store::{FileStore, Stash};
use sluice_abi::{Change, Counter};

impl Host {
    /// The file that has evicted pages.
    pub fn file(&mut self) -> Option<&mut FileStore> {
        match &mut self.backing {
            Backing::Private(b) => b.stash.file(),
            Backing::Shared(_) => None,
        }
    }

    /// A page is in the cache from now on, and will be mapped: its contents are sent for.
    pub(super) fn send_for(&mut self, lpn: u64) {
        if let Backing::Private(b) = &self.backing
            && self.state[lpn as usize] & (MAPPED | STASHED) == 0
        {
            b.sources.send_for(lpn);
        }
        if self.state[lpn as usize] & (MAPPED | STASHED) == STASHED
            && let Some(file) = self.file()
        {
            file.send_for(lpn);
        }
    }

    /// Whether mapping a page needs no wait for the file.
    pub(super) fn is_at_hand(&mut self, lpn: u64) -> bool {
        let is_stashed = self.state[lpn as usize] & STASHED != 0;
        match self.file() {
            Some(file) if is_stashed => file.is_at_hand(lpn),
            _ => true,
        }
    }

    /// What the store did, for the statistics.
    pub(super) fn copy_store_counters(&self, block: &Change<'_>) {
        let Backing::Private(b) = &self.backing else {
            return;
        };
        if let Stash::File(file) = &b.stash {
            block.set(Counter::StoreReads, file.counts.reads);
            block.set(Counter::StoreWrites, file.counts.writes);
            block.set(Counter::StoreWaits, file.counts.waits);
            block.set(Counter::StoreWaitNs, file.counts.wait_ns);
            block.set(Counter::StoreQueued, file.is_queued().into());
            block.set(Counter::StoreDirect, file.is_direct().into());
        }
    }
}
