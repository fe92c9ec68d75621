//! Cores stand in a row, each further from the L3 and from memory than the next one.

use sluice_params::{Kind, Param, RawConfig};
use sluice_units::Ps;

pub(super) const PARAMS: &[Param] = &[Param {
    key: "l3.stop",
    kind: Kind::Time {
        max: Ps::from_ms(10_000),
    },
    default: "0ps",
    meaning: "what an access of the L3, or of memory, takes longer by each core between its own \
              and the last one, whose time is l3.latency: cores stand in a row",
    source: "0: every core is as near. SkyByte's artifact has its cores one after another on a \
             ring, 4 ns from stop to stop (src/network_ring.cc); under SkyByte-W radix's threads \
             take 7.95 ns longer for each access by each core (figure_drawing/all.dat)",
}];

/// The way that an access takes on the artifact's ring, beyond that of the last core.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    stop: Ps,
    last_core: u64,
}

impl Ring {
    pub(super) fn new(raw: &RawConfig) -> Ring {
        Ring {
            stop: raw.time("l3.stop"),
            last_core: raw.count("cpu.cores") - 1,
        }
    }

    pub(super) fn distance(&self, core: u32) -> Ps {
        self.stop * (self.last_core - u64::from(core))
    }
}
