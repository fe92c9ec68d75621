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

#[cfg(test)]
mod tests {
    use crate::{Device, Op, RawConfig, Request};
    use sluice_units::{Lpn, Ps};

    #[test]
    fn an_estimate_sees_the_channel_of_its_page() {
        let mut raw = RawConfig::default();
        for (key, value) in [
            ("device.capacity", "16MiB"),
            ("cache.capacity", "1MiB"),
            ("device.hint", "queue"),
            ("nand.channels", "2"),
            ("nand.dies", "1"),
        ] {
            raw.set(key, value).unwrap();
        }
        let mut device = Device::new(&raw.check().unwrap(), 1).unwrap();
        // The first write goes to die 0, the second to die 1, on the other channel.
        (0..3).for_each(|lpn| device.write_back(Ps::ZERO, Lpn(lpn)));
        let addr = Lpn(4).addr(sluice_units::PAGE_BYTES);
        device.access(Ps::ZERO, Request { addr, op: Op::Read }, &mut ());
        let mut counts = |now, lpn| {
            device.advance(now, &mut ());
            let seen = device.back.outlook(now, lpn);
            [seen.reads, seen.programs, seen.erases]
        };
        assert_eq!(counts(Ps::ZERO, 6), [1, 2, 0]);
        assert_eq!(counts(Ps::ZERO, 7), [0, 1, 0]);
        let program = Ps::from_us(200);
        assert_eq!(counts(program - Ps(1), 7), [0, 1, 0]);
        assert_eq!(counts(program, 7), [0, 0, 0]);
        assert_eq!(counts(program, 6), [1, 1, 0]);
    }
}
