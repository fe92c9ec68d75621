//! Block length first.

use super::{Needs, Victim};

pub(super) const BLOCK: Victim = Victim {
    name: "block",
    meaning: "evicts the longest run of adjacent lines with one snoop; of several, the newest",
    source: "ESF section V-C",
    needs: Needs::Runs,
    rank: |facts| [u64::from(u8::MAX - facts.run), !facts.inserted],
};
