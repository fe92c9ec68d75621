//! At a requester: accesses that its cache serves or asks for, snoops, what comes back.

use super::{Cargo, Coherence, Journey, Outstanding};
use crate::engine::{Completed, Event, Fabric};
use crate::packet::{NONE, Packet};
use crate::parts::{Part, Parts};
use crate::pattern::Access;
use sluice_cxl::Channel;
use sluice_cxl::dcoh::{Access as Looked, M2s, Message, S2m, State, ToDevice, ToHost, Want};
use sluice_units::Ps;

impl Fabric {
    /// A requester's access to a line of a coherent memory.
    pub(crate) fn issue_coherent(
        &mut self,
        now: Ps,
        requester: u32,
        access: Access,
        tag: u64,
        line: u64,
    ) {
        let mut coherence = self.coherence.take().expect("a coherent fabric");
        let c = &mut *coherence;
        let (process, look) = self.requesters[requester as usize].times();
        let store = access.is_write.then(|| c.stamp());
        let host = &mut c.hosts[requester as usize];
        let number = host
            .free
            .pop()
            .expect("an access for each place of the queue");
        let mut before = Parts::default();
        before[Part::Requester] = process;
        before[Part::Cache] = look;
        // Snoops keep the cache busy.
        before[Part::Held] = host.busy_until.saturating_sub(now + process);
        let ready = now + before.total();
        host.accesses[number as usize] = Outstanding {
            tag,
            issued: now,
            addr: access.addr,
            line,
            store,
            before,
            request: None,
            to_come: 0,
        };
        match &mut host.cache {
            Some(cache) => match cache.access(number, line, store, &mut c.host_out) {
                Looked::Hit(data) => {
                    c.performed(requester, number, data);
                    let access = number;
                    self.queue.push(ready, Event::Hit { requester, access });
                }
                Looked::Waits => {}
            },
            None => {
                host.accesses[number as usize].to_come = if store.is_some() { 1 } else { 2 };
                c.host_out.send.push(Message {
                    what: store.map_or(ToDevice::Read(Want::Current), |_| ToDevice::Write),
                    peer: NONE,
                    line,
                    tag: number as u16,
                    data: store.unwrap_or(0),
                });
            }
        }
        self.send_all(c, ready, requester, Some(number));
        self.coherence = Some(coherence);
    }

    /// Sends what a cache has to say. A request for the line of access `cause` is that access's.
    fn send_all(&mut self, c: &mut Coherence, ready: Ps, requester: u32, cause: Option<u32>) {
        c.changed(requester);
        let mut sent = std::mem::take(&mut c.host_out.send);
        for message in sent.drain(..) {
            let mut parts = Parts::default();
            let host = &mut c.hosts[requester as usize];
            if !matches!(message.what, ToDevice::Conflict | ToDevice::Response { .. }) {
                *host.journey(message.tag) = Journey::default();
            }
            if is_request(message.what) {
                let cause = cause.map(|number| &mut host.accesses[number as usize]);
                if let Some(access) = cause.filter(|access| access.line == message.line) {
                    access.request = Some(message.tag);
                    parts = access.before;
                }
            }
            self.leave_host(c, ready, requester, message, parts);
        }
        c.host_out.send = sent;
    }

    fn leave_host(
        &mut self,
        c: &mut Coherence,
        ready: Ps,
        requester: u32,
        message: M2s,
        parts: Parts,
    ) {
        let (endpoint, addr) = c.place(message.line);
        let channel = message.what.channel();
        let peer = requester;
        let packet = self.packets.add(Packet {
            addr,
            tag: 0,
            issued: ready,
            parts,
            ready,
            held: NONE,
            next: NONE,
            from: requester as u16,
            to: (self.graph.requesters + endpoint) as u16,
            channel,
            held_channel: channel,
            is_write: channel == Channel::RwD,
            hops: 0,
            logical: 0,
            message: c.load(Cargo::Up(Message { peer, ..message })),
        });
        self.queue.push(ready, Event::Leave { packet });
    }

    /// A packet leaves the node that it comes from.
    pub(crate) fn leave(&mut self, now: Ps, packet: u32) {
        let node = u32::from(self.packets[packet].from);
        self.forward(now, node, packet);
    }

