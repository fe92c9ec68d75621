//! Workloads as one line of text, for drivers that want the accesses and not the program:
//! `chase:size=64MiB,stride=4096,passes=4`.

use sluice_units::{Bytes, LINE_BYTES, ParseUnitError, Ratio};

use crate::access::{self, Cells, Draw, Stream};
use crate::error::BadValue;
use crate::order::ChaseOrder;
use crate::plan::{Parameters, Plan, STREAMS_MAX, within};
use crate::zipf::YCSB_THETA;

const SIZE: u64 = 64 << 20;
const CHASE_KEYS: &[&str] = &[
    "size", "stride", "passes", "random", "uniform", "write", "seed", "threads",
];
const SWEEP_KEYS: &[&str] = &["size", "stride", "passes", "write", "threads"];
const UNIFORM_KEYS: &[&str] = &["size", "stride", "ops", "write", "seed", "threads"];
const ZIPF_KEYS: &[&str] = &["size", "stride", "ops", "write", "theta", "seed", "threads"];

/// Every pattern: its name, its keys, and what it is.
pub const PATTERNS: [(&str, &[&str], &str); 4] = [
    (
        "chase",
        CHASE_KEYS,
        "the accesses of `sluice workload chase`",
    ),
    ("stream", SWEEP_KEYS, "sweeps in the order of addresses"),
    (
        "uniform",
        UNIFORM_KEYS,
        "independent accesses, all places alike",
    ),
    (
        "zipf",
        ZIPF_KEYS,
        "independent accesses, popular places spread over the memory",
    ),
];

/// Why a text is not a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The part before the colon names no workload.
    #[error(
        "workload: {0:?} is not known; choices: chase, stream, uniform, zipf, and keys after a \
         colon, such as zipf:size=1GiB"
    )]
    Kind(String),
    /// A part is not `key=value`.
    #[error("{kind}: {part:?} is not key=value; keys: {keys}")]
    Form {
        /// The workload.
        kind: &'static str,
        /// The part.
        part: String,
        /// The keys it knows.
        keys: String,
    },
    /// A key that the workload does not have.
    #[error("{kind}: there is no key {key:?}; keys: {keys}")]
    Key {
        /// The workload.
        kind: &'static str,
        /// The key as given.
        key: String,
        /// The keys it knows.
        keys: String,
    },
    /// A key given twice.
    #[error("{kind}: the key {key:?} is given twice")]
    Twice {
        /// The workload.
        kind: &'static str,
        /// The key.
        key: String,
    },
    /// A value that the key does not take.
    #[error("{kind}: {source}")]
    Value {
        /// The workload.
        kind: &'static str,
        /// Key, value and what was expected.
        source: BadValue,
    },
}

/// A checked workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Chase(Plan),
    Sweep {
        cells: Cells,
        passes: u64,
        write: bool,
    },
    Draw(Draw),
}

/// Reads a workload.
///
/// - `chase:size=,stride=,passes=,random=,uniform=,write=,seed=,threads=`: exactly the accesses
///   of the program `workload chase`, build pass included;
/// - `stream:size=,stride=,passes=,write=,threads=`: sweeps in address order;
/// - `uniform:size=,stride=,ops=,write=,seed=,threads=`: independent uniform accesses, a share
///   `write` of them stores;
/// - `zipf:` the same with `theta=`, popular places spread over the memory.
///
/// Every key has a default, that of `seed` is the one given here; `size` is per thread, and threads
/// share no memory. A chase has 64 threads at most, as the program, the others 4096.
///
/// # Errors
/// The first part that is wrong, with what would be accepted.
pub fn parse_spec(text: &str, seed: u64) -> Result<Spec, SpecError> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let kind = match name.trim() {
        "chase" => chase(&Keys::read("chase", CHASE_KEYS, rest)?, seed),
        "stream" => sweep(&Keys::read("stream", SWEEP_KEYS, rest)?),
        "uniform" => draw(&Keys::read("uniform", UNIFORM_KEYS, rest)?, seed, None),
        "zipf" => draw(
            &Keys::read("zipf", ZIPF_KEYS, rest)?,
            seed,
            Some(YCSB_THETA),
        ),
        other => return Err(SpecError::Kind(other.to_owned())),
    };
    Spec { kind: kind? }.counted()
}

