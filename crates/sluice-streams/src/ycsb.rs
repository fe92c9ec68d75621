//! The operations and key choices of the YCSB core workloads A to F.

use sluice_units::Rng;

use crate::zipf::{Scrambled, YCSB_THETA, Zipf};

/// Longest scan; lengths are uniform from 1.
pub const SCAN_MAX: u64 = 100;
/// Draws of a key that does not exist yet, before one that does is taken instead. Fewer than
/// one draw in two fails, so reaching this is out of the question.
const REDRAWS_MAX: usize = 1_000;

/// A YCSB core workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum, serde::Serialize))]
#[cfg_attr(feature = "arguments", value(rename_all = "UPPER"))]
pub enum Mix {
    /// Half reads, half updates
    #[cfg_attr(feature = "arguments", value(alias = "a"))]
    A,
    /// 95 % reads, 5 % updates
    #[cfg_attr(feature = "arguments", value(alias = "b"))]
    B,
    /// Reads only
    #[cfg_attr(feature = "arguments", value(alias = "c"))]
    C,
    /// 95 % reads of the latest records, 5 % inserts
    #[cfg_attr(feature = "arguments", value(alias = "d"))]
    D,
    /// 95 % scans, 5 % inserts
    #[cfg_attr(feature = "arguments", value(alias = "e"))]
    E,
    /// Half reads, half read-modify-writes
    #[cfg_attr(feature = "arguments", value(alias = "f"))]
    F,
}

/// What one operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read a record.
    Read,
    /// Replace a record.
    Update,
    /// Add a record.
    Insert,
    /// Read consecutive records.
    Scan,
    /// Read a record, then replace it.
    ReadModifyWrite,
}

impl Op {
    /// All, in the order of their reports.
    pub const ALL: [Op; 5] = [
        Op::Read,
        Op::Update,
        Op::Insert,
        Op::Scan,
        Op::ReadModifyWrite,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Update => "update",
            Op::Insert => "insert",
            Op::Scan => "scan",
            Op::ReadModifyWrite => "rmw",
        }
    }
}

impl Mix {
    /// The common operation, the rare one, and the per cent of the rare one.
    fn parts(self) -> (Op, Op, u64) {
        match self {
            Mix::A => (Op::Read, Op::Update, 50),
            Mix::B => (Op::Read, Op::Update, 5),
            Mix::C => (Op::Read, Op::Read, 0),
            Mix::D => (Op::Read, Op::Insert, 5),
            Mix::E => (Op::Scan, Op::Insert, 5),
            Mix::F => (Op::Read, Op::ReadModifyWrite, 50),
        }
    }

    /// The next operation.
    pub fn op(self, rng: &mut Rng) -> Op {
        let (common, rare, per_cent) = self.parts();
        if rng.below(100) < per_cent {
            rare
        } else {
            common
        }
    }

    /// Whether records are changed or added.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Mix::C
    }

    /// Records that `ops` operations may add: YCSB expects twice the average.
    #[must_use]
    pub fn expected_inserts(self, ops: u64) -> u64 {
        match self.parts() {
            (_, Op::Insert, per_cent) => (ops.saturating_mul(2 * per_cent)).div_ceil(100),
            _ => 0,
        }
    }

    /// The distribution that YCSB gives this workload.
    #[must_use]
    pub fn distribution(self) -> Distribution {
        if self == Mix::D {
            Distribution::Latest
        } else {
            Distribution::Zipfian
        }
    }
}

/// Which records are popular.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "arguments", derive(clap::ValueEnum, serde::Serialize))]
#[cfg_attr(feature = "arguments", serde(rename_all = "lowercase"))]
pub enum Distribution {
    /// A few are, anywhere among the keys (theta 0.99, scrambled)
    Zipfian,
    /// All are alike
    Uniform,
    /// The newest are
    Latest,
}

/// Chooses keys for one thread.
pub struct Chooser {
    distribution: Distribution,
    scrambled: Scrambled,
    items: u64,
}

impl Chooser {
    /// A chooser among keys below `items`, of which some may not exist yet.
    #[must_use]
    pub fn new(distribution: Distribution, items: u64) -> Self {
        Self {
            distribution,
            scrambled: Scrambled::default(),
            items,
        }
    }

