//! Pages that become hot without the stores that a write log takes, and written pages that go back
//! to the device at once or at no cost.

use sluice_model::Device;
use sluice_params::{Kind, choices};
use sluice_units::{Lpn, Ps};

sluice_params::params! {
    /// How pages get hot, and how they go back.
    pub(super) struct Pages {
        demotion: Demotion {
            key: "migration.demotion",
            default: "copy",
            meaning: "adaptive, tpp: how a page that was written goes back to the device",
            source: "SkyByte section III-C: it is copied. In its artifact (src/SkyByte-Sim/ftl.cc) \
                     the designs without a write log program it at once, and those with one lose \
                     track of it and pay nothing; its results have that",
        }
        counts: bool {
            key: "migration.counts",
            kind: Kind::Flag { off: "all", on: "cache" },
            default: "all",
            meaning: "adaptive: all: every access to a page in the device's cache counts; cache: \
                      not the stores that the write log takes",
            source: "SkyByte section III-C: accesses of pages in the cache. Its artifact does not \
                     look at the cache for what goes to the log",
        }
    }
}

choices! {
    /// How a written page goes back to the device.
    enum Demotion {
        Copy = "copy": "line by line, as stores",
        Program = "program": "it is programmed at once, past the cache and the write log",
        Free = "free": "it is there again at no cost",
    }
}

impl Pages {
    pub(super) fn counts_logged_stores(&self) -> bool {
        !self.counts
    }

    pub(super) fn are_copied_back(&self) -> bool {
        self.demotion == Demotion::Copy
    }

    /// A written page is on the device again, without a copy.
    pub(super) fn returns(&self, device: &mut Device, now: Ps, page: Lpn) {
        match self.demotion {
            Demotion::Program => device.demote_to_flash(now, page),
            Demotion::Copy | Demotion::Free => {}
        }
    }
}
