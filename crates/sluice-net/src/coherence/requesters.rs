//! At the requesters: accesses that a local cache serves or asks for, snoops, what comes back.

use super::CacheSettings;
use super::peer::{HostSide, WrittenBy};
use super::traffic::{AccessId, Action, Cargo, Journey, Traffic, is_request};
use crate::ids::{PacketId, RequesterId};
use crate::packet::{Packet, Slab};
use crate::parts::{Part, Parts};
use sluice_cxl::coherence::{
    Access as Looked, Cache, CacheCount, CacheOut, CacheSetup, Message, S2m, State, ToDevice,
    ToHost, Want,
};
use sluice_units::{LINE_BYTES, Ps, Table};

/// A requester as coherence sees it.
pub(crate) struct RequesterSetup {
    /// Requests under way at once.
    pub depth: u32,
    /// From a request to its port.
    pub process: Ps,
    /// Looking into the local cache.
    pub cache_access: Ps,
    pub cache: Option<CacheSettings>,
}

/// A request of a requester's.
pub(crate) struct Issue {
    pub requester: RequesterId,
    pub tag: u64,
    /// The address as the requester has it.
    pub addr: u64,
    pub line: u64,
    pub is_write: bool,
}

impl Issue {
    /// The line as the devices number it, and as the requester does.
    pub fn lines(&self) -> [u64; 2] {
        [self.line, self.addr / LINE_BYTES]
    }
}

/// An access under way.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    tag: u64,
    issued: Ps,
    addr: u64,
    line: u64,
    /// What it stores, if it does.
    store: Option<u64>,
    /// Parts before any message.
    before: Parts,
    /// When these are over: no access takes less time than a hit.
    earliest: Ps,
    /// The request that it caused.
    request: Option<u16>,
    /// Messages that a requester without a cache waits for.
    to_come: u8,
}

/// An access that is done.
pub(crate) struct Finished {
    pub tag: u64,
    pub addr: u64,
    pub is_write: bool,
    pub latency: Ps,
    pub parts: Parts,
    pub hops: u16,
    /// The tag of the request that read memory for it.
    pub read_by: Option<u16>,
}

/// What a requester's cache has and waits for.
pub(super) struct Requester {
    process: Ps,
    cache_access: Ps,
    pub cache: Option<Cache>,
    /// Of a simulated host.
    pub host: Option<HostSide>,
    accesses: Table<AccessId, Outstanding>,
    free: Vec<AccessId>,
    /// Snoops keep the cache busy until then.
    busy_until: Ps,
}

impl Requester {
    fn new(setup: &RequesterSetup, watched: bool) -> Requester {
        let cache = setup.cache.map(|cache| {
            Cache::new(&CacheSetup {
                lines: cache.lines,
                ways: cache.ways,
                replacement: cache.replacement,
                notify: cache.notify,
                accesses: setup.depth,
                watched,
            })
        });
        Requester {
            process: setup.process,
            cache_access: setup.cache_access,
            cache,
            host: None,
            accesses: Table::filled(setup.depth, Outstanding::default()),
            free: (0..setup.depth).rev().map(AccessId).collect(),
            busy_until: Ps::ZERO,
        }
    }

    /// A host is here, with so many misses at once. What its caches take it knows itself.
    pub fn take_seat(&mut self, cache: Cache, misses: u32, host: HostSide) {
        (self.process, self.cache_access) = (Ps::ZERO, Ps::ZERO);
        self.accesses = Table::filled(misses, Outstanding::default());
        self.free = (0..misses).rev().map(AccessId).collect();
        (self.cache, self.host) = (Some(cache), Some(host));
    }

    /// When a snoop has looked so many lines up, one after the other.
    fn look_up(&mut self, now: Ps, lines: u8) -> Ps {
        if let Some(host) = &mut self.host {
            return host.look_up(now, lines);
        }
        // Accesses wait meanwhile.
        self.busy_until = self.busy_until.max(now) + self.cache_access * u64::from(lines);
        self.busy_until
    }

    /// Lets an access begin, which has passed requester and cache by the returned time.
    pub fn begin(&mut self, now: Ps, issue: &Issue, store: Option<u64>) -> (AccessId, Ps) {
        let id = self.free.pop();
        let id = id.expect("an access for each place of the queue");
        let mut before = Parts::default();
        before[Part::Requester] = self.process;
        before[Part::Cache] = self.cache_access;
        before[Part::Held] = self.busy_until.saturating_sub(now + self.process);
        let earliest = now + before.total();
        self.accesses[id] = Outstanding {
            tag: issue.tag,
            issued: now,
            addr: issue.addr,
            line: issue.line,
            store,
            before,
            earliest,
            request: None,
            to_come: 0,
        };
        (id, earliest)
    }
}