    /// A message has come to a requester.
    pub(crate) fn receive(
        &mut self,
        now: Ps,
        requester: u32,
        number: u32,
        done: &mut dyn FnMut(Completed),
    ) {
        let mut coherence = self.coherence.take().expect("a coherent fabric");
        let c = &mut *coherence;
        let packet = self.packets[number];
        self.packets.remove(number);
        let Cargo::Down { message, carries } = c.unload(packet.message) else {
            unreachable!("requesters get messages of devices");
        };
        let host = &mut c.hosts[requester as usize];
        if carries {
            let journey = host.journey(message.tag);
            journey.parts = packet.parts;
            journey.hops = packet.hops;
        }
        let mut ready = now;
        if let ToHost::Snoop { lines, .. } = message.what {
            // Each line is looked up, one after the other, and accesses wait meanwhile.
            let (_, look) = self.requesters[requester as usize].times();
            host.busy_until = host.busy_until.max(now) + look * u64::from(lines);
            ready = host.busy_until;
        }
        match &mut host.cache {
            Some(cache) => cache.receive(message, &mut c.host_out),
            None => c.plain(requester, &message),
        }
        let mut ended = std::mem::take(&mut c.host_out.done);
        for (access, data) in &ended {
            c.performed(requester, *access, *data);
        }
        self.send_all(c, ready, requester, None);
        self.coherence = Some(coherence);
        for (access, _) in ended.drain(..) {
            self.end_access(now, requester, access, &message, done);
        }
        if let Some(coherence) = &mut self.coherence {
            coherence.host_out.done = ended;
        }
    }

    /// An access has its line, but takes as long as a hit at least.
    fn end_access(
        &mut self,
        now: Ps,
        requester: u32,
        access: u32,
        by: &S2m,
        done: &mut dyn FnMut(Completed),
    ) {
        let coherence = self.coherence.as_ref().expect("a coherent fabric");
        let it = &coherence.hosts[requester as usize].accesses[access as usize];
        let due = it.issued + it.before.total();
        if due > now {
            self.queue.push(due, Event::Hit { requester, access });
        } else {
            self.finish(now, requester, access, Some(by), done);
        }
    }

    /// An access is done: what its parts do not tell was waiting for other requests.
    pub(crate) fn finish(
        &mut self,
        now: Ps,
        requester: u32,
        number: u32,
        by: Option<&S2m>,
        done: &mut dyn FnMut(Completed),
    ) {
        let c = self.coherence.as_mut().expect("a coherent fabric");
        let host = &mut c.hosts[requester as usize];
        let access = std::mem::take(&mut host.accesses[number as usize]);
        host.free.push(number);
        let (mut parts, mut hops) = (access.before, 0);
        if let Some(by) = by.filter(|by| by.line == access.line && access.request == Some(by.tag)) {
            let journey = host.journey(by.tag);
            (parts, hops) = (journey.parts, journey.hops);
        }
        let latency = now - access.issued;
        let rest = latency - parts.total();
        parts[Part::Held] += rest;
        self.completed += 1;
        let completed = Completed {
            tag: access.tag,
            requester,
            at: now,
            latency,
            is_write: access.store.is_some(),
        };
        self.count(&parts, hops, access.addr, &completed);
        self.requesters[requester as usize].completed();
        done(completed);
        self.issue_all(now, requester);
    }
}

impl Coherence {
    /// A name for what a store stores.
    fn stamp(&mut self) -> u64 {
        self.monitor.as_mut().map_or(0, |checked| {
            checked.stores += 1;
            checked.stores
        })
    }

    /// An access of a cache has seen or stored `data`. Without a cache, stores are done when memory
    /// has them, and what loads see may be old when it comes.
    fn performed(&mut self, requester: u32, number: u32, data: u64) {
        self.changed(requester);
        let host = &self.hosts[requester as usize];
        let (Some(checked), Some(_)) = (&mut self.monitor, &host.cache) else {
            return;
        };
        let access = &host.accesses[number as usize];
        match access.store {
            Some(stamp) => checked.monitor.stored(access.line, stamp),
            None => {
                let seen = checked.monitor.loaded(requester, access.line, data);
                seen.unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    fn changed(&mut self, requester: u32) {
        if let Some(checked) = &mut self.monitor {
            for (line, state) in self.host_out.changes.drain(..) {
                let changed = checked.monitor.changed(requester, line, state);
                changed.unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    /// A message to a requester without a cache.
    fn plain(&mut self, requester: u32, message: &S2m) {
        debug_assert!(matches!(
            message.what,
            ToHost::Data | ToHost::Done(State::Invalid)
        ));
        let host = &mut self.hosts[requester as usize];
        let access = &mut host.accesses[usize::from(message.tag)];
        access.to_come -= 1;
        if access.to_come == 0 {
            self.host_out
                .done
                .push((u32::from(message.tag), message.data));
        }
    }
}

/// Whether an access waits for it.
pub(super) fn is_request(what: ToDevice) -> bool {
    matches!(what, ToDevice::Read(_) | ToDevice::Own | ToDevice::Write)
}
