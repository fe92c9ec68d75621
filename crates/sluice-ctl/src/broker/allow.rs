//! Which commands a client may give.

use super::error::{BrokerError, Refusal};
use crate::command::CtlCommand;
use std::str::FromStr;

/// A kind of command that can be allowed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stats,
    Map,
    Hints,
    Pin,
    Evict,
    Flush,
    Set,
}

/// Every kind by its name, with whether it is allowed by default. Hints bring in pages and order
/// them; no data leave by a hint that would not leave by a miss.
const KINDS: [(&str, Kind, bool); 7] = [
    ("stats", Kind::Stats, true),
    ("map", Kind::Map, true),
    ("hints", Kind::Hints, true),
    ("pin", Kind::Pin, false),
    ("evict", Kind::Evict, false),
    ("flush", Kind::Flush, false),
    ("set", Kind::Set, false),
];

/// The kinds of commands that clients may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow(Vec<Kind>);

impl Default for Allow {
    fn default() -> Allow {
        let usual = KINDS.iter().filter(|(_, _, usual)| *usual);
        Allow(usual.map(|(_, kind, _)| *kind).collect())
    }
}

impl FromStr for Allow {
    type Err = BrokerError;

    fn from_str(text: &str) -> Result<Allow, BrokerError> {
        let kind = |name: &str| {
            let found = KINDS.iter().find(|(known, _, _)| *known == name);
            found.map(|(_, kind, _)| *kind)
        };
        let kinds: Option<Vec<Kind>> = text.split(',').map(kind).collect();
        kinds.map(Allow).ok_or_else(|| BrokerError::Allow {
            given: text.to_owned(),
            valid: KINDS.map(|(name, _, _)| name).join(", "),
        })
    }
}

impl Allow {
    /// That clients may give a command. Marks and power cuts are of no kind: in a guest nobody has
    /// them by the ring.
    pub(super) fn check(&self, command: &CtlCommand) -> Result<(), Refusal> {
        let wanted = match command {
            CtlCommand::Stats { .. } => Kind::Stats,
            CtlCommand::Map(_) => Kind::Map,
            CtlCommand::Prefetch(_)
            | CtlCommand::Cold(_)
            | CtlCommand::Sequential(_)
            | CtlCommand::Random(_)
            | CtlCommand::Normal(_) => Kind::Hints,
            CtlCommand::Pin(_) | CtlCommand::Unpin(_) => Kind::Pin,
            CtlCommand::Evict(_) => Kind::Evict,
            CtlCommand::Flush(_) => Kind::Flush,
            CtlCommand::Policy { .. } | CtlCommand::Set { .. } => Kind::Set,
            CtlCommand::PowerCut(_) => return Err(Refusal::OnTheHost("powercut")),
            CtlCommand::Mark { .. } => return Err(Refusal::OnTheHost("mark")),
            CtlCommand::Reset => return Err(Refusal::OnTheHost("reset")),
        };
        let name = KINDS.iter().find(|(_, kind, _)| *kind == wanted);
        match name.filter(|_| !self.0.contains(&wanted)) {
            Some((name, _, _)) => Err(Refusal::Kind(name)),
            None => Ok(()),
        }
    }
}
