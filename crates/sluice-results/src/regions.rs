//! The figures of a live run from one mark to the next.

use crate::process::{Process, ProcessMark};
use crate::run::Run;
use crate::{Figures, Latencies, LiveRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of a live run that its figures are of: `traps`, `trap_kinds`, `cache`, `latency_ns`,
/// `latency_parts_ns`, `late` and `flash`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// What was waited for (`--count-after`), or `reset`; `null` if all counts.
    pub from: Option<String>,
    /// Seconds from the start of the program until then. `null` if that did not come: all counts.
    pub from_s: Option<f64>,
    /// The time that counts, s.
    pub wall_s: f64,
}

/// The figures of a part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// The mark with which it begins. `null` for the start of the program.
    pub from: Option<String>,
    /// Seconds from the start of the program until then.
    pub from_s: f64,
    /// How long it took, s.
    pub wall_s: f64,
    /// What the device did meanwhile.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Moments of a run, which part it.
#[derive(Clone, Copy, Debug)]
pub struct Moments<'a> {
    /// When the program was started, ns of CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// Marks of the program itself, in their order.
    pub marks: &'a [ProcessMark],
    /// What is to be waited for before anything counts.
    pub after: Option<&'a str>,
    /// The mark that was waited for, if it came.
    pub from: Option<&'a ProcessMark>,
}

impl Moments<'_> {
    fn seconds(&self, mark: &ProcessMark) -> f64 {
        mark.at_ns.saturating_sub(self.started_ns) as f64 / 1e9
    }

    /// Where figures begin: the last reset after what was waited for.
    fn counted_from(&self) -> Option<&ProcessMark> {
        let is_reset = |mark: &&ProcessMark| mark.name == sluice_abi::MARK_RESET;
        let reset = self.marks.iter().rev().find(is_reset);
        match (self.after, self.from, reset) {
            (Some(_), None, _) => None,
            (_, Some(from), Some(reset)) if reset.at_ns < from.at_ns => Some(from),
            (_, from, reset) => reset.or(from),
        }
    }
}

/// What a process did from a mark on. An image that began after it did all of that.
fn since(process: &Process, mark: &ProcessMark) -> Process {
    match process.image == mark.process.image {
        true => process.since(&mark.process),
        false => process.clone(),
    }
}

impl Run<'_> {
    /// Parts the figures of a result of this run by marks. The latencies are those that count.
    pub fn part(&self, result: &mut LiveRun, moments: &Moments<'_>) -> Option<Box<Latencies>> {
        let counted = moments.counted_from();
        let main = self.main()?;
        result.counted = Counted {
            from: (counted.map(|mark| mark.name.clone())).or(moments.after.map(str::to_owned)),
            from_s: counted.map(|mark| moments.seconds(mark)),
            wall_s: self.wall_s - counted.map_or(0.0, |mark| moments.seconds(mark)),
        };
        let mut latencies = main.latencies.clone();
        if let Some(mark) = counted {
            let during = since(main, mark);
            result.figures = self.figures_of(&during);
            latencies = during.latencies;
        }
        let own = moments.marks.iter();
        let own = own.filter(|mark| mark.process.image == main.image);
        let mut begins = None;
        let mut regions = Vec::new();
        for end in own.map(Some).chain([None]) {
            if begins.is_none() && end.is_none() {
                break;
            }
            let last = end.map_or(main, |mark| &mark.process);
            let during = begins.map_or(last.clone(), |mark| since(last, mark));
            let from_s = begins.map_or(0.0, |mark| moments.seconds(mark));
            regions.push(Region {
                from: begins.map(|mark| mark.name.clone()),
                from_s,
                wall_s: end.map_or(self.wall_s, |mark| moments.seconds(mark)) - from_s,
                figures: self.figures_of(&during),
            });
            begins = end;
        }
        result.regions = regions;
        latencies
    }

    fn figures_of(&self, process: &Process) -> Figures {
        let only = [process.clone()];
        let run = Run {
            processes: &only,
            ..*self
        };
        run.figures()
    }
}