impl Spec {
    /// One stream of accesses for each thread. Their memory begins at address 0.
    #[must_use]
    pub fn streams(&self) -> Vec<Stream> {
        let stream = |thread| match &self.kind {
            Kind::Chase(plan) => access::chase(plan, thread),
            Kind::Sweep {
                cells,
                passes,
                write,
            } => access::sweep(*cells, *passes, *write, thread),
            Kind::Draw(draw) => draw.stream(thread),
        };
        (0..self.threads()).map(stream).collect()
    }

    /// Threads, and so streams.
    #[must_use]
    pub fn threads(&self) -> u64 {
        match &self.kind {
            Kind::Chase(plan) => plan.parameters().threads,
            Kind::Sweep { cells, .. } | Kind::Draw(Draw { cells, .. }) => cells.threads,
        }
    }

    /// Bytes over all threads: every address is below.
    #[must_use]
    pub fn footprint_bytes(&self) -> u64 {
        match &self.kind {
            Kind::Chase(plan) => plan.total_bytes(),
            Kind::Sweep { cells, .. } | Kind::Draw(Draw { cells, .. }) => {
                cells.size * cells.threads
            }
        }
    }
}

/// A size with a unit, or a bare number of bytes.
///
/// # Errors
/// That of a size with a unit.
pub fn size(text: &str) -> Result<u64, ParseUnitError> {
    match text.parse::<u64>() {
        Ok(bytes) => Ok(bytes),
        Err(_) => text.parse::<Bytes>().map(|bytes| bytes.0),
    }
}

/// A workload's name, the keys it knows, and the values given.
pub struct Keys<'a> {
    kind: &'static str,
    given: Vec<(&'static str, &'a str)>,
}

impl<'a> Keys<'a> {
    /// Reads `key=value` pairs for a workload that knows these keys.
    ///
    /// # Errors
    /// The first part that is not one.
    pub fn read(
        kind: &'static str,
        known: &[&'static str],
        text: &'a str,
    ) -> Result<Self, SpecError> {
        let keys = || known.join(", ");
        let mut given = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((key, value)) = part.split_once('=') else {
                return Err(SpecError::Form {
                    kind,
                    part: part.to_owned(),
                    keys: keys(),
                });
            };
            let key = key.trim();
            let Some(known) = known.iter().find(|known| **known == key) else {
                return Err(SpecError::Key {
                    kind,
                    key: key.to_owned(),
                    keys: keys(),
                });
            };
            if given.iter().any(|(before, _)| before == known) {
                return Err(SpecError::Twice {
                    kind,
                    key: key.to_owned(),
                });
            }
            given.push((*known, value.trim()));
        }
        Ok(Self { kind, given })
    }

