//! Bandwidth against latency on a simulated fabric.

use crate::curve::curve_traffic;
use crate::error::FabricRunError;
use crate::units::{PS_PER_NS, PS_PER_S};
use sluice_driver::{Start, Traffic, Walk};
use sluice_net::{
    Access, Completed, EndpointId, Fabric, FabricConfig, FabricSpec, RequesterId,
    RequesterSettings, Source,
};
use sluice_results::{
    CurveLoad, CurveOn, CurveResult, CurveSchema, CurveTraffic, Distribution, settings, version,
};
use sluice_stats::Histogram;
use sluice_units::{Bytes, LINE_BYTES, PAGE_BYTES, Ps, Rng, seed_of};
use std::cell::Cell;
use std::rc::Rc;

/// Events between two looks at whether to stop.
const STOP_EVERY: u64 = 1 << 16;

/// What to simulate.
pub struct FabricCurvePlan<'a> {
    /// The fabric's name, for the record.
    pub name: &'a str,
    /// What the fabric is, with a requester for each of the traffic's threads and one for the
    /// dependent loads, none of them a simulated host, that reach its footprint.
    pub spec: &'a FabricSpec,
    /// What the requesters do; its pace is replaced by those of `paces`. Its depth, cores and
    /// helpers do not count, and a store is a write.
    pub traffic: Traffic,
    /// The paces, each on a fabric that nobody has used.
    pub paces: &'a [Ps],
}

impl FabricCurvePlan<'_> {
    /// Runs each pace, or until `stop` says so: then there is no result.
    ///
    /// # Errors
    /// [`FabricRunError`].
    pub fn run(&self, stop: impl Fn() -> bool) -> Result<Option<CurveResult>, FabricRunError> {
        let mut loads = Vec::with_capacity(self.paces.len());
        for pace in self.paces {
            let given = Traffic {
                pace: *pace,
                ..self.traffic
            };
            let Some(load) = self.load(&given, &stop)? else {
                return Ok(None);
            };
            loads.push(load);
        }
        Ok(Some(CurveResult {
            schema: CurveSchema::default(),
            on: CurveOn::Fabric,
            device: Some(self.name.to_owned()),
            config: Some(settings(self.spec.raw.to_pairs())),
            seed: self.traffic.seed,
            version: version(),
            traffic: CurveTraffic {
                depth: None,
                ..curve_traffic(&self.traffic)
            },
            knee: CurveResult::knee_of(&loads),
            loads,
        }))
    }

    fn load(
        &self,
        given: &Traffic,
        stop: &impl Fn() -> bool,
    ) -> Result<Option<CurveLoad>, FabricRunError> {
        let mut config = FabricConfig::new(self.spec, given.seed)?;
        for (number, settings) in (0..).zip(&mut config.requesters) {
            paced(settings, number == given.threads);
        }
        let mut fabric = sluice_plugin_memory::fabric(&config)?;
        let step = PAGE_BYTES.min(self.spec.raw.read::<Bytes>("map.granularity").0);
        let mut counting = Counting::new(given, step);
        for number in 0..config.requesters.len() as u32 {
            let source = Requests::new(given, number, step, &counting.left);
            fabric.replay(RequesterId(number), Box::new(source));
        }
        fabric.begin_issuing();
        let (mut before, mut looks) = (None, 0u64);
        while counting.left.get() > 0 {
            let Some(next) = fabric.next_at() else { break };
            let advanced = fabric.advance(next, &mut |done| counting.done(&done));
            advanced?;
            if before.is_none() && counting.began.is_some() {
                before = Some(misses(&fabric, &config));
            }
            looks += 1;
            if looks.is_multiple_of(STOP_EVERY) && stop() {
                return Ok(None);
            }
        }
        fabric.check_credits()?;
        // Counters that contradict each other are a bug of ours, not of the input.
        fabric.balance().expect("the fabric's books balance");
        let until = misses(&fabric, &config);
        let missed = until
            .zip(before.flatten())
            .map(|(all, before)| all - before);
        let payload = u64::from(config.sizes.payload_bytes());
        Ok(Some(counting.result(given, payload, missed, &fabric)))
    }
}

/// A requester with the pace of its source; that of the dependent loads waits for each.
fn paced(settings: &mut RequesterSettings, is_chaser: bool) {
    settings.interval = Ps::ZERO;
    if is_chaser {
        settings.depth = 1;
    }
}

/// Misses of all devices of the fabric, if it has any.
fn misses(fabric: &Fabric, config: &FabricConfig) -> Option<u64> {
    let all = (0..config.endpoints.len() as u32).map(EndpointId);
    let of = all.filter_map(|endpoint| fabric.device(endpoint));
    of.map(|device| device.stats().misses).reduce(|a, b| a + b)
}

/// What a requester asks for: each step of its region once, if the start is warm, then its
/// accesses, until enough were counted.
struct Requests {
    given: Traffic,
    role: Role,
    /// Where its region begins.
    base: u64,
    /// Steps that are still to be loaded, the last one first.
    warming: u64,
    /// Bytes of a step.
    step: u64,
    /// Whether the request given last was one of these.
    was_warming: bool,
    /// Accesses given out.
    number: u64,
    rng: Rng,
    /// Accesses that are still to be counted, over all requesters.
    left: Rc<Cell<u64>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Worker,
    Chaser,
    Idle,
}

/// What the requester of this number does.
fn role(given: &Traffic, number: u32) -> Role {
    match number {
        number if number < given.threads => Role::Worker,
        number if number == given.threads && given.chase > 0 => Role::Chaser,
        _ => Role::Idle,
    }
}

