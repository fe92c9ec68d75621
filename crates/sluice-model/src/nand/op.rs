//! What a die is asked to do.

use super::flash::Origin;
use crate::config::MultiPlane;
use crate::layout::{Channel, Die};
use sluice_units::Ps;

/// The three things that cells can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verb {
    Read,
    Program,
    Erase,
}

/// An operation of one plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub verb: Verb,
    pub origin: Origin,
    pub channel: Channel,
    pub die: Die,
    /// The plane of its die.
    pub plane: u32,
    /// The page within its block; of an erase, zero.
    pub offset: u32,
    /// How long the cells take.
    pub time: Ps,
}

impl Op {
    /// Whether it programs what flash alone will have: what collection moves is where it was, and
    /// the write log keeps its lines, until then.
    pub fn is_of_host(&self) -> bool {
        self.verb == Verb::Program && matches!(self.origin, Origin::Host | Origin::Store)
    }
}

/// Operations of a die that run as one, by their planes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    verb: Verb,
    offset: u32,
    time: Ps,
    planes: u64,
}

impl Group {
    pub fn new(op: &Op) -> Group {
        Group {
            verb: op.verb,
            offset: op.offset,
            time: op.time,
            planes: 1 << op.plane,
        }
    }

    /// Takes the operation in if it can run with the others and does not make them longer, since
    /// they may have been answered.
    pub fn join(&mut self, op: &Op, rule: MultiPlane) -> bool {
        let alike = match rule {
            MultiPlane::Off => false,
            MultiPlane::SamePage => self.offset == op.offset,
            MultiPlane::Any => true,
        };
        let plane = 1 << op.plane;
        let joins =
            alike && self.verb == op.verb && op.time <= self.time && self.planes & plane == 0;
        if joins {
            self.planes |= plane;
        }
        joins
    }
}