/// The caches of all requesters.
pub(super) struct Requesters {
    pub requesters: Table<RequesterId, Requester>,
    /// What a cache says; empty between two calls.
    pub out: CacheOut,
    /// What the last message that came has ended: its tag may have another request already.
    ended: Journey,
}

impl Requesters {
    pub fn new(setups: &[RequesterSetup], watched: bool) -> Requesters {
        Requesters {
            requesters: setups
                .iter()
                .map(|setup| Requester::new(setup, watched))
                .collect(),
            out: CacheOut::default(),
            ended: Journey::default(),
        }
    }

    /// A requester's access.
    pub fn issue(&mut self, traffic: &mut Traffic, packets: &mut Slab, now: Ps, issue: &Issue) {
        let (requester, line) = (issue.requester, issue.line);
        let checked = traffic.checked.as_mut();
        let stamp = || checked.map_or(0, |checked| checked.next_store());
        let store = issue.is_write.then(stamp);
        let it = &mut self.requesters[requester];
        let (access, ready) = it.begin(now, issue, store);
        match &mut it.cache {
            Some(cache) => match cache.access(access.0, issue.lines(), store, &mut self.out) {
                Looked::Hit(data) => {
                    self.performed(traffic, requester, access, data);
                    traffic.actions.push(Action::Hit {
                        at: ready,
                        requester,
                        access,
                    });
                }
                Looked::Waits => {}
            },
            None => {
                it.accesses[access].to_come = if store.is_some() { 1 } else { 2 };
                self.out.causes.push(access.0);
                self.out.send.push(Message {
                    what: store.map_or(ToDevice::Read(Want::Current), |_| ToDevice::Write),
                    // Filled in when it leaves.
                    peer: 0,
                    line,
                    tag: access.0 as u16,
                    data: store.unwrap_or(0),
                });
            }
        }
        self.send_all(traffic, packets, ready, requester);
    }

    /// Sends the messages of a cache. What an access has waited for before its request leaves is
    /// held time.
    pub fn send_all(
        &mut self,
        traffic: &mut Traffic,
        packets: &mut Slab,
        ready: Ps,
        requester: RequesterId,
    ) {
        self.note_changes(traffic, requester);
        let is_host = self.requesters[requester].host.is_some();
        let mut causes = self.out.causes.drain(..);
        for mut message in self.out.send.drain(..) {
            let is_hosts = is_host && matches!(message.what, ToDevice::WriteBack(_));
            if let (true, Some(checked)) = (is_hosts, &traffic.checked) {
                message.data = checked.held(requester, message.line);
            }
            if !matches!(message.what, ToDevice::Conflict | ToDevice::Response { .. }) {
                *traffic.journey(requester, message.tag) = Journey::default();
            }
            let (mut ready, mut parts, mut host_line) = (ready, Parts::default(), 0);
            if is_request(message.what) {
                let cause = AccessId(causes.next().expect("a request is an access's"));
                let access = &mut self.requesters[requester].accesses[cause];
                access.request = Some(message.tag);
                ready = ready.max(access.earliest);
                parts = access.before;
                parts[Part::Held] += ready - access.earliest;
                host_line = access.addr / LINE_BYTES;
            }
            let (endpoint, addr) = traffic.lines.find(message.line);
            let to = traffic.port_id(endpoint);
            let (peer, from) = (requester.0, requester.node().port_id());
            let mut packet = Packet::new(from, to, message.what.channel(), addr, ready);
            packet.parts = parts;
            packet.is_empty = message.what == ToDevice::Conflict;
            let message = Message { peer, ..message };
            let packet = traffic.load(packets, packet, Cargo::Up { message, host_line });
            if let (true, Some(checked)) = (is_hosts, &mut traffic.checked) {
                checked.leaving.push((requester, packet));
            }
            traffic.actions.push(Action::Leave { at: ready, packet });
        }
    }

    /// A message has come to a requester. What it ends is in [`Requesters::take_done`].
    pub fn receive(
        &mut self,
        traffic: &mut Traffic,
        packets: &mut Slab,
        now: Ps,
        requester: RequesterId,
        id: PacketId,
    ) -> S2m {
        let (packet, Cargo::Down { message, carries }) = traffic.unload(packets, id) else {
            unreachable!("requesters get messages of devices");
        };
        if carries {
            let journey = traffic.journey(requester, message.tag);
            journey.parts = packet.parts;
            journey.hops = packet.hops;
        }
        let it = &mut self.requesters[requester];
        let mut ready = now;
        if let ToHost::Snoop { lines, .. } = message.what {
            ready = it.look_up(now, lines);
        }
        if let (ToHost::Data, Some(_), Some(checked)) =
            (message.what, &it.host, &mut traffic.checked)
        {
            checked.arrived(requester, message.line, message.data);
        }
        match &mut it.cache {
            Some(cache) => cache.receive(message, &mut self.out),
            None => self.receive_without_cache(requester, &message),
        }
        self.ended = *traffic.journey(requester, message.tag);
        if let (Some(host), ToHost::Done(_)) = (&mut self.requesters[requester].host, message.what)
        {
            let memory = self.ended.written_in;
            let tag = message.tag;
            host.written_by = self.ended.gives_up.then_some(WrittenBy { tag, memory });
        }
        let mut done = std::mem::take(&mut self.out.done);
        for (access, data) in &done {
            self.performed(traffic, requester, AccessId(*access), *data);
        }
        std::mem::swap(&mut self.out.done, &mut done);
        self.send_all(traffic, packets, ready, requester);
        message
    }

