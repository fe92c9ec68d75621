//! Programs that load their data and then do one operation after the other.

use super::KernelOptions;
use sluice_params::{Kind, Param};
use sluice_units::Rng;

/// The parameter `bytes`.
pub(crate) const fn bytes(default: &'static str, source: &'static str) -> Param {
    Param {
        key: "bytes",
        kind: Kind::Size,
        default,
        meaning: "bytes of its data, about",
        source,
    }
}

/// The parameter `start`, which [`Series::new`] reads.
pub(crate) const START: Param = Param {
    key: "start",
    kind: Kind::Flag {
        off: "built",
        on: "empty",
    },
    default: "built",
    meaning: "built: its data are there; empty: the program loads them first, record by record",
    source: "a trace of a whole program has its loading as well",
};

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Loads the record of this number.
    Load(u64),
    /// Does the operation of this number.
    Do(u64),
}

/// Records to load, then operations in rounds. The first thread that asks gets the next, so that
/// neither depends on how many threads there are.
#[derive(Debug)]
pub(crate) struct Series {
    next: u64,
    /// Records to load, before the first operation.
    load: u64,
    round: u64,
    end: u64,
}

impl Series {
    /// Of a program with so many records, and so many operations in a round.
    pub(crate) fn new(options: &KernelOptions, records: u64, round: u64) -> Series {
        let is_empty = options.given.read("start");
        let load = if is_empty { records } else { 0 };
        let end = match options.rounds {
            0 => u64::MAX,
            rounds => load.saturating_add(rounds.saturating_mul(round)),
        };
        Series {
            next: 0,
            load,
            round,
            end,
        }
    }

    /// Turns left, `most` at most.
    pub(crate) fn left(&self, most: u64) -> u64 {
        most.min(self.end - self.next)
    }

    /// Takes the next.
    pub(crate) fn take(&mut self) -> Turn {
        let turn = self.next;
        self.next += 1;
        match turn.checked_sub(self.load) {
            Some(number) => Turn::Do(number),
            None => Turn::Load(turn),
        }
    }

    /// How many of `records` are there.
    pub(crate) fn loaded(&self, records: u64) -> u64 {
        match self.load {
            0 => records,
            load => load.min(self.next),
        }
    }

    /// Operations that threads have taken, without those that load the data.
    pub(crate) fn done(&self) -> u64 {
        self.next.saturating_sub(self.load)
    }

    /// Rounds that are over.
    pub(crate) fn rounds(&self) -> u64 {
        self.done() / self.round
    }
}

/// The draws of an operation: a function of its number alone.
pub(crate) fn draws(seed: u64, number: u64) -> Rng {
    Rng::from_splitmix(seed ^ number.wrapping_mul(0xd129_0d3e_4d7d_9a63))
}

/// An invertible mix, so that no two have the same; below the greatest number.
pub(crate) fn mix(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 32) >> 1
}

#[cfg(test)]
mod tests {
    use super::super::drive::options;
    use super::*;
    use sluice_params::RawConfig;

    /// They wrapped around, and the program ended before it began.
    #[test]
    fn rounds_without_number_do_not_end() {
        let options = KernelOptions {
            given: RawConfig::of(const { &[START] }),
            ..options(1, 1, 1 << 50)
        };
        assert_eq!(Series::new(&options, 3, 1 << 14).left(100), 100);
    }

    #[test]
    fn records_come_before_operations() {
        for (start, loads) in [("built", 0), ("empty", 3)] {
            let mut given = RawConfig::of(const { &[START] });
            given.set("start", start).expect("a choice");
            let options = KernelOptions {
                given,
                ..options(1, 1, 2)
            };
            let mut series = Series::new(&options, 3, 4);
            assert_eq!(series.loaded(3), 3 - loads);
            let turns: Vec<Turn> = (0..series.left(100)).map(|_| series.take()).collect();
            let due = (0..loads).map(Turn::Load).chain((0..8).map(Turn::Do));
            assert_eq!(turns, due.collect::<Vec<_>>());
            assert_eq!(
                (
                    series.left(1),
                    series.done(),
                    series.rounds(),
                    series.loaded(3)
                ),
                (0, 8, 2, 3)
            );
        }
    }
}
