//! The long-delay hint (SkyByte section III-A).

use super::Device;
use crate::config::HintRule;
use crate::request::Hint;
use sluice_units::Ps;

impl Device {
    /// Estimates the wait of an access to a page that is not there yet, if the hint is one: the
    /// time of all that the page's channel has, as if it came one after the other.
    ///
    /// `reads`: 1 if its page is still to be read, 0 if it is on its way, so that the channel has
    /// been asked for the read already.
    pub(super) fn expect(&mut self, lpn: u32, reads: u64) {
        if self.config.hint != HintRule::Queue || !self.back.is_mapped(lpn) {
            return;
        }
        let parts = self.behind_parts();
        let at = self.now + parts.protocol + parts.indexing;
        self.back.pass(self.now, &mut self.stats);
        let outlook = self.back.outlook(at, lpn);
        let nand = &self.config.nand;
        let estimate = nand.read * (u64::from(outlook.reads) + reads)
            + nand.program * u64::from(outlook.programs)
            + nand.erase * u64::from(outlook.erases);
        self.expects_long = outlook.gc || estimate > self.config.hint_threshold;
    }

    /// The hint for an access that waits so long.
    pub(super) fn hint_for(&mut self, wait: Ps) -> Hint {
        let long = match self.config.hint {
            HintRule::Exact => wait > self.config.hint_threshold,
            HintRule::Queue => std::mem::take(&mut self.expects_long),
        };
        match long {
            true => Hint::LongDelay,
            false => Hint::None,
        }
    }
}
