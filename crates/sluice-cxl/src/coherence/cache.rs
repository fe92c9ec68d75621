//! A host's coherent cache of device memory.

use super::count::CacheCount;
use super::index::LineIndex;
use super::message::{M2s, Message, S2m, Snoop, State, ToDevice, ToHost, Want};
use super::replacement::{Replacement, ReplacementOrder};
use sluice_lists::Lists;
use std::collections::VecDeque;

/// What a cache is made of.
#[derive(Clone, Copy, Debug)]
pub struct CacheSetup {
    /// Lines, at least 1, a multiple of `ways`.
    pub lines: u32,
    /// Lines in a set; as many as `lines` for a fully associative cache.
    pub ways: u32,
    /// Which line of a full set leaves.
    pub replacement: Replacement,
    /// Whether the cache notifies the device of clean lines that leave (MemClnEvct).
    pub notify: bool,
    /// Accesses that can be outstanding, at least 1: their numbers are below this.
    pub accesses: u32,
    /// Whether [`CacheOut::changes`] and [`CacheOut::written`] are filled.
    pub watched: bool,
}

/// The output of a cache's call.
#[derive(Clone, Debug, Default)]
pub struct CacheOut {
    /// To send, in this order. The caller fills in `peer`, since it knows where a line lives;
    /// answers to snoops have it.
    pub send: Vec<M2s>,
    /// Of each request in `send` for data or the right to write, in this order: the access whose
    /// miss caused it.
    pub causes: Vec<u32>,
    /// Accesses that are done: number and the line's data as they saw it.
    pub done: Vec<(u32, u64)>,
    /// Lines whose state has changed, if the cache is watched.
    pub changes: Vec<(u64, State)>,
    /// Lines that memory has got, if the cache is watched.
    pub written: Vec<u64>,
}

/// What became of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is done, and saw this.
    Hit(u64),
    /// It will be in [`CacheOut::done`].
    Waits,
}

/// Requests under way beyond which accesses wait: the other tags, of 16 bits, are for lines that
/// snoops or a host send back.
const REQUESTS_MAX: usize = 1 << 15;

/// No line, request or snoop.
pub(super) const NONE: u32 = u32::MAX;

/// A place for a line.
#[derive(Clone, Copy, Default)]
pub(super) struct Way {
    pub line: u64,
    pub state: State,
    pub data: u64,
    /// Whether a request is under way for the line, so that it cannot change by itself.
    pub asked: bool,
    /// Whether that request needs the line to stay.
    pub held: bool,
}

/// What a request under way is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Aim {
    Read {
        any: bool,
    },
    /// Ownership of a line that is shared.
    Own,
    /// Done but for a snoop's acknowledgement.
    Fence,
    /// A dirty line that leaves, or stays as this.
    WriteBack(State),
    CleanEvict,
}

/// A request under way. There is at most one for a line.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub aim: Aim,
    pub line: u64,
    pub way: u32,
    /// Where the line will be, if it is an access's request.
    pub set: u32,
    pub granted: Option<State>,
    pub data: Option<u64>,
    /// The snoop that waits for it.
    pub snoop: u32,
}

const NO_REQUEST: Request = Request {
    aim: Aim::CleanEvict,
    line: 0,
    way: NONE,
    set: 0,
    granted: None,
    data: None,
    snoop: NONE,
};

/// An access that waits.
#[derive(Clone, Copy, Default, Hash)]
pub(super) struct Waiter {
    line: u64,
    set: u32,
    store: Option<u64>,
}

/// A snoop that cannot be answered yet.
#[derive(Clone, Copy, Default, Hash)]
pub(super) struct Pending {
    pub want: Option<Snoop>,
    pub peer: u32,
    pub tag: u16,
    pub line: u64,
    pub lines: u8,
    /// Lines whose requests it waits for.
    pub remaining: u8,
    /// Whether a conflict has been sent and not been acknowledged.
    pub fenced: bool,
    pub left: State,
}

