//! The message of a long delay comes with the line, and a thread that was switched for it waits for
//! flash when the switch back is done.

use sluice_host::MigrationPolicy;
use sluice_params::{ConfigError, Kind, RawConfig};
use sluice_units::Ps;

sluice_params::params! {
    /// What follows a long delay.
    pub(super) struct LongDelayParams {
        long_delay: bool {
            key: "l3.long_delay",
            kind: Kind::Flag { off: "drop", on: "fill" },
            default: "drop",
            meaning: "what the caches have of a line whose access is answered with a long delay. \
                      drop: nothing, and the access asks again; fill: the line, before flash was \
                      read, as no processor could",
            source: "SkyByte section III-A: the message has no data, and the access is issued \
                     again. In its artifact the line fills all caches when the message comes, and \
                     who asks again finds it there (src/dram_ctrl.cc, src/memory.cc: \
                     receive_packet, done)",
        }
        resume: bool {
            key: "os.resume",
            kind: Kind::Flag { off: "ask", on: "wait" },
            default: "ask",
            meaning: "what a thread does first that has a core again after a long delay. ask: its \
                      access goes to the device again, and ends in another switch if that still \
                      takes long; wait: it keeps the core until its data is there",
            source: "SkyByte section III-A: threads may switch again as soon as they are \
                     scheduled. Its artifact fetches nothing before the data is there \
                     (src/frontend.cc)",
        }
    }
}

/// What follows a long delay.
#[derive(Clone, Debug)]
pub(super) struct LongDelay {
    /// Caches have the line at once.
    pub(super) fills: bool,
    /// A thread keeps its core until its data is there.
    waits: bool,
}

impl LongDelay {
    /// Lines that are there before flash was read need somebody who waits for it, and a place for
    /// what is stored: a page of AstriFlash's that is on its way takes no store.
    pub(super) fn new(raw: &RawConfig) -> Result<LongDelay, ConfigError> {
        let given = LongDelayParams::new(raw);
        let (fills, waits) = (given.long_delay, given.resume);
        if fills && !waits {
            let keys = ["l3.long_delay", "os.resume"];
            let message = "an access that asks again would find its line at once, and nobody would \
                           wait for flash; give os.resume wait, or l3.long_delay drop";
            return Err(raw.impossible(&keys, message.to_owned()));
        }
        if fills && raw.read::<MigrationPolicy>("migration.policy") == MigrationPolicy::AstriFlash {
            let keys = ["l3.long_delay", "migration.policy"];
            let message = "astriflash has no line of a page that is on its way; give l3.long_delay \
                           drop, or another policy";
            return Err(raw.impossible(&keys, message.to_owned()));
        }
        Ok(LongDelay { fills, waits })
    }

    pub(super) fn resumes_at(&self, data_at: Ps) -> Ps {
        match self.waits {
            true => data_at,
            false => Ps::ZERO,
        }
    }
}
