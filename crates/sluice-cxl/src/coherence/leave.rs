//! Lines that leave a cache: displaced by others, or because the host wants no more of them.

use super::cache::{Aim, Cache, CacheOut, NONE, Way};
use super::filter::BLOCK_LINES_MAX;
use super::message::{State, ToDevice};

/// Tags of requests under way: they have 16 bits in CXL 3.1.
const TAGS: usize = 1 << 16;

impl Cache {
    /// The host holds a line no more, by its own wish: caches of its own that are nearer to it
    /// have lost it. What memory lacks is written back.
    ///
    /// A line that a snoop waits for stays until the snoop takes it. One that the host has asked
    /// to own comes back with that answer.
    pub fn let_go(&mut self, line: u64, out: &mut CacheOut) {
        match self.has_tags() {
            true => self.go(line, out),
            false => self.leaving.push_back(line),
        }
    }

    /// Whether one more snoop, or a line that is let go, will find the tags that it needs. Each
    /// snoop may need one for each of its lines; a line that comes needs one for what it displaces
    /// until its own is free.
    pub(super) fn has_tags(&self) -> bool {
        let snoops = 1 + self.snoops.len() - self.free_snoops.len();
        self.under_way() + snoops * usize::from(BLOCK_LINES_MAX) < TAGS
    }

    /// Whether a line is to leave, and cannot yet.
    pub(super) fn is_leaving(&self, line: u64) -> bool {
        !self.leaving.is_empty() && self.leaving.contains(&line)
    }

    /// What waited for tags goes on, as far as there are some.
    pub(super) fn catch_up(&mut self, out: &mut CacheOut) {
        while self.has_tags()
            && let Some(message) = self.late.pop_front()
        {
            self.snooped(&message, out);
        }
        while self.has_tags()
            && let Some(line) = self.leaving.pop_front()
        {
            self.go(line, out);
        }
    }

    fn go(&mut self, line: u64, out: &mut CacheOut) {
        let Some(at) = self.index.get(line) else {
            return;
        };
        let way = self.ways[at as usize];
        if way.held {
            let request = self.by_line.get(line);
            let aim = request.map(|request| self.requests[request as usize].aim);
            if aim == Some(Aim::Own) {
                self.set_state(at, State::Invalid, out);
            }
            return;
        }
        self.displace(at, out);
        self.order.leave(at);
        self.ways[at as usize] = Way::default();
    }

    /// What is in a place leaves it, which is then in nobody's list.
    pub(super) fn displace(&mut self, at: u32, out: &mut CacheOut) {
        let old = self.ways[at as usize];
        if old.state == State::Invalid {
            return;
        }
        self.count.evictions += 1;
        self.set_state(at, State::Invalid, out);
        self.index.remove(old.line);
        match old.state {
            // It is being written back, and the answer to the snoop has its data.
            _ if old.asked => {
                let writing = self.by_line.get(old.line).expect("a request");
                self.requests[writing as usize].way = NONE;
            }
            State::Modified => {
                self.write_back(old.line, State::Invalid, NONE, old.data, out);
            }
            _ if self.notify => {
                let what = ToDevice::CleanEvict;
                self.ask(old.line, Aim::CleanEvict, NONE, what, 0, out);
            }
            _ => {}
        }
    }

    /// Whether a request is under way for a line, or will be when there is a tag for it.
    pub fn is_asked(&self, line: u64) -> bool {
        self.by_line.get(line).is_some() || self.is_leaving(line)
    }
}
