//! What a host can ask of a device without changing anything: the state after the last call.

use super::Device;
use super::balance::{self, Imbalance};
use super::line_use::LineUse;
use crate::cache::Peek;
use crate::config::DeviceConfig;
use crate::ftl::WearReport;
use crate::stats::Stats;
use sluice_units::{Lpn, Ps};

impl Device {
    /// Whether flash has the page. A device without flash has all.
    pub fn is_in_flash(&self, lpn: Lpn) -> bool {
        self.pipeline.expander.is_some() || self.pipeline.storage.is_in_flash(lpn)
    }

    /// Whether the page is in the cache or on its way there.
    pub fn is_cached(&self, lpn: Lpn) -> bool {
        let is_memory = self.pipeline.expander.is_some();
        self.pipeline.front.is_known(lpn)
            && (is_memory || self.pipeline.storage.cache.contains(lpn))
    }

    /// From when on a host has hits on the page, if it is in the cache or on its way there.
    pub fn cached_at(&self, lpn: Lpn) -> Option<Ps> {
        if self.pipeline.expander.is_some() {
            return Some(Ps::ZERO);
        }
        self.peek(lpn).map(|found| found.ready_at)
    }

    /// Pages in the cache or on their way there.
    pub fn cached_pages(&self) -> u64 {
        self.pipeline.storage.cache.len()
    }

    /// Pages that are pinned.
    pub fn pinned_pages(&self) -> u64 {
        self.pipeline.storage.cache.pins()
    }

    /// Whether the page is pinned.
    pub fn is_pinned(&self, lpn: Lpn) -> bool {
        self.peek(lpn).is_some_and(|found| found.is_pinned)
    }

    fn peek(&self, lpn: Lpn) -> Option<Peek> {
        let is_known = self.pipeline.front.is_known(lpn);
        is_known.then(|| self.pipeline.storage.cache.peek(lpn))?
    }

    /// What is known of lines, if `cache.track_lines` is on.
    pub fn line_use(&self) -> Option<&LineUse> {
        self.pipeline.storage.cache.line_use()
    }

    /// Whether too many flash blocks have failed: the device can be read, and refuses writes.
    pub fn is_read_only(&self) -> bool {
        self.pipeline.storage.back.is_read_only()
    }

    /// How worn the flash blocks are. Looks at every block.
    pub fn wear(&self) -> WearReport {
        self.pipeline.storage.back.wear()
    }

    /// What the device has done so far.
    pub fn stats(&self) -> &Stats {
        &self.pipeline.storage.stats
    }

    /// Pages that the host can address.
    pub fn pages(&self) -> u64 {
        self.pipeline.front.pages()
    }

    /// The configuration it was made with, as it was tuned since.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Checks that everything was counted once: accesses, their time, programs, and pages.
    ///
    /// # Errors
    /// The first equation that does not hold, with its numbers.
    pub fn balance(&self) -> Result<(), Imbalance> {
        balance::balance(&self.pipeline.storage)
    }

    /// The state in words: counters, then the cache's sets.
    pub fn dump(&self) -> String {
        self.pipeline.storage.dump()
    }
}
