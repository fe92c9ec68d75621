//! How the agent makes room in its filter.

use super::dcoh::{Dcoh, DcohAction, hosts_of, snoop};
use super::filter::Chosen;
use super::message::Snoop;

impl Dcoh {
    /// The host holds the line no more, by its own wish.
    pub(super) fn dropped(&mut self, line: u64, host: u32, out: &mut Vec<DcohAction>) {
        let Some(entry) = self.filter.find(line) else {
            return;
        };
        self.filter.remove_owner(entry, host);
        if self.filter.is_idle(entry) && self.is_ownerless(entry) {
            self.filter.set_busy(entry);
            self.vacate(entry, out);
        }
    }

    /// Empties a busy entry, and gives it to the request of its set that waited longest.
    pub(super) fn vacate(&mut self, entry: u32, out: &mut Vec<DcohAction>) {
        let set = self.filter.set_of(entry);
        self.filter.remove(entry);
        if let Some(tracker) = self.waiting.pop_back(set) {
            self.note(set);
            let line = self.trackers[tracker as usize].request.line;
            self.trackers[tracker as usize].entry = self.filter.insert(line, set);
            self.proceed(tracker as u16, out);
        }
    }

    /// Whether more requests wait for an entry of a set than evictions will free.
    fn is_starved(&self, set: u32) -> bool {
        self.waiting.len(set) > self.freeing[set as usize]
    }

    /// What a set's requests wait for has changed, or what they will get.
    pub(super) fn note(&mut self, set: u32) {
        let is_starved = self.is_starved(set);
        let was = std::mem::replace(&mut self.starved.0[set as usize], is_starved);
        self.starved.1 += u32::from(is_starved);
        self.starved.1 -= u32::from(was);
    }

    /// Evicts until as many entries of the set become free as requests wait for.
    pub(super) fn make_room(&mut self, set: u32, out: &mut Vec<DcohAction>) {
        while self.is_starved(set) {
            let Some(victims) = self.filter.choose(set) else {
                return;
            };
            let Some(number) = self.free_evictions.pop() else {
                // Requests that got their entries otherwise have left evictions behind.
                if !self.put_off.contains(&set) {
                    self.put_off.push_back(set);
                }
                return;
            };
            self.evict(number, victims, out);
        }
    }

    fn evict(&mut self, number: u16, victims: Chosen, out: &mut Vec<DcohAction>) {
        let tag = self.trackers.len() as u16 + number;
        let length = usize::from(victims.length);
        let queues = self.evictions[number as usize].queues;
        for (at, entry) in victims.entries[..length].iter().enumerate() {
            self.filter.set_busy(*entry);
            let line = victims.line + at as u64;
            self.busy.set(line, queues[at]);
            let set = self.filter.set_of(*entry);
            self.freeing[set as usize] += 1;
            self.note(set);
        }
        let mut pending = 0;
        for word in 0..self.filter.owners(victims.entries[0]).len() {
            let all = victims.entries[..length].iter();
            let bits = all.fold(0, |bits, entry| bits | self.filter.owners(*entry)[word]);
            for host in hosts_of(word, bits) {
                pending += 1;
                out.push(snoop(
                    Snoop::Invalidate,
                    victims.length,
                    host,
                    victims.line,
                    tag,
                ));
            }
        }
        self.count.evictions += u64::from(victims.length);
        self.count.eviction_snoops += u64::from(pending);
        let eviction = &mut self.evictions[number as usize];
        eviction.pending = pending;
        eviction.victims = Some(victims);
    }

    pub(super) fn evicted(&mut self, number: usize, out: &mut Vec<DcohAction>) {
        let victims = self.evictions[number].victims.take().expect("an eviction");
        for at in 0..usize::from(victims.length) {
            let queue = self.evictions[number].queues[at];
            let queue = self.release(victims.line + at as u64, queue, None);
            self.evictions[number].queues[at] = queue;
            let set = self.filter.set_of(victims.entries[at]);
            self.freeing[set as usize] -= 1;
            self.note(set);
            self.vacate(victims.entries[at], out);
        }
        self.free_evictions.push(number as u16);
        while !self.free_evictions.is_empty()
            && let Some(set) = self.put_off.pop_front()
        {
            self.make_room(set, out);
        }
    }
}
