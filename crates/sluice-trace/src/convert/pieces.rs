//! A request of a block trace as the accesses that it is: one to each page that it touches.

use super::RequestForm;
use crate::{Access, Kind};
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
        let (mut at, end) = (self.address, self.address + self.size);
        while at < end {
            let next = (at / PAGE_BYTES + 1).saturating_mul(PAGE_BYTES).min(end);
            let piece_end = match form {
                RequestForm::Lines => next,
                RequestForm::Page => (at / LINE_BYTES + 1).saturating_mul(LINE_BYTES).min(next),
            };
            out.push(Access {
                cpu: self.cpu,
                instructions: self.instructions,
                address: at,
                size: (piece_end - at) as u16,
                kind: self.kind,
            });
            at = next;
        }
    }
}
