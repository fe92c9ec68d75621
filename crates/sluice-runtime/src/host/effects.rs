//! What the model has done to pages.

use super::{Host, MAPPED, SAMPLED};
use sluice_model::Effects;
use sluice_units::Lpn;

/// What the device does with a page that has moved to host memory, a prefetch of it, say, does not
/// concern the host: the page is its own.
impl Effects for Host {
    const MAPS: bool = true;

    fn cached(&mut self, lpn: Lpn) {
        if self.is_near(lpn.into()) {
            return;
        }
        self.top = self.top.max(u64::from(lpn) + 1);
        self.used.mark(lpn.index());
        self.residency.set(lpn.into(), sluice_abi::CACHED);
        self.send_for(lpn.into());
    }

    fn unmap(&mut self, lpn: Lpn) -> bool {
        let lpn = u64::from(lpn);
        if self.is_near(lpn) {
            return false;
        }
        // The model knows already whether a page that it had put aside was written.
        let is_aside = self.state[lpn as usize] & (MAPPED | SAMPLED) == SAMPLED;
        let written = self.give_up(lpn);
        if written || is_aside {
            self.programmed(lpn);
        }
        let is_mapped = self.state[lpn as usize] & MAPPED != 0 && !self.is_leaving(lpn);
        self.residency
            .set(lpn, if is_mapped { sluice_abi::MAPPED } else { 0 });
        written
    }

    fn set_aside(&mut self, lpn: Lpn) -> bool {
        !self.is_near(lpn.into()) && self.put_aside_with_others(lpn.into())
    }

    fn map(&mut self, lpn: Lpn) -> bool {
        self.will_map(lpn.into())
    }
}