    /// The text given for `key`, if it is.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        let given = self.given.iter().find(|(given, _)| *given == key);
        given.map(|(_, value)| *value)
    }

    /// The value of `key` as `parse` reads it, or `default` when it is not given.
    fn get<T>(
        &self,
        key: &'static str,
        default: T,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, SpecError> {
        match self.text(key) {
            None => Ok(default),
            Some(value) => {
                parse(value).ok_or_else(|| self.bad(BadValue::new(key, value, expected)))
            }
        }
    }

    fn bad(&self, source: BadValue) -> SpecError {
        SpecError::Value {
            kind: self.kind,
            source,
        }
    }

    /// The whole number given for a key, or what it is if none is given.
    ///
    /// # Errors
    /// If what is given is no whole number.
    pub fn number(&self, key: &'static str, default: u64) -> Result<u64, SpecError> {
        let expected = "a whole number, such as 250000 or 20M";
        self.get(key, default, expected, |text| {
            sluice_units::parse_count(text).ok()
        })
    }

    /// How much there is to do, at least one: a run of nothing has no result.
    fn count(&self, key: &'static str, default: u64) -> Result<u64, SpecError> {
        let expected = "a whole number from 1 on, such as 250000 or 20M";
        self.get(key, default, expected, |text| {
            sluice_units::parse_count(text).ok().filter(|n| *n > 0)
        })
    }

    fn bytes(&self, key: &'static str, default: u64) -> Result<u64, SpecError> {
        self.get(key, default, "a size, such as 64MiB or 4096", |text| {
            size(text).ok()
        })
    }

    fn flag(&self, key: &'static str) -> Result<bool, SpecError> {
        self.get(key, false, "0 or 1", |text| match text {
            "0" | "false" => Some(false),
            "1" | "true" => Some(true),
            _ => None,
        })
    }

    fn cells(&self) -> Result<Cells, SpecError> {
        let cells = Cells {
            size: self.bytes("size", SIZE)?,
            stride: self.bytes("stride", LINE_BYTES)?,
            threads: self.number("threads", 1)?,
        };
        within("threads", cells.threads, STREAMS_MAX).map_err(|bad| self.bad(bad))?;
        if cells.stride == 0 {
            return Err(self.bad(BadValue::new("stride", 0, "at least 1 byte")));
        }
        if cells.size < cells.stride || !cells.size.is_multiple_of(cells.stride) {
            let expected = format!("a positive multiple of the stride, {}", Bytes(cells.stride));
            return Err(self.bad(BadValue::new("size", Bytes(cells.size), expected)));
        }
        if cells.size.checked_mul(cells.threads).is_none() {
            let expected = "less than 16 EiB over all threads";
            return Err(self.bad(BadValue::new("size", Bytes(cells.size), expected)));
        }
        Ok(cells)
    }
}

fn chase(keys: &Keys, seed: u64) -> Result<Kind, SpecError> {
    let default = Parameters::default();
    let order = match (keys.flag("random")?, keys.flag("uniform")?) {
        (true, true) => {
            let expected = "0 together with random=1: a chase has one order";
            return Err(keys.bad(BadValue::new("uniform", 1, expected)));
        }
        (true, false) => ChaseOrder::Cycle,
        (false, true) => ChaseOrder::Uniform,
        (false, false) => ChaseOrder::Sequential,
    };
    let plan = Plan::new(Parameters {
        size: keys.bytes("size", default.size)?,
        stride: keys.bytes("stride", default.stride)?,
        order,
        write: keys.flag("write")?,
        passes: keys.number("passes", default.passes)?,
        threads: keys.number("threads", default.threads)?,
        seed: keys.number("seed", seed)?,
    });
    plan.map(Kind::Chase).map_err(|bad| keys.bad(bad))
}

fn sweep(keys: &Keys) -> Result<Kind, SpecError> {
    Ok(Kind::Sweep {
        cells: keys.cells()?,
        passes: keys.count("passes", 1)?,
        write: keys.flag("write")?,
    })
}

