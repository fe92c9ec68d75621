//! A fabric for its users: requests from outside, runs, what was counted, and whether the books
//! balance.

use super::bottleneck::{Bottleneck, Resource};
use super::coherence::CoherenceStats;
use super::config::FabricConfig;
use super::endpoint::Endpoint;
use super::engine::{Done, Engine, Event};
use super::error::{FabricError, Imbalance, Standstill};
use super::external::ExternalMemory;
use super::graph::Graph;
use super::ids::{DirectionId, EndpointId, RequesterId};
use super::link::Links;
use super::pattern::{Access, Source};
use super::requester::Requester;
use super::stats::{Completed, FabricStats, RequesterStats};
use sluice_model::Device;
use sluice_units::{ClockEnd, Ps, Table};

/// How long to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Requests that come back before counting begins.
    pub warmup: u64,
    /// Requests counted; fewer if the requesters have no more.
    pub requests: u64,
}

/// Events between two questions whether to go on.
pub(super) const WATCH: u64 = 1 << 16;

/// Why a request from outside was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The requester has as many under way as it can.
    #[error("the requester's queue is full")]
    Full,
    /// No memory has the address.
    #[error("it reaches no memory there")]
    NoMemory,
    /// It is in the past.
    #[error("the time is before that of the last event")]
    Past,
    /// Something is due before it.
    #[error("events are due before that time: advance to it first")]
    Early,
}

/// A fabric at work.
pub struct Fabric {
    graph: Graph,
    engine: Engine,
    is_begun: bool,
}

impl Fabric {
    /// A fabric in which nothing has happened. Devices that [need objects](super::needs_objects),
    /// and memories from outside, are still to be put behind their endpoints.
    ///
    /// # Errors
    /// [`FabricError::Device`] if the device of an endpoint cannot be made.
    pub fn new(config: &FabricConfig) -> Result<Fabric, FabricError> {
        Ok(Fabric {
            graph: config.graph.clone(),
            engine: Engine::new(config)?,
            is_begun: false,
        })
    }

