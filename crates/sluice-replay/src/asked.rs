//! What one CPU of a trace asks of a device: loads and stores line by line, and requests for pages
//! by the block door, put together from their pieces.

use crate::lines::LinesOfCpu;
use sluice_driver::{Access, Asked, BlockAccess};
use sluice_model::BlockOp;
use sluice_trace::Kind;
use sluice_units::PAGE_BYTES;
use std::collections::BTreeMap;

/// What one CPU asks for, in its order.
pub type AskedStream = Box<dyn Iterator<Item = Asked> + Send>;

pub struct AskedOfCpu {
    lines: LinesOfCpu,
    /// Pages of the device, and the bytes of each.
    pages: u64,
    page_bytes: u64,
    /// The access that follows a request.
    next: Option<sluice_trace::Access>,
}

impl AskedOfCpu {
    pub fn new(lines: LinesOfCpu, pages: u64, page_bytes: u64) -> AskedOfCpu {
        AskedOfCpu {
            lines,
            pages,
            page_bytes,
            next: None,
        }
    }

    /// Whether a request asks for a page from now on, of which it names so many bytes more: a trim
    /// once it names all of it, as a disk keeps a page of which it is to trim a part.
    fn is_due(&self, op: BlockOp, named: &mut BTreeMap<u64, u64>, page: u64, bytes: u64) -> bool {
        let before = named.remove(&page).unwrap_or(0);
        let is_whole = before + bytes >= self.page_bytes;
        // Of a trim, pages that are whole are named no more: what stays is little.
        if op != BlockOp::Trim || !is_whole {
            named.insert(page, before + bytes);
        }
        match op {
            BlockOp::Trim => is_whole,
            _ => before == 0,
        }
    }

    /// The request that an access begins.
    fn request(&mut self, first: sluice_trace::Access, op: BlockOp) -> BlockAccess {
        let mut runs = Vec::new();
        if op == BlockOp::Flush {
            runs.push((0, self.pages));
            return BlockAccess { op, runs };
        }
        // Bytes that it names of pages, where these can be named again: parts of a large page lie
        // apart in the trace, and a trim may name a part alone.
        let mut named = BTreeMap::new();
        let is_simple = op != BlockOp::Trim && self.page_bytes <= PAGE_BYTES;
        let mut piece = first;
        loop {
            for page in piece.address / PAGE_BYTES..=piece.last() / PAGE_BYTES {
                let place = self.lines.place(page) * PAGE_BYTES;
                let end = page * PAGE_BYTES + (PAGE_BYTES - 1);
                let (from, to) = (piece.address.max(page * PAGE_BYTES), piece.last().min(end));
                let at = |address: u64| place + address - page * PAGE_BYTES;
                for page in at(from) / self.page_bytes..=at(to) / self.page_bytes {
                    let begins = page * self.page_bytes;
                    let ends = begins + (self.page_bytes - 1);
                    let bytes = at(to).min(ends) - at(from).max(begins) + 1;
                    if is_simple || self.is_due(op, &mut named, page, bytes) {
                        append(&mut runs, page);
                    }
                }
            }
            let end = piece.address.saturating_add(piece.size.into());
            self.next = self.lines.access();
            match self.next.filter(|next| next.goes_on(&piece, end)) {
                Some(next) => piece = next,
                None => return BlockAccess { op, runs },
            }
        }
    }
}

/// Adds a page to runs of pages that follow one another, unless it was added last.
fn append(runs: &mut Vec<(u64, u64)>, page: u64) {
    match runs.last_mut() {
        Some((first, count)) if *first + *count == page + 1 => {}
        Some((first, count)) if *first + *count == page => *count += 1,
        _ => runs.push((page, 1)),
    }
}

/// What an access by the block door does.
fn op_of(kind: Kind) -> Option<BlockOp> {
    match kind {
        Kind::Load | Kind::Store | Kind::Fetch => None,
        Kind::BlockRead => Some(BlockOp::Read),
        Kind::BlockWrite => Some(BlockOp::Write),
        Kind::BlockTrim => Some(BlockOp::Trim),
        Kind::BlockFlush => Some(BlockOp::Flush),
    }
}

impl Iterator for AskedOfCpu {
    type Item = Asked;

    fn next(&mut self) -> Option<Asked> {
        loop {
            if let Some(line) = self.lines.line() {
                return Some(Asked::Access(Access {
                    addr: line.addr,
                    write: line.write,
                }));
            }
            let access = match self.next.take() {
                Some(access) => access,
                None => self.lines.access()?,
            };
            match op_of(access.kind) {
                Some(op) => return Some(Asked::Block(self.request(access, op))),
                None => self.lines.begin(access),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_follow_one_another_are_a_run() {
        let mut runs = Vec::new();
        for page in [3, 4, 4, 5, 6, 9, 9, 10, 2] {
            append(&mut runs, page);
        }
        assert_eq!(runs, [(3, 4), (9, 2), (2, 1)]);
    }
}
