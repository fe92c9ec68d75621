//! Which addresses a requester asks for. A new pattern is a file and a line in [`PATTERNS`].

mod random;
mod skewed;
mod stream;

use sluice_params::Registered;
use sluice_units::{Ps, Ratio, Rng};

/// A request as a requester makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Byte address in the memory that the requester sees.
    pub addr: u64,
    /// Whether it is a write.
    pub is_write: bool,
}

/// Gives the addresses of a requester, one after the other.
///
/// The caller asks once for each request, at the time at which it can be issued. The implementor
/// answers by state alone: the same source gives the same sequence.
pub trait Source {
    /// The next request, or none if there is no more.
    fn next(&mut self) -> Option<Access>;

    /// Least time from the request given last to the one that follows; before the first, from the
    /// beginning.
    fn pause(&self) -> Ps {
        Ps::ZERO
    }
}

/// What a pattern is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternSettings {
    /// Lines of 64 bytes in the footprint, at least one.
    pub lines: u64,
    /// Share of reads.
    pub reads: Ratio,
    /// Share of the requests that go to hot lines.
    pub hot_requests: Ratio,
    /// Hot lines, at least one and not all.
    pub hot_lines: u64,
}

/// An entry of the registry.
#[derive(Debug)]
pub struct PatternInfo {
    /// The name in `requester.pattern`.
    pub name: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Makes one, or none if the addresses come from outside.
    pub make: fn(&PatternSettings, Rng) -> Option<Box<dyn Source>>,
}

impl Registered for PatternInfo {
    fn all() -> &'static [PatternInfo] {
        PATTERNS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Every pattern, in a fixed order.
pub static PATTERNS: &[PatternInfo] = &[
    random::INFO,
    stream::INFO,
    skewed::INFO,
    PatternInfo {
        name: "external",
        meaning: "none of its own: a trace, or a program that sends its requests",
        make: |_, _| None,
    },
];

/// Reads and writes at random, in their ratio.
struct Mix {
    reads: Ratio,
    rng: Rng,
}

impl Mix {
    fn is_write(&mut self) -> bool {
        if self.reads.num() == self.reads.den() {
            return false;
        }
        self.rng.below(self.reads.den()) >= self.reads.num()
    }
}
