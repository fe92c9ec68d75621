//! Which plane a write goes to: an order of the planes, and how far writes follow it.

use sluice_params::{Choice, Declared, Kind, Typed, Value};

/// Every order of channel, way (a chip on its channel), die and plane. The first letter runs
/// fastest.
pub static ALLOCATIONS: [&str; 24] = [
    "cwdp", "cwpd", "cdwp", "cdpw", "cpwd", "cpdw", "wcdp", "wcpd", "wdcp", "wdpc", "wpcd", "wpdc",
    "dcwp", "dcpw", "dwcp", "dwpc", "dpcw", "dpwc", "pcwd", "pcdw", "pwcd", "pwdc", "pdcw", "pdwc",
];

/// A part of the flash array that has several of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Channel,
    Way,
    Die,
    Plane,
}

/// What may stand in place of one of [`ALLOCATIONS`]: the rule, and what it is called.
const RULES: [(Rule, Choice); 2] = [
    (
        Rule::Idle,
        Choice {
            name: "idle",
            meaning: "to the die that is done soonest with what it has been asked for; in the \
                      order of cwdp among those that are idle",
        },
    ),
    (
        Rule::Home,
        Choice {
            name: "home",
            meaning: "each page always to the plane that it would have on a device written once, \
                      in the order of cwdp",
        },
    ),
];

/// Which plane a write goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The next in order.
    Turn,
    /// The one that is idle soonest, of several the next in order.
    Idle,
    /// The one that the page's number determines.
    Home,
}

/// An order of planes, and how far writes follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub(crate) order: [Part; 4],
    /// What decides beside the order.
    pub rule: Rule,
}

impl Typed for Allocation {
    fn of(value: &Value) -> Option<Allocation> {
        let index = value.index()?;
        let (order, rule) = match ALLOCATIONS.get(index) {
            Some(order) => (order, Rule::Turn),
            None => (&ALLOCATIONS[0], RULES.get(index - ALLOCATIONS.len())?.0),
        };
        let mut letters = order.bytes();
        let part = |_| match letters.next()? {
            b'c' => Some(Part::Channel),
            b'w' => Some(Part::Way),
            b'd' => Some(Part::Die),
            b'p' => Some(Part::Plane),
            other => unreachable!("{other} is no part of an allocation"),
        };
        let parts: Option<Vec<Part>> = (0..4).map(part).collect();
        let order = parts?.try_into().ok()?;
        Some(Allocation { order, rule })
    }
}

impl Declared for Allocation {
    const KIND: Kind = Kind::Choice(|| {
        let orders = Choice::plain(ALLOCATIONS);
        let rules = RULES.map(|(_, choice)| choice);
        orders.into_iter().chain(rules).collect()
    });
}
