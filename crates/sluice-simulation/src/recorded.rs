//! Recordings that requesters of a fabric replay, and stretches of a run.

use crate::device::PS_PER_NS;
use crate::fabric::FabricRunError;
use serde_json::{Value, json};
use sluice_driver::recording::{Recording, SpreadInfo};
use sluice_net::{Completed, Fabric, FabricConfig, RequesterId};
use sluice_units::Ps;

/// What the requesters replay.
pub struct Recorded {
    /// The program or the file, for the record.
    pub workload: String,
    /// What it asked memory for.
    pub recording: Recording,
    /// How it goes to the requesters.
    pub spread: &'static SpreadInfo,
    /// Time of an instruction between accesses.
    pub instruction: Ps,
}

impl Recorded {
    /// Gives every requester its part.
    pub(crate) fn attach(
        &self,
        fabric: &mut Fabric,
        config: &FabricConfig,
    ) -> Result<(), FabricRunError> {
        let requesters = config.requesters.len() as u32;
        let needed = self.spread.spread.footprint(&self.recording, requesters);
        let reach = (0..requesters).map(|requester| config.reach(RequesterId(requester)));
        let reach = reach.min().unwrap_or(0);
        if needed.0 > reach {
            return Err(FabricRunError::TooLarge {
                workload: self.workload.clone(),
                spread: self.spread.name,
                needed,
                reach: sluice_units::Bytes(reach),
            });
        }
        let sources = self
            .spread
            .spread
            .sources(&self.recording, requesters, self.instruction);
        for (requester, source) in (0..).map(RequesterId).zip(sources) {
            fabric.replay(requester, source);
        }
        Ok(())
    }

    pub(crate) fn told(&self) -> Value {
        let recording = &self.recording;
        let (all, writes) = (recording.len(), recording.writes());
        json!({
            "name": self.workload,
            "spread": self.spread.name,
            "cpus": recording.cpus.len(),
            "accesses": all,
            "writes": writes,
            "mix_degree": mix_degree(all - writes, writes),
            "instructions": recording.instructions,
            "footprint_bytes": recording.footprint.0,
            "instruction_ns": self.instruction.0 as f64 / PS_PER_NS,
        })
    }
}

/// The smaller of the shares of reads and writes (ESF section V-E).
pub(crate) fn mix_degree(reads: u64, writes: u64) -> Option<f64> {
    sluice_stats::share(reads.min(writes), reads + writes)
}

/// Counts stretches of so many requests each, one after the other.
pub(crate) struct Windows {
    requests: u64,
    from: Ps,
    reads: u64,
    writes: u64,
    /// Reads, writes and the time of each that is full.
    full: Vec<(u64, u64, Ps)>,
}

impl Windows {
    /// Of so many requests; 0 for none.
    pub(crate) fn new(requests: u64) -> Windows {
        Windows {
            requests,
            from: Ps::ZERO,
            reads: 0,
            writes: 0,
            full: Vec::new(),
        }
    }

    /// A request has come back.
    pub(crate) fn done(&mut self, completed: &Completed) {
        self.reads += u64::from(!completed.is_write);
        self.writes += u64::from(completed.is_write);
        if self.requests == 0 || self.reads + self.writes < self.requests {
            return;
        }
        // The first begins with the first request counted, not with the clock.
        if self.from > Ps::ZERO {
            self.full
                .push((self.reads, self.writes, completed.at - self.from));
        }
        (self.reads, self.writes, self.from) = (0, 0, completed.at);
    }

    /// Mix degree and bandwidth of each.
    pub(crate) fn told(&self, payload: u64) -> Value {
        if self.requests == 0 {
            return Value::Null;
        }
        let point = |(reads, writes, time): &(u64, u64, Ps)| {
            json!([
                mix_degree(*reads, *writes),
                crate::fabric::mb_s((reads + writes) * payload, *time)
            ])
        };
        json!({
            "requests": self.requests,
            "mix_degree_and_mb_s": self.full.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_of_so_many_requests_and_their_own_time() {
        let mut windows = Windows::new(4);
        for number in 1..=14 {
            windows.done(&Completed {
                tag: number,
                requester: RequesterId(0),
                at: Ps(1_000 * number),
                latency: Ps(1),
                is_write: number % 4 == 0,
            });
        }
        // The first four begin the clock, the last two fill no window.
        assert_eq!(windows.full, [(3, 1, Ps(4_000)); 2]);
        let told = windows.told(64);
        assert_eq!(told["mix_degree_and_mb_s"][0], json!([0.25, 64_000.0]));
        assert_eq!(Windows::new(0).told(64), Value::Null);
    }
}
