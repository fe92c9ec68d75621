//! States as others see them: hashes that are equal where states behave alike, and names for data.
//!
//! For monitors, and for a search through all states. Two states with the same hash behave alike:
//! places, entries and lists are left out where they are mere names.

use super::cache::Cache;
use super::count::CacheCount;
use super::dcoh::Dcoh;
use super::filter::Filter;
use super::message::State;
use super::victim::Facts;
use std::hash::{Hash, Hasher};

impl Dcoh {
    /// Gives all data another name; see [`Cache::rename`](super::Cache::rename).
    pub fn rename(&mut self, mut name: impl FnMut(u64, u64) -> u64) {
        let trackers = self.trackers.iter_mut().map(|it| &mut it.request);
        let backlog = self.backlog.iter_mut().map(|(request, _)| request);
        for request in trackers.chain(backlog) {
            request.data = name(request.line, request.data);
        }
    }
}

impl Cache {
    /// What was counted so far.
    pub fn count(&self) -> &CacheCount {
        &self.count
    }

    /// Counts from 0 on again.
    pub fn reset_count(&mut self) {
        self.count = CacheCount::default();
    }

    /// What may be done with a line.
    pub fn state(&self, line: u64) -> State {
        let way = self.index.get(line);
        way.map_or(State::Invalid, |way| self.ways[way as usize].state)
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.free_requests.len() == self.requests.len()
            && self.free_snoops.len() == self.snoops.len()
            && self.late.is_empty()
            && self.leaving.is_empty()
    }

    /// Gives every line's data another name, so that states that differ in names only are one.
    pub fn rename(&mut self, mut name: impl FnMut(u64, u64) -> u64) {
        for way in &mut self.ways {
            way.data = name(way.line, way.data);
        }
        for request in &mut self.requests {
            request.data = request.data.map(|data| name(request.line, data));
        }
    }

    /// Every line that is held, with its state. For monitors.
    pub fn lines(&self) -> impl Iterator<Item = (u64, State)> {
        let held = self.ways.iter().filter(|way| way.state != State::Invalid);
        held.map(|way| (way.line, way.state))
    }
}

/// What decides what the filter will do: not which entry a line has, and of times their order.
impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut held = self.index.in_order();
        for (line, entry) in &held {
            let idle = self.is_idle(*entry);
            (line, idle, self.is_exclusive(*entry), self.owners(*entry)).hash(state);
        }
        self.insertions.hash(state);
        for time in [
            |facts: &Facts| facts.inserted,
            |facts: &Facts| facts.touched,
        ] {
            held.sort_unstable_by_key(|(_, entry)| time(&self.facts[*entry as usize]));
            held.iter().for_each(|(line, _)| line.hash(state));
        }
    }
}

/// What decides what the agent will do: not the names of entries and lists, nor what was counted.
impl Hash for Dcoh {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.filter, &self.freeing, &self.backlog, &self.ready).hash(state);
        self.put_off.hash(state);
        for (number, it) in (0..).zip(&self.trackers) {
            if !self.free_trackers.contains(&number) {
                (number, it.request, it.entry.is_some(), it.pending).hash(state);
            }
        }
        for (number, it) in (0u16..).zip(&self.evictions) {
            if let Some(victims) = it.victims {
                (number, victims.line, victims.length, it.pending).hash(state);
            }
        }
        for (line, list) in self.busy.in_order() {
            (line, self.waiting.len(list)).hash(state);
            self.waiting.iter(list).for_each(|it| it.hash(state));
        }
        for set in 0..self.filter.sets() {
            self.waiting.iter(set).for_each(|it| it.hash(state));
        }
    }
}

/// What decides what the cache will do: not which place a line has, nor what was counted.
impl Hash for Cache {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (line, at) in self.index.in_order() {
            let way = self.ways[at as usize];
            (line, way.state, way.data, way.asked, way.held).hash(state);
        }
        let used = self.order.in_order();
        used.for_each(|at| self.ways[at as usize].line.hash(state));
        for (line, number) in self.by_line.in_order() {
            let it = self.requests[number as usize];
            (line, number, it.aim, it.granted, it.data, it.snoop).hash(state);
        }
        (&self.waiters, &self.waiting, &self.again, &self.snoops).hash(state);
        (&self.late, &self.leaving).hash(state);
    }
}