fn draw(keys: &Keys, seed: u64, theta: Option<f64>) -> Result<Kind, SpecError> {
    let cells = keys.cells()?;
    let theta = theta.map(|default| {
        keys.get("theta", default, "a number above 0, at most 10", |text| {
            text.parse()
                .ok()
                .filter(|theta| *theta > 0.0 && *theta <= 10.0)
        })
    });
    let theta = theta.transpose()?;
    if theta.is_some() && cells.size / cells.stride > u64::from(u32::MAX) {
        let expected = format!("at most {} strides", u32::MAX);
        return Err(keys.bad(BadValue::new("size", Bytes(cells.size), expected)));
    }
    let share = "a share from 0 to 1, such as 5%, 0.05 or 1/20";
    Ok(Kind::Draw(Draw {
        cells,
        ops: keys.count("ops", 1_000_000)?,
        write: keys.get("write", Ratio::ZERO, share, |text| {
            text.parse::<Ratio>()
                .ok()
                .filter(|ratio| ratio.num() <= ratio.den())
        })?,
        theta,
        seed: keys.number("seed", seed)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use proptest::prelude::*;

    #[test]
    fn a_chase_is_its_keys() {
        let spec =
            parse_spec("chase:size=64KiB,stride=4096,passes=2,threads=2,write=1", 1).unwrap();
        assert_eq!((spec.threads(), spec.footprint_bytes()), (2, 128 << 10));
        let streams = spec.streams();
        assert_eq!(streams.len(), 2);
        for stream in streams {
            // Build: 16 nodes of two stores; two passes of a load and a store; read back.
            assert_eq!(stream.count(), 16 * 2 + 2 * 16 * 2 + 16);
        }
    }

    #[test]
    fn defaults_are_the_programs() {
        let spec = parse_spec("chase", 1).unwrap();
        assert_eq!(
            spec,
            parse_spec("chase:size=64MiB,stride=64,passes=4,seed=1", 1).unwrap()
        );
    }

    #[test]
    fn the_seed_is_that_of_the_keys_or_the_one_given() {
        for text in ["chase:random=1", "uniform", "zipf"] {
            let glue = if text.contains(':') { ',' } else { ':' };
            let keyed = parse_spec(&format!("{text}{glue}seed=3"), 1).unwrap();
            assert_eq!(parse_spec(text, 3).unwrap(), keyed, "{text}");
            assert_ne!(parse_spec(text, 1).unwrap(), keyed, "{text}");
        }
    }

    #[test]
    fn sweeps_and_draws() {
        let sweep: Vec<Access> = parse_spec("stream:size=128,passes=2,write=1", 1)
            .unwrap()
            .streams()
            .remove(0)
            .collect();
        assert_eq!(
            sweep.iter().map(|a| a.addr).collect::<Vec<_>>(),
            [0, 64, 0, 64]
        );
        assert!(sweep.iter().all(|a| a.write));
        for text in [
            "uniform:size=1MiB,ops=500,write=50%",
            "zipf:size=1MiB,ops=500,threads=2",
        ] {
            let spec = parse_spec(text, 1).unwrap();
            for stream in spec.streams() {
                let accesses: Vec<Access> = stream.collect();
                assert_eq!(accesses.len(), 500);
                assert!(accesses.iter().all(|a| a.addr < spec.footprint_bytes()));
            }
        }
    }

    #[test]
    fn messages_name_key_value_and_choices() {
        let cases = [
            (
                "chess:size=1",
                "\"chess\" is not known; choices: chase, stream, uniform, zipf",
            ),
            (
                "chase:sise=1",
                "no key \"sise\"; keys: size, stride, passes",
            ),
            ("chase:size", "\"size\" is not key=value"),
            ("chase:size=1MiB,size=2MiB", "\"size\" is given twice"),
            (
                "chase:size=1 parsec",
                "size: \"1 parsec\" is not accepted; expected a size",
            ),
            (
                "chase:stride=100",
                "stride: \"100\" is not accepted; expected a power of two",
            ),
            (
                "chase:random=maybe",
                "random: \"maybe\" is not accepted; expected 0 or 1",
            ),
            ("chase:random=1,uniform=1", "a chase has one order"),
            ("uniform:write=150%", "expected a share from 0 to 1"),
            (
                "zipf:theta=-1",
                "theta: \"-1\" is not accepted; expected a number above 0",
            ),
            (
                "stream:size=100",
                "expected a positive multiple of the stride, 64B",
            ),
            ("stream:threads=0", "expected a number from 1 to 4096"),
            ("chase:threads=65", "expected a number from 1 to 64"),
        ];
        for (text, part) in cases {
            let message = parse_spec(text, 1).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = parse_spec(&text, 1);
        }

        #[test]
        fn no_value_panics(
            kind in prop::sample::select(vec!["chase", "stream", "uniform", "zipf"]),
            pairs in prop::collection::vec(
                (prop::sample::select(ZIPF_KEYS.to_vec()), "[0-9a-zA-Z.%/-]{0,24}"), 0..5),
        ) {
            let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}={v}")).collect();
            if let Ok(spec) = parse_spec(&format!("{kind}:{}", pairs.join(",")), 1) {
                prop_assert!(spec.footprint_bytes() > 0);
            }
        }
    }
}
