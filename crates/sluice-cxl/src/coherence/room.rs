//! How the agent makes room in its filter.

use super::dcoh::{Dcoh, DcohAction, FOR_ENTRY, hosts_of, snoop};
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

    /// Empties a busy entry, and gives it to the request that waited longest.
    pub(super) fn vacate(&mut self, entry: u32, out: &mut Vec<DcohAction>) {
        self.filter.remove(entry);
        if let Some(tracker) = self.waiting.pop_back(FOR_ENTRY) {
            let line = self.trackers[tracker as usize].request.line;
            self.trackers[tracker as usize].entry = self.filter.insert(line);
            self.proceed(tracker as u16, out);
        }
    }

    /// Evicts until as many entries become free as requests wait for.
    pub(super) fn make_room(&mut self, out: &mut Vec<DcohAction>) {
        while self.waiting.len(FOR_ENTRY) > self.freeing {
            let Some(victims) = self.filter.choose() else {
                return;
            };
            self.evict(victims, out);
        }
    }

    fn evict(&mut self, victims: Chosen, out: &mut Vec<DcohAction>) {
        let number = self.free_evictions.pop().expect("one for each tracker");
        let tag = self.trackers.len() as u16 + number;
        let length = usize::from(victims.length);
        let queues = self.evictions[number as usize].queues;
        for (at, entry) in victims.entries[..length].iter().enumerate() {
            self.filter.set_busy(*entry);
            self.busy.set(victims.line + at as u64, queues[at]);
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
        self.freeing += u32::from(victims.length);
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
            self.freeing -= 1;
            self.vacate(victims.entries[at], out);
        }
        self.free_evictions.push(number as u16);
    }
}
