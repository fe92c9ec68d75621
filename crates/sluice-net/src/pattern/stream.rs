//! One line of the footprint after the other, from the start again at its end.

use super::{Access, Mix, PatternInfo, PatternSettings, Source};
use sluice_units::{LINE_BYTES, Rng};

pub(super) const INFO: PatternInfo = PatternInfo {
    name: "stream",
    meaning: "one line after the other, from the start again at the footprint's end",
    make,
};

struct Stream {
    lines: u64,
    next: u64,
    mix: Mix,
}

fn make(settings: &PatternSettings, rng: Rng) -> Option<Box<dyn Source>> {
    Some(Box::new(Stream {
        lines: settings.lines,
        next: 0,
        mix: Mix {
            reads: settings.reads,
            rng,
        },
    }))
}

impl Source for Stream {
    fn next(&mut self) -> Option<Access> {
        let line = self.next;
        self.next = (line + 1) % self.lines;
        Some(Access {
            addr: line * LINE_BYTES,
            is_write: self.mix.is_write(),
        })
    }
}
