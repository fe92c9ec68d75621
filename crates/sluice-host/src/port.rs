//! A host whose memory is elsewhere: its requests leave it, and their answers come later.
//!
//! A host with its device on a link of its own learns at once when an answer will come. Where
//! requests meet those of other hosts, nobody knows that yet. Then a miss that leaves the L3
//! becomes an [`Ask`], its MSHRs are held until the answer, and the line is in the L3 from then on.

use sluice_model::{Parts, ServedBy};
use sluice_units::{LINE_BYTES, Ps};
use std::collections::VecDeque;

/// What a host wants of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskFor {
    /// The line.
    Line,
    /// The line, and the right to write it: nobody else has it then.
    Owned,
    /// It has the line and wants it written, and keeps nothing.
    Write,
    /// It keeps nothing of a line that it has not written, and wants no answer.
    Drop,
}

/// A request of a host for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it leaves the L3: not before the host's time, and in order.
    pub at: Ps,
    /// The line's first byte, by the program's addresses.
    pub addr: u64,
    /// What it wants.
    pub what: AskFor,
    /// Whether it may be answered with a long-delay message instead of the line.
    pub may_delay: bool,
    /// What its answer is called.
    pub tag: u32,
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// A long-delay message (SkyByte section III-A), and no line.
    pub delayed: bool,
    /// The host may write the line from now on; of shared memory alone.
    pub owned: bool,
    /// Where a device found the line. Nowhere, if it did not look: it had only to say that the
    /// host may write the line.
    pub served_by: Option<ServedBy>,
    /// Where the time in the device went. The rest is the way there and back.
    pub parts: Parts,
}

impl Default for Reply {
    /// Of a memory that is no device and took no time.
    fn default() -> Reply {
        Reply {
            delayed: false,
            owned: false,
            served_by: Some(ServedBy::CacheHit),
            parts: Parts::default(),
        }
    }
}

/// A core's miss that holds an MSHR.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub core: u32,
    pub miss: u32,
    pub mshr: usize,
    /// When the miss would have the line if the L3 had it: it has the line no earlier.
    pub at: Ps,
}

/// No line: more than any program has.
pub(super) const NO_LINE: u32 = u32::MAX;
/// Set in the tags of writes.
pub(super) const WRITE: u32 = 1 << 31;

/// Where requests leave a host.
#[derive(Default)]
pub(super) struct Port {
    pub asks: Vec<Ask>,
    /// Reads by tag: the line, or [`NO_LINE`]. As many as there were at once.
    pub lines: Vec<u32>,
    /// Reads by tag: when, and the misses for the line, the one that asked first.
    pub reads: Vec<(Ps, Vec<Waiter>)>,
    pub free_reads: Vec<u32>,
    /// Writes by tag: when, and the core that waits until its line is in memory.
    pub writes: Vec<(Ps, Option<u32>)>,
    pub free_writes: Vec<u32>,
    /// Misses that wait for an MSHR of the L3: core, miss, MSHR and epoch of the core.
    pub full: VecDeque<(u32, u32, u16, u32)>,
    /// Accesses that a device's cache had, and had not.
    pub looked_up: [u64; 2],
    /// Programs of the device, as its owner reports them.
    pub programs: u64,
}

impl Port {
    /// Asks for a line, which a miss waits for.
    pub fn read(&mut self, line: u32, at: Ps, what: AskFor, may_delay: bool, waiter: Waiter) {
        let tag = self.free_reads.pop().unwrap_or_else(|| {
            self.lines.push(NO_LINE);
            self.reads.push((at, Vec::new()));
            self.lines.len() as u32 - 1
        });
        self.lines[tag as usize] = line;
        let (asked_at, waiters) = &mut self.reads[tag as usize];
        *asked_at = at;
        waiters.push(waiter);
        self.asks.push(Ask {
            at,
            addr: u64::from(line) * LINE_BYTES,
            what,
            may_delay,
            tag,
        });
    }

    /// Sends a line, which a core may wait for.
    pub fn write(&mut self, addr: u64, at: Ps, flushes: Option<u32>) {
        let tag = self.free_writes.pop().unwrap_or_else(|| {
            self.writes.push((at, None));
            self.writes.len() as u32 - 1
        });
        self.writes[tag as usize] = (at, flushes);
        self.asks.push(Ask {
            at,
            addr,
            what: AskFor::Write,
            may_delay: false,
            tag: tag | WRITE,
        });
    }

    /// Gives a line up that memory has as well.
    pub fn give_up(&mut self, addr: u64, at: Ps) {
        self.asks.push(Ask {
            at,
            addr,
            what: AskFor::Drop,
            may_delay: false,
            tag: WRITE,
        });
    }

    /// The requests that wait for a line that is under way.
    pub fn waiters(&mut self, line: u32) -> Option<&mut Vec<Waiter>> {
        let tag = self.lines.iter().position(|asked| *asked == line)?;
        Some(&mut self.reads[tag].1)
    }
}