    fn receive_without_cache(&mut self, requester: RequesterId, message: &S2m) {
        debug_assert!(matches!(
            message.what,
            ToHost::Data | ToHost::Done(State::Invalid)
        ));
        let access = u32::from(message.tag);
        let it = &mut self.requesters[requester].accesses[AccessId(access)];
        it.to_come -= 1;
        if it.to_come == 0 {
            self.out.done.push((access, message.data));
        }
    }

    /// Accesses that a message has ended, with the data that they saw. The memory of the list is to
    /// be given back by [`Requesters::reuse_done`].
    pub fn take_done(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.out.done)
    }

    /// Gives back an empty list.
    pub fn reuse_done(&mut self, done: Vec<(u32, u64)>) {
        self.out.done = done;
    }

    /// When an access is done at the earliest.
    pub fn earliest_end(&self, requester: RequesterId, access: AccessId) -> Ps {
        self.requesters[requester].accesses[access].earliest
    }

    /// An access is done, perhaps by a message: what its parts do not say was waiting for other
    /// requests.
    pub fn finish(
        &mut self,
        now: Ps,
        requester: RequesterId,
        id: AccessId,
        by: Option<&S2m>,
    ) -> Finished {
        let it = &mut self.requesters[requester];
        it.free.push(id);
        let access = &it.accesses[id];
        let (mut parts, mut hops, mut read_by) = (access.before, 0, None);
        if let Some(by) = by.filter(|by| by.line == access.line) {
            let journey = &self.ended;
            read_by = journey.from_memory.then_some(by.tag);
            if access.request == Some(by.tag) {
                (parts, hops) = (journey.parts, journey.hops);
            }
        }
        let latency = now - access.issued;
        let rest = latency - parts.total();
        parts[Part::Held] += rest;
        let finished = Finished {
            tag: access.tag,
            addr: access.addr,
            is_write: access.store.is_some(),
            latency,
            parts,
            hops,
            read_by,
        };
        let line = access.line;
        if let Some(host) = &mut it.host {
            host.finish(line, finished.addr, finished.is_write);
        }
        finished
    }

    /// An access of a cache has seen or stored `data`. Without a cache, stores are done when memory
    /// has them, and what loads see may be old when it comes.
    fn performed(
        &mut self,
        traffic: &mut Traffic,
        requester: RequesterId,
        access: AccessId,
        data: u64,
    ) {
        self.note_changes(traffic, requester);
        let it = &self.requesters[requester];
        // A host says itself when an access is done.
        let is_cache = it.cache.is_some() && it.host.is_none();
        let Some(checked) = traffic.checked.as_mut().filter(|_| is_cache) else {
            return;
        };
        let access = &it.accesses[access];
        match access.store {
            Some(stamp) => checked.stored(access.line, stamp),
            None => checked.loaded(requester, access.line, data),
        }
    }

    fn note_changes(&mut self, traffic: &mut Traffic, requester: RequesterId) {
        let host = &mut self.requesters[requester].host;
        let written = self.out.written.drain(..);
        if let Some(host) = host {
            host.written.extend(written);
        }
        for (line, state) in self.out.changes.drain(..) {
            if let Some(checked) = &mut traffic.checked {
                checked.changed(requester, line, state);
            }
            if let Some(host) = host {
                host.changed.push(line);
            }
        }
    }

    /// Accesses under way.
    pub fn under_way(&self) -> u64 {
        let requesters = self.requesters.values().iter();
        let under_way = requesters.map(|it| it.accesses.count() as usize - it.free.len());
        under_way.sum::<usize>() as u64
    }

    /// Begins to count.
    pub fn begin(&mut self) {
        let requesters = self.requesters.values_mut().iter_mut();
        let caches = requesters.filter_map(|it| it.cache.as_mut());
        caches.for_each(Cache::reset_count);
    }

    /// Counts of all caches.
    pub fn count(&self) -> CacheCount {
        let mut count = CacheCount::default();
        for it in self.requesters.values() {
            if let Some(cache) = &it.cache {
                count += *cache.count();
            }
        }
        count
    }
}