/// A write-back cache with MESI states and one request at a time for each line.
///
/// What a miss displaces leaves when the line arrives, so that a snoop for room in the device's
/// filter has made room here first. Accesses to a line with a request under way wait for it; so
/// do those for which all of their set is spoken for. Snoops that meet a
/// request are answered after the conflict handshake of CXL 3.1, 3.3.8 (ESF section II-A for the
/// channels); those that meet a dirty line, after it has been written back. Timeless, as [`Dcoh`].
///
/// [`Dcoh`]: super::Dcoh
#[derive(Clone)]
pub struct Cache {
    pub(super) ways: Vec<Way>,
    pub(super) index: LineIndex,
    pub(super) order: ReplacementOrder,
    pub(super) requests: Vec<Request>,
    pub(super) free_requests: Vec<u32>,
    pub(super) by_line: LineIndex,
    /// Per set, lines that will come or must stay.
    reserved: Vec<u32>,
    pub(super) waiters: Vec<Waiter>,
    /// Accesses that wait: list 0 for a place or a request, others for request number list - 1.
    pub(super) waiting: Lists,
    pub(super) again: VecDeque<u32>,
    pub(super) snoops: Vec<Pending>,
    pub(super) free_snoops: Vec<u32>,
    /// Snoops and lines to let go that came when the tags were used up.
    pub(super) late: VecDeque<S2m>,
    pub(super) leaving: VecDeque<u64>,
    pub(super) notify: bool,
    watched: bool,
    pub(super) count: CacheCount,
}

/// The list of accesses that found no place.
const PARKED: u32 = 0;

impl Cache {
    /// An empty cache.
    pub fn new(setup: &CacheSetup) -> Cache {
        assert!(setup.ways > 0 && setup.lines > 0 && setup.lines.is_multiple_of(setup.ways));
        let requests = (2 * setup.accesses as usize).min(REQUESTS_MAX);
        Cache {
            ways: vec![Way::default(); setup.lines as usize],
            index: LineIndex::new(setup.lines as usize),
            order: ReplacementOrder::new(setup.lines, setup.ways, setup.replacement),
            requests: Vec::with_capacity(requests),
            free_requests: Vec::with_capacity(requests),
            by_line: LineIndex::new(requests),
            reserved: vec![0; (setup.lines / setup.ways) as usize],
            waiters: vec![Waiter::default(); setup.accesses as usize],
            waiting: Lists::new(1 + requests as u32, setup.accesses),
            again: VecDeque::with_capacity(setup.accesses as usize),
            snoops: Vec::new(),
            free_snoops: Vec::new(),
            late: VecDeque::new(),
            leaving: VecDeque::new(),
            notify: setup.notify,
            watched: setup.watched,
            count: CacheCount::default(),
        }
    }

    /// A load, or with `store` a store of that data. `number` is free until the access is done.
    /// `index` picks the line's set, by its remainder: the line's address at this host.
    pub fn access(
        &mut self,
        number: u32,
        [line, index]: [u64; 2],
        store: Option<u64>,
        out: &mut CacheOut,
    ) -> Access {
        if let Some(data) = self.hit(line, store, out) {
            self.count.hits += 1;
            return Access::Hit(data);
        }
        self.count.misses += 1;
        self.waiters[number as usize] = Waiter {
            line,
            set: self.order.set_of(index),
            store,
        };
        self.miss(number, out);
        Access::Waits
    }

    /// Serves an access by what is there, if it may.
    fn hit(&mut self, line: u64, store: Option<u64>, out: &mut CacheOut) -> Option<u64> {
        let at = self.index.get(line).filter(|_| !self.is_leaving(line))?;
        let way = self.ways[at as usize];
        match (store, way.state) {
            (_, State::Invalid) | (Some(_), State::Shared) => return None,
            // While a request is under way for the line, its next state is not this cache's own.
            (Some(_), _) if way.asked => return None,
            (Some(data), _) => {
                self.ways[at as usize].data = data;
                self.set_state(at, State::Modified, out);
            }
            (None, _) => {}
        }
        self.order.touch(at);
        Some(self.ways[at as usize].data)
    }

    pub(super) fn set_state(&mut self, at: u32, state: State, out: &mut CacheOut) {
        let way = &mut self.ways[at as usize];
        if self.watched && way.state != state {
            out.changes.push((way.line, state));
        }
        way.state = state;
    }

