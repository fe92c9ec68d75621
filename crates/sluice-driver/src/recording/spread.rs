//! How the accesses of a recording go to several requesters. A new way is a line in [`SPREADS`].

use super::record::{Recorded, Recording};
use sluice_net::{Access, Source};
use sluice_units::{Bytes, Ps};
use std::sync::Arc;

/// How a recording is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Every requester replays all of it, in memory of its own.
    Each,
    /// One after the other to the next requester, all in one memory.
    Dealt,
    /// The accesses of a CPU go to one requester, all in one memory.
    Cpus,
}

/// An entry of the registry.
#[derive(Debug)]
pub struct SpreadInfo {
    /// The name used to ask for it.
    pub name: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Which it is.
    pub spread: Spread,
}

/// Every way, in a fixed order.
pub static SPREADS: &[SpreadInfo] = &[
    SpreadInfo {
        name: "each",
        meaning: "every requester replays all of it in memory of its own, from another place in it",
        spread: Spread::Each,
    },
    SpreadInfo {
        name: "dealt",
        meaning: "each access to the next requester, all in one memory",
        spread: Spread::Dealt,
    },
    SpreadInfo {
        name: "cpus",
        meaning: "the accesses of a CPU, or thread, to one requester, all in one memory",
        spread: Spread::Cpus,
    },
];

impl Spread {
    /// Memory that so many requesters need.
    pub fn footprint(self, recording: &Recording, requesters: u32) -> Bytes {
        match self {
            Spread::Each => Bytes(recording.footprint.0 * u64::from(requesters)),
            Spread::Dealt | Spread::Cpus => recording.footprint,
        }
    }

    /// A source for each requester, in which an instruction between accesses takes so long.
    pub fn sources(
        self,
        recording: &Recording,
        requesters: u32,
        instruction: Ps,
    ) -> Vec<Box<dyn Source>> {
        match self {
            Spread::Each => each(recording, requesters, instruction),
            Spread::Dealt => {
                let all = in_order(recording).enumerate();
                let of = all.map(|(index, one)| (index as u32 % requesters, one));
                apart(of, requesters, instruction)
            }
            Spread::Cpus => {
                let cpus = recording.order.iter().map(|cpu| u32::from(*cpu));
                let of = cpus.map(|cpu| cpu % requesters).zip(in_order(recording));
                apart(of, requesters, instruction)
            }
        }
    }
}

/// The accesses of all CPUs as they were made.
fn in_order(recording: &Recording) -> impl Iterator<Item = Recorded> {
    let mut next = vec![0; recording.cpus.len()];
    recording.order.iter().map(move |cpu| {
        let cpu = usize::from(*cpu);
        next[cpu] += 1;
        recording.cpus[cpu][next[cpu] - 1]
    })
}

fn each(recording: &Recording, requesters: u32, instruction: Ps) -> Vec<Box<dyn Source>> {
    let all: Arc<[Recorded]> = in_order(recording).collect();
    let source = |requester: u32| -> Box<dyn Source> {
        // All at the same place would be at the same memory at the same time.
        let at = all.len() * requester as usize / requesters as usize;
        Box::new(Replay {
            first: u64::from(requester) * recording.footprint.0,
            at,
            left: all.len(),
            instruction,
            reached: all.get(at).map_or(0, |recorded| recorded.at),
            accesses: Arc::clone(&all),
        })
    };
    (0..requesters).map(source).collect()
}

fn apart(
    accesses: impl Iterator<Item = (u32, Recorded)>,
    requesters: u32,
    instruction: Ps,
) -> Vec<Box<dyn Source>> {
    let mut of = vec![Vec::new(); requesters as usize];
    let mut begun = u64::MAX;
    for (requester, one) in accesses {
        begun = begun.min(one.at);
        of[requester as usize].push(one);
    }
    let source = |accesses: Vec<Recorded>| -> Box<dyn Source> {
        Box::new(Replay {
            first: 0,
            at: 0,
            left: accesses.len(),
            instruction,
            reached: begun,
            accesses: accesses.into(),
        })
    };
    of.into_iter().map(source).collect()
}

/// Gives recorded accesses, from a place in them once round.
struct Replay {
    accesses: Arc<[Recorded]>,
    first: u64,
    at: usize,
    left: usize,
    instruction: Ps,
    /// How far its CPUs have come, in instructions: CPUs side by side share the time.
    reached: u64,
}

