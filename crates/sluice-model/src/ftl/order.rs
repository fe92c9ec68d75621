//! The order in which consecutive writes visit the planes.

use crate::config::Settings;
use sluice_params::{Choice, Declared, Kind, Typed, Value};

/// Every order of channel, way (a chip on its channel), die and plane. The first letter runs
/// fastest.
pub static ALLOCATIONS: [&str; 24] = [
    "cwdp", "cwpd", "cdwp", "cdpw", "cpwd", "cpdw", "wcdp", "wcpd", "wdcp", "wdpc", "wpcd", "wpdc",
    "dcwp", "dcpw", "dwcp", "dwpc", "dpcw", "dpwc", "pcwd", "pcdw", "pwcd", "pwdc", "pdcw", "pdwc",
];

/// A part of the flash array that has several of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Channel,
    Way,
    Die,
    Plane,
}

/// Beside [`ALLOCATIONS`]: the die with the least to do, instead of one in turn.
const IDLE: Choice = Choice {
    name: "idle",
    meaning: "to the die that is done soonest with what it has been asked for; in the order of \
              cwdp among those that are idle",
};

/// One of [`ALLOCATIONS`], or [`IDLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    order: [Part; 4],
    /// Whether the order decides only between dies that are free equally soon.
    pub by_idle: bool,
}

impl Typed for Allocation {
    fn of(value: &Value) -> Option<Allocation> {
        let index = value.index()?;
        let by_idle = index == ALLOCATIONS.len();
        let mut letters = ALLOCATIONS[if by_idle { 0 } else { index }].bytes();
        let part = |_| match letters.next()? {
            b'c' => Some(Part::Channel),
            b'w' => Some(Part::Way),
            b'd' => Some(Part::Die),
            b'p' => Some(Part::Plane),
            other => unreachable!("{other} is no part of an allocation"),
        };
        let parts: Option<Vec<Part>> = (0..4).map(part).collect();
        let order = parts?.try_into().ok()?;
        Some(Allocation { order, by_idle })
    }
}

impl Declared for Allocation {
    const KIND: Kind = Kind::Choice(|| {
        let orders = Choice::plain(ALLOCATIONS);
        orders.into_iter().chain([IDLE]).collect()
    });
}

/// The planes, by their number in the layout, in the order in which writes visit them.
pub(super) fn planes_in_order(settings: &Settings) -> Vec<u32> {
    let nand = &settings.nand;
    let count = |part| match part {
        Part::Channel => nand.channels,
        Part::Way => nand.chips,
        Part::Die => nand.dies,
        Part::Plane => nand.planes,
    };
    // The layout numbers planes fastest, then channels, chips and dies.
    let step = |part| match part {
        Part::Plane => 1,
        Part::Channel => nand.planes,
        Part::Way => nand.planes * nand.channels,
        Part::Die => nand.planes * nand.channels * nand.chips,
    };
    let mut planes = vec![0];
    for part in settings.ftl.allocation.order {
        let before = std::mem::take(&mut planes);
        for turn in 0..count(part) {
            planes.extend(before.iter().map(|plane| plane + turn * step(part)));
        }
    }
    planes
}
