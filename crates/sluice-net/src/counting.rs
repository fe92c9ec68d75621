//! When counting begins and ends. Links and memories are reserved ahead, and what is reserved is
//! counted at once: what of it has not begun is noted here, and counts are without it.

use super::engine::{Engine, Event};
use super::ids::EndpointId;
use super::requester::Requester;
use super::stats::FabricStats;

impl Engine {
    /// Ends the counting now.
    pub fn end(&mut self) {
        self.stats.until = self.now;
        self.note_to_come();
    }

    /// Notes what is reserved and has not begun: no link has carried it, and no memory has served
    /// it yet.
    fn note_to_come(&mut self) {
        self.links.forget_to_come();
        let endpoints = self.endpoints.values_mut().iter_mut();
        endpoints.for_each(|endpoint| endpoint.shares.forget_to_come());
        let now = self.now;
        for (at, event) in self.queue.iter() {
            match *event {
                Event::Arrive { direction, packet } => {
                    let packet = &self.packets[packet];
                    let answer = self.links.note_to_come(now, at, direction, packet);
                    if let Some((endpoint, served_at)) = answer {
                        self.endpoints[endpoint].shares.note_to_come(
                            now,
                            served_at,
                            packet.logical,
                        );
                    }
                }
                Event::Served { packet } if self.coherence.is_none() => {
                    let packet = &self.packets[packet];
                    let endpoint = EndpointId(packet.to.node().0 - self.requesters.count());
                    self.endpoints[endpoint]
                        .shares
                        .note_to_come(now, packet.ready, packet.logical);
                }
                _ => (),
            }
        }
    }

    /// Begins to count anew; requests under way go on.
    pub fn begin(&mut self) {
        self.note_to_come();
        self.links.begin(self.now);
        self.stats = FabricStats::from(self.now);
        let requesters = self.requesters.values_mut().iter_mut();
        requesters.for_each(Requester::begin);
        let endpoints = self.endpoints.values_mut().iter_mut();
        endpoints.for_each(|endpoint| endpoint.begin(self.now));
        if let Some(coherence) = &mut self.coherence {
            coherence.begin(self.now);
        }
    }
}
