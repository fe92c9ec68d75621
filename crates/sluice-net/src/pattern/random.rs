//! Any line of the footprint, each as likely.

use super::{Access, Mix, PatternInfo, PatternSettings, Source};
use sluice_units::{LINE_BYTES, Rng};

pub(super) const INFO: PatternInfo = PatternInfo {
    name: "random",
    meaning: "any line of the footprint, each as likely",
    make,
};

struct Random {
    lines: u64,
    mix: Mix,
}

fn make(settings: &PatternSettings, rng: Rng) -> Option<Box<dyn Source>> {
    Some(Box::new(Random {
        lines: settings.lines,
        mix: Mix {
            reads: settings.reads,
            rng,
        },
    }))
}

impl Source for Random {
    fn next(&mut self) -> Option<Access> {
        Some(Access {
            addr: self.mix.rng.below(self.lines) * LINE_BYTES,
            is_write: self.mix.is_write(),
        })
    }
}