/// Loads, one for each step, that the requester of this number makes before counting begins. Every
/// page of a device has one, also if a page of the host lies on several devices.
fn warming(given: &Traffic, number: u32, step: u64) -> u64 {
    let bytes = match (given.start, role(given, number)) {
        (Start::Cold, _) | (_, Role::Idle) => 0,
        (Start::Warm, Role::Worker) => given.size,
        (Start::Warm, Role::Chaser) => given.chase,
    };
    bytes.div_ceil(step)
}

impl Requests {
    fn new(given: &Traffic, number: u32, step: u64, left: &Rc<Cell<u64>>) -> Requests {
        let role = role(given, number);
        let seed = seed_of(given.seed, u64::from(number));
        Requests {
            given: *given,
            role,
            base: u64::from(number) * given.size,
            warming: warming(given, number, step),
            step,
            was_warming: false,
            number: 0,
            rng: match role {
                Role::Chaser => Rng::stream(given.seed, "traffic.chase"),
                _ => Rng::stream(seed, "traffic.thread"),
            },
            left: Rc::clone(left),
        }
    }

    fn work(&mut self) -> Access {
        let places = self.given.size / self.given.stride;
        let place = match self.given.walk {
            Walk::InOrder => self.number % places,
            Walk::Random => self.rng.below(places),
        };
        let is_write = self.given.is_store(self.number);
        self.number += 1;
        Access {
            addr: self.base + place * self.given.stride,
            is_write,
        }
    }
}

impl Source for Requests {
    fn next(&mut self) -> Option<Access> {
        if self.role == Role::Idle || self.left.get() == 0 {
            return None;
        }
        self.was_warming = self.warming > 0;
        if self.was_warming {
            self.warming -= 1;
            return Some(Access {
                addr: self.base + self.warming * self.step,
                is_write: false,
            });
        }
        Some(match self.role {
            Role::Worker => self.work(),
            _ => Access {
                addr: self.base + self.rng.below(self.given.chase / LINE_BYTES) * LINE_BYTES,
                is_write: false,
            },
        })
    }

    fn pause(&self) -> Ps {
        match self.role == Role::Worker && !self.was_warming {
            true => self.given.pace,
            false => Ps::ZERO,
        }
    }
}

/// What came back since all pages were loaded.
struct Counting {
    threads: u32,
    /// For each requester, the loads that it makes first.
    loads: Vec<u64>,
    /// First loads that are still to come back.
    warming: u64,
    left: Rc<Cell<u64>>,
    began: Option<Ps>,
    until: Ps,
    latency: Histogram,
    chase: Histogram,
}

impl Counting {
    fn new(given: &Traffic, step: u64) -> Counting {
        let all = (0..=given.threads).map(|n| warming(given, n, step));
        let loads: Vec<u64> = all.collect();
        let warming = loads.iter().sum();
        let accesses = given.accesses() * u64::from(given.threads.max(1));
        Counting {
            threads: given.threads,
            loads,
            warming,
            left: Rc::new(Cell::new(accesses)),
            began: (warming == 0).then_some(Ps::ZERO),
            until: Ps::ZERO,
            latency: Histogram::default(),
            chase: Histogram::default(),
        }
    }

    /// A request has come back.
    fn done(&mut self, done: &Completed) {
        let number = done.requester.0;
        let Some(began) = self.began else {
            self.warming -= u64::from(done.tag < self.loads[number as usize]);
            self.began = (self.warming == 0).then_some(done.at);
            return;
        };
        if self.left.get() == 0 {
            return;
        }
        let is_worker = number < self.threads;
        if is_worker {
            self.latency.record(done.latency);
        } else if done.at - began >= done.latency {
            // One that was issued before counting began is no idle one.
            self.chase.record(done.latency);
        }
        if is_worker || self.threads == 0 {
            self.left.set(self.left.get() - 1);
            self.until = done.at;
        }
    }

    fn result(
        self,
        given: &Traffic,
        payload: u64,
        misses: Option<u64>,
        fabric: &Fabric,
    ) -> CurveLoad {
        let time = self.until - self.began.unwrap_or_default();
        let (seconds, accesses) = (time.0 as f64 / PS_PER_S, self.latency.count());
        CurveLoad {
            pace_ns: given.pace.0 as f64 / PS_PER_NS,
            bytes_per_s: match accesses {
                0 => 0.0,
                accesses => (accesses * payload) as f64 / seconds,
            },
            accesses,
            time_s: seconds,
            misses,
            latency_ns: (accesses > 0).then(|| Distribution::from(&self.latency)),
            hit_latency_ns: None,
            miss_latency_ns: None,
            chase_latency_ns: (self.chase.count() > 0).then(|| self.chase.summary()),
            hash: Some(format!("{:016x}", fabric.stats().hash)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::given;

    /// As on a host and live. The loads that warm the memory up are none of them.
    #[test]
    fn loads_are_dealt_out_as_live() {
        for reads in [0, 1, 33, 70, 99, 100] {
            let given = Traffic { reads, ..given() };
            let left = Rc::new(Cell::new(u64::MAX));
            let mut requests = Requests::new(&given, 0, PAGE_BYTES, &left);
            let mut is_write = || requests.next().expect("more").is_write;
            assert!((0..given.size / PAGE_BYTES).all(|_| !is_write()));
            let mut share = 0;
            for number in 0..1_000 {
                share += reads;
                let is_load = share >= 100;
                share -= if is_load { 100 } else { 0 };
                assert_eq!(is_write(), !is_load, "{reads} %, {number}");
            }
        }
    }
}