impl Source for Replay {
    fn next(&mut self) -> Option<Access> {
        self.left = self.left.checked_sub(1)?;
        let recorded = &self.accesses[self.at];
        // Round once, it begins with the first again.
        let before = if self.at == 0 { 0 } else { self.reached };
        self.reached = before.max(recorded.at);
        self.at = (self.at + 1) % self.accesses.len();
        let access = recorded.access();
        Some(Access {
            addr: self.first + access.addr,
            ..access
        })
    }

    fn pause(&self) -> Ps {
        let next = self.accesses.get(self.at).filter(|_| self.left > 0);
        let more = next.map_or(0, |next| next.at.saturating_sub(self.reached));
        Ps(self.instruction.0.saturating_mul(more))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recorder;
    use super::*;

    fn recording() -> Recording {
        let mut recorder = Recorder::new(2, &[], 100);
        for line in 0..12 {
            let cpu = u32::from(line % 3 == 0);
            recorder.executed(cpu, 10);
            recorder.access(cpu, line, line % 2 == 1);
        }
        recorder.end(Bytes(4096))
    }

    fn lines(spread: Spread, requesters: u32) -> Vec<Vec<u64>> {
        let sources = spread.sources(&recording(), requesters, Ps::ZERO);
        let all = |mut source: Box<dyn Source>| {
            std::iter::from_fn(move || source.next()).map(|access| access.addr / 64)
        };
        sources
            .into_iter()
            .map(|source| all(source).collect())
            .collect()
    }

    #[test]
    fn every_requester_has_all_accesses_in_memory_of_its_own() {
        let all: Vec<u64> = (0..12).collect();
        let other = (0..12).map(|i| 64 + (i + 6) % 12).collect();
        assert_eq!(lines(Spread::Each, 2), [all, other]);
        assert_eq!(Spread::Each.footprint(&recording(), 3), Bytes(3 * 4096));
        assert_eq!((recording().len(), recording().writes()), (12, 6));
    }

    #[test]
    fn dealt_accesses_are_all_there_once() {
        assert_eq!(
            lines(Spread::Dealt, 2),
            [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]
        );
        assert_eq!(Spread::Dealt.footprint(&recording(), 3), Bytes(4096));
    }

    #[test]
    fn those_of_a_cpu_stay_together() {
        let due = [vec![1, 2, 4, 5, 7, 8, 10, 11], vec![0, 3, 6, 9], vec![]];
        assert_eq!(lines(Spread::Cpus, 3), due);
    }

    #[test]
    fn cpus_that_share_a_requester_keep_their_turns() {
        assert_eq!(lines(Spread::Cpus, 1), lines(Spread::Dealt, 1));
    }

    #[test]
    fn instructions_between_accesses_take_their_time() {
        let mut source = Spread::Cpus.sources(&recording(), 2, Ps(7)).swap_remove(0);
        for left in (0..8).rev() {
            source.next();
            assert_eq!(source.pause(), if left > 0 { Ps(70) } else { Ps::ZERO });
        }
        assert_eq!(source.next(), None);
    }

    /// Two CPUs side by side, of which the second begins late: an access each 1,000 instructions.
    fn side_by_side() -> Recording {
        let mut recorder = Recorder::new(2, &[], u64::MAX);
        for at in 1..=500 {
            for cpu in (0..2).filter(|cpu| *cpu == 0 || at > 100) {
                recorder.reaches(cpu, at * 1_000);
                recorder.access(cpu, (2 * at) as u32 + cpu, false);
            }
        }
        recorder.end(Bytes(1 << 20))
    }

    /// A requester that waits for nothing makes each access at the time at which its CPU did.
    #[test]
    fn a_program_takes_its_time_however_it_is_spread() {
        for spread in [Spread::Dealt, Spread::Cpus] {
            for requesters in [1, 2, 3, 4] {
                let sources = spread.sources(&side_by_side(), requesters, Ps(3));
                for mut source in sources {
                    let mut now = source.pause();
                    while let Some(access) = source.next() {
                        // The line names the time.
                        assert_eq!(now, Ps((access.addr / 128 - 1) * 3_000), "{spread:?}");
                        now += source.pause();
                    }
                }
            }
        }
        let mut all = Spread::Each.sources(&side_by_side(), 2, Ps(3));
        for (source, due) in all.iter_mut().zip([499_000 * 3, 498_000 * 3]) {
            let mut now = source.pause();
            while source.next().is_some() {
                now += source.pause();
            }
            assert_eq!(now, Ps(due));
        }
    }
}
