//! A few hot lines that most requests go to (ESF section V-B).

use super::{Access, Mix, PatternInfo, PatternSettings, Source};
use sluice_units::{LINE_BYTES, Ratio, Rng};

pub(super) const INFO: PatternInfo = PatternInfo {
    name: "skewed",
    meaning: "hot lines with the share hot_requests, cold ones with the rest; random within each",
    make,
};

struct Skewed {
    lines: u64,
    hot_lines: u64,
    hot_requests: Ratio,
    mix: Mix,
}

fn make(settings: &PatternSettings, rng: Rng) -> Option<Box<dyn Source>> {
    Some(Box::new(Skewed {
        lines: settings.lines,
        hot_lines: settings.hot_lines,
        hot_requests: settings.hot_requests,
        mix: Mix {
            reads: settings.reads,
            rng,
        },
    }))
}

impl Source for Skewed {
    fn next(&mut self) -> Option<Access> {
        let (share, rng) = (self.hot_requests, &mut self.mix.rng);
        let line = if rng.below(share.den()) < share.num() {
            rng.below(self.hot_lines)
        } else {
            self.hot_lines + rng.below(self.lines - self.hot_lines)
        };
        Some(Access {
            addr: line * LINE_BYTES,
            is_write: self.mix.is_write(),
        })
    }
}
