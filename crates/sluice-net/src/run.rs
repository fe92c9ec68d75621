//! Running a fabric to an end, and holding its books against each other.

use super::engine::{Completed, Event, Fabric};
use super::error::Deadlock;

/// How long to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Requests that come back before counting begins.
    pub warmup: u64,
    /// Requests counted; fewer if the requesters have no more.
    pub requests: u64,
}

/// Events between two questions whether to go on.
const WATCH: u64 = 1 << 16;

impl Fabric {
    /// Runs until so many requests have come back, or nobody has any more. `watch` is told now and
    /// then how many have, and says whether to go on.
    ///
    /// # Errors
    /// [`Deadlock`].
    pub fn run(
        &mut self,
        length: Length,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Deadlock> {
        self.run_telling(length, watch, &mut |_| ())
    }

    /// The same; `done` is told of each request that is counted.
    ///
    /// # Errors
    /// [`Deadlock`].
    pub fn run_telling(
        &mut self,
        length: Length,
        watch: &mut dyn FnMut(u64) -> bool,
        done: &mut dyn FnMut(Completed),
    ) -> Result<(), Deadlock> {
        self.begin_issuing();
        let warm = self.completed + length.warmup;
        if self.run_until(warm, watch, &mut |_| ())? {
            self.begin();
            let all = self.completed + length.requests;
            self.run_until(all, watch, done)?;
        }
        self.end();
        Ok(())
    }

    /// False if `watch` said no.
    fn run_until(
        &mut self,
        completed: u64,
        watch: &mut dyn FnMut(u64) -> bool,
        done: &mut dyn FnMut(Completed),
    ) -> Result<bool, Deadlock> {
        let mut left = WATCH;
        while self.completed < completed {
            if !self.step(done) {
                return match self.under_way() {
                    0 => Ok(true),
                    _ => Err(self.deadlock()),
                };
            }
            left -= 1;
            if left == 0 {
                left = WATCH;
                if !watch(self.completed) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Who waits for whom, when nothing happens any more.
    pub(super) fn deadlock(&self) -> Deadlock {
        let (mut packets, mut links) = (0, Vec::new());
        for (number, direction) in self.links.directions.iter().enumerate() {
            let Some(credits) = direction.credits else {
                continue;
            };
            let waiting = self.links.credits[credits as usize].waiting(&self.packets);
            if waiting > 0 {
                packets += waiting;
                links.push(self.graph().direction_name(number as u32));
            }
        }
        Deadlock {
            at: self.now().0,
            packets,
            links: links.join(", "),
            elsewhere: self.packets.live() - packets,
        }
    }

    /// Requests under way: packets, or accesses whose messages are.
    pub(super) fn under_way(&self) -> u64 {
        match &self.coherence {
            Some(coherence) => coherence.under_way(),
            None => self.packets.live() as u64,
        }
    }

    /// Holds the counters against each other: every request that was issued has come back or is
    /// under way, and what was sent on a link has arrived or is on it.
    ///
    /// # Errors
    /// The first equation that does not hold: a mistake of the simulator's, not of its user's.
    pub fn balance(&self) -> Result<(), String> {
        let live = self.under_way();
        if self.issued != self.completed + live {
            return Err(format!(
                "{} requests issued, {} came back, {live} under way",
                self.issued, self.completed
            ));
        }
        let issued: u64 = self.requester_stats().map(|stats| stats.issued).sum();
        if issued != self.issued {
            let all = self.issued;
            return Err(format!("the requesters issued {issued} of {all} requests"));
        }
        let mut on_wire = vec![0; self.links.directions.len()];
        for event in self.queue.iter() {
            if let Event::Arrive { direction, .. } = event {
                on_wire[*direction as usize] += 1;
            }
        }
        for (number, direction) in self.links.directions.iter().enumerate() {
            let sent: u64 = direction.sent.iter().sum();
            if sent != direction.received + on_wire[number] {
                return Err(format!(
                    "{}: {sent} packets sent, {} received, {} on the link",
                    self.graph().direction_name(number as u32),
                    direction.received,
                    on_wire[number]
                ));
            }
        }
        let stats = self.stats();
        if u128::from(stats.parts().total().0) != stats.latency.sum() {
            return Err("the parts of the latencies are not their sum".to_owned());
        }
        Ok(())
    }
}
