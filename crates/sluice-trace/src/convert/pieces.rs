//! A request of a block trace as the accesses that it is: one to each page that it touches, or one
//! by the block door.

use super::RequestForm;
use crate::{Access, BLOCK_PIECE, Kind};
use sluice_units::{LINE_BYTES, PAGE_BYTES};

/// A request of more is a mistake, and would become millions of accesses.
const REQUEST_BYTES_MAX: u64 = 1 << 30;

/// Why there is no request for so many bytes from an address on; `name` is what calls the bytes.
pub fn refusal(name: &str, address: u64, size: u64) -> Option<String> {
    if size > REQUEST_BYTES_MAX {
        return Some(format!("{name}: {size} bytes; expected 1 GiB at most"));
    }
    let is_behind = u128::from(address) + u128::from(size) > 1 << 64;
    is_behind.then(|| format!("{name}: {size} bytes from {address:#x} on end behind 2^64"))
}

/// A request of bytes that follow one another.
pub struct Pieces {
    pub cpu: u32,
    pub instructions: u64,
    pub kind: Kind,
    pub address: u64,
    pub size: u64,
}

impl Pieces {
    /// Adds its accesses, in the order of their addresses. It ends with the last address at most.
    pub fn push_to(&self, form: RequestForm, out: &mut Vec<Access>) {
        if self.kind == Kind::BlockFlush {
            return out.push(self.access(self.kind, 0, 0));
        }
        let kind = match (form, self.kind) {
            (RequestForm::Block, Kind::Load) => Kind::BlockRead,
            (RequestForm::Block, Kind::Store) => Kind::BlockWrite,
            (_, kind) => kind,
        };
        let (mut at, mut left) = (self.address, self.size);
        while left > 0 {
            let taken = match form {
                RequestForm::Block => u64::from(BLOCK_PIECE).min(left),
                _ => (PAGE_BYTES - at % PAGE_BYTES).min(left),
            };
            let size = match form {
                RequestForm::Block | RequestForm::Lines => taken,
                RequestForm::Page => (LINE_BYTES - at % LINE_BYTES).min(taken),
            };
            out.push(self.access(kind, at, size as u16));
            // The last byte of a request may be the last that has an address.
            at = at.wrapping_add(taken);
            left -= taken;
            // Its last byte once more: else a request that begins behind it would be its rest.
            if form == RequestForm::Block && left == 0 && size == u64::from(BLOCK_PIECE) && at > 0 {
                out.push(self.access(kind, at - 1, 1));
            }
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
