//! What coherence wants done, in the engine.

use super::coherence::{AccessId, Action};
use super::engine::{Done, Engine, Event, coherent};
use super::ids::{PacketId, RequesterId};
use sluice_units::Ps;

impl Engine {
    /// Does what coherence wants done.
    pub fn act(&mut self, now: Ps) {
        let mut actions = coherent(&mut self.coherence).take_actions();
        for action in actions.drain(..) {
            match action {
                Action::Hit {
                    at,
                    requester,
                    access,
                } => self.queue.push(at, Event::Hit { requester, access }),
                Action::Leave { at, packet } => self.queue.push(at, Event::Leave { packet }),
                Action::Send { packet } => {
                    self.forward(now, self.packets[packet].from.node(), packet);
                }
                Action::Serve { endpoint, packet } => {
                    let it = &mut self.packets[packet];
                    let requester = RequesterId(it.from.node().0);
                    it.is_host &= self.requesters[requester].is_host();
                    if it.is_host {
                        self.answers.begin(packet);
                    }
                    let logical = it.logical;
                    match self.endpoints[endpoint].shares.turn([now, now], logical) {
                        None => self.serve(now, packet),
                        Some(turn) => self.queue.push(turn, Event::Access { packet }),
                    }
                }
            }
        }
        coherent(&mut self.coherence).reuse_actions(actions);
    }

    /// A message has come to a requester.
    pub fn receive(&mut self, now: Ps, requester: RequesterId, packet: PacketId, done: Done) {
        let coherence = coherent(&mut self.coherence);
        let message = coherence.receive(&mut self.packets, now, requester, packet);
        let mut ended = coherence.take_done();
        self.act(now);
        for (access, _) in ended.drain(..) {
            let access = AccessId(access);
            let coherence = coherent(&mut self.coherence);
            let earliest = coherence.earliest_end(requester, access);
            if earliest > now {
                self.queue.push(earliest, Event::Hit { requester, access });
            } else {
                let finished = coherence.finish(now, requester, access, Some(&message));
                self.finish(now, requester, &finished, done);
                self.answer_host(now, requester, &finished);
            }
        }
        coherent(&mut self.coherence).reuse_done(ended);
        self.tell_host(now, requester);
    }
}
