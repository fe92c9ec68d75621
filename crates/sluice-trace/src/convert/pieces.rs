//! A request of a block trace as the accesses that it is: one to each page that it touches, or one
//! by the block door.

use super::RequestForm;
use crate::{Access, BLOCK_PIECE, Kind};
use sluice_units::{LINE_BYTES, PAGE_BYTES};

/// A request of bytes that follow one another.
pub struct Pieces {
    pub cpu: u32,
    pub instructions: u64,
    pub kind: Kind,
    pub address: u64,
    pub size: u64,
}

impl Pieces {
    /// Adds its accesses, in the order of their addresses.
    pub fn push_to(&self, form: RequestForm, out: &mut Vec<Access>) {
        if self.kind == Kind::BlockFlush {
            return out.push(self.access(self.kind, 0, 0));
        }
        let kind = match (form, self.kind) {
            (RequestForm::Block, Kind::Load) => Kind::BlockRead,
            (RequestForm::Block, Kind::Store) => Kind::BlockWrite,
            (_, kind) => kind,
        };
        let (mut at, end) = (self.address, self.address + self.size);
        while at < end {
            let next = match form {
                RequestForm::Block => at.saturating_add(BLOCK_PIECE.into()).min(end),
                _ => (at / PAGE_BYTES + 1).saturating_mul(PAGE_BYTES).min(end),
            };
            let piece_end = match form {
                RequestForm::Block => next,
                RequestForm::Lines => next,
                RequestForm::Page => (at / LINE_BYTES + 1).saturating_mul(LINE_BYTES).min(next),
            };
            out.push(self.access(kind, at, (piece_end - at) as u16));
            at = next;
        }
    }

    fn access(&self, kind: Kind, address: u64, size: u16) -> Access {
        Access {
            cpu: self.cpu,
            instructions: self.instructions,
            address,
            size,
            kind,
        }
    }
}