    /// Asks for what an access lacks, or lets it wait.
    fn miss(&mut self, number: u32, out: &mut CacheOut) {
        let Waiter { line, set, store } = self.waiters[number as usize];
        if let Some(request) = self.by_line.get(line) {
            return self.waiting.push_front(1 + request, number);
        }
        // A victim's request and the access's own.
        let has_tags = self.under_way() + 2 <= REQUESTS_MAX && self.has_tags();
        // What is asked for will find a place in its set.
        let has_place = self.reserved[set as usize] < self.order.ways();
        if !has_tags || !has_place || self.is_leaving(line) {
            return self.waiting.push_front(PARKED, number);
        }
        self.reserved[set as usize] += 1;
        out.causes.push(number);
        let request = match self.index.get(line) {
            Some(at) => {
                self.count.upgrades += 1;
                self.ask(line, Aim::Own, at, ToDevice::Own, 0, out)
            }
            None => {
                let any = store.is_some();
                self.ask(line, Aim::Read { any }, NONE, read(any), 0, out)
            }
        };
        self.requests[request as usize].set = set;
        self.waiting.push_front(1 + request, number);
    }

    /// Requests under way.
    pub(super) fn under_way(&self) -> usize {
        self.requests.len() - self.free_requests.len()
    }

    /// Puts a line that has arrived into a place; what was there leaves.
    fn place(&mut self, number: u32, out: &mut CacheOut) -> u32 {
        let Request { line, set, .. } = self.requests[number as usize];
        let ways = &self.ways;
        let at = self.order.place(set, |at| ways[at as usize].held);
        let at = at.expect("a place was reserved");
        self.displace(at, out);
        self.order.enter(at);
        self.index.set(line, at);
        self.ways[at as usize] = Way {
            line,
            asked: true,
            held: true,
            ..Way::default()
        };
        self.requests[number as usize].way = at;
        at
    }

    /// A request under way, which holds its place if it has one.
    fn open(&mut self, line: u64, aim: Aim, way: u32) -> u32 {
        let request = self.free_requests.pop().unwrap_or_else(|| {
            self.requests.push(NO_REQUEST);
            self.waiting.grow(1 + self.requests.len() as u32);
            self.requests.len() as u32 - 1
        });
        self.requests[request as usize] = Request {
            aim,
            line,
            way,
            ..NO_REQUEST
        };
        if way != NONE {
            self.ways[way as usize].asked = true;
            self.ways[way as usize].held = aim == Aim::Own;
        }
        self.by_line.set(line, request);
        request
    }

    /// Begins a request, and sends it.
    pub(super) fn ask(
        &mut self,
        line: u64,
        aim: Aim,
        way: u32,
        what: ToDevice,
        data: u64,
        out: &mut CacheOut,
    ) -> u32 {
        let request = self.open(line, aim, way);
        out.send.push(Message {
            what,
            peer: NONE,
            line,
            tag: u16::try_from(request).expect("a tag for each request"),
            data,
        });
        request
    }

    /// Writes a line back of which `keeps` stays, in place `way` if anything does.
    pub(super) fn write_back(
        &mut self,
        line: u64,
        keeps: State,
        way: u32,
        data: u64,
        out: &mut CacheOut,
    ) -> u32 {
        self.count.write_backs += 1;
        let what = ToDevice::WriteBack(keeps);
        self.ask(line, Aim::WriteBack(keeps), way, what, data, out)
    }

    /// Takes a message from the device `message.peer`.
    pub fn receive(&mut self, message: S2m, out: &mut CacheOut) {
        let request = u32::from(message.tag);
        match message.what {
            ToHost::Done(granted) => self.granted(request, granted, out),
            ToHost::Data => {
                self.requests[request as usize].data = Some(message.data);
                self.complete(request, out);
            }
            ToHost::Snoop { .. } => self.late.push_back(message),
            ToHost::ConflictAck => self.acknowledged(&message, out),
        }
        self.catch_up(out);
        // Whatever waited for a place or a request may have one now.
        while let Some(number) = self.again.pop_front() {
            let Waiter { line, store, .. } = self.waiters[number as usize];
            match self.hit(line, store, out) {
                Some(data) => {
                    self.waiters[number as usize] = Waiter::default();
                    out.done.push((number, data));
                    // It took nothing, so that the next may find what woke it.
                    self.again.extend(self.waiting.pop_back(PARKED));
                }
                None => self.miss(number, out),
            }
        }
    }

