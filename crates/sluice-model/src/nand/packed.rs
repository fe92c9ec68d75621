//! What a die is asked to do later, and how it is kept while it waits.

use super::flash::Origin;
use super::op::{Op, Verb};
use crate::layout::{Channel, Die};
use sluice_units::{Ppn, Ps};

/// What a die is asked to do later.
#[derive(Clone, Copy)]
pub(super) struct PostedOp {
    pub op: Op,
    /// When it can begin at the earliest.
    pub ready_at: Ps,
    /// The page to be programmed, if the controller has its data.
    pub held: Option<Ppn>,
}

/// An operation in integers, which a long queue is made of.
pub(super) type Packed = [u64; 3];

const ORIGINS: [Origin; 4] = [Origin::Host, Origin::Gc, Origin::Log, Origin::Store];
const VERBS: [Verb; 3] = [Verb::Read, Verb::Program, Verb::Erase];

/// The part of an operation that says which page's data it holds.
pub(super) const HELD: u64 = u64::MAX << 31;

impl PostedOp {
    /// How a packed operation says that it holds the page's data.
    pub fn pack_held(ppn: Ppn) -> u64 {
        u64::from(ppn.0) << 32 | 1 << 31
    }

    pub fn pack(&self) -> Packed {
        let op = &self.op;
        let held = self.held.map_or(0, PostedOp::pack_held);
        let small = u64::from(op.offset) << 12 | u64::from(op.plane) << 4;
        let kind = (op.origin as u64) << 2 | op.verb as u64;
        [self.ready_at.0, op.time.0, held | small | kind]
    }

    /// Writes down when an operation that has begun ends: what it waited for matters no more.
    pub fn end_at([ready_at, ..]: &mut Packed, end: Ps) {
        *ready_at = end.0;
    }

    pub fn unpack([ready_at, time, word]: Packed, channel: Channel, die: Die) -> PostedOp {
        let op = Op {
            verb: VERBS[(word & 3) as usize],
            origin: ORIGINS[(word >> 2 & 3) as usize],
            channel,
            die,
            plane: (word >> 4 & 0xff) as u32,
            offset: (word >> 12 & 0xffff) as u32,
            time: Ps(time),
        };
        PostedOp {
            op,
            ready_at: Ps(ready_at),
            held: (word >> 31 & 1 == 1).then_some(Ppn((word >> 32) as u32)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_operation_is_what_it_was() {
        for held in [None, Some(Ppn(0)), Some(Ppn(u32::MAX - 1))] {
            for (verb, origin) in VERBS.into_iter().flat_map(|it| ORIGINS.map(|of| (it, of))) {
                let op = Op {
                    verb,
                    origin,
                    channel: Channel(3),
                    die: Die(5),
                    plane: 255,
                    offset: 65_535,
                    time: Ps(7),
                };
                let ready_at = Ps(u64::MAX);
                let packed = PostedOp { op, ready_at, held }.pack();
                let back = PostedOp::unpack(packed, op.channel, op.die);
                let same = (back.op.verb, back.op.origin) == (verb, origin);
                assert!(same && back.held == held && back.ready_at == ready_at);
                let rest = (back.op.plane, back.op.offset, back.op.time);
                assert_eq!(rest, (255, 65_535, Ps(7)));
            }
        }
    }
}
