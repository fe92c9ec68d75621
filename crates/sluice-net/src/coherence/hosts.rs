//! Simulated hosts as peers: they ask for lines and give them up, and learn which ones are gone.

use super::peer::{HostSide, Told};
use super::requesters::{Issue, Requesters};
use super::traffic::{AccessId, Traffic};
use crate::ids::RequesterId;
use crate::packet::Slab;
use sluice_cxl::coherence::{Access, Cache, CacheSetup, Replacement};
use sluice_host::Peer;
use sluice_units::Ps;

impl Requesters {
    /// A host takes its place at a requester, with caches that are empty.
    pub fn seat(&mut self, requester: RequesterId, peer: &Peer, notify: bool) {
        let lines = peer.lines + peer.misses;
        let cache = Cache::new(&CacheSetup {
            lines,
            ways: lines,
            replacement: Replacement::Lru,
            notify,
            accesses: peer.misses,
            watched: true,
        });
        let it = &mut self.requesters[requester];
        it.take_seat(cache, peer.misses, HostSide::new(peer.look_up));
    }

    /// A host asks for a line. Says which access is done already.
    pub fn issue_host(
        &mut self,
        traffic: &mut Traffic,
        packets: &mut Slab,
        now: Ps,
        issue: &Issue,
    ) -> Option<AccessId> {
        let it = &mut self.requesters[issue.requester];
        let (access, ready) = it.begin(now, issue, issue.is_write.then_some(0));
        let store = issue.is_write.then_some(0);
        let cache = it.cache.as_mut().expect("a host's");
        let looked = cache.access(access.0, issue.lines(), store, &mut self.out);
        self.send_all(traffic, packets, ready, issue.requester);
        matches!(looked, Access::Hit(_)).then_some(access)
    }

    /// A host gives a line up; with a tag it wants to know when memory has it.
    pub fn let_go(
        &mut self,
        traffic: &mut Traffic,
        packets: &mut Slab,
        now: Ps,
        requester: RequesterId,
        (line, tag): (u64, Option<u32>),
    ) {
        let it = &mut self.requesters[requester];
        if let Some(cache) = &mut it.cache {
            cache.let_go(line, &mut self.out);
        }
        if let Some(host) = &mut it.host {
            host.give_up(line, tag);
        }
        self.send_all(traffic, packets, now, requester);
    }

    /// What a host learns after anything has happened to its lines.
    pub fn tell(&mut self, requester: RequesterId, told: &mut dyn FnMut(Told)) {
        let it = &mut self.requesters[requester];
        let (Some(cache), Some(host)) = (&it.cache, &mut it.host) else {
            return;
        };
        host.tell(cache, told);
    }
}
