//! The accesses of one CPU of a trace, line by line, each at its place on the device.

use crate::blocks::{Block, Blocks};
use sluice_trace::{Error, Kind};
use sluice_units::{LINE_BYTES, PAGE_BYTES};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a CPU does with one line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Executed before by its CPU.
    pub instructions: u64,
    /// Where on the device.
    pub addr: u64,
    /// Whether it stores.
    pub write: bool,
}

/// The lines that one CPU touches.
pub struct LinesOfCpu {
    trace: Arc<Blocks>,
    cpu: u32,
    /// The blocks with its accesses, and which of them is next.
    blocks: Arc<Vec<u32>>,
    next_block: usize,
    /// The block that it is in, and its access there that is next.
    block: Option<Arc<Block>>,
    at: usize,
    pages: Arc<HashMap<u64, u64>>,
    /// The page that was looked up last, and its place.
    last: Option<(u64, u64)>,
    /// The access whose lines are being given out, the next byte and the last.
    rest: Option<(sluice_trace::Access, u64, u64)>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl LinesOfCpu {
    /// The lines of a CPU, which has accesses in these blocks.
    pub fn new(
        trace: Arc<Blocks>,
        cpu: u32,
        blocks: Arc<Vec<u32>>,
        pages: Arc<HashMap<u64, u64>>,
        failure: Arc<Mutex<Option<Error>>>,
    ) -> LinesOfCpu {
        LinesOfCpu {
            trace,
            cpu,
            blocks,
            next_block: 0,
            block: None,
            at: 0,
            pages,
            last: None,
            rest: None,
            failure,
        }
    }

    /// Where a page of the trace is on the device.
    pub fn place(&mut self, page: u64) -> u64 {
        match self.last {
            Some((known, place)) if known == page => place,
            _ => {
                let place = self.pages[&page];
                self.last = Some((page, place));
                place
            }
        }
    }

    /// The next access of the CPU.
    pub fn access(&mut self) -> Option<sluice_trace::Access> {
        loop {
            if let Some(block) = &self.block
                && let Some(access) = block.of(self.cpu).get(self.at)
            {
                self.at += 1;
                return Some(*access);
            }
            // Lets the block go before the next is read.
            self.block = None;
            let number = *self.blocks.get(self.next_block)?;
            self.next_block += 1;
            self.at = 0;
            match self.trace.get(number) {
                Ok(block) => self.block = Some(block),
                Err(error) => {
                    let mut place = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                    place.get_or_insert(error);
                    self.next_block = self.blocks.len();
                    return None;
                }
            }
        }
    }
}

impl LinesOfCpu {
    /// The lines of an access come next.
    pub fn begin(&mut self, access: sluice_trace::Access) {
        self.rest = Some((access, access.address, access.last()));
    }

    /// The next line of the access that was begun, if it has one.
    pub fn line(&mut self) -> Option<Line> {
        let (access, at, end) = self.rest.take()?;
        let next = (at / LINE_BYTES)
            .checked_add(1)
            .and_then(|n| n.checked_mul(LINE_BYTES));
        self.rest = next
            .filter(|next| *next <= end)
            .map(|next| (access, next, end));
        Some(Line {
            instructions: access.instructions,
            addr: self.place(at / PAGE_BYTES) * PAGE_BYTES + at % PAGE_BYTES,
            write: access.kind == Kind::Store,
        })
    }
}

impl Iterator for LinesOfCpu {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if let Some(line) = self.line() {
            return Some(line);
        }
        let access = self.access()?;
        self.begin(access);
        self.line()
    }
}