    /// A key below `existing`, which is at least 1.
    pub fn key(&self, rng: &mut Rng, existing: u64) -> u64 {
        match self.distribution {
            Distribution::Uniform => rng.below(existing),
            Distribution::Latest => existing - 1 - Zipf::new(existing, YCSB_THETA).rank(rng),
            Distribution::Zipfian => {
                // Items beyond the existing ones keep the popular keys the same while records
                // are added.
                let items = self.items.max(existing);
                let draw = || self.scrambled.item(rng, items);
                let mut draws = std::iter::repeat_with(draw).take(REDRAWS_MAX);
                draws.find(|key| *key < existing).unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Rng {
        Rng::stream(21, "ycsb.test")
    }

    #[test]
    fn shares_are_those_of_ycsb() {
        // (read, update, insert, scan, rmw) in per cent: YCSB core workload definitions.
        let shares = [
            (Mix::A, [50, 50, 0, 0, 0]),
            (Mix::B, [95, 5, 0, 0, 0]),
            (Mix::C, [100, 0, 0, 0, 0]),
            (Mix::D, [95, 0, 5, 0, 0]),
            (Mix::E, [0, 0, 5, 95, 0]),
            (Mix::F, [50, 0, 0, 0, 50]),
        ];
        let draws = 40_000;
        for (mix, per_cent) in shares {
            let mut rng = rng();
            let ops: Vec<Op> = (0..draws).map(|_| mix.op(&mut rng)).collect();
            for (op, share) in Op::ALL.into_iter().zip(per_cent) {
                let seen = ops.iter().filter(|o| **o == op).count() as f64;
                let p = f64::from(share) / 100.0;
                let deviation = (f64::from(draws) * p * (1.0 - p)).sqrt();
                let off = (seen - f64::from(draws) * p).abs();
                assert!(off <= 4.0 * deviation, "{mix:?} {op:?}: {seen}");
            }
        }
    }

    /// A store that has room for so many records more is not filled by its operations.
    #[test]
    fn a_mix_says_how_many_records_it_adds_and_whether_it_writes() {
        for mix in [Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F] {
            let mut rng = rng();
            let ops: Vec<Op> = (0..10_000).map(|_| mix.op(&mut rng)).collect();
            let inserts = ops.iter().filter(|op| **op == Op::Insert).count() as u64;
            let room = mix.expected_inserts(10_000);
            assert!((inserts..=3 * inserts).contains(&room), "{mix:?}: {room}");
            let writes = ops.iter().any(|op| !matches!(op, Op::Read | Op::Scan));
            assert_eq!(mix.writes(), writes, "{mix:?}");
        }
        let names = Op::ALL.map(Op::name);
        assert_eq!(names, ["read", "update", "insert", "scan", "rmw"]);
    }

    #[test]
    fn keys_exist() {
        for distribution in [
            Distribution::Zipfian,
            Distribution::Uniform,
            Distribution::Latest,
        ] {
            let (chooser, mut rng) = (Chooser::new(distribution, 2_000), rng());
            for existing in [1, 2, 1_000, 1_500] {
                assert!((0..500).all(|_| chooser.key(&mut rng, existing) < existing));
            }
        }
    }

    #[test]
    fn the_latest_key_is_the_popular_one() {
        let (chooser, mut rng) = (Chooser::new(Distribution::Latest, 0), rng());
        let draws = 20_000;
        let newest = (0..draws)
            .filter(|_| chooser.key(&mut rng, 100) == 99)
            .count() as f64;
        let zeta: f64 = (1..=100).map(|k| f64::from(k).powf(-YCSB_THETA)).sum();
        let due = f64::from(draws) / zeta;
        assert!(
            (newest - due).abs() < 4.0 * due.sqrt(),
            "{newest} for {due}"
        );
    }

    #[test]
    fn popular_keys_stay_popular_while_records_are_added() {
        let chooser = Chooser::new(Distribution::Zipfian, 1_000);
        let top = |existing| {
            let (mut rng, mut counts) = (rng(), vec![0_u32; 1_000]);
            (0..20_000).for_each(|_| counts[chooser.key(&mut rng, existing) as usize] += 1);
            counts
                .iter()
                .enumerate()
                .max_by_key(|(_, n)| **n)
                .map(|(key, _)| key)
        };
        assert_eq!(top(950), top(1_000));
    }
}
