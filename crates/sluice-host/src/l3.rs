//! The cache that all cores share.

use super::config::Cpu;
use super::stats::LevelStats;
use super::tags::{DIRTY, PENDING, Tags, line_of};
use super::waiting::Waiting;
use sluice_units::Ps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lines on their way that are remembered with their time.
const KNOWN: usize = 1 << 13;

pub(super) struct SharedCache {
    /// None if there is no L3: then nothing is found, and what is written passes.
    tags: Option<Tags>,
    latency: Ps,
    mshrs: usize,
    /// Whether the cores have more MSHRs than this cache. If not there is always one: a miss holds
    /// one of its core for as long.
    scarce: bool,
    /// When the lines come that are under way, if that matters.
    under_way: BinaryHeap<Reverse<Ps>>,
    /// How many are under way through a port, if that matters.
    asked: usize,
    /// By line: when the last one came or comes.
    ready: Box<[(u32, Ps); KNOWN]>,
    /// Lines whose place another line has taken while they were on their way.
    displaced: Vec<(u32, Ps)>,
    /// Misses that found no MSHR, until they look again.
    pub waiting: Waiting,
    pub stats: LevelStats,
}

/// What a look-up found.
pub(super) enum Found {
    /// The line, there at this time.
    Line(Ps),
    /// Nothing. It can be asked for now.
    Nothing,
    /// Nothing, and no MSHR before this time.
    Busy(Ps),
    /// Nothing, and no MSHR before an answer comes.
    Full,
}

impl SharedCache {
    /// The latency of the L2 is part of the L3's.
    pub fn new(cpu: &Cpu) -> SharedCache {
        let level = &cpu.l3;
        let above = cpu.cores.saturating_mul(cpu.l1.mshrs.min(cpu.l2.mshrs));
        SharedCache {
            tags: (level.lines > 0).then(|| Tags::new(level)),
            latency: level.latency.saturating_sub(cpu.l2.latency),
            mshrs: level.mshrs as usize,
            scarce: above > level.mshrs,
            under_way: BinaryHeap::with_capacity(level.mshrs as usize + 1),
            asked: 0,
            ready: Box::new([(u32::MAX, Ps::ZERO); KNOWN]),
            displaced: Vec::new(),
            waiting: Waiting::default(),
            stats: LevelStats::default(),
        }
    }

    /// Looks for a line. `at` is when it would be there, if it is.
    pub fn find(&mut self, now: Ps, line: u32, at: Ps) -> Found {
        if let Some(entry) = self.tags.as_mut().and_then(|tags| tags.find(line)) {
            let mut ready = at;
            if *entry & PENDING != 0 {
                let place = self.ready[line as usize % KNOWN];
                let mut known = self.displaced.iter().chain([&place]);
                match known.find(|(known, when)| *known == line && *when > at) {
                    Some((_, when)) => {
                        self.stats.merges += 1;
                        ready = *when;
                    }
                    None => *entry &= !PENDING,
                }
            }
            self.stats.hits += 1;
            return Found::Line(ready);
        }
        while self
            .under_way
            .peek()
            .is_some_and(|Reverse(until)| *until <= now)
        {
            self.under_way.pop();
        }
        match self.under_way.peek() {
            Some(Reverse(until)) if self.under_way.len() + self.asked >= self.mshrs => {
                self.waiting.begin(now);
                Found::Busy(*until)
            }
            None if self.asked >= self.mshrs => {
                self.waiting.begin(now);
                Found::Full
            }
            _ => {
                self.stats.misses += 1;
                Found::Nothing
            }
        }
    }

    /// An MSHR is taken until then.
    pub fn take_mshr(&mut self, until: Ps) {
        if self.scarce {
            self.under_way.push(Reverse(until));
        }
    }

    /// An MSHR is taken until an answer comes.
    pub fn ask(&mut self) {
        self.asked += usize::from(self.scarce);
    }

    /// The answer has come.
    pub fn answered(&mut self) {
        self.asked -= usize::from(self.scarce);
    }

    /// Whether there is this cache.
    pub fn is_there(&self) -> bool {
        self.tags.is_some()
    }

    /// A miss for a line that is asked for already.
    pub fn merge(&mut self) {
        self.stats.hits += 1;
        self.stats.merges += 1;
    }

    /// A line has come through a port. Returns the entry that has to go for it, or 0.
    pub fn arrive(&mut self, line: u32) -> u32 {
        let Some(tags) = &mut self.tags else {
            return 0;
        };
        match tags.peek(line) {
            Some(_) => 0,
            None => tags.insert(line, 0),
        }
    }

    /// A line that was not there comes at this time. Returns the entry that has to go for it, or
    /// 0.
    pub fn fill(&mut self, now: Ps, line: u32, at: Ps) -> u32 {
        let Some(tags) = self.tags.as_mut() else {
            return 0;
        };
        let before = std::mem::replace(&mut self.ready[line as usize % KNOWN], (line, at));
        if before.1 > now && before.0 != line {
            self.displaced.retain(|(_, when)| *when > now);
            self.displaced.push(before);
        }
        tags.insert(line, PENDING)
    }

    /// A line that was written comes from an L2. Returns the entry that has to go for it, or 0.
    ///
    /// # Panics
    /// Without this cache.
    pub fn take(&mut self, line: u32) -> u32 {
        let tags = self.tags.as_mut().expect("an L3");
        if let Some(entry) = tags.find(line) {
            *entry |= DIRTY;
            return 0;
        }
        tags.insert(line, DIRTY)
    }

    /// A line that is there was written.
    pub fn mark(&mut self, line: u32) {
        if let Some(entry) = self.tags.as_mut().and_then(|tags| tags.peek(line)) {
            *entry |= DIRTY;
        }
    }

    /// Loses a line. Says whether it was there as written.
    pub fn remove(&mut self, line: u32) -> bool {
        let tags = self.tags.as_mut();
        tags.is_some_and(|tags| tags.remove(line) & DIRTY != 0)
    }

    /// A line goes to memory and stays. Says whether it was written.
    pub fn clean(&mut self, line: u32) -> bool {
        let entry = self.tags.as_mut().and_then(|tags| tags.peek(line));
        let dirty = entry.is_some_and(Tags::clean);
        self.stats.write_backs += u64::from(dirty);
        dirty
    }

    /// An entry has left. Returns the line that is written back.
    pub fn written(&mut self, victim: u32) -> Option<u32> {
        let dirty = victim & DIRTY != 0;
        self.stats.write_backs += u64::from(dirty);
        dirty.then(|| line_of(victim))
    }

    /// From the miss of a core's L2 to the data, if it is there.
    pub fn latency(&self) -> Ps {
        self.latency
    }
}
