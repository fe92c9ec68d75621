//! Cores stand in a row, each further from the L3 and from memory than the next one.

use sluice_params::RawConfig;
use sluice_units::Ps;

sluice_params::params! {
    /// Where cores stand.
    pub(super) struct RingParams {
        stop: Ps {
            key: "l3.stop",
            default: "0ps",
            meaning: "what an access of the L3, or of memory, takes longer by each core between \
                      its own and the last one, whose time is l3.latency: cores stand in a row",
            source: "0: every core is as near. SkyByte's artifact has its cores one after another \
                     on a ring, 4 ns from stop to stop (src/network_ring.cc); under SkyByte-W \
                     radix's threads take 7.95 ns longer for each access by each core \
                     (figure_drawing/all.dat)",
        }
    }
}

/// The way that an access takes on the artifact's ring, beyond that of the last core.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    stop: Ps,
    last_core: u64,
}

impl Ring {
    pub(super) fn new(raw: &RawConfig) -> Ring {
        Ring {
            stop: RingParams::new(raw).stop,
            last_core: raw.read::<u64>("cpu.cores") - 1,
        }
    }

    pub(super) fn distance(&self, core: u32) -> Ps {
        self.stop * (self.last_core - u64::from(core))
    }
}