    /// Puts a memory from outside behind an endpoint of type `external`.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn attach(&mut self, endpoint: EndpointId, memory: Box<dyn ExternalMemory>) {
        self.engine.endpoints[endpoint].attach(memory);
    }

    /// Puts a device behind an endpoint that was used before: its time is `ahead` of the fabric's.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn put_device(&mut self, endpoint: EndpointId, device: Device, ahead: Ps) {
        self.engine.endpoints[endpoint].replace_device(device, ahead);
    }

    /// The device behind an endpoint, if one is there.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn device(&self, endpoint: EndpointId) -> Option<&Device> {
        self.engine.endpoints[endpoint].device()
    }

    /// Takes the device from behind an endpoint, which must not be used any more.
    ///
    /// # Panics
    /// If there is no such endpoint.
    pub fn take_device(&mut self, endpoint: EndpointId) -> Option<Device> {
        self.engine.endpoints[endpoint].take_device()
    }

    /// Answers of memories from outside that could not be, such as a request that is done before
    /// it came: the nearest that can be was taken.
    pub fn refused(&self) -> u64 {
        let endpoints = self.engine.endpoints.values().iter();
        endpoints.map(Endpoint::refused).sum()
    }

    /// Gives a requester a source of its own, such as a trace.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn replay(&mut self, requester: RequesterId, source: Box<dyn Source>) {
        self.engine.requesters[requester].replace(source);
    }

    /// Nodes and links.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The links' counters.
    pub fn links(&self) -> &Links {
        &self.engine.links
    }

    /// What was counted.
    pub fn stats(&self) -> &FabricStats {
        &self.engine.stats
    }

    /// Counters of each requester.
    pub fn requester_stats(&self) -> impl Iterator<Item = &RequesterStats> {
        let requesters = self.engine.requesters.values().iter();
        requesters.map(Requester::stats)
    }

    /// What coherence cost, if there is any.
    pub fn coherence_stats(&self) -> Option<CoherenceStats> {
        let coherence = self.engine.coherence.as_ref();
        coherence.map(|coherence| coherence.stats())
    }

    /// Loads and stores of hosts to coherent memory whose order was checked, if
    /// [`FabricConfig::is_checked`].
    pub fn checked(&self) -> u64 {
        let coherence = self.engine.coherence.as_ref();
        coherence.map_or(0, |coherence| coherence.checked())
    }

    /// Accesses that a logical device served since the counting began.
    ///
    /// # Panics
    /// If there is no such endpoint or logical device.
    pub fn served(&self, endpoint: EndpointId, logical: u8) -> u64 {
        self.engine.endpoints[endpoint].shares.accesses(logical)
    }

    /// The resource that is used most; if none is used much, the requester with the most requests,
    /// whose queue or interval bounds the run.
    pub fn bottleneck(&self) -> Resource {
        let engine = &self.engine;
        let parts = Bottleneck {
            graph: &self.graph,
            router: &engine.router,
            links: &engine.links,
            requesters: &engine.requesters,
            endpoints: &engine.endpoints,
            coherence: engine.coherence.as_deref(),
            stats: &engine.stats,
        };
        parts.find()
    }

    /// Requests that were issued and have not come back.
    pub fn in_flight(&self) -> u64 {
        self.engine.issued - self.engine.completed
    }

    /// The time of the last event.
    pub fn now(&self) -> Ps {
        self.engine.now
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<Ps> {
        self.engine.queue.next_at()
    }

    /// Whether a requester has fewer requests under way than it can.
    ///
    /// # Panics
    /// If there is no such requester.
    pub fn has_room(&self, requester: RequesterId) -> bool {
        self.engine.requesters[requester].has_room()
    }

    /// Issues a request from outside at `at`, before which nothing is due.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn send(
        &mut self,
        at: Ps,
        requester: RequesterId,
        access: Access,
        tag: u64,
    ) -> Result<(), Refusal> {
        let engine = &mut self.engine;
        if at < engine.now {
            return Err(Refusal::Past);
        }
        if engine.queue.next_at().is_some_and(|next| next < at) {
            return Err(Refusal::Early);
        }
        if !engine.requesters[requester].has_room() {
            return Err(Refusal::Full);
        }
        if engine.addresses.find(requester, access.addr).is_none() {
            return Err(Refusal::NoMemory);
        }
        engine.now = at;
        engine.issue(at, requester, access, Some(tag));
        Ok(())
    }

    /// Lets every requester issue for the first time, if it has not yet.
    pub fn begin_issuing(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.engine.begin_issuing();
        }
    }

    /// Handles all events up to and including `until`; `done` gets each request that came back.
    ///
    /// # Errors
    /// [`Standstill`].
    pub fn advance(
        &mut self,
        until: Ps,
        done: &mut dyn FnMut(Completed),
    ) -> Result<(), Standstill> {
        self.begin_issuing();
        let engine = &mut self.engine;
        while engine.queue.next_at().is_some_and(|next| next <= until) {
            engine.step(done);
            if engine.now > Ps::LAST {
                return Err(ClockEnd.into());
            }
        }
        if engine.is_still() && engine.under_way() > 0 {
            return Err(self.deadlock().into());
        }
        engine.now = engine.now.max(until);
        Ok(())
    }

    /// Handles the next event, if there is one.
    pub(super) fn step(&mut self, done: Done) -> Result<(), Standstill> {
        self.engine.step(done);
        match self.engine.now > Ps::LAST {
            true => Err(ClockEnd.into()),
            false => Ok(()),
        }
    }

    /// Requests that have come back since the start.
    pub fn all_completed(&self) -> u64 {
        self.engine.completed
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Runs until so many requests have come back, or none are left. Now and then `watch` gets how
    /// many have, and returns whether to go on.
    ///
    /// # Errors
    /// [`Standstill`].
    pub fn run(
        &mut self,
        length: Length,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Standstill> {
        self.run_with(length, watch, &mut |_| ())
    }

    /// Runs as [`Fabric::run`] does; `done` gets each request that is counted.
    ///
    /// # Errors
    /// [`Standstill`].
    pub fn run_with(
        &mut self,
        length: Length,
        watch: &mut dyn FnMut(u64) -> bool,
        done: &mut dyn FnMut(Completed),
    ) -> Result<(), Standstill> {
        self.begin_issuing();
        let warm = self.engine.completed.saturating_add(length.warmup);
        let mut goes_on = self.run_until(warm, watch, &mut |_| ())?;
        if goes_on {
            self.begin();
            let all = self.engine.completed.saturating_add(length.requests);
            goes_on = self.run_until(all, watch, done)?;
        }
        self.end_run(goes_on)
    }

    /// False if `watch` said no.
    fn run_until(
        &mut self,
        completed: u64,
        watch: &mut dyn FnMut(u64) -> bool,
        done: Done,
    ) -> Result<bool, Standstill> {
        let mut left = WATCH;
        while self.engine.completed < completed {
            if self.is_over()? {
                return Ok(true);
            }
            self.step(done)?;
            left -= 1;
            if left == 0 {
                left = WATCH;
                if !watch(self.engine.completed) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Begins to count anew; requests under way go on.
    pub fn begin(&mut self) {
        self.engine.begin();
    }

    /// Ends the counting now; it goes on if the fabric does.
    pub fn end(&mut self) {
        self.engine.end();
    }

    /// Holds the counters against each other: every request that was issued has come back or is
    /// under way, and what was sent on a link has arrived or is on it.
    ///
    /// # Errors
    /// The first equation that does not hold: a mistake of the simulator's, not of its user's.
    pub fn balance(&self) -> Result<(), Imbalance> {
        let engine = &self.engine;
        let (issued, completed) = (engine.issued, engine.completed);
        let under_way = engine.under_way();
        if issued != completed + under_way {
            return Err(Imbalance::Requests {
                issued,
                completed,
                under_way,
            });
        }
        let by_requester: u64 = self.requester_stats().map(|stats| stats.issued).sum();
        if by_requester != issued {
            return Err(Imbalance::Requesters {
                by_requester,
                issued,
            });
        }
        let mut on_link = Table::filled(2 * self.graph.links.len() as u32, 0);
        for (_, event) in engine.queue.iter() {
            if let Event::Arrive { direction, .. } = event {
                on_link[*direction] += 1;
            }
        }
        for (direction, on_link) in on_link.iter() {
            self.balance_direction(direction, *on_link)?;
        }
        if engine.stats.parts().total() != engine.stats.latency.sum() {
            return Err(Imbalance::Parts);
        }
        Ok(())
    }

    fn balance_direction(&self, direction: DirectionId, on_link: u64) -> Result<(), Imbalance> {
        let (sent, received) = self.engine.links.sent_and_received(direction);
        if sent == received + on_link {
            return Ok(());
        }
        Err(Imbalance::Link {
            link: self.graph.direction_name(direction),
            sent,
            received,
            on_link,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::FabricSpec;

    /// A fabric with ten requests on their way, at the moment after the first event.
    fn under_way() -> Fabric {
        let mut spec = FabricSpec::default();
        for (key, value) in [("requester.count", "1"), ("requester.depth", "10")] {
            spec.raw.set(key, value).expect("a value that it takes");
        }
        let config = FabricConfig::new(&spec, 1).expect("a fabric");
        let mut fabric = Fabric::new(&config).expect("a fabric");
        fabric.begin_issuing();
        assert_eq!(fabric.step(&mut |_| ()), Ok(()));
        assert_eq!((fabric.in_flight(), fabric.balance()), (10, Ok(())));
        fabric
    }

    /// Every equation finds what breaks it.
    #[test]
    fn books_that_do_not_balance_are_found() {
        let mut fabric = under_way();
        fabric.engine.completed += 1;
        let (issued, completed, under_way) = (10, 1, 10);
        let lost = Imbalance::Requests {
            issued,
            completed,
            under_way,
        };
        assert_eq!(fabric.balance(), Err(lost));
        fabric.engine.issued += 1;
        let (by_requester, issued) = (10, 11);
        let other = Imbalance::Requesters {
            by_requester,
            issued,
        };
        assert_eq!(fabric.balance(), Err(other));

        // A packet that arrives and was never sent.
        let mut fabric = super::tests::under_way();
        let direction = DirectionId(0);
        fabric.engine.links.arrived(direction);
        let (sent, received) = fabric.engine.links.sent_and_received(direction);
        assert!(matches!(
            fabric.balance(),
            Err(Imbalance::Link { sent: s, received: r, .. }) if (s, r) == (sent, received)
        ));

        let mut fabric = super::tests::under_way();
        fabric.engine.stats.latency.record(Ps(1));
        assert_eq!(fabric.balance(), Err(Imbalance::Parts));
    }
}