    fn granted(&mut self, number: u32, granted: State, out: &mut CacheOut) {
        let request = self.requests[number as usize];
        match request.aim {
            Aim::WriteBack(_) | Aim::CleanEvict => {
                out.written.extend(self.watched.then_some(request.line));
                self.close(number, out);
            }
            Aim::Own if self.ways[request.way as usize].state == State::Invalid => {
                // A snoop took the copy meanwhile: ownership came, the data are to be read.
                self.requests[number as usize].aim = Aim::Read { any: true };
                self.requests[number as usize].way = NONE;
                self.leave(request.way);
                let first = self.waiting.back(1 + number);
                out.causes.push(first.expect("an access waits for it"));
                out.send.push(Message {
                    what: read(true),
                    peer: NONE,
                    line: request.line,
                    tag: number as u16,
                    data: 0,
                });
            }
            Aim::Own => {
                self.requests[number as usize].granted = Some(granted);
                self.requests[number as usize].data = Some(self.ways[request.way as usize].data);
                self.complete(number, out);
            }
            Aim::Read { .. } | Aim::Fence => {
                self.requests[number as usize].granted = Some(granted);
                self.complete(number, out);
            }
        }
    }

    /// Ends a request for a line if all of its answer is here: serves the accesses that wait, then
    /// the snoop.
    fn complete(&mut self, number: u32, out: &mut CacheOut) {
        let request = self.requests[number as usize];
        let (Some(granted), Some(data)) = (request.granted, request.data) else {
            return;
        };
        let way = match request.aim {
            Aim::Own => request.way,
            _ => self.place(number, out),
        };
        self.ways[way as usize].data = data;
        self.set_state(way, granted, out);
        while let Some(access) = self.waiting.back(1 + number) {
            match self.waiters[access as usize].store {
                Some(_) if self.ways[way as usize].state == State::Shared => break,
                Some(data) => {
                    self.ways[way as usize].data = data;
                    self.set_state(way, State::Modified, out);
                }
                None => {}
            }
            self.waiting.pop_back(1 + number);
            self.waiters[access as usize] = Waiter::default();
            out.done.push((access, self.ways[way as usize].data));
        }
        if request.snoop != NONE && self.snoops[request.snoop as usize].fenced {
            self.requests[number as usize].aim = Aim::Fence;
        } else {
            self.close(number, out);
        }
    }

    /// Forgets a request; the snoop that waited for it is resolved, accesses try again.
    pub(super) fn close(&mut self, number: u32, out: &mut CacheOut) {
        let request = std::mem::replace(&mut self.requests[number as usize], NO_REQUEST);
        self.by_line.remove(request.line);
        self.free_requests.push(number);
        if !matches!(request.aim, Aim::WriteBack(_) | Aim::CleanEvict) {
            self.reserved[request.set as usize] -= 1;
        }
        if request.way != NONE {
            self.leave(request.way);
        }
        let first = self.again.len();
        while let Some(access) = self.waiting.pop_back(1 + number) {
            self.again.push_back(access);
        }
        // The oldest access that found no place; if it finds one, another may come with the next.
        if let Some(access) = self.waiting.pop_back(PARKED) {
            self.again.insert(first, access);
        }
        if request.snoop != NONE {
            self.resolve(request.snoop, request.line, out);
        }
    }

    /// A request needs this place no more.
    fn leave(&mut self, at: u32) {
        self.ways[at as usize].asked = false;
        self.ways[at as usize].held = false;
        self.drop_if_invalid(at);
    }

    /// Gives the place of a line back that is not there and that no request needs.
    pub(super) fn drop_if_invalid(&mut self, at: u32) {
        let way = self.ways[at as usize];
        if way.state == State::Invalid && !way.held {
            self.index.remove(way.line);
            self.order.leave(at);
            self.ways[at as usize] = Way::default();
        }
    }
}

fn read(any: bool) -> ToDevice {
    ToDevice::Read(if any { Want::Any } else { Want::Shared })
}
