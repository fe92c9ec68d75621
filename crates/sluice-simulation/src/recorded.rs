//! Recordings that requesters of a fabric replay, and stretches of a run.

use crate::error::FabricRunError;
use crate::units::{PS_PER_NS, mb_s};
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

    /// What the result says of it.
    pub(crate) fn result(&self) -> sluice_results::Recorded {
        let recording = &self.recording;
        let (all, writes) = (recording.len(), recording.writes());
        sluice_results::Recorded {
            name: self.workload.clone(),
            spread: self.spread.name.to_owned(),
            cpus: recording.cpus.len(),
            accesses: all,
            writes,
            mix_degree: mix_degree(all - writes, writes),
            instructions: recording.instructions,
            footprint_bytes: recording.footprint.0,
            instruction_ns: self.instruction.0 as f64 / PS_PER_NS,
        }
    }
}

/// The smaller of the shares of reads and writes (ESF section V-E).
pub(crate) fn mix_degree(reads: u64, writes: u64) -> Option<f64> {
    sluice_stats::share(reads.min(writes), reads + writes)
}

/// Counts stretches of so many requests each, one after the other.
pub(crate) struct Windows {
    requests: u64,
    reads: u64,
    writes: u64,
    /// Reads, writes and the end of each that is full.
    full: Vec<(u64, u64, Ps)>,
}

impl Windows {
    /// Of so many requests; 0 for none.
    pub(crate) fn new(requests: u64) -> Windows {
        Windows {
            requests,
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
        self.full.push((self.reads, self.writes, completed.at));
        (self.reads, self.writes) = (0, 0);
    }

    /// Mix degree and bandwidth of each, with so many bytes in a request, where counting began at
    /// `from`; nothing of no windows.
    pub(crate) fn result(&self, payload: u64, from: Ps) -> Option<sluice_results::Windows> {
        let begins = std::iter::once(from).chain(self.full.iter().map(|(.., end)| *end));
        let point = |((reads, writes, end), begin): (&(u64, u64, Ps), Ps)| {
            let bandwidth = mb_s((reads + writes) * payload, *end - begin);
            (mix_degree(*reads, *writes), bandwidth)
        };
        (self.requests > 0).then(|| sluice_results::Windows {
            requests: self.requests,
            mix_degree_and_mb_s: self.full.iter().zip(begins).map(point).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first begins with the counting, as the whole does.
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
        // The last two fill no window.
        let points = windows.result(64, Ps(2_000)).unwrap().mix_degree_and_mb_s;
        let alike = (Some(0.25), Some(64_000.0));
        assert_eq!(points, [(Some(0.25), Some(128_000.0)), alike, alike]);
        assert_eq!(Windows::new(0).result(64, Ps(0)), None);
    }
}
