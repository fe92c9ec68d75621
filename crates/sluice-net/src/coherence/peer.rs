//! A simulated host as its devices know it: what its caches as a whole have of coherent memory.
//!
//! The host's own caches say which data are where in it. Here is what it may do with each line.

use sluice_cxl::coherence::{Cache, State};
use sluice_units::Ps;
use std::collections::BTreeMap;

/// What a host learns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// A snoop has left it so much of a line, by the requester's address.
    Snoop { addr: u64, keeps: State },
    /// The memory has a line that it gave up with this tag.
    Written { tag: u32, by: Option<WrittenBy> },
}

/// The message by which memory got a line: its tag, and what memory took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenBy {
    pub tag: u16,
    pub memory: Ps,
}

/// A line that a host has.
#[derive(Clone, Copy)]
struct Line {
    /// By the requester's addresses.
    addr: u64,
    /// Whether the host takes it that it may write the line.
    owned: bool,
}

/// What is known of a host beside its lines' states.
pub(super) struct HostSide {
    /// Looking a line up that a snoop names.
    look_up: Ps,
    /// Snoops keep the host's caches busy until then.
    busy_until: Ps,
    lines: BTreeMap<u64, Line>,
    /// Lines whose state has changed since the host last heard.
    pub changed: Vec<u64>,
    /// Lines that memory has got since the host last heard.
    pub written: Vec<u64>,
    /// The message that was answered last, if it was that of such a line.
    pub written_by: Option<WrittenBy>,
    /// Lines that were given up and are not in memory yet, with the tags of that.
    writes: Vec<(u64, u32)>,
}

impl HostSide {
    pub fn new(look_up: Ps) -> HostSide {
        HostSide {
            look_up,
            busy_until: Ps::ZERO,
            lines: BTreeMap::new(),
            changed: Vec::new(),
            written: Vec::new(),
            written_by: None,
            writes: Vec::new(),
        }
    }

    /// When so many lines have been looked up, one after the other.
    pub fn look_up(&mut self, now: Ps, lines: u8) -> Ps {
        self.busy_until = self.busy_until.max(now) + self.look_up * u64::from(lines);
        self.busy_until
    }

    /// An access has given the host a line.
    pub fn finish(&mut self, line: u64, addr: u64, owned: bool) {
        let before = self.lines.insert(line, Line { addr, owned });
        // A load that was on its way takes no right away.
        if let (Some(before), Some(it)) = (before, self.lines.get_mut(&line)) {
            it.owned |= before.owned;
        }
    }

    /// The host gives a line up; with a tag it wants to know when memory has it.
    pub fn give_up(&mut self, line: u64, tag: Option<u32>) {
        self.lines.remove(&line);
        self.writes.extend(tag.map(|tag| (line, tag)));
    }

    /// What the host learns after anything has happened to its lines, whose states `cache` has.
    pub fn tell(&mut self, cache: &Cache, told: &mut dyn FnMut(Told)) {
        for line in self.changed.drain(..) {
            let Some(known) = self.lines.get_mut(&line) else {
                continue;
            };
            let (addr, keeps) = (known.addr, cache.state(line));
            if keeps == State::Invalid {
                self.lines.remove(&line);
            } else if !known.owned || keeps == State::Modified {
                continue;
            } else {
                known.owned = false;
            }
            told(Told::Snoop { addr, keeps });
        }
        let by = self.written_by.take();
        self.writes.retain(|(line, tag)| {
            // The host may ask for the line anew as soon as memory has it.
            let is_written = self.written.contains(line);
            let waits = cache.is_asked(*line) && !is_written;
            if !waits {
                let by = by.filter(|_| is_written);
                told(Told::Written { tag: *tag, by });
            }
            waits
        });
        self.written.clear();
    }
}
