//! How many accesses a workload has.

use crate::error::BadValue;
use crate::spec::{Kind, Spec, SpecError};

impl Spec {
    /// Itself, if its accesses can be counted. Those of a chase always can.
    pub(crate) fn counted(self) -> Result<Spec, SpecError> {
        let (kind, key, value, each) = match &self.kind {
            Kind::Chase(_) => return Ok(self),
            Kind::Sweep { cells, passes, .. } => {
                ("stream", "passes", *passes, cells.size / cells.stride)
            }
            Kind::Draw(draw) if draw.theta.is_some() => ("zipf", "ops", draw.ops, 1),
            Kind::Draw(draw) => ("uniform", "ops", draw.ops, 1),
        };
        let all = value.checked_mul(each);
        match all.and_then(|all| all.checked_mul(self.threads())) {
            Some(_) => Ok(self),
            None => Err(SpecError::Value {
                kind,
                source: BadValue::new(key, value, "fewer than 2^64 accesses of all threads"),
            }),
        }
    }

    /// Accesses of all threads in a pass, if there are passes.
    pub fn accesses_per_pass(&self) -> Option<u64> {
        let of_a_thread = match &self.kind {
            Kind::Chase(plan) => plan.nodes() * (1 + u64::from(plan.parameters().write)),
            Kind::Sweep { cells, .. } => cells.size / cells.stride,
            Kind::Draw(_) => return None,
        };
        Some(of_a_thread * self.threads())
    }

    /// Accesses of all threads.
    pub fn accesses(&self) -> u64 {
        let of_a_thread = match &self.kind {
            Kind::Chase(plan) => {
                let (nodes, stores) = (plan.nodes(), u64::from(plan.parameters().write));
                // The build pass; at the end the counters are read back.
                nodes * (1 + plan.parameters().passes) * (1 + stores) + nodes * stores
            }
            Kind::Sweep { cells, passes, .. } => passes * (cells.size / cells.stride),
            Kind::Draw(draw) => draw.ops,
        };
        of_a_thread * self.threads()
    }
}

#[cfg(test)]
mod tests {
    use crate::spec::parse_spec;

    #[test]
    fn accesses_are_those_of_the_streams() {
        for text in [
            "chase:size=64KiB,stride=4096,passes=2,threads=2,write=1",
            "chase:size=64KiB,passes=3",
            "stream:size=64KiB,passes=5,threads=3",
            "zipf:size=64KiB,ops=1234,threads=2",
        ] {
            let spec = parse_spec(text, 1).unwrap();
            let made: usize = spec.streams().into_iter().map(Iterator::count).sum();
            assert_eq!(spec.accesses(), made as u64, "{text}");
        }
    }

    /// One pass more makes so many accesses more.
    #[test]
    fn accesses_of_a_pass_are_what_a_pass_adds() {
        for text in [
            "chase:size=64KiB,stride=4096,threads=2,write=1",
            "chase:size=64KiB,stride=4096,threads=2",
            "stream:size=64KiB,threads=3",
        ] {
            let with = |passes| parse_spec(&format!("{text},passes={passes}"), 1).unwrap();
            let adds = with(3).accesses() - with(2).accesses();
            assert_eq!(with(2).accesses_per_pass(), Some(adds), "{text}");
        }
        let draws = parse_spec("zipf:size=64KiB,ops=10", 1).unwrap();
        assert_eq!(draws.accesses_per_pass(), None);
    }

    /// The last place of the last thread ends where the footprint does.
    #[test]
    fn a_footprint_is_what_the_streams_reach() {
        for text in [
            "chase:size=64KiB,stride=4096,passes=1,threads=3",
            "stream:size=32KiB,stride=4096,passes=1,threads=5",
            "uniform:size=64KiB,stride=4096,ops=2000,threads=2",
            "zipf:size=64KiB,stride=4096,ops=9000,threads=2,theta=0.5",
        ] {
            let spec = parse_spec(text, 1).unwrap();
            let accesses = spec.streams().into_iter().flatten();
            let most = accesses.map(|access| access.addr).max().unwrap();
            assert_eq!(most + 4096, spec.footprint_bytes(), "{text}");
        }
    }
}
